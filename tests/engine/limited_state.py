"""A position that has only some of its actions, as a game written in Python would say it."""

from __future__ import annotations

from typing import Any

import numpy as np

import ramify as rf


class LimitedState:
    """Wraps a state: before the first turn only the actions of ``only`` are legal (per player; empty: all)."""

    def __init__(self, state: rf.State, only: tuple[Any, Any]) -> None:
        self.state, self.only = state.copy(), only

    def __getattr__(self, name: str) -> Any:  # what does not depend on the actions
        return getattr(self.__dict__["state"], name)

    def copy(self) -> LimitedState:
        return LimitedState(self.state, self.only)

    def apply(self, *actions: int) -> Any:
        self.only = ((), ())
        return self.state.apply(*actions)

    def legal_actions(self, player: int | None = None) -> Any:
        player = self.state.acting[0] if player is None else player
        legal = self.state.legal_actions(player)
        return legal[np.isin(legal, self.only[player])] if self.only[player] else legal

    def outcomes(self, player: int) -> Any:
        """One name per outcome of the legal actions: the usual one, or the least action that is legal."""
        named, index = self.state.outcomes(player)
        if not self.only[player]:
            return named, index
        groups: dict[int, list[int]] = {}
        for action in self.legal_actions(player).tolist():
            groups.setdefault(int(index[action]), []).append(action)
        names = sorted(int(named[i]) if int(named[i]) in group else group[0] for i, group in groups.items())
        renumbered = np.full_like(index, -1)
        for i, group in groups.items():
            place = names.index(int(named[i]) if int(named[i]) in group else group[0])
            renumbered[group] = place
        return np.array(names, np.int32), renumbered


def some_actions(state: rf.State, rng: np.random.Generator) -> tuple[Any, Any]:
    """A random part of the legal actions of each player; now and then all of them, as ()."""
    lists: list[tuple[int, ...]] = []
    for player in (0, 1):
        legal = state.legal_actions(player).tolist() if player in state.acting else []
        size = int(rng.integers(1, len(legal) + 1)) if legal else 0
        chosen = sorted(int(action) for action in rng.choice(legal, size, replace=False)) if legal else []
        lists.append(() if len(chosen) == len(legal) or rng.random() < 0.1 else tuple(chosen))
    return lists[0], lists[1]
