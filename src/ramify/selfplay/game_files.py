"""Game records from files of games (PGN, SGF, JSON), and files from game records.

Games that people or other programs played become training data without a teacher: the policy target is the move that
was played, the value target the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramify.engine.config import SearchConfig
from ramify.games import Game, State, make
from ramify.games.files import GameFileError, read_games, result_of
from ramify.games.files import GameRecord as PlayedGame
from ramify.games.files.openings import read_position
from ramify.games.files.pgn import value_comment
from ramify.games.files.record import MoveNote, Result
from ramify.selfplay.encoding import Label, RecordWriter
from ramify.selfplay.records import GameRecord, Header
from ramify.selfplay.starts import position_text

RETURNS: dict[Result, tuple[float, float]] = {"1-0": (1.0, -1.0), "0-1": (-1.0, 1.0), "1/2-1/2": (0.0, 0.0)}


@dataclass(frozen=True)
class Skipped:
    """A game of a file that became no record, and why."""

    reason: str


def import_header(game: Game) -> dict[str, Any]:
    """The header of shards with imported games."""
    search = SearchConfig().model_dump(exclude={"cache"})
    return {"game": game.name, "params": game.params, "search": search, "play": {}, "seed": 0, "imported": True}


def game_of_file(path: Path) -> Game:
    """The game that the first game of a file is; the parameters of chess are the usual ones."""
    for played in read_games(path):
        if not isinstance(played, GameFileError):
            found = played.start.game
            return make("chess") if found.name == "chess" else found
        raise played
    raise GameFileError(f"{path}: there is no game in this file")


def import_games(game: Game, path: Path, first: int) -> Iterator[bytes | Skipped]:
    """The games of a file as records with numbers from ``first`` on."""
    number = first
    for played in read_games(path):
        if isinstance(played, GameFileError):
            yield Skipped(str(played))
            continue
        found = played_record(game, played, number)
        number += isinstance(found, bytes)
        yield found


def played_record(game: Game, played: PlayedGame, number: int) -> bytes | Skipped:
    """A game as a record in which every move is a policy target and the result is the value."""
    own = played.start.game
    size = {name: value for name, value in own.params.items() if name != "draws"}
    if own.name != game.name or any(game.params.get(name) != value for name, value in size.items()):
        return Skipped(f"it is a game of {own}, not of {game}")
    if own.simultaneous:
        return Skipped("both players act at once: only games in turn can be imported")
    if played.result not in RETURNS:
        return Skipped("it has no result")
    returns = RETURNS[played.result]
    start = start_text(played.start)
    state = game.initial_state(seed=0) if start is None else read_position(game, start)
    writer = RecordWriter(number, 0, start=start)
    for turn in played.turns:
        if state.is_over:  # games played elsewhere may go on where a draw could have been claimed
            break
        label = Label({turn[0]: 1.0}, returns[0])
        writer.add(state.acting[0], turn[0], state.legal_actions().tolist(), label)
        state.apply(*turn)
    if not writer.moves:
        return Skipped("it has no moves")
    return writer.finish(returns, resigned=not state.is_over and returns[0] != returns[1])


def start_text(start: State) -> str | None:
    """The first position as text; None if it is the game's initial position."""
    if start.key == start.game.initial_state(seed=0).key:
        return None
    return position_text(start)


def played_game(game: Game, header: Header, record: GameRecord) -> PlayedGame:
    """A record as a game for a file, with the values that searches found as comments."""
    states, notes = list(record.states(game)), list[MoveNote]()
    for move in record.moves:
        found = move.found
        simulations = None if found is None or "teacher" in header else int(found.visits.sum()) + 1
        notes.append(MoveNote() if found is None else MoveNote(value_note(game, float(found.value[0]), simulations)))
    last = states[-1]
    result: Result = result_of(last)
    if not last.is_over and not record.cut:
        first, second = (float(value) for value in record.returns)
        result = "1-0" if first > second else "0-1" if first < second else "1/2-1/2"
    loser = int(record.returns[0] > record.returns[1])
    name = str(header.get("network") or header.get("teacher", {}).get("command") or "")
    return PlayedGame(
        start=states[0],
        turns=tuple(move.actions for move in record.moves),
        result=result,
        resigned=loser if record.resigned else None,
        players=(name, name),
        headers={"Event": "self-play", "Round": str(record.number)} if game.name == "chess" else {},
        notes=tuple(notes),
    )


def value_note(game: Game, value: float, simulations: int | None) -> str:
    """The value of player 0 as a comment, in chess in the form that chess programs read."""
    if game.name == "chess":
        return value_comment(value, simulations)
    return f"value {value:+.3f}" + (f", {simulations} simulations" if simulations else "")
