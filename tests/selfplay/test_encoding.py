"""Records written from Python are those of the core, and may start anywhere."""

from __future__ import annotations

from pathlib import Path

import chess
import numpy as np
import pytest

import ramify as rf
from ramify.selfplay import PlayConfig, SelfPlay, decode, read_shard, write_shard
from ramify.selfplay.encoding import Label, RecordWriter, count_recorded, spread
from ramify.selfplay.records import read_records
from ramify.selfplay.starts import start_positions
from tools.chess_endgames import PLIES, lot, mates

pytest.importorskip("zstandard")


def test_what_python_writes_is_read_like_what_the_core_writes(tmp_path: Path) -> None:
    game = rf.make("tictactoe")
    state, writer = game.initial_state(), RecordWriter(5, 0, draws=True)
    writer.add_opening(0, 4)
    state.apply(4)
    label = Label({5: 0.25, 0: 0.5, 3: 0.25}, 0.75, 0.125)
    writer.add(1, 0, state.legal_actions().tolist(), label)
    state.apply(0)
    writer.add(0, 8)
    data = writer.finish((1.0, -1.0), resigned=True)
    assert count_recorded(data) == writer.labels == 1
    write_shard(tmp_path / "000000.games", [data], {"game": "tictactoe"})
    (record,) = read_shard(tmp_path / "000000.games")[1]
    assert (record.number, record.resigned, record.cut, record.start) == (5, True, False, None)
    opening, move, last = record.moves
    assert (opening.opening, opening.found, last.found) == (True, None, None)
    assert (move.acting, move.actions) == ((1,), (0,))
    found = move.found
    assert found.value.tolist() == [0.75, -0.75]
    assert found.draw == 0.125
    assert found.outcomes[1].tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert found.visits.tolist() == [[500, 0, 0, 250, 250, 0, 0, 0]]
    assert found.priors[1] == pytest.approx(np.full(8, 1 / 8), rel=1e-3)
    assert [str(one) for one in record.states(game)][-1].count("x") == 2


def test_rounding_keeps_at_least_one_action() -> None:
    assert spread(list(range(3000)), dict.fromkeys(range(3000), 1.0)) == ([0], [1])
    assert spread([3, 7, 9], {9: 6.0, 7: 2.0}) == ([1, 2], [250, 750])


def test_counting_agrees_with_decoding() -> None:
    search, play = rf.SearchConfig(simulations=12, fast_simulations=3), PlayConfig(full_share=0.4)
    games = [data for lot in SelfPlay(rf.make("tictactoe"), None, search, play, games=9) for data in lot]
    assert [count_recorded(data) for data in games] == [
        sum(move.found is not None for move in decode(data).moves) for data in games
    ]


@pytest.mark.parametrize(
    ("name", "params", "lines"),
    [
        ("tictactoe", {}, "b2 a1\nc3\n"),
        ("hex", {"size": 4}, "b2 c3\na1 b1 c1\n"),
        ("chess", {}, "e2e4 e7e5\n# no\nd2d4\n"),
    ],
)
def test_self_play_starts_from_openings(tmp_path: Path, name: str, params: dict, lines: str) -> None:
    file = tmp_path / "openings.txt"
    file.write_text(lines)
    game = rf.make(name, **params)
    play = PlayConfig(openings=str(file), max_moves=4)
    games = [
        data
        for lot in SelfPlay(game, rf.evaluators.Uniform(), rf.SearchConfig(simulations=3), play, games=12)
        for data in lot
    ]
    wanted = set()
    for line in (
        ("b2 a1", "c3") if name == "tictactoe" else ("b2 c3", "a1 b1 c1") if name == "hex" else ("e2e4 e7e5", "d2d4")
    ):
        state = game.initial_state()
        for word in line.split():
            state.apply(state.action(word))
        wanted.add(state.key)
    write_shard(tmp_path / "000000.games", games, {"game": name})
    records = read_shard(tmp_path / "000000.games")[1]
    assert {record.initial_state(game).key for record in records} == wanted
    for record in records:  # every search was of the position that the record leads to
        for state, move in zip(record.states(game), record.moves, strict=False):
            if move.found is not None:
                assert move.found.outcomes[move.acting[0]].tolist() == state.legal_actions().tolist()
    assert len(read_records(tmp_path / "000000.games")[1]) == 12


def test_openings_that_cannot_be_played_are_named(tmp_path: Path) -> None:
    file = tmp_path / "openings.txt"
    for text, problem in (("b2 b2\n", "b2 b2"), ("", "no openings"), ("a1 b1 a2 b2 a3\n", "ends the game")):
        file.write_text(text)
        with pytest.raises(ValueError, match=problem):
            SelfPlay(rf.make("tictactoe"), play=PlayConfig(openings=str(file)), games=1)
    with pytest.raises(ValueError, match="no file"):
        SelfPlay(rf.make("tictactoe"), play=PlayConfig(openings=str(tmp_path / "none.txt")), games=1)


def test_openings_may_have_a_share_of_the_games(tmp_path: Path) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("b2 a1\nc3\n")
    game = rf.make("tictactoe")
    play = PlayConfig(openings=str(file), opening_share=0.4)
    lots = SelfPlay(game, rf.evaluators.Uniform(), rf.SearchConfig(simulations=3), play, games=400)
    write_shard(tmp_path / "000000.games", [data for lot in lots for data in lot], {"game": "tictactoe"})
    records = read_shard(tmp_path / "000000.games")[1]
    first = game.initial_state().key
    share = sum(record.initial_state(game).key != first for record in records) / len(records)
    assert 0.3 < share < 0.5  # four standard deviations
    file.write_text("STAY STAY\n")
    with pytest.raises(ValueError, match="opening_share must be 1"):
        start_positions(rf.make("pyrat", width=5, height=5, cheese=3), str(file), 0.5)


def test_chess_endgames_come_with_the_package() -> None:
    """They are what the tool writes, and self-play knows them by their name alone."""
    found = start_positions(rf.make("chess"), "chess-endgames.epd")
    assert not any(one.state.is_over for one in found)
    texts = [one.state.fen.rsplit(" ", 2)[0] for one in found]  # type: ignore[attr-defined]
    assert 4000 < len(set(texts)) == len(texts)
    assert texts[: len(lot(0))] == lot(0)
    to_move = [text.split()[1] for text in texts]
    assert all(0.4 < to_move.count(side) / len(texts) < 0.6 for side in "wb")
    before = [chess.Board(f"{text} 0 1") for text in texts[: PLIES.count(1)]]  # the mate
    assert all(board.is_valid() and mates(board) > 0 for board in before)
