"""Games in files: what is written is read back, what others write is understood, and mistakes name their line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import ramify as rf
from ramify.games.files import GameFileError, GameRecord, read_game, result_of, write_game

GAMES = [
    ("tictactoe", {}),
    ("connect_four", {}),
    ("hex", {"size": 5}),
    ("hex", {"size": 4, "swap": True}),
    ("chess", {"draws": "automatic"}),
    ("pyrat", {"preset": "tiny"}),
    ("goofspiel", {}),
    ("matrix", {}),
]


def random_game(name: str, params: dict, seed: int, most: int = 60) -> GameRecord:
    rng = random.Random(seed)
    start = rf.make(name, **params).initial_state(seed)
    state, turns = start.copy(), []
    while not state.is_over and len(turns) < most:
        turns.append(tuple(int(rng.choice(state.legal_actions(player))) for player in state.acting))
        state.apply(*turns[-1])
    return GameRecord(start, tuple(turns), result_of(state), None, ("A [1]", "B\\2"), "2026-01-31")


@pytest.mark.parametrize("extension", ["json", "pgn", "sgf"])
@pytest.mark.parametrize(("name", "params"), GAMES)
def test_what_is_written_is_read_back(tmp_path: Path, name: str, params: dict, extension: str) -> None:
    if extension == "pgn":
        pytest.importorskip("chess")
    file = tmp_path / f"game.{extension}"
    if {"pgn": "chess", "sgf": "hex"}.get(extension, name) != name:
        with pytest.raises(GameFileError, match=f"a game of {name} is saved as"):
            write_game(file, random_game(name, params, 0))
        return
    for seed in range(4):
        record = random_game(name, params, seed)
        write_game(file, record)
        again = read_game(file)
        assert again.start.game.params == record.start.game.params
        assert again.start.key == record.start.key
        assert again.turns == record.turns
        assert (again.result, again.resigned, again.players) == (record.result, None, record.players)
        assert again.date == "2026-01-31"
        assert again.states()[-1].key == record.states()[-1].key


@pytest.mark.parametrize("extension", ["json", "sgf"])
@pytest.mark.parametrize("resigned", [0, 1])
def test_a_resignation_is_kept(tmp_path: Path, extension: str, resigned: int) -> None:
    start = rf.make("hex", size=3).state("b2 a1")
    record = GameRecord(start, ((5,),), result_of(start, resigned), resigned)
    write_game(tmp_path / f"x.{extension}", record)
    again = read_game(tmp_path / f"x.{extension}")
    assert (again.result, again.resigned) == (("0-1", "1-0")[resigned], resigned)
    assert str(again.start) == str(start)


def test_pgn_from_a_position_is_what_python_chess_reads(tmp_path: Path) -> None:
    pytest.importorskip("chess")
    import chess.pgn

    fen = "4k3/P7/8/8/8/8/8/R3K2R w KQ - 0 1"
    start = rf.make("chess").state(fen)
    state, turns = start.copy(), []
    for move in ("e1c1", "e8e7", "a7a8q"):
        turns.append((state.action(move),))
        state.apply(*turns[-1])
    write_game(tmp_path / "x.pgn", GameRecord(start, tuple(turns), "1-0", 1))
    with (tmp_path / "x.pgn").open() as file:
        game = chess.pgn.read_game(file)
    assert game.errors == []
    assert game.headers["FEN"] == fen
    assert game.headers["Result"] == "1-0"
    assert [move.uci() for move in game.mainline_moves()] == ["e1c1", "e8e7", "a7a8q"]
    assert "Black resigns." in (tmp_path / "x.pgn").read_text()
    assert read_game(tmp_path / "x.pgn").turns == tuple(turns)


def read(tmp_path: Path, name: str, text: str) -> GameRecord:
    (tmp_path / name).write_text(text)
    return read_game(tmp_path / name)


def test_pgn_of_others(tmp_path: Path) -> None:
    """Comments, variations and annotations are passed over; a game may go on where a draw could be claimed."""
    pytest.importorskip("chess")
    shuffle = "Nf3 Nf6 Ng1 Ng8 " * 3
    text = (
        f'[White "Alice"]\n[Black "?"]\n[Opening "none"]\n\n1. e4 $1 {{best}} (1. d4 d5) e5 {shuffle} 2. d4 1/2-1/2\n'
    )
    record = read(tmp_path, "x.pgn", text)
    assert record.start.game.params["draws"] == "automatic"
    assert len(record.turns) == 15
    assert (record.players, record.result) == (("Alice", ""), "1/2-1/2")
    assert record.headers["Opening"] == "none"


EMPTY = '"start": {"board": ["...", "...", "..."]}'
DEALT = '"start": {"hands": [[1, 2, 3, 4], [1, 2, 3, 4]], "points": [0, 0]}'
HEXGUI = "(;AP[HexGui:0.9.GIT]FF[4]GM[11]SZ[5]"


def test_sgf_of_hexgui(tmp_path: Path) -> None:
    text = f"{HEXGUI}C[an \\] example];B[a2];W[swap-pieces]\n;B[c3]C[good];W[d4](;B[e1];W[resign])(;B[e2]))"
    record = read(tmp_path, "x.sgf", text)
    assert record.start.game.params == {"size": 5, "swap": True}
    assert str(record.states()[-1]) == str(rf.make("hex", size=5, swap=True).state("a2 swap c3 d4 e1"))
    assert (record.result, record.resigned, record.note) == ("1-0", 1, "")
    assert record.headers["C"].startswith("an ] example")


def test_sgf_with_stones_to_begin_with(tmp_path: Path) -> None:
    record = read(tmp_path, "x.sgf", f"{HEXGUI};AB[a1][b1]AW[a2]PL[W];W[c3])")
    assert record.start.fields["board"][:2] == ["xx...", "o...."]
    assert record.start.acting == (1,)
    assert len(record.turns) == 1


@pytest.mark.parametrize(
    ("moves", "board"),
    [
        (";B[a2];W[swap-sides];W[c4];B[e1]", [".o...", ".....", "...x.", ".....", "o...."]),
        (";W[c4];B[e1]", [".....", ".....", "...x.", ".....", "o...."]),
        (";AB[e1]AW[c4]PL[W]", [".....", ".....", "...x.", ".....", "o...."]),
    ],
)
def test_sgf_in_which_white_is_the_one_to_start_is_mirrored(tmp_path: Path, moves: str, board: list[str]) -> None:
    """White joins left and right there; here player 0, who starts, joins top and bottom."""
    record = read(tmp_path, "x.sgf", f"{HEXGUI}{moves})")
    assert record.states()[-1].fields["board"] == board
    assert "mirror image" in record.note


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("x.sgf", f"{HEXGUI}\n;B[a2]\n;W[z9])", "line 3: White z9: 'z9' is not a cell of a board of size 5"),
        ("x.sgf", f"{HEXGUI}\n;B[a2]\n;W[a2])", "line 3: White a2: this is not a legal move"),
        ("x.sgf", f"{HEXGUI}\n;B[a2]\n;B[a3])", "line 3: Black a3: it is the other player's turn"),
        ("x.sgf", f"{HEXGUI}\n;B[a2]\n;W[a3]", "line 3: the file ends in the middle"),
        ("x.sgf", f"{HEXGUI}\n;B[a2]\n;W[a3)", "line 3: a bracket"),
        ("x.sgf", f"{HEXGUI}\n;B[a2]\n;AW[a3])", "line 3: stones can only be placed"),
        ("x.sgf", f"{HEXGUI}\n;AW[a3][b3][c3])", "line 2: hex: with 0 x and 3 o"),
        ("x.sgf", "(;GM[1]SZ[19])", "line 1: GM[1] is another game"),
        ("x.sgf", "(;GM[11]\nSZ[9:11])", "line 2: SZ[9:11]"),
        ("x.sgf", "(;GM[11]\nSZ[99])", "line 2: game 'hex': size"),
        ("x.sgf", "(;GM[11])", "line 1: the size of the board is missing"),
        ("x.sgf", "nothing", "line 1: an SGF file begins"),
        ("x.pgn", '[White "x"]\n\n1. e4 e5\n2. Nf3 Nf3 *\n', "line 4: illegal san: 'Nf3'"),
        ("x.pgn", '[FEN "nonsense"]\n\n1. e4 *\n', "expected"),
        ("x.pgn", '[Variant "Crazyhouse"]\n\n1. e4 *\n', "razyhouse"),
        ("x.pgn", "\n", "line 1: there is no game"),
        ("x.json", '{\n"game": 1,\n', "line 3: Expecting"),
        ("x.json", "[]", "line 1: a saved game is an object"),
        ("x.json", '{"game": "hxe",\n"start": {},\n"actions": []}', "hxe"),
        ("x.json", '{"game": "tictactoe",\n"start": {"board": 7},\n"actions": []}', "line 2: tictactoe: board"),
        (
            "x.json",
            f'{{"game": "tictactoe", {EMPTY},\n"actions": [\n"a1",\n"a1"]}}',
            "line 4: 'a1' names no legal action",
        ),
        (
            "x.json",
            f'{{"game": "goofspiel", {DEALT},\n"actions": [["1", "2"],\n"3"]}}',
            "line 3: '3': 2 of the players",
        ),
        ("x.txt", "", "games are loaded from .json, .pgn, .sgf files"),
    ],
)
def test_mistakes_name_the_line(tmp_path: Path, name: str, text: str, problem: str) -> None:
    if name.endswith("pgn"):
        pytest.importorskip("chess")
    with pytest.raises(GameFileError) as raised:
        read(tmp_path, name, text)
    assert problem in str(raised.value)
    assert name in str(raised.value)


def test_names_in_latin_1_are_read(tmp_path: Path) -> None:
    pytest.importorskip("chess")
    (tmp_path / "x.pgn").write_bytes('[White "J\u00e9r\u00f4me"]\n\n1. e4 e5 *\n'.encode("latin-1"))
    record = read_game(tmp_path / "x.pgn")
    assert record.players[0] == "J\u00e9r\u00f4me"
    assert len(record.turns) == 2


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "x.sgf").write_bytes(b"\xff\xfe(;")
    with pytest.raises(GameFileError, match="not a text file"):
        read_game(tmp_path / "x.sgf")
