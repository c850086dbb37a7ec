"""Queries of the analysis over JSON lines, and the answers to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ramify.engine import SearchConfig, SearchResult
from ramify.engine.result_text import continuation, line_names, ranking
from ramify.games import Game, State, make
from ramify.games.failures import first_line
from ramify.games.files.openings import read_position
from ramify.games.notation import play_words, read_action

FIELDS = {
    "id": (str, int),
    "action": (str,),
    "game": (str,),
    "params": (dict,),
    "position": (str, dict),
    "actions": (list, str),
    "turns": (list,),
    "only": (list,),
    "simulations": (int,),
    "settings": (dict,),
    "seed": (int,),
    "top": (int,),
    "priority": (int,),
    "report_every": (int, float),
}
ACTIONS = ("terminate", "terminate_all", "clear_cache", "version")
ACTION_FIELDS = {"id", "action", "terminate_id"}


class QueryError(ValueError):
    """A query that cannot be answered; ``field`` is where the mistake is."""

    def __init__(self, problem: str, field: str | None = None) -> None:
        super().__init__(problem)
        self.field = field


@dataclass(frozen=True)
class Job:
    """One position that a query asks for."""

    id: str | int
    turn: int
    state: State
    config: SearchConfig
    seed: int
    only: Any
    top: int | None
    priority: int
    report_every: float | None


@dataclass(frozen=True)
class Defaults:
    """What holds where a query says nothing."""

    game: str | None
    params: dict[str, Any]
    settings: dict[str, Any]


def read_jobs(query: dict[str, Any], defaults: Defaults) -> list[Job]:
    """The positions that a query asks for; a QueryError names the field that is wrong."""
    check_fields(query)
    game = _game(query, defaults)
    try:
        config = SearchConfig(**{**defaults.settings, **query.get("settings", {}), **_simulations(query)})
    except (ValueError, TypeError) as error:
        raise QueryError(str(error), "settings") from None
    states = _states(query, game)
    last = len(states) - 1
    turns = query.get("turns", [last])
    if not all(isinstance(turn, int) and not isinstance(turn, bool) and 0 <= turn <= last for turn in turns):
        raise QueryError(f"turns must be numbers of turns from 0 to {last}", "turns")
    return [_job(query, turn, states[turn], config) for turn in turns]


def check_fields(query: dict[str, Any]) -> None:
    """Raise a QueryError for an unknown field or one of the wrong type."""
    if "id" not in query:
        raise QueryError("a query needs an id", "id")
    for name, value in query.items():
        if name not in FIELDS:
            raise QueryError(f"there is no field {name!r}; the fields are {', '.join(FIELDS)}", name)
        if not isinstance(value, FIELDS[name]) or isinstance(value, bool):
            known = " or ".join(kind.__name__ for kind in FIELDS[name])
            raise QueryError(f"{name} must be of type {known}, not {type(value).__name__}", name)
    if query.get("top", 1) < 1:
        raise QueryError("top must be at least 1", "top")
    if query.get("report_every", 1) <= 0:
        raise QueryError("report_every must be above 0 seconds", "report_every")
    if not 0 <= query.get("seed", 0) < 2**63:
        raise QueryError("seed must be at least 0 and below 2^63", "seed")


def _simulations(query: dict[str, Any]) -> dict[str, Any]:
    return {"simulations": query["simulations"]} if "simulations" in query else {}


def _game(query: dict[str, Any], defaults: Defaults) -> Game:
    name = query.get("game", defaults.game)
    if name is None:
        raise QueryError("a query needs a game", "game")
    usual = defaults.params if name == defaults.game else {}
    try:
        return make(name, **{**usual, **query.get("params", {})})
    except (ValueError, TypeError, ImportError) as error:
        raise QueryError(str(error), "params" if "params" in query else "game") from None


def _states(query: dict[str, Any], game: Game) -> list[State]:
    """Every position of the line of play, the start first."""
    try:
        state = _start(query, game)
    except (ValueError, TypeError) as error:
        raise QueryError(str(error).partition("\n")[0], "position") from None
    given = query.get("actions", [])
    turns = given.split() if isinstance(given, str) else given
    words = [str(word) for turn in turns for word in (turn if isinstance(turn, list) else [turn])]
    states, at = [state.copy()], 0
    try:
        while at < len(words):
            count = len(state.acting)
            play_words(state, words[at : at + max(count, 1)])
            at += max(count, 1)
            states.append(state.copy())
    except ValueError as error:
        raise QueryError(first_line(error), "actions") from None
    return states


def _start(query: dict[str, Any], game: Game) -> State:
    position = query.get("position")
    if position is None:
        return game.initial_state(seed=query.get("seed", 0))
    if isinstance(position, str):
        return read_position(game, position)
    build: Any = getattr(game, "state", None)
    if build is None:
        raise ValueError(f"positions of {game.name} cannot be given")
    state: State = build(**position)
    return state


def _job(query: dict[str, Any], turn: int, state: State, config: SearchConfig) -> Job:
    if state.is_over:
        raise QueryError(f"the game is over after {turn} turns: there is nothing to search", "turns")
    return Job(
        query["id"],
        turn,
        state,
        config,
        query.get("seed", 0),
        _only(query, state),
        query.get("top"),
        query.get("priority", 0),
        query.get("report_every"),
    )


def _only(query: dict[str, Any], state: State) -> Any:
    """The actions to which the search is limited, as ``Searcher.run`` takes them; None: all."""
    if "only" not in query:
        return None
    lists = query["only"] if len(state.acting) == 2 else [query["only"]]
    if len(lists) != len(state.acting):
        raise QueryError("only needs a list of actions for each acting player", "only")
    try:
        read = [
            [read_action(state, str(word), player, numbers=True) for word in words] or None
            for player, words in zip(state.acting, lists, strict=True)
        ]
    except (ValueError, TypeError) as error:
        raise QueryError(first_line(error), "only") from None
    return tuple(read) if len(read) == 2 else read[0]


def answer(job: Job, result: SearchResult, final: bool) -> dict[str, Any]:
    """What a search found, as plain data."""
    stats = {name: value for name, value in result.stats.items() if isinstance(value, int | float | str | bool)}
    return {
        "id": job.id,
        "turn": job.turn,
        "final": final,
        "acting": list(result.acting),
        "value": [float(value) for value in result.value],
        "proven": None if result.proven is None else [float(value) for value in result.proven],
        "line": line_names(job.state, result.principal_variation or [result.best_action]),
        "actions": [row for player in result.acting for row in _rows(job, result, player)],
        "stats": stats,
    }


def _rows(job: Job, result: SearchResult, player: int) -> list[dict[str, Any]]:
    """The actions of a player, best first."""
    visits = result.visits.sum(axis=1 - player)
    total, rows = max(int(visits.sum()), 1), []
    for place in ranking(result, player)[: job.top]:
        action = int(result.outcomes[player][place])
        rows.append(
            {
                "player": player,
                "action": action,
                "name": job.state.action_name(action, player),
                "visits": int(visits[place]),
                "share": float(visits[place] / total),
                "value": float(result.q[player][place]) if visits[place] else None,
                "prior": float(result.priors[player][place]),
                "line": continuation(job.state, result, player, int(place)),
            }
        )
    return rows
