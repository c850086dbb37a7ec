"""Positions without rules: those of which only the surface is known, and those that only a learned model has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify._core import IllegalAction
from ramify.games import State


class SeenPosition:
    """A position as far as a latent model needs it, in place of a State: ``Searcher(model).run(position)``.

    ``legal`` has the actions of each acting player, in player order. Positions are equal only to themselves: a searcher
    starts a new tree for each.
    """

    is_over = False
    returns = np.zeros(2, np.float32)

    def __init__(self, observation: ArrayLike, acting: Sequence[int], legal: Sequence[ArrayLike]) -> None:
        self._observation = np.asarray(observation, np.float32)
        self.acting = tuple(acting)
        self._legal = {
            player: np.unique(np.asarray(actions, np.int32)) for player, actions in zip(acting, legal, strict=True)
        }

    @property
    def key(self) -> int:
        return id(self)

    def legal_actions(self, player: int | None = None) -> NDArray[np.int32]:
        return self._legal[self.acting[0] if player is None else player]

    def outcomes(self, player: int | None = None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Every action is an outcome of its own."""
        legal = self.legal_actions(player)
        index = np.full(int(legal.max()) + 1, -1, np.int32)
        index[legal] = np.arange(len(legal))
        return legal, index

    def observation(self, player: int | None = None) -> NDArray[np.float32]:
        del player
        return self._observation

    def action_name(self, action: int, player: int | None = None) -> str:
        del player
        return str(action)

    def apply(self, *actions: Any) -> NDArray[np.float32]:
        """What comes next is the model's business: nothing changes here."""
        del actions
        return self.returns

    def copy(self) -> Self:
        return self  # immutable


class BeyondRules:
    """A position that a learned model has and the rules have not: after an illegal action, or after the end.

    ``last`` is the last position that the rules have. Actions are called as there.
    """

    acting = ()  # only the model knows

    def __init__(self, last: State) -> None:
        self.last = last

    def action_name(self, action: int, player: int | None = None) -> str:
        return self.last.action_name(action, player)

    def action(self, name: str, player: int | None = None) -> int:
        return self.last.action(name, player)

    def svg(self) -> str:
        return "<p>A state of the learned model: by the rules, there is no such position.</p>"


def followed(state: State, joint: tuple[int, int]) -> State:
    """The position after an edge of a search; a chance event that follows stays undrawn.

    Learned models also try what is illegal, and go on after the end.
    """
    if isinstance(state, BeyondRules):
        return cast(State, state)
    after = state.copy()
    try:
        getattr(after, "apply_only", after.apply)(*(action for action in joint if action >= 0))
    except IllegalAction:
        return cast(State, BeyondRules(state))
    return after
