"""Positions of which only the surface is known: what is seen, who acts and what is legal. No rules behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
