"""Handling: copies, arrays, pickling, invalid calls and fields of a state."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import IllegalAction
from ramify.games.promises.base import (
    Facts,
    Seen,
    Stage,
    Visit,
    ask,
    difference,
    facts,
    play,
    promise,
    short,
)
from ramify.games.protocol import State
from ramify.games.report import Turn


@promise("copies", Stage.HANDLING)
def copies(visit: Visit) -> Seen:
    state, before = visit.state, facts(visit.state)
    copy = state.copy()
    if changed := difference(before, facts(copy)):
        yield f"of a state and its copy {changed}"
        return
    if not state.is_over:
        turn = visit.some_turn()
        play(copy, turn)
        if changed := difference(before, facts(state)):
            yield f"before and after applying {turn} to a copy, {changed}"
            return
        original = state.copy()
        copy = original.copy()
        play(original, turn)
        if changed := difference(before, facts(copy)):
            yield f"for a copy before and after applying {turn} to its original, {changed}"
            return
        if seen := _next_state(state, turn, before, facts(original)):
            yield seen
            return
    yield from _given_arrays(state.copy(), before)


def _next_state(state: State, turn: Turn, before: Facts, applied: Facts) -> str | None:
    """Errors of after(...), which must return a copy with the turn applied and leave the state unchanged."""
    given = ", ".join(map(str, turn))
    if changed := difference(applied, facts(ask("playing", state.after, *turn))):
        return f"of a copy with {turn} applied and after({given}) {changed}"
    if changed := difference(before, facts(state)):
        return f"before and after the call after({given}), {changed}"
    return None


def _given_arrays(state: State, before: Facts) -> Seen:
    """Whether writing into an array returned by a state changes the state."""
    arrays: dict[str, NDArray[Any]] = {"returns": state.returns}
    for player in (0, 1):
        arrays[f"observation({player})"] = state.observation(player)
        arrays[f"legal_actions({player})"] = state.legal_actions(player)
        arrays[f"legal_mask({player})"] = state.legal_mask(player)
    for name, array in arrays.items():
        if array.flags.writeable:
            array[...] = 77  # True in a mask
            if changed := difference(before, facts(state)):
                yield f"before and after writing into the array that {name} gave, {changed}"
                return


@promise("names", Stage.HANDLING)
def named(visit: Visit) -> Seen:
    """Every legal action has a name: before illegal actions are refused with a message that lists the legal ones."""
    for player in visit.state.acting:
        for action in visit.state.legal_actions(player).tolist():
            name = visit.state.action_name(action, player)
            if not isinstance(name, str) or not name:
                yield f"action_name({action}, {player}) is {name!r}"
                return


@promise("illegal actions", Stage.HANDLING)
def illegal_actions(visit: Visit) -> Seen:
    before = facts(visit.state)
    calls = (("apply", visit.state.apply), ("after", visit.state.after))
    for actions, (name, call) in product(_unplayable(visit), calls):
        given = ", ".join(map(repr, actions))
        try:
            call(*actions)
        except IllegalAction:
            pass
        except Exception as error:
            yield f"{name}({given}) raised {type(error).__name__}: {error}"
            return
        else:
            yield f"{name}({given}) raised nothing"
            return
        if changed := difference(before, facts(visit.state)):
            yield f"before and after {name}({given}) was refused, {changed}"
            return


def _unplayable(visit: Visit) -> Iterator[tuple[Any, ...]]:
    """Arguments of apply that must be rejected."""
    state, count = visit.state, visit.game.num_actions
    if state.is_over:
        yield from [(0,), (count - 1,), (0, 0), ()]
        return
    good = visit.some_turn()
    yield from [(), (*good, good[0])]
    for place, player in enumerate(state.acting):
        outside = np.setdiff1d(np.arange(count), state.legal_actions(player))
        some = [int(action) for action in visit.rng.permutation(outside)[:3]]
        for bad in [*some, -1, count, 2**40, 0.5, None]:
            yield (*good[:place], bad, *good[place + 1 :])


@promise("pickling", Stage.HANDLING)
def pickling(visit: Visit) -> Seen:
    state = visit.state
    twin = pickle.loads(pickle.dumps(state))
    if changed := difference(facts(state), facts(twin)):
        yield f"of a state and its pickled twin {changed}"
    elif not visit.history and pickle.loads(pickle.dumps(visit.game)) != visit.game:
        yield "the game is not equal to its pickled twin"
    elif not state.is_over:
        turn, copy = visit.some_turn(), state.copy()
        if not np.array_equal(play(copy, turn), play(twin, turn)):
            yield f"after {turn} a state and its pickled twin get different rewards"
        elif changed := difference(facts(copy), facts(twin)):
            yield f"after {turn}, of a state and its pickled twin {changed}"


@promise("fields", Stage.HANDLING)
def fields(visit: Visit) -> Seen:
    """Fields are optional."""
    parts, build = getattr(visit.state, "fields", None), getattr(visit.game, "state", None)
    if parts is None or build is None:
        return
    if changed := difference(facts(visit.state), facts(build(**parts))):
        yield f"of a state and one built from its fields {changed}"


@promise("text", Stage.HANDLING)
def picture(visit: Visit) -> Seen:
    if visit.history and not visit.state.is_over:
        return  # drawing is slow: only the first and the last position are drawn
    svg = visit.state.svg()
    if not isinstance(svg, str) or "<svg" not in svg or "</svg>" not in svg:
        yield f"svg() gave {short(svg)}"
