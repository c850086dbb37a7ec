"""Searches of some of a position's actions: reading the lists of actions, and naming outcomes by them."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import numpy as np

from ramify.games import IllegalAction, State
from ramify.games.protocol import ActionLike

RootActions = Iterable[ActionLike] | tuple[Iterable[ActionLike] | None, Iterable[ActionLike] | None] | None
PlayerActions = tuple[tuple[int, ...], tuple[int, ...]]  # per player, ascending; empty: all

ALL_ACTIONS: PlayerActions = ((), ())


def root_actions(state: State, actions: RootActions) -> PlayerActions:
    """The actions by number, per player. Raises a ValueError for an empty list, an IllegalAction for an illegal action.

    ``actions`` is a list, or where both players act a pair of lists, None for all actions of a player. A list of all
    legal actions is no restriction.
    """
    if actions is None:
        return ALL_ACTIONS
    lists = _listed(actions, "actions")
    acting = state.acting
    if len(acting) == 1:
        lists = [lists]
    elif len(lists) != 2 or not all(item is None or _is_list(item) for item in lists):
        raise ValueError(
            "both players act here: actions must be a pair of lists, one per player, with None for all of a player's "
            f"actions, not {actions!r}"
        )
    only: list[tuple[int, ...]] = [(), ()]
    for player, given in zip(acting, lists, strict=True):
        only[player] = () if given is None else _numbers(state, player, _listed(given, "actions"), len(acting) == 2)
    return only[0], only[1]


def representative(state: State, player: int, action: int, only: tuple[int, ...]) -> int:
    """The action by which a graph names the outcome of ``action`` at its root, where it has ``only`` these actions."""
    named, index = state.outcomes(player)
    name = int(named[index[action]])
    if not only or name in only:
        return name
    return next((other for other in only if index[other] == index[action]), name)


def _is_list(given: object) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | bytes)


def _listed(given: object, what: str) -> list[object]:
    if not _is_list(given):
        raise ValueError(f"{what} must be a list of actions, by number or by name, not {given!r}")
    return list(given)  # type: ignore[call-overload, no-any-return]


def _numbers(state: State, player: int, given: list[object], both: bool) -> tuple[int, ...]:
    if not given:
        of = f" for player {player}" if both else ""
        raise ValueError(f"actions is empty{of}: list at least one legal action, or give None for all")
    chosen = set()
    for item in given:
        if isinstance(item, bool | np.bool_):
            raise ValueError(f"actions must be numbers or names of actions, not {item!r}")
        try:
            chosen.add(state.action(item, player) if isinstance(item, str) else operator.index(item))  # type: ignore[arg-type]
        except TypeError:
            raise ValueError(f"actions must be numbers or names of actions, not {item!r}") from None
    legal = state.legal_actions(player).tolist()
    for action in sorted(chosen.difference(legal)):
        raise IllegalAction(
            f"action {action} in actions is not legal for player {player} here; the legal actions are "
            f"{', '.join(map(str, legal[:20]))}{', …' if len(legal) > 20 else ''}"
        )
    return () if len(chosen) == len(legal) else tuple(sorted(chosen))
