"""Form: types, shapes and ranges. Checked on every position, in this order, before anything else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ramify._core import SAME_RETURNS
from ramify.games.promises.base import Seen, Stage, Visit, is_chance, promise, short
from ramify.games.protocol import Game, Symmetry, number_of_players

# The game itself, before any position.


def declaration(game: Game) -> Seen:
    if not isinstance(game.name, str) or not game.name:
        yield f"name is {game.name!r}"
    if not isinstance(game.params, dict):
        yield f"params is {game.params!r}"
    if not isinstance(game.num_actions, int) or game.num_actions < 1:
        yield f"num_actions is {game.num_actions!r}"
    if not isinstance(game.simultaneous, bool):
        yield f"simultaneous is {game.simultaneous!r}"
    shape = game.observation_shape
    if not isinstance(shape, tuple) or not all(isinstance(side, int) and side > 0 for side in shape):
        yield f"observation_shape is {shape!r}"
    yield from _stakes_declared(game)


def _stakes_declared(game: Game) -> Seen:
    """Whether a game written in Python declares what can be won in a form that the solver can use."""
    zero_sum, limits = getattr(game, "zero_sum", False), getattr(game, "returns_range", None)
    if not isinstance(zero_sum, bool):
        yield f"zero_sum is {zero_sum!r}, not True or False"
    if limits is None:
        return
    numbers = isinstance(limits, tuple | list) and all(isinstance(limit, int | float) for limit in limits)
    if not numbers or len(limits) != 2 or not limits[0] <= limits[1]:
        yield f"returns_range is {short(limits)}, not (least, most)"


def symmetry_forms(game: Game) -> Seen:
    """Whether the symmetries are permutations with the identity first."""
    size = math.prod(game.observation_shape)
    for k, symmetry in enumerate(game.symmetries):
        for name, array, length in _permutations(symmetry, game.num_actions, size):
            if not isinstance(array, np.ndarray) or array.dtype != np.int32:
                yield f"symmetries[{k}].{name} is {short(array)}, no int32 array"
            elif not np.array_equal(np.sort(array), np.arange(length)):
                yield f"symmetries[{k}].{name} is {short(array)}, no permutation of 0 .. {length - 1}"
            elif k == 0 and (symmetry.swaps_players or not np.array_equal(array, np.arange(length))):
                yield f"symmetries[0] ({symmetry.name}) is not the identity"
    if not len(game.symmetries):
        yield "symmetries is empty; the identity is always one"


def _permutations(symmetry: Symmetry, actions: int, size: int) -> list[tuple[str, Any, int]]:
    return [("actions", symmetry.actions, actions), ("observation", symmetry.observation, size)]


# Every position.


@promise("declaration", Stage.FORM)
def same_game(visit: Visit) -> Seen:
    if not visit.history and visit.state.game != visit.game:
        yield f"state.game is {visit.state.game!r}"


@promise("acting", Stage.FORM)
def acting(visit: Visit) -> Seen:
    now = visit.state.acting
    if now not in ((), (0,), (1,), (0, 1)) or not isinstance(now, tuple):
        yield f"acting is {now!r}"
    elif now == (0, 1) and not visit.game.simultaneous:
        yield "acting is (0, 1), but game.simultaneous is False"
    elif is_chance(visit.state):
        yield "chance decides here: initial_state and apply must draw chance events until a player acts"
    elif visit.state.is_over != (now == ()):
        yield f"acting is {now} and is_over is {visit.state.is_over}"
    elif visit.state.current_player != (now[0] if len(now) == 1 else None):
        yield f"acting is {now} and current_player is {visit.state.current_player!r}"


@promise("legal actions", Stage.FORM)
def legal_actions(visit: Visit) -> Seen:
    for player in (0, 1):
        legal = visit.state.legal_actions(player)
        if not isinstance(legal, np.ndarray) or legal.dtype != np.int32 or legal.ndim != 1:
            yield f"legal_actions({player}) is {short(legal)}, no int32 array of one dimension"
        elif player not in visit.state.acting:
            if legal.size:
                yield f"legal_actions({player}) is {short(legal)}, but player {player} does not act"
        elif not legal.size:
            yield f"legal_actions({player}) is empty, but player {player} acts"
        elif legal[0] < 0 or legal[-1] >= visit.game.num_actions or (np.diff(legal) <= 0).any():
            yield f"legal_actions({player}) is {short(legal)}; num_actions is {visit.game.num_actions}"
    if len(visit.state.acting) == 1:
        player = visit.state.acting[0]
        if not np.array_equal(visit.state.legal_actions(), visit.state.legal_actions(player)):
            yield f"legal_actions() is not legal_actions({player}), though only player {player} acts"
    yield from _masks(visit)


def _masks(visit: Visit) -> Seen:
    """Whether legal_mask says the same as legal_actions."""
    for player in (0, 1, *([None] if len(visit.state.acting) == 1 else [])):
        mask, given = visit.state.legal_mask(player), "" if player is None else player
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (visit.game.num_actions,):
            yield f"legal_mask({given}) is {short(mask)}, no bool[num_actions]"
        elif not np.array_equal(np.flatnonzero(mask), visit.state.legal_actions(player)):
            yield f"legal_mask({given}) is True at {short(np.flatnonzero(mask))}, which legal_actions({given}) is not"


@promise("observation", Stage.FORM)
def observation(visit: Visit) -> Seen:
    for player in (0, 1):
        array = visit.state.observation(player)
        if not isinstance(array, np.ndarray) or array.dtype != np.float32:
            yield f"observation({player}) is {type(array).__name__} of {getattr(array, 'dtype', 'no dtype')}"
        elif array.shape != visit.game.observation_shape:
            yield f"observation({player}) has shape {array.shape}, not {visit.game.observation_shape}"
        elif not np.isfinite(array).all():
            yield f"observation({player}) has values that are not finite: {short(array)}"


@promise("keys", Stage.FORM)
def key_form(visit: Visit) -> Seen:
    key = visit.state.key
    if isinstance(key, bool) or not isinstance(key, int) or not 0 <= key < 2**64:
        yield f"key is {key!r}"


@promise("text", Stage.FORM)
def text(visit: Visit) -> Seen:
    if not str(visit.state):
        yield "str(state) is empty"


@promise("rewards", Stage.FORM)
def start_returns(visit: Visit) -> Seen:
    if not visit.history and visit.state.returns.tolist() != [0.0, 0.0]:
        yield f"returns of the first position is {visit.state.returns.tolist()}"


@promise("rewards", Stage.FORM)
def winner(visit: Visit) -> Seen:
    lead = float(visit.state.returns[0]) - float(visit.state.returns[1])
    wanted = None if visit.state.acting or abs(lead) <= SAME_RETURNS else int(lead < 0)
    if visit.state.winner != wanted:
        over = "and the game is not over" if visit.state.acting else f"with returns {visit.state.returns.tolist()}"
        yield f"winner is {visit.state.winner!r} {over}"


def rewards(game: Game, before: Any, given: Any, after: Any) -> Seen:
    """What apply gave, between the returns before and after it."""
    for name, array in (("apply gave", given), ("returns is", after)):
        if not isinstance(array, np.ndarray) or array.dtype != np.float32 or array.shape != (2,):
            yield f"{name} {short(array)}, no float32[2]"
            return
        if not np.isfinite(array).all():
            yield f"{name} {array.tolist()}"
            return
    if not np.allclose(before + given, after, rtol=1e-5, atol=1e-6):
        yield f"returns went from {before.tolist()} to {after.tolist()} with rewards {given.tolist()}"
    if getattr(game, "zero_sum", False) and abs(float(given.sum())) > _rounding(given):
        yield f"apply gave {given.tolist()}, but the game says zero_sum = True: one player wins what the other loses"


@promise("rewards", Stage.FORM)
def within_range(visit: Visit) -> Seen:
    limits = getattr(visit.game, "returns_range", None)
    if limits is None or not visit.state.is_over:
        return
    least, most = limits
    returns = visit.state.returns[: number_of_players(visit.game)]
    slack = _rounding(returns)
    if (returns < least - slack).any() or (returns > most + slack).any():
        yield f"returns of a finished game is {returns.tolist()}, but returns_range is {short(limits)}"


def _rounding(rewards: Any) -> float:
    """What sums of float32 rewards may be off by."""
    return 1e-4 * max(1.0, float(np.abs(rewards).max()))
