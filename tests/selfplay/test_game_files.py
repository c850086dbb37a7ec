"""Games from PGN and SGF become training records, and records become files again."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import ramify as rf
from ramify.games.files import read_games
from ramify.selfplay import read_folder
from ramify.training.config import TargetConfig
from ramify.training.packed import game_rows

pytest.importorskip("chess")
pytest.importorskip("zstandard")
import chess
import chess.pgn

PGN = """[White "A"]
[Black "B"]
[Result "1-0"]

1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0

[Result "*"]

1. d4 *

[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]
[SetUp "1"]
[Result "0-1"]

1. e4 Kd7 0-1

[Result "1/2-1/2"]

1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. Nf3 Nf6 6. Ng1 1/2-1/2
"""


def test_pgn_becomes_records(run, tmp_path: Path) -> None:
    (tmp_path / "games.pgn").write_text(PGN)
    code, out, err = run("records", "games.pgn", "imported")
    assert code == 0
    assert err == "ramify: warning: 1 games left out: it has no result\n"
    assert out.startswith("Wrote 3 games")
    game = rf.make("chess")
    ((header, records),) = read_folder(tmp_path / "imported")
    assert header["imported"] is True
    assert [record.returns.tolist() for record in records] == [[1, -1], [-1, 1], [0, 0]]
    assert [len(record.moves) for record in records] == [7, 2, 8]  # the last is a draw by repetition before its end
    assert [record.resigned for record in records] == [False, True, False]
    assert records[1].initial_state(game).fen == "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    for record in records:
        for state, move in zip(record.states(game), record.moves, strict=False):
            found = move.found
            assert found.value.tolist() == record.returns.tolist()
            assert found.outcomes[move.acting[0]][found.visits.reshape(-1).argmax()] == move.actions[0]
            assert state.acting == move.acting


def test_a_second_file_is_added_and_another_game_is_refused(run, tmp_path: Path) -> None:
    (tmp_path / "games.pgn").write_text(PGN)
    (tmp_path / "a.sgf").write_text("(;FF[4]GM[11]SZ[3]RE[B+];B[a1];W[b1];B[a2];W[b2];B[a3])")
    assert run("records", "games.pgn", "imported", "--games", "1")[0] == 0
    code, out, _ = run("records", "games.pgn", "imported", "--json")
    assert (code, json.loads(out)["games"]) == (0, 3)
    numbers = [record.number for _, records in read_folder(tmp_path / "imported") for record in records]
    assert numbers == [0, 1, 2, 3]
    assert run("records", "a.sgf", "imported")[0] == 2
    assert run("records", "a.sgf", "hex", "--json")[0] == 0
    game = rf.make("hex", size=3)
    ((_, records),) = read_folder(tmp_path / "hex")
    assert [record.returns.tolist() for record in records] == [[1, -1]]
    assert list(records[0].states(game))[-1].is_over
    code, _, err = run("records", "games.txt", "other")
    assert (code, "is not a file of games" in err) == (2, True)


def test_records_become_pgn_with_values(run, tmp_path: Path) -> None:
    assert run("selfplay", "chess", "games", "--games", "2", "--simulations", "4", "--play", "max_moves=6")[0] == 0
    code, out, err = run("records", "games", "games.pgn")
    assert (code, err) == (0, "")
    assert out.startswith("Wrote 2 games with 12 positions")
    game, file = rf.make("chess"), io.StringIO((tmp_path / "games.pgn").read_text())
    records = [record for _, found in read_folder(tmp_path / "games") for record in found]
    for record in records:
        read = chess.pgn.read_game(file)
        assert [move.uci() for move in read.mainline_moves()] == [
            state.action_name(move.actions[0]) for state, move in zip(record.states(game), record.moves, strict=False)
        ]
        for node, move in zip(read.mainline(), record.moves, strict=True):
            assert f"value {move.found.value[0]:+.3f}, 4 simulations" in node.comment
            assert node.eval() is not None
    assert chess.pgn.read_game(file) is None
    assert len(list(read_games(tmp_path / "games.pgn"))) == 2


def test_training_rows_of_an_imported_game(run, tmp_path: Path) -> None:
    (tmp_path / "games.pgn").write_text(PGN)
    run("records", "games.pgn", "imported")
    from ramify.selfplay.records import read_records, shards

    data = read_records(shards(tmp_path / "imported")[0])[1][1]  # from a position of its own
    rows = game_rows(rf.make("chess"), data, TargetConfig(), 1.0)
    assert rows.values.tolist() == [-1, 1]  # White, then Black, who wins
    assert rows.policies.sum() == 2
    assert rows.draws.tolist() == [-1, -1]
