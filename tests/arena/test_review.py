"""Reviews of games: mistakes are found, marked, and shown with the better line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import ramify as rf
from ramify.arena.review import LOSSES, ReviewedMove, review
from ramify.engine import SearchConfig, Searcher
from ramify.games.files import GameRecord


def connect_four(words: str) -> GameRecord:
    start = rf.make("connect_four").initial_state()
    state, turns = start.copy(), []
    for word in words.split():
        turns.append((state.action(word),))
        state.apply(*turns[-1])
    return GameRecord(start, tuple(turns))


def test_a_move_that_allows_a_win_is_a_blunder() -> None:
    """Three in a column: player 1 must block, and does not; player 0 wins."""
    record = connect_four("d a d a d b d")
    game = record.start.game
    config = SearchConfig(simulations=3000, solver=True)
    moves = review(record, Searcher(game, rf.evaluators.Rollout(), config))
    assert [move.number for move in moves] == list(range(7))
    blunder = moves[5]
    assert (blunder.judgement, blunder.mark, blunder.player) == ("blunder", "??", 1)
    assert record.states()[5].action_name(blunder.best) == "d"
    assert blunder.better[0] == blunder.best
    assert moves[6].judgement == ""
    assert moves[6].value == pytest.approx(1)
    only = review(record, Searcher(game, rf.evaluators.Rollout(), config), players=[1])
    assert [move.player for move in only] == [1, 1, 1]


@pytest.mark.parametrize(
    ("loss", "name"), [(0.0, ""), (0.09, ""), (0.1, "inaccuracy"), (0.25, "mistake"), (1.5, "blunder")]
)
def test_judgements_by_loss(loss: float, name: str) -> None:
    assert ReviewedMove(0, 0, 1, 2, 0.5 - loss, 0.5, (2,), 10).judgement == name
    assert [least for least, _, _ in LOSSES] == sorted((least for least, _, _ in LOSSES), reverse=True)


def test_games_with_simultaneous_moves_are_refused() -> None:
    game = rf.make("goofspiel")
    with pytest.raises(ValueError, match="both players act at once"):
        review(GameRecord(game.initial_state()), Searcher(game))


def test_a_reviewed_game_as_pgn_and_json(run, tmp_path: Path) -> None:
    pytest.importorskip("chess")
    import chess
    import chess.pgn

    # White has mate in one and gives the queen away instead.
    (tmp_path / "game.pgn").write_text('[FEN "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1"]\n[SetUp "1"]\n\n1. Qg8+ Kxg8 *\n')
    command = [
        "review",
        "game.pgn",
        "--simulations",
        "300",
        "--evaluator",
        "uniform",
        "-s",
        "solver=true",
        "--player",
        "0",
    ]
    code, out, err = run(*command, "--out", "reviewed.pgn")
    assert (code, err) == (0, "")
    assert "1 blunder" in out
    assert "#" in out  # the better line mates
    read = chess.pgn.read_game(io.StringIO((tmp_path / "reviewed.pgn").read_text()))
    first = read.next()
    assert first.nags == {chess.pgn.NAG_BLUNDER}
    assert first.comment.startswith("Blunder.")
    board = read.board()
    board.push(read.variations[1].move)
    assert board.is_checkmate()
    code, out, _ = run(*command, "--json")
    (move,) = json.loads(out)["moves"]
    assert (code, move["move"], move["best"], move["judgement"]) == (0, "Qg8+", move["better"][0], "blunder")
    assert move["loss"] == pytest.approx(1, abs=0.2)
    assert run("review", "game.pgn", "--out", "x.sgf")[0] == 2
    assert run("review", "nothing.pgn")[0] == 2
