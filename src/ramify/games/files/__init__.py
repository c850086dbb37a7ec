"""Games in files: JSON for every game, PGN for chess, SGF for Hex. The extension says which."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from ramify.games.files.record import GameFileError, GameRecord, MoveNote, Result, read_text, result_of
from ramify.games.protocol import Game

# extension: (module with dumps(record) and loads(text), the only game it is for)
FORMATS = {".json": ("json_format", None), ".pgn": ("pgn", "chess"), ".sgf": ("sgf", "hex")}


def extensions(game: Game) -> list[str]:
    """The kinds of files that can hold a game of this kind."""
    return [extension for extension, (_, only) in FORMATS.items() if only in (None, game.name)]


def write_game(path: Path | str, record: GameRecord) -> None:
    """Write a game in the format that the extension names."""
    path, game = Path(path), record.start.game
    if path.suffix.lower() not in extensions(game):
        raise GameFileError(f"{path.name!r}: a game of {game.name} is saved as {' or '.join(extensions(game))}")
    text: str = _module(path).dumps(record)
    path.write_text(text, encoding="utf-8")


def dumps(extension: str, record: GameRecord) -> str:
    """A game as the text of a file with this extension; texts of PGN and SGF may follow each other in one file."""
    text: str = _module(Path(extension)).dumps(record)
    return text


def read_game(path: Path | str) -> GameRecord:
    """The game in a file; a GameFileError says what is wrong with it, and in which line."""
    path = Path(path)
    text = _text(path)
    try:
        record: GameRecord = _module(path).loads(text)
    except GameFileError as error:
        raise GameFileError(f"{path}, {error}" if error.line else f"{path}: {error}") from None
    return record


def read_games(path: Path | str) -> Iterator[GameRecord | GameFileError]:
    """Every game in a file, which may be many in PGN; a game that cannot be read is given as its error."""
    path = Path(path)
    if path.suffix.lower() != ".pgn":
        try:
            yield read_game(path)
        except GameFileError as error:
            yield error
        return
    for found in _module(path).loads_all(_text(path)):
        yield GameFileError(f"{path}, {found}") if isinstance(found, GameFileError) else found


def _text(path: Path) -> str:
    """The text of a file of games."""
    if path.suffix.lower() not in FORMATS:
        raise GameFileError(f"{path.name!r}: games are loaded from {', '.join(FORMATS)} files")
    try:
        return read_text(path)
    except UnicodeDecodeError:
        raise GameFileError(f"{path}: not a text file") from None


def _module(path: Path) -> ModuleType:
    extension = path.suffix.lower() or path.name
    return importlib.import_module(f"{__name__}.{FORMATS[extension][0]}")


__all__ = [
    "FORMATS",
    "GameFileError",
    "GameRecord",
    "MoveNote",
    "Result",
    "dumps",
    "extensions",
    "read_game",
    "read_games",
    "result_of",
    "write_game",
]
