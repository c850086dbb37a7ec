"""Games as JSON: any game, by the names of its actions."""

from __future__ import annotations

import json
import re
from typing import Any

from ramify.games.files.record import RESULTS, GameFileError, GameRecord
from ramify.games.protocol import State
from ramify.games.registry import make

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def dumps(record: GameRecord) -> str:
    """The text of the file. Where both players act at once, a turn is a list of two names."""
    states = record.states()
    game = record.start.game
    content = {
        "game": game.name,
        "parameters": game.params,
        "start": getattr(record.start, "fields", str(record.start)),
        "actions": [names_of(state, turn) for state, turn in zip(states, record.turns, strict=False)],
        "player": record.person,
        "players": list(record.players),
        "date": record.date,
        "result": record.result,
        "resigned": record.resigned,
        "returns": [float(value) for value in states[-1].returns],
        "over": states[-1].is_over,
    }
    return json.dumps(content, indent=2, default=_plain) + "\n"


def names_of(state: State, turn: tuple[int, ...]) -> str | list[str]:
    """A turn by the names of its actions."""
    names = [state.action_name(action, player) for action, player in zip(turn, state.acting, strict=True)]
    return names[0] if len(names) == 1 else names


def loads(text: str) -> GameRecord:
    """The game that a file of this text holds."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise GameFileError(error.msg, error.lineno) from None
    if not isinstance(content, dict) or not {"game", "start", "actions"} <= set(content):
        raise GameFileError("a saved game is an object with game, parameters, start and actions", 1)
    try:
        start = start_of(content)
    except (ValueError, TypeError) as error:
        raise GameFileError(str(error).partition("\n")[0], line_of(text, '"start"')) from None
    resigned, result = content.get("resigned"), content.get("result", "*")
    players = content.get("players") or ["", ""]
    return GameRecord(
        start=start,
        turns=turns_of(text, start, content["actions"]),
        result=result if result in RESULTS else "*",
        resigned=resigned if resigned in (0, 1) else None,
        players=(str(players[0]), str(players[-1])),
        date=str(content.get("date") or ""),
        person=content["player"] if content.get("player") in (0, 1) else None,
    )


def start_of(content: dict[str, Any]) -> State:
    """The first position."""
    game = make(content["game"], **(content.get("parameters") or {}))
    if not isinstance(content["start"], dict):
        raise ValueError(f"a position of {game.name} cannot be read back from its text")
    state: State = game.state(**content["start"])  # type: ignore[attr-defined]
    return state


def turns_of(text: str, start: State, actions: Any) -> tuple[tuple[int, ...], ...]:
    """The turns, each checked by playing it."""
    if not isinstance(actions, list):
        raise GameFileError("actions are a list of names", line_of(text, '"actions"'))
    state, turns, seen = start.copy(), [], 0
    for names in actions:
        both = names if isinstance(names, list) else [names]
        seen += len(both)
        try:
            if len(both) != len(state.acting):
                raise ValueError(f"{names!r}: {len(state.acting)} of the players act here")
            turn = tuple(state.action(str(name), player) for name, player in zip(both, state.acting, strict=True))
        except ValueError as error:
            problem = str(error).partition("\n")[0].partition(" (legal: ")[0]
            raise GameFileError(problem, line_of(text, '"actions"', seen)) from None
        state.apply(*turn)
        turns.append(turn)
    return tuple(turns)


def line_of(text: str, key: str, string: int = 0) -> int:
    """The line of a key, or of so many strings after it."""
    place = max(text.find(key), 0)
    found = list(STRING.finditer(text, place))
    if found:
        place = found[min(string, len(found) - 1)].start()
    return text.count("\n", 0, place) + 1


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
