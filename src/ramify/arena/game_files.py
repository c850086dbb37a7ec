"""Games of the arena as files: PGN for chess, SGF for Hex, with the players' values as comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ramify.arena.played import Played
from ramify.games import Game
from ramify.games.files import GameFileError, GameRecord, MoveNote, dumps, extensions
from ramify.games.files.pgn import value_comment
from ramify.games.files.record import Result

REASONS = {"cut": "unterminated", "adjudicated": "adjudication", "forfeit": "rules infraction"}  # PGN's words
MANY = (".pgn", ".sgf")  # kinds of files that may hold several games


def check_file(game: Game, path: Path) -> None:
    """Raise a GameFileError unless the games of a match can be written to a file of this name."""
    possible = [extension for extension in extensions(game) if extension in MANY]
    if path.suffix.lower() not in possible:
        known = f"as {' or '.join(possible)}" if possible else "only in the store"
        raise GameFileError(f"{path.name!r}: games of {game.name} are saved {known}")


def write_games(path: Path, game: Game, games: Iterable[Played], names: Mapping[str, str]) -> int:
    """Write games to one file; ``names`` of players by identity. Returns how many there are."""
    check_file(game, path)
    texts = [dumps(path.suffix.lower(), game_record(game, played, names)) for played in games]
    path.write_text("\n".join(texts), encoding="utf-8")
    return len(texts)


def game_record(game: Game, played: Played, names: Mapping[str, str]) -> GameRecord:
    """A game of the arena as a game for a file."""
    fixture = played.fixture
    result: Result = "1/2-1/2" if played.winner is None else "1-0" if played.winner == 0 else "0-1"
    chess = game.name == "chess"
    headers = {"Event": "ramify match"} if chess else {}
    if chess and played.reason in REASONS:
        headers["Termination"] = REASONS[played.reason]
    notes = [MoveNote() if value is None else MoveNote(_comment(chess, value)) for value in played.values]
    return GameRecord(
        start=fixture.opening.first_state(game),
        turns=played.actions,
        result=result,
        players=(names.get(fixture.players[0], ""), names.get(fixture.players[1], "")),
        headers=headers,
        notes=tuple(notes),
    )


def _comment(chess: bool, value: float) -> str:
    return value_comment(value) if chess else f"value {value:+.3f}"
