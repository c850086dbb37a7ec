"""Files with many games, notes at moves, and openings from files."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

import ramify as rf
from ramify.games.files import GameFileError, GameRecord, MoveNote, dumps, read_games
from ramify.games.files.openings import POSITION, epd_to_fen, play_opening, read_openings
from ramify.games.files.pgn import value_comment

pytest.importorskip("chess")
import chess
import chess.pgn


def line(words: str, fen: str | None = None, **more) -> GameRecord:
    game = rf.make("chess")
    start = game.initial_state() if fen is None else game.state(fen)
    state, turns = start.copy(), []
    for word in words.split():
        turns.append((state.action(word),))
        state.apply(*turns[-1])
    return GameRecord(start, tuple(turns), **more)


def test_notes_are_read_back_by_python_chess() -> None:
    game = rf.make("chess").initial_state()
    better = line("d2d4 d7d5 c2c4").turns
    notes = (
        MoveNote(value_comment(0.5, 800), "?!", tuple(turn[0] for turn in better)),
        MoveNote(),
        MoveNote("well played", "!"),
    )
    record = replace(line("g2g4 e7e5 f2f3 d8h4", result="0-1", players=("A", "B")), notes=notes)
    found = chess.pgn.read_game(io.StringIO(dumps(".pgn", record)))
    assert found.headers["Result"] == "0-1"
    assert [move.uci() for move in found.mainline_moves()] == ["g2g4", "e7e5", "f2f3", "d8h4"]
    first = found.next()
    assert first.nags == {chess.pgn.NAG_DUBIOUS_MOVE}
    assert "value +0.500, 800 simulations" in first.comment
    assert first.eval().white().score() == pytest.approx(111, abs=3)
    assert [move.uci() for move in found.variations[1].mainline_moves()] == ["d7d5", "c2c4"]
    assert found.variations[1].move.uci() == "d2d4"
    assert first.next().next().nags == {chess.pgn.NAG_GOOD_MOVE}
    assert game.fen == chess.STARTING_FEN


def test_games_that_cannot_be_read_do_not_hide_the_others(tmp_path: Path) -> None:
    file = tmp_path / "games.pgn"
    good = dumps(".pgn", line("e2e4 e7e5", result="1-0", players=("A", "B")))
    bad = '[Event "x"]\n[Result "1-0"]\n\n1. e4 e5 2. Ke3 Nf6\n3. d4 1-0\n'
    other = '[Variant "Atomic"]\n\n1. e4 *\n'
    file.write_text("\n".join([good, bad, other, good, good]))
    found = list(read_games(file))
    assert [isinstance(one, GameFileError) for one in found] == [False, True, True, False, False]
    assert "illegal san: 'Ke3'" in str(found[1])
    assert [one.turns for one in found if isinstance(one, GameRecord)] == [line("e2e4 e7e5").turns] * 3
    file.write_text("")
    assert list(read_games(file)) == []


def test_sgf_has_notes_too() -> None:
    state = rf.make("hex", size=4).initial_state()
    record = GameRecord(state, ((5,), (6,)), notes=(MoveNote("value +0.2", "?", (9, 10)),))
    assert ";B[b2]C[? value +0.2 better: b3 c3];W[c2]" in dumps(".sgf", record)


@pytest.mark.parametrize(
    ("text", "fen"),
    [
        ("8/8/8/8/8/5k2/7p/5K2 b - -", "8/8/8/8/8/5k2/7p/5K2 b - - 0 1"),
        ("8/8/8/8/8/5k2/7p/5K2 b - - bm Kg3; id \"x\";", "8/8/8/8/8/5k2/7p/5K2 b - - 0 1"),
        ("8/8/8/8/8/5k2/7p/5K2 b - - hmvc 7; fmvn 40;", "8/8/8/8/8/5k2/7p/5K2 b - - 7 40"),
        ("8/8/8/8/8/5k2/7p/5K2 b - - 3 30", "8/8/8/8/8/5k2/7p/5K2 b - - 3 30"),
    ],
)  # fmt: skip
def test_positions_from_epd(text: str, fen: str) -> None:
    assert epd_to_fen(text) == fen


def test_openings_from_files(tmp_path: Path) -> None:
    game, fen = rf.make("chess"), "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    pgn, epd, plain = (tmp_path / f"book.{end}" for end in ("pgn", "epd", "txt"))
    pgn.write_text("\n".join(dumps(".pgn", one) for one in (line("e2e4 e7e5 g1f3"), line("e2e4", fen))))
    epd.write_text(f'# a comment\n{fen.removesuffix(" 0 1")} id "pawn";\n')
    plain.write_text("e2e4 e7e5\n\nd2d4\n")
    assert read_openings(str(pgn)) == [("e2e4", "e7e5", "g1f3"), (POSITION + fen, "e2e4")]
    assert read_openings(f"{pgn}:2") == [("e2e4", "e7e5"), (POSITION + fen, "e2e4")]
    assert read_openings(str(epd)) == [(POSITION + fen,)]
    assert read_openings(str(plain)) == [("e2e4", "e7e5"), ("d2d4",)]
    state, turns = play_opening(game, read_openings(str(pgn))[1])
    assert state.fen == "4k3/8/8/8/4P3/8/8/4K3 b - - 0 1"
    assert len(turns) == 1
    with pytest.raises(ValueError, match="not a position in EPD"):
        epd_to_fen("8/8/8 w")
    for wrong, reason in (("8/8/8 w", "not a position in EPD"), ("8/8/8/8 w - -", "8 ranks of 8 squares")):
        epd.write_text(f"# a comment\n{fen}\n{wrong}\n")
        with pytest.raises(ValueError, match=f"book.epd, line 3: .*{reason}"):
            read_openings(str(epd))
