"""The protocols of games and states, common to native games, games written in Python and adapters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, runtime_checkable

import numpy as np
from numpy.typing import NDArray

ActionLike = SupportsIndex | str  # an action as users give it: its number, or its name


class Symmetry(Protocol):
    """A map of the game onto itself, as permutations."""

    @property
    def name(self) -> str:
        """What it is called, such as "rotate 180"."""
        ...

    @property
    def swaps_players(self) -> bool:
        """Whether the players are exchanged."""
        ...

    @property
    def observation(self) -> NDArray[np.int32]:
        """new.ravel()[i] = old.ravel()[observation[i]]; if players are exchanged, player 0 -> player 1."""
        ...

    @property
    def actions(self) -> NDArray[np.int32]:
        """Action a becomes actions[a]."""
        ...


@runtime_checkable
class State(Protocol):
    """A position. Values and rewards are given per player and never negated.

    States of a game with ``has_chance_events`` also have ``is_chance``, ``chance_outcomes``, ``apply_only``,
    ``peek_chance``, ``draw_chance`` and ``reseed_chance``, as :class:`ramify.games.PythonState` describes them.
    """

    @property
    def game(self) -> Game:
        """The game of the position."""
        ...

    @property
    def acting(self) -> tuple[int, ...]:
        """The players who act now: (0,), (1,), (0, 1), or () when the game is over."""
        ...

    @property
    def current_player(self) -> int | None:
        """The player who acts; None where both act or the game is over."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether nobody acts any more."""
        ...

    @property
    def winner(self) -> int | None:
        """Who has the higher returns in a finished game; None for a draw, and while the game is not over.

        This holds in general-sum games too: the winner has more than the other player, however little that is.
        """
        ...

    @property
    def returns(self) -> NDArray[np.float32]:
        """Rewards so far, per player: float32[2]."""
        ...

    @property
    def key(self) -> int:
        """64 bits; equal keys promise equal futures."""
        ...

    def legal_actions(self, player: int | None = None) -> NDArray[np.int32]:
        """Ascending; by default of the only acting player."""
        ...

    def legal_mask(self, player: int | None = None) -> NDArray[np.bool_]:
        """bool[num_actions]: True where ``legal_actions`` has the action."""
        ...

    def outcomes(self, player: int | None = None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(actions, index): one action per outcome, and for every action its outcome or -1."""
        ...

    def apply(self, *actions: ActionLike | tuple[ActionLike, ...]) -> NDArray[np.float32]:
        """Play one action per acting player, in player order, in place; returns the rewards.

        An action is a number or a name: ``apply(12)``, ``apply("c3")``, ``apply("UP", "LEFT")`` where both act. A pair
        may be one tuple, as in ``apply(result.best_action)``. What cannot be played raises IllegalAction and changes
        nothing.
        """
        ...

    def after(self, *actions: ActionLike | tuple[ActionLike, ...]) -> State:
        """A copy with these actions applied, given as to ``apply``."""
        ...

    def observation(self, player: int | None = None) -> NDArray[np.float32]:
        """What a player sees, float32 of ``game.observation_shape``; by default the only acting player."""
        ...

    def copy(self) -> State:
        """An independent copy."""
        ...

    def transform(self, symmetry: int) -> State:
        """The image of this state under game.symmetries[symmetry]."""
        ...

    def action_name(self, action: int, player: int | None = None) -> str:
        """The name of an action, such as "c3"."""
        ...

    def action(self, name: str, player: int | None = None) -> int:
        """The legal action of that name; raises IllegalAction."""
        ...

    def svg(self) -> str:
        """The position as a picture."""
        ...


@runtime_checkable
class Game(Protocol):
    """The rules of a game with their parameters."""

    @property
    def name(self) -> str:
        """The name in the registry."""
        ...

    @property
    def params(self) -> dict[str, Any]:
        """Every parameter with its value."""
        ...

    @property
    def num_actions(self) -> int:
        """Number of actions, legal or not: the length of a policy."""
        ...

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of every observation."""
        ...

    @property
    def simultaneous(self) -> bool:
        """Whether both players can act at once."""
        ...

    @property
    def symmetries(self) -> Sequence[Symmetry]:
        """The identity first."""
        ...

    def initial_state(self, seed: int | None = None) -> State:
        """The initial state. The seed matters if it is random; None draws a new seed."""
        ...


def number_of_players(game: Game) -> int:
    """1 for a game in which only player 0 ever acts, which says so by ``num_players``; otherwise 2."""
    return int(getattr(game, "num_players", 2))
