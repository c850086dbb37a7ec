"""Base of the checks: stages, the position under examination, and its observable properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np

from ramify.games.broken import BrokenGame
from ramify.games.protocol import Game, State
from ramify.games.report import Turn

Facts = dict[str, Any]
Seen = Iterator[str]
T = TypeVar("T")


class Stage(IntEnum):
    """The stages of checks; each relies on the ones before it."""

    FORM = 0
    REPEATABLE = 1
    HANDLING = 2
    MEANING = 3


@dataclass
class Visit:
    """A position under examination. Checks must not change `state`."""

    game: Game
    state: State
    seed: int
    history: Sequence[Turn]
    rng: np.random.Generator
    memory: Memory

    def some_turn(self, state: State | None = None) -> Turn:
        """A random legal action per acting player."""
        return some_turn(self.state if state is None else state, self.rng)


@dataclass
class Memory:
    """Positions seen so far by key, and the number of compared pairs with equal keys."""

    met: dict[int, tuple[Facts, int, tuple[Turn, ...]]] = field(default_factory=dict)
    transpositions: int = 0


@dataclass(frozen=True)
class Check:
    promise: str
    stage: Stage
    look: Callable[[Visit], Seen]


CHECKS: list[Check] = []


def promise(name: str, stage: Stage) -> Callable[[Callable[[Visit], Seen]], Callable[[Visit], Seen]]:
    """Decorator that registers a check of a promise, to be run on every position examined."""

    def add(look: Callable[[Visit], Seen]) -> Callable[[Visit], Seen]:
        CHECKS.append(Check(name, stage, look))
        return look

    return add


# What can be seen of a state.


class CallFailedError(Exception):
    """A call that must work raised an error, which is the cause; `promise` is the violated one."""

    def __init__(self, promise: str, call: str) -> None:
        super().__init__(promise, call)
        self.promise = promise
        self.call = call


def ask(promise: str, call: Callable[..., T], *args: Any) -> T:
    """Call the game; an error counts as a violation of that promise, whatever check is running."""
    try:
        return call(*args)
    except BrokenGame:
        raise  # says itself which method is to blame
    except Exception as error:
        shown = ", ".join(repr(argument) for argument in args if isinstance(argument, int))
        raise CallFailedError(promise, f"{call.__name__}({shown})" if shown else "") from error


def some_turn(state: State, rng: np.random.Generator) -> Turn:
    return tuple(int(rng.choice(state.legal_actions(player))) for player in state.acting)


def play(state: State, turn: Turn) -> Any:
    """Apply a legal turn."""
    return ask("playing", state.apply, *turn)


def is_chance(state: State) -> bool:
    """Whether chance decides here. States of games without chance events need not say so."""
    return bool(getattr(state, "is_chance", False))


def play_alike(states: Sequence[State], turn: Turn, rng: np.random.Generator) -> str | None:
    """Apply a legal turn to states that should be equal, with the same outcomes of chance; returns a difference.

    The dice of the states themselves may differ, since the number of chance events before does.
    """
    if not hasattr(states[0], "apply_only"):
        return _paid(states, "playing", "apply", turn)
    changed = _paid(states, "playing", "apply_only", turn)
    while changed is None and any(map(is_chance, states)):
        events = [event_of(state) for state in states]
        changed = difference(events[0], events[1])
        if changed is None:
            outcome = int(rng.choice(events[0]["outcomes"], p=events[0]["probabilities"]))
            changed = _paid(states, "chance", "apply_only", (outcome,))
    return changed


def _paid(states: Sequence[State], promise: str, method: str, turn: Turn) -> str | None:
    paid = [{"rewards": ask(promise, getattr(state, method), *turn)} for state in states]
    return difference(paid[0], paid[1])


def event_of(state: Any) -> Facts:
    """The chance event of a position."""
    outcomes, probabilities = ask("chance", state.chance_outcomes)
    return {"is_chance": is_chance(state), "outcomes": outcomes, "probabilities": probabilities}


def facts(state: State) -> Facts:
    """All observable properties of a position, copied."""
    seen = {"key": ask("keys", getattr, state, "key"), "text": ask("text", str, state)}
    return {**view(state), **seen, "returns": state.returns.copy()}


def view(state: State) -> Facts:
    """The properties that must be equal for equal keys."""
    seen: Facts = {"acting": ask("acting", getattr, state, "acting")}
    for player in (0, 1):
        seen[f"legal_actions({player})"] = ask("legal actions", state.legal_actions, player).copy()
        seen[f"observation({player})"] = ask("observation", state.observation, player).copy()
    return seen


def difference(one: Facts, other: Facts) -> str | None:
    """The difference of two collections of properties, or None."""
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            if not _same(value, other[name]):
                return f"{name} is {short(value)} and {short(other[name])}{_places(value, other[name])}"
        elif value != other[name]:
            return f"{name} is {short(value)} and {short(other[name])}"
    return None


def _same(one: Any, other: Any) -> bool:
    """Whether arrays are equal; compares bytes first, which is fast and nearly always sufficient."""
    return (one.shape == other.shape and one.tobytes() == other.tobytes()) or np.array_equal(one, other)


def _places(one: Any, other: Any) -> str:
    """The indices at which two long arrays differ."""
    if one.shape != other.shape or one.size < 10:
        return ""
    places = np.argwhere(one != other)
    return f" ({len(places)} values differ, the first at {tuple(places[0].tolist())})"


def short(value: Any) -> str:
    text = " ".join(repr(value.ravel().tolist() if isinstance(value, np.ndarray) else value).split())
    return text if len(text) <= 120 else text[:117] + "..."
