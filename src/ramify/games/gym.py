"""``gym:NAME``: Gymnasium's tasks as games of one player.

Player 0 acts and is paid; player 1 never does. Parameters are those of ``gymnasium.make``, and ``time_limit``: the
number of actions after which an episode ends, None for no limit, by default the task's own. A state that such a limit
has ended is ``truncated``. Observations are vectors, images as planes, or one of n choices as a vector with a one. What
a position is, and how a search comes back to one, is described in ``simulators.py``.
"""

from __future__ import annotations

from typing import Any

from ramify._core import InvalidInput
from ramify.games.simulators import Seen, SimulatedGame, observation_shape, observed, whole_actions

OWN: Any = object()  # time_limit: that of the task


def _gymnasium() -> Any:
    try:
        import gymnasium
    except ImportError as error:
        raise ImportError("gym games need Gymnasium: pip install 'ramify[gym]'") from error
    return gymnasium


class GymGame(SimulatedGame):
    """A task of Gymnasium. Make one with ``ramify.make("gym:NAME", ...)``."""

    num_players = 1

    def __init__(self, task: str, time_limit: int | None = OWN, **params: Any) -> None:
        self._task, self._options, self.time_limit = task, params, time_limit
        if time_limit not in (None, OWN) and (type(time_limit) is not int or time_limit < 1):
            raise InvalidInput(f"gym:{task}: time_limit must be a positive whole number or None, not {time_limit!r}")
        self.name = f"gym:{task}"
        own = {} if time_limit is OWN else {"time_limit": time_limit}
        self.params = {**own, **params}
        first = self._new()
        self._actions = whole_actions(first.action_space, self.name)  # as the task numbers them
        self.num_actions = len(self._actions)
        self._space = first.observation_space
        self.observation_shape = observation_shape(self._space, self.name)
        self._all_actions = tuple(range(self.num_actions))
        self._try_out(first)

    def _new(self) -> Any:
        gymnasium = _gymnasium()
        limit = {} if self.time_limit is OWN else {"max_episode_steps": self.time_limit or -1}
        try:
            return gymnasium.make(self._task, **limit, **self._options, disable_env_checker=True)
        except gymnasium.error.Error as error:
            raise InvalidInput(f"Gymnasium cannot make {self._task!r}: {error}") from None
        except (TypeError, ImportError) as error:
            raise InvalidInput(f"Gymnasium cannot make {self._task!r} with {self._options}: {error}") from None

    def _start(self, task: Any, seed: int) -> Seen:
        observation, _ = task.reset(seed=seed)
        return self._seen(observation, False)

    def _turn(self, task: Any, actions: tuple[int, ...]) -> tuple[Seen, tuple[float, float]]:
        observation, reward, terminated, truncated, _ = task.step(self._actions[actions[0]])
        seen = self._seen(observation, bool(terminated or truncated), bool(truncated and not terminated))
        return seen, (float(reward), 0.0)

    def _seen(self, observation: Any, over: bool, truncated: bool = False) -> Seen:
        planes = observed(self._space, observation)
        return Seen((planes, planes), () if over else (0,), () if over else (self._all_actions,), truncated)

    def _draws(self, task: Any) -> Any:
        generator = getattr(task.unwrapped, "_np_random", None)
        return None if generator is None else generator.bit_generator.state

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self._task, self.params)


def load(task: str, params: dict[str, Any]) -> GymGame:
    """The game ``gym:NAME``."""
    return GymGame(task, **params)
