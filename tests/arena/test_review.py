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


TWO_GAMES = """[White "Ann"]
[Black "Bob"]

{Before the game.} 1. e4 {Best by test. [%clk 0:01:00]} e5 2. Qh5 $6 (2. Nf3 {normal}) Nc6 3. Bc4 Nf6 {[%eval 9] Oh no}
4. Qxf7# 1-0

[White "Broken"]

1. e4 e5 2. Ke5 *

[White "Cid"]

1. f3 e5 2. g4 Qh4# 0-1
"""


def test_all_games_of_a_file_with_the_comments_that_were_there(run, tmp_path: Path) -> None:
    pytest.importorskip("chess")
    import chess.pgn

    (tmp_path / "games.pgn").write_text(TWO_GAMES)
    command = ["review", "--network", "material", "--simulations", "200"]
    code, out, err = run(*command, "games.pgn", "--out", "reviewed.pgn")
    assert code == 0
    assert "game 1: Ann - Bob, 1-0" in out
    assert "game 2: Cid - Black, 0-1" in out
    assert "Black: 2 moves" in out
    assert "line 9" in err  # of the game that cannot be read
    run(*command, "reviewed.pgn", "--out", "again.pgn")
    for name in ("reviewed.pgn", "again.pgn"):
        text = (tmp_path / name).read_text()
        stream = io.StringIO(text)
        first, second = chess.pgn.read_game(stream), chess.pgn.read_game(stream)
        assert (first.headers["White"], second.headers["White"], chess.pgn.read_game(stream)) == ("Ann", "Cid", None)
        nodes = list(first.mainline())
        assert first.comment == "Before the game."
        assert nodes[0].comment.endswith(" simulations. Best by test. [%clk 0:01:00]")
        assert nodes[0].comment.count("%eval") == nodes[5].comment.count("%eval") == 1
        assert nodes[5].comment.startswith("Blunder. [%eval 126.98]")
        assert nodes[5].comment.endswith(" simulations. Oh no")
        assert nodes[2].nags == {6}  # what a person has marked
        assert "normal" not in text
    code, out, _ = run(*command, "games.pgn", "--json", "--player", "1")
    assert [game["players"][0] for game in json.loads(out)] == ["Ann", "Cid"]
    (tmp_path / "none.pgn").write_text("1. Ke5 *\n")
    code, _, err = run(*command, "none.pgn")
    assert (code, "none.pgn, line 1" in err) == (2, True)


def test_comments_of_sgf_files_are_kept(run, tmp_path: Path) -> None:
    text = "(;FF[4]GM[11]SZ[3]C[Before];B[b2]C[The centre: \\\\ and \\]];W[a1];B[a2]C[Wins])"
    (tmp_path / "game.sgf").write_text(text)
    for source, out in (("game.sgf", "reviewed.sgf"), ("reviewed.sgf", "again.sgf")):
        code, _, err = run("review", source, "--evaluator", "rollout", "--simulations", "100", "--out", out)
        assert (code, err) == (0, "")
        found = (tmp_path / out).read_text()
        assert "C[Before]" in found
        assert found.count("value ") == 3
        assert found.count("The centre: \\\\ and \\]") == found.count("Wins") == 1
