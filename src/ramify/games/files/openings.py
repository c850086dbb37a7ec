"""Openings from files: lines of actions, positions (EPD, FEN), or the first moves of games (PGN).

An opening is a tuple of words: the names of its actions and, where it does not start from the initial position,
``POSITION`` and the text of that position as its first word.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ramify.games.files.record import GameFileError, read_text
from ramify.games.notation import play_words
from ramify.games.protocol import Game, State

POSITION = "position "  # what a first word begins with that is a position
POSITIONS = (".epd", ".fen")
FEN_FIELDS = 6
SHIPPED = Path(__file__).parent / "shipped"  # opening files that come with the package, known by their names alone
COUNTERS = {"hmvc": 4, "fmvn": 5}  # operations of EPD that are fields of a FEN

Words = tuple[str, ...]


def is_opening_file(text: str) -> bool:
    """Whether a text names a file: its name, or that of a PGN file, a colon and a number of moves."""
    return _split(text)[0].is_file()


def read_openings(text: str) -> list[Words]:
    """The openings in a file: ``.pgn`` the moves of every game, ``.pgn:16`` the first 16 of them, ``.epd`` and ``.fen``
    positions, anything else one opening per line. The name alone is enough for files that come with the package."""
    path, most = _split(text)
    try:
        lines = read_text(path).splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is not a text file with openings") from None
    except OSError as error:
        raise ValueError(f"there is no file {str(path)!r} with openings: {error.strerror}") from None
    if path.suffix.lower() == ".pgn":
        return _from_pgn(path, most)
    kept = {number: text for number, line in enumerate(lines, 1) if (text := line.strip()) and text[0] != "#"}
    if path.suffix.lower() in POSITIONS:
        return [(POSITION + _position(path, number, line),) for number, line in kept.items()]
    return [tuple(line.split()) for line in kept.values()]


def _position(path: Path, number: int, line: str) -> str:
    """The FEN in a line of a file; a GameFileError says which line has none."""
    from ramify.games.registry import make

    try:
        fen = epd_to_fen(line)
        make("chess").state(fen)  # type: ignore[attr-defined]
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise GameFileError(f"{path}, line {number}: {reason}") from None
    return fen


def _split(text: str) -> tuple[Path, int | None]:
    """A file, and the number of moves behind a colon."""
    name, colon, count = text.rpartition(":")
    if colon and count.isdecimal() and name.lower().endswith(".pgn"):
        return _found(name), int(count)
    return _found(text), None


def _found(name: str) -> Path:
    """The file with this name, or the one of this name that comes with the package."""
    path = Path(name)
    if path.name == name and not path.exists() and (SHIPPED / name).is_file():
        return SHIPPED / name
    return path


def _from_pgn(path: Path, most: int | None) -> list[Words]:
    from ramify.games.files import read_games

    found: list[Words] = []
    for record in read_games(path):
        if isinstance(record, GameFileError):
            raise record
        state, words = record.start.copy(), list[str]()
        if state.key != state.game.initial_state().key:
            words.append(POSITION + state.fen)  # type: ignore[attr-defined]
        for turn in record.turns[:most]:
            words.append(state.action_name(turn[0]))
            state.apply(*turn)
        found.append(tuple(words))
    return found


def epd_to_fen(line: str) -> str:
    """The position of a line of EPD, or of a FEN, with the counters that it tells, else 0 and 1."""
    head, *operations = line.split(";")
    words = head.split()
    if len(words) < 4:
        raise ValueError(f"{line!r} is not a position in EPD or FEN")
    fields = [*words[:4], "0", "1"]
    if len(words) >= FEN_FIELDS and words[4].isdecimal() and words[5].isdecimal():
        return " ".join(words[:FEN_FIELDS])
    for operation in [" ".join(words[4:]), *operations]:
        name, _, value = operation.strip().partition(" ")
        if name in COUNTERS and value.strip().isdecimal():
            fields[COUNTERS[name]] = value.strip()
    return " ".join(fields)


def start_of_opening(game: Game, words: Sequence[str], seed: int | None = 0) -> tuple[State, Sequence[str]]:
    """The position in which an opening starts, and the names of its actions."""
    if not words or not words[0].startswith(POSITION):
        return game.initial_state(seed), words
    return read_position(game, words[0].removeprefix(POSITION)), words[1:]


def read_position(game: Game, text: str) -> State:
    """A position from its short text, or from its fields as a JSON object."""
    build: Any = getattr(game, "state", None)
    if build is None:
        raise ValueError(f"positions of {game.name} cannot be given as text")
    if text.lstrip().startswith("{"):
        state: State = build(**json.loads(text))
    else:
        state = build(text)
    return state


def play_opening(game: Game, words: Sequence[str], seed: int | None = 0) -> tuple[State, list[tuple[int, ...]]]:
    """The position after an opening, and its actions turn by turn."""
    state, names = start_of_opening(game, words, seed)
    return state, play_words(state, names)
