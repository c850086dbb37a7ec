"""``gym:NAME``: Gymnasium's tasks as games of one player.

Player 0 acts and is paid; player 1 never does. Parameters are those of ``gymnasium.make``, and ``time_limit``: the
number of actions after which an episode ends, None for no limit, by default the task's own. Observations are boxes of
numbers: vectors, or images as planes with numbers from 0 to 1.

A position is a seed and the actions since. Gymnasium's simulators cannot be copied in general, but they are
deterministic: a position that is not the newest one of its simulator is found again by playing its actions from the
start. Playing a game from beginning to end, as self-play does, never needs that.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import IllegalAction, InvalidInput
from ramify.games.python_game import PythonGame, refuse_parts
from ramify.games.python_state import PythonState
from ramify.games.stable import stable_key

OWN = -1  # time_limit: that of the task


def _gymnasium() -> Any:
    try:
        import gymnasium
    except ImportError as error:
        raise ImportError("gym games need Gymnasium: pip install 'ramify[gym]'") from error
    return gymnasium


class Simulator:
    """One of Gymnasium's simulators, and where it is."""

    def __init__(self, task: Any, made_of: tuple[str, dict[str, Any]]) -> None:
        self.task, self.made_of = task, made_of
        self.here: object = None  # the mark of the position in which it is

    def start(self, seed: int) -> NDArray[Any]:
        observation, _ = self.task.reset(seed=seed)
        self.here = object()
        return np.asarray(observation)

    def apply(self, action: int) -> tuple[NDArray[Any], float, bool]:
        """What is seen then, the reward, and whether the episode is over."""
        observation, reward, terminated, truncated, _ = self.task.step(action)
        self.here = object()
        return np.asarray(observation), float(reward), bool(terminated or truncated)


@dataclass(frozen=True, eq=False, slots=True)
class Position:
    """A seed, the actions since, and what is seen. ``simulator`` is in this position as long as it has its mark."""

    simulator: Simulator
    mark: object
    seed: int
    actions: tuple[int, ...]
    seen: NDArray[np.float32]
    over: bool

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (*self.simulator.made_of, self.seed, self.actions)


def _restored(task: str, params: dict[str, Any], seed: int, actions: tuple[int, ...]) -> Position:
    position: Position = load(task, params).state(seed, actions).position
    return position


class GymGame(PythonGame):
    """A task of Gymnasium. Make one with ``ramify.make("gym:NAME", ...)``."""

    num_players = 1

    def __init__(self, task: str, time_limit: int | None = OWN, **params: Any) -> None:
        self._task, self._options, self.time_limit = task, params, time_limit
        if time_limit is not None and (isinstance(time_limit, bool) or time_limit < OWN or time_limit == 0):
            raise InvalidInput(f"gym:{task}: time_limit must be a positive whole number or None, not {time_limit!r}")
        first = self._new()
        spaces = _gymnasium().spaces
        actions, seen = first.task.action_space, first.task.observation_space
        if not isinstance(actions, spaces.Discrete) or actions.start != 0:
            raise InvalidInput(f"gym:{task} cannot be played here: its actions are {actions}, not a number of choices")
        if not isinstance(seen, spaces.Box) or len(seen.shape) not in (1, 3):
            raise InvalidInput(f"gym:{task} cannot be played here: it shows {seen}, not a vector or an image")
        self.name = f"gym:{task}"
        own = {} if time_limit == OWN else {"time_limit": time_limit}
        self.params = {**own, **params}
        self.num_actions = int(actions.n)
        self._image = len(seen.shape) == 3
        self.observation_shape = (
            (seen.shape[2], *seen.shape[:2]) if self._image else tuple(int(side) for side in seen.shape)
        )
        self._spare: list[Simulator] = [first]

    def _new(self) -> Simulator:
        gymnasium = _gymnasium()
        limit = {} if self.time_limit == OWN else {"max_episode_steps": self.time_limit or -1}
        try:
            made = gymnasium.make(self._task, **limit, **self._options, disable_env_checker=True)
        except gymnasium.error.Error as error:
            raise InvalidInput(f"Gymnasium cannot make {self._task!r}: {error}") from None
        except (TypeError, ImportError) as error:
            raise InvalidInput(f"Gymnasium cannot make {self._task!r} with {self._options}: {error}") from None
        return Simulator(made, (self._task, {"time_limit": self.time_limit, **self._options}))

    def _idle(self) -> Simulator:
        """A simulator that nobody needs."""
        try:
            return self._spare.pop()
        except IndexError:
            return self._new()

    # --- the game ---

    def start(self, rng: np.random.Generator) -> Position:
        return self._begin(int(rng.integers(2**31)))

    def _begin(self, seed: int) -> Position:
        simulator = self._idle()
        seen = self._planes(simulator.start(seed))
        return Position(simulator, simulator.here, seed, (), seen, False)

    def _planes(self, seen: NDArray[Any]) -> NDArray[np.float32]:
        if not self._image:
            return seen.astype(np.float32)
        return np.ascontiguousarray(seen.transpose(2, 0, 1), np.float32) / np.float32(255)

    def acting(self, position: Position) -> Sequence[int]:
        return () if position.over else (0,)

    def legal_actions(self, position: Position, player: int) -> range:
        del position, player
        return range(self.num_actions)

    def apply(self, position: Position, action: int) -> tuple[Position, tuple[float, float]]:
        simulator = self._at(position)
        seen, reward, over = simulator.apply(action)
        actions = (*position.actions, action)
        if over:
            self._spare.append(simulator)
        return Position(simulator, simulator.here, position.seed, actions, self._planes(seen), over), (reward, 0.0)

    def _at(self, position: Position) -> Simulator:
        """A simulator in this position: its own if that is still there, otherwise one that plays its actions again."""
        if position.simulator.here is position.mark:
            return position.simulator
        simulator = self._idle()
        simulator.start(position.seed)
        for action in position.actions:
            simulator.apply(action)
        return simulator

    def observation(self, position: Position, player: int) -> NDArray[np.float32]:
        del player
        return position.seen

    def key(self, position: Position) -> int:
        return stable_key((position.seed, position.actions), self._identity)

    def text(self, position: Position) -> str:
        numbers = np.array2string(position.seen.ravel()[:8], precision=3, suppress_small=True)
        return f"{len(position.actions)} actions, seen {numbers}{' …' if position.seen.size > 8 else ''}"

    def state(self, seed: Any = 0, actions: Any = (), **unknown: Any) -> PythonState:  # type: ignore[override]
        """The state after these actions from the start with this seed, as in `state.fields`."""
        refuse_parts(self.name, ["seed", "actions"], unknown)
        if not isinstance(actions, list | tuple):
            raise InvalidInput(f"{self.name}: actions must be a list, not {reprlib.repr(actions)}")
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
            raise InvalidInput(f"{self.name}: seed must be a whole number below 2**31, not {reprlib.repr(seed)}")
        state = PythonState(self, self._begin(seed))
        for number, action in enumerate(actions, 1):
            try:
                state.apply(action)
            except IllegalAction as error:
                raise InvalidInput(f"{self.name}: action {number} cannot be played: {error}") from error
        return state

    def _fields(self, state: PythonState) -> dict[str, Any]:
        position: Position = state.position
        return {"seed": position.seed, "actions": list(position.actions)}

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self._task, self.params)


def load(task: str, params: dict[str, Any]) -> GymGame:
    """The game ``gym:NAME``."""
    return GymGame(task, **params)
