"""Meaning: consistency of names, outcomes, symmetries and keys with the rules."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ramify._core import IllegalAction
from ramify.games.promises.base import (
    Facts,
    Seen,
    Stage,
    Visit,
    difference,
    facts,
    play,
    play_alike,
    promise,
    short,
    some_turn,
    view,
)
from ramify.games.protocol import State, Symmetry
from ramify.games.report import Turn

FUTURE = 60  # turns over which two futures are compared


@promise("names", Stage.MEANING)
def names(visit: Visit) -> Seen:
    state = visit.state
    for player in state.acting:
        known: dict[str, int] = {}
        for action in state.legal_actions(player).tolist():
            name = state.action_name(action, player)
            if name in known:
                yield f"actions {known[name]} and {action} of player {player} are both called {name!r}"
            elif (found := state.action(name, player)) != action:
                yield f"action {action} of player {player} is called {name!r}, which names {found}"
            else:
                known[name] = action
                continue
            return
        with suppress(IllegalAction):
            yield f"action('no such name', {player}) gave {state.action('no such name', player)!r}"
    if not state.is_over:
        yield from _played_by_name(visit)


def _played_by_name(visit: Visit) -> Seen:
    """Whether apply takes names for numbers, and refuses what names nothing."""
    state = visit.state
    turn = some_turn(state, np.random.default_rng(visit.seed))  # leaves what other checks draw as it is
    called = [state.action_name(action, player) for action, player in zip(turn, state.acting, strict=True)]
    by_number, by_name = state.copy(), state.copy()
    play(by_number, turn)
    by_name.apply(*called)
    if changed := difference(facts(by_number), facts(by_name)):
        yield f"after apply({', '.join(map(str, turn))}) and apply({', '.join(map(repr, called))}) {changed}"
        return
    unnamed, given = state.copy(), [*called[:-1], "no such name"]
    with suppress(IllegalAction):
        unnamed.apply(*given)
        yield f"apply({', '.join(map(repr, given))}) raised nothing"
        return
    if changed := difference(facts(state), facts(unnamed)):
        yield f"before and after apply({', '.join(map(repr, given))}) was refused, {changed}"


@promise("outcomes", Stage.MEANING)
def outcomes(visit: Visit) -> Seen:
    for player in (0, 1):
        actions, index = visit.state.outcomes(player)
        problem = _outcome_form(visit, player, actions, index)
        if problem:
            yield problem
            return
        for outcome in visit.rng.permutation(len(actions))[:4]:
            group = np.flatnonzero(index == outcome)
            other = int(visit.rng.choice(group))
            yield from _same_effect(visit, player, int(actions[outcome]), other)


def _outcome_form(visit: Visit, player: int, actions: Any, index: Any) -> str | None:
    legal = visit.state.legal_actions(player)
    for name, array in (("actions", actions), ("index", index)):
        if not isinstance(array, np.ndarray) or array.dtype != np.int32 or array.ndim != 1:
            return f"outcomes({player}): {name} is {short(array)}, no int32 array of one dimension"
    if not np.isin(actions, legal).all() or (np.diff(actions) <= 0).any():
        return f"outcomes({player}): actions {short(actions)} are not ascending legal actions"
    if len(index) != visit.game.num_actions or not np.array_equal(np.flatnonzero(index >= 0), legal):
        return f"outcomes({player}): index {short(index)} does not cover the legal actions {short(legal)}"
    if (index < -1).any() or (index >= len(actions)).any():
        return f"outcomes({player}): index {short(index)} points outside the {len(actions)} outcomes"
    if not np.array_equal(index[actions], np.arange(len(actions))):
        return f"outcomes({player}): an action of {short(actions)} is not in its own outcome"
    return None


def _same_effect(visit: Visit, player: int, one: int, other: int) -> Seen:
    """Whether two actions of one outcome lead to one key with the same rewards."""
    turn, place = list(visit.some_turn()), visit.state.acting.index(player)
    results = []
    for action in (one, other):
        state = visit.state.copy()
        turn[place] = action
        results.append({"rewards": play(state, tuple(turn)), "key": state.key})
    if one != other and (changed := difference(*results)):
        yield f"actions {one} and {other} of player {player} form one outcome, but then {changed}"


@promise("symmetries", Stage.MEANING)
def symmetries(visit: Visit) -> Seen:
    for k in visit.rng.permutation(len(visit.game.symmetries))[:4].tolist():
        for seen in _symmetry(visit, k, visit.game.symmetries[k]):
            yield f"symmetry {k} ({visit.game.symmetries[k].name}): {seen}"
            return


def _symmetry(visit: Visit, k: int, symmetry: Symmetry) -> Seen:
    state, image = visit.state, visit.state.transform(k)
    expected: Facts = {"acting": _image_acting(state.acting, symmetry)}
    for player in (0, 1):
        there = 1 - player if symmetry.swaps_players else player
        expected[f"legal_actions({there})"] = np.sort(symmetry.actions[state.legal_actions(player)])
        flat = state.observation(player).ravel()[symmetry.observation]
        expected[f"observation({there})"] = flat.reshape(visit.game.observation_shape)
    expected["returns"] = _swapped(state.returns, symmetry)
    if k == 0:
        expected["key"] = state.key
    if changed := difference(expected, facts(image)):
        yield f"of the image as promised and as given {changed}"
    elif not state.is_over:
        turn, after = visit.some_turn(), state.copy()
        paid = _swapped(play(after, turn), symmetry)
        turn_image = _image_turn(turn, symmetry)
        paid_image = play(image, turn_image)
        if changed := difference({"rewards": paid}, {"rewards": paid_image}):
            yield f"{turn} here and {turn_image} in the image: {changed}"
        elif changed := difference(facts(after.transform(k)), facts(image)):
            yield f"of 'apply {turn}, then transform' and 'transform, then apply {turn_image}' {changed}"


def _swapped(pair: Any, symmetry: Symmetry) -> Any:
    return pair[::-1] if symmetry.swaps_players else pair


def _image_acting(acting: tuple[int, ...], symmetry: Symmetry) -> tuple[int, ...]:
    return tuple(sorted(1 - player for player in acting)) if symmetry.swaps_players else acting


def _image_turn(turn: Turn, symmetry: Symmetry) -> Turn:
    images = [int(symmetry.actions[action]) for action in turn]
    return tuple(images[::-1] if symmetry.swaps_players else images)


@promise("keys", Stage.MEANING)
def keys(visit: Visit) -> Seen:
    """Equal keys: positions seen before, and the same turns in another order."""
    memory, state = visit.memory, visit.state
    now, history = view(state), tuple(visit.history)
    known = memory.met.setdefault(state.key, (now, visit.seed, history))
    if known[1:] != (visit.seed, history):
        path = f"key {state.key} is also that of initial_state(seed={known[1]}) after {list(known[2])}, but"
        if changed := difference(now, known[0]):
            yield f"{path} {changed}"
            return
        other = visit.game.initial_state(known[1])
        for turn in known[2]:
            play(other, turn)
        memory.transpositions += known[2] != history
        if changed := _futures(state.copy(), other, visit.rng):
            yield f"{path} {changed}"
            return
    yield from _reordered(visit)


def _reordered(visit: Visit) -> Seen:
    line, turns = visit.state.copy(), []
    for _ in range(3):
        if not line.is_over:
            turns.append(visit.some_turn(line))
            play(line, turns[-1])
            for order in _orders(turns):
                other = played(visit.state.copy(), order)
                if other is None or other.key != line.key:
                    continue
                visit.memory.transpositions += 1
                changed = difference(view(line), view(other)) or _futures(line.copy(), other, visit.rng)
                if changed:
                    yield f"from here {turns} and {order} lead to one key, but {changed}"
                    return


def _orders(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Other lines that often lead to the same position: turns exchanged, or one player's actions."""
    if len(turns) < 2:
        return []
    first, middle, last = turns[0], list(turns[1:-1]), turns[-1]
    orders = [[last, *middle, first]]
    if len(first) == len(last) == 2:
        orders.append([(last[0], first[1]), *middle, (first[0], last[1])])
    return [order for order in orders if order != list(turns)]


def played(state: State, turns: Sequence[Turn]) -> State | None:
    """The state after these turns, or None where one of them is not legal."""
    for turn in turns:
        if len(turn) != len(state.acting):
            return None
        for player, action in zip(state.acting, turn, strict=True):
            if action not in state.legal_actions(player):
                return None
        play(state, turn)
    return state


def _futures(one: State, other: State, rng: np.random.Generator) -> str | None:
    """The first difference of two states with equal keys under the same random turns, or None.

    In a game with a repetition rule, `key` ignores the history and `history_key` includes it.
    """
    if getattr(one, "history_key", 0) != getattr(other, "history_key", 0):
        return None
    turns: list[Turn] = []
    while not one.is_over and len(turns) < FUTURE:
        turns.append(some_turn(one, rng))
        if changed := play_alike((one, other), turns[-1], rng) or difference(view(one), view(other)):
            return f"after {turns} {changed}"
    return None
