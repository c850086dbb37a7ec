"""Games whose rules are a simulator of another library: an object that is somewhere, and can only be moved on.

A position is a seed and the actions since. Playing a game from beginning to end, as self-play does, moves one simulator
on. A search comes back to earlier positions: such a position is found again by playing its actions from the start,
which needs a simulator that is deterministic once seeded. Where simulators can be copied and the start is far away, a
copy is kept in the position, so that it and those behind it are found from there.
"""

from __future__ import annotations

import copy
import operator
import reprlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import IllegalAction, InvalidInput
from ramify.games.python_game import PythonGame, refuse_parts
from ramify.games.python_state import PythonState
from ramify.games.stable import stable_key

MOST_SPARE = 8  # simulators that wait for a new game
FAR = 16  # turns from a kept copy, or from the start, from which on a copy is kept: to copy costs as much as some turns
TRIED = 3  # turns before and after a copy that shows whether simulators can be copied


@dataclass(frozen=True, eq=False, slots=True)
class Seen:
    """What there is to know of a position: what both players see, who acts, and what they may do."""

    observations: tuple[NDArray[np.float32], ...]
    acting: tuple[int, ...]
    legal: tuple[tuple[int, ...], ...]  # of each acting player
    truncated: bool = False  # it is over by a limit, and not by the task

    def same_as(self, other: Seen) -> bool:
        """Whether both can be the same position."""
        pairs = zip(self.observations, other.observations, strict=True)
        return (self.acting, self.legal) == (other.acting, other.legal) and all(
            np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in pairs
        )


class Simulator:
    """A simulator, and where it is."""

    def __init__(self, task: Any) -> None:
        self.task = task
        self.here: object = None  # the mark of the position in which it is


class Kept:
    """A copy of a simulator in a position to which a search came back; it is copied, and never moved."""

    __slots__ = ("task",)

    def __init__(self) -> None:
        self.task: Any = None


@dataclass(frozen=True, eq=False, slots=True)
class Position:
    """A seed, the turns since, and what is seen. ``simulator`` is in this position as long as it has its mark."""

    game: SimulatedGame
    simulator: Simulator
    mark: object
    seed: int
    turns: tuple[tuple[int, ...], ...]
    seen: Seen
    before: Position | None  # a turn ago
    kept: Kept = field(default_factory=Kept)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.game, self.seed, self.turns)


def _restored(game: SimulatedGame, seed: int, turns: tuple[tuple[int, ...], ...]) -> Position:
    position: Position = game.state(seed, turns).position
    return position


class SimulatedState(PythonState):
    """The state of a simulator's game, which also knows whether a limit has ended it."""

    __slots__ = ()

    @property
    def truncated(self) -> bool:
        """Whether the game is over by a limit, and not by the task: training takes it as cut."""
        seen: Seen = self.position.seen
        return seen.truncated


class SimulatedGame(PythonGame):
    """The game of a simulator. A subclass makes simulators, starts them and moves them on."""

    _copies = False  # whether simulators can be copied

    @abstractmethod
    def _new(self) -> Any:
        """A new simulator; raises InvalidInput where there is none."""

    @abstractmethod
    def _start(self, task: Any, seed: int) -> Seen:
        """Begin a game with this seed."""

    @abstractmethod
    def _turn(self, task: Any, actions: tuple[int, ...]) -> tuple[Seen, tuple[float, float]]:
        """Play one action per acting player; what is seen then, and the rewards."""

    def _draws(self, task: Any) -> Any:
        """The state of the simulator's random generator, to find out whether turns are drawn by lot; None: unknown."""
        del task
        return None

    def _try_out(self, first: Any) -> None:
        """Find out whether simulators can be copied and whether turns draw lots; keep it for the first game."""
        self._spare = [Simulator(first)]
        turns, copied, seen = list[tuple[int, ...]](), None, self._start(first, 0)
        rng, lots = np.random.default_rng(0), self._draws(first)
        while seen.acting and len(turns) < 2 * TRIED:
            if len(turns) == TRIED:  # not before: a copy that has forgotten everything would be right at the start
                copied = _copied(first)
            turns.append(tuple(int(rng.choice(legal)) for legal in seen.legal))
            seen, _ = self._turn(first, turns[-1])
        self.chance = self._draws(first) != lots
        self._copies = copied is not None and self._leads_to(copied, turns[TRIED:], seen)

    def _leads_to(self, task: Any, turns: Sequence[tuple[int, ...]], expected: Seen) -> bool:
        """Whether these turns lead there; not where a copy shares something with a simulator that has been moved on."""
        try:
            for turn in turns:
                seen, _ = self._turn(task, turn)
        except Exception:
            return False
        return seen.same_as(expected)

    def _idle(self) -> Simulator:
        """A simulator that nobody needs."""
        try:
            return self._spare.pop()
        except IndexError:
            return Simulator(self._new())

    # --- the game ---

    def initial_state(self, seed: int | None = None) -> SimulatedState:
        return SimulatedState(self, super().initial_state(seed).position)

    def start(self, rng: np.random.Generator) -> Position:
        return self._begin(int(rng.integers(2**31)))

    def _begin(self, seed: int) -> Position:
        simulator = self._idle()
        seen = self._start(simulator.task, seed)
        simulator.here = object()
        return Position(self, simulator, simulator.here, seed, (), seen, None)

    def acting(self, position: Position) -> Sequence[int]:
        return position.seen.acting

    def legal_actions(self, position: Position, player: int) -> Sequence[int]:
        return position.seen.legal[position.seen.acting.index(player)]

    def apply(self, position: Position, *actions: int) -> tuple[Position, tuple[float, float]]:
        simulator = self._at(position)
        simulator.here = None  # also where the turn fails
        seen, rewards = self._turn(simulator.task, actions)
        simulator.here = object()
        if not seen.acting and len(self._spare) < MOST_SPARE:
            self._spare.append(simulator)
        turns = (*position.turns, actions)
        return Position(self, simulator, simulator.here, position.seed, turns, seen, position), rewards

    def _at(self, position: Position) -> Simulator:
        """A simulator in this position: its own if that is still there, otherwise one that is brought there."""
        if position.simulator.here is position.mark:
            return position.simulator
        back, node = list[Position](), position
        while node.kept.task is None and node.before is not None:
            back.append(node)
            node = node.before
        if node.kept.task is not None:
            simulator = Simulator(_copied(node.kept.task))
            seen = node.seen
        else:
            simulator = self._idle()
            seen = self._start(simulator.task, node.seed)
        for later in reversed(back):
            seen, _ = self._turn(simulator.task, later.turns[-1])
        if not seen.same_as(position.seen):
            raise InvalidInput(
                f"{self.name} cannot be searched: the same seed and actions led to another position than before"
            )
        if self._copies and len(back) >= FAR:
            position.kept.task = _copied(simulator.task)
        return simulator

    def observation(self, position: Position, player: int) -> NDArray[np.float32]:
        return position.seen.observations[player]

    def key(self, position: Position) -> int:
        turns = position.turns
        flat = turns if self.simultaneous else tuple(turn[0] for turn in turns)
        return stable_key((position.seed, flat), self._identity)

    def text(self, position: Position) -> str:
        shown = position.seen.observations[0].ravel()
        numbers = np.array2string(shown[:8], precision=3, suppress_small=True)
        return f"{len(position.turns)} actions, seen {numbers}{' …' if shown.size > 8 else ''}"

    def state(self, seed: Any = 0, actions: Any = (), **unknown: Any) -> SimulatedState:  # type: ignore[override]
        """The state after these actions from the start with this seed, as in `state.fields`."""
        refuse_parts(self.name, ["seed", "actions"], unknown)
        if not isinstance(actions, list | tuple):
            raise InvalidInput(f"{self.name}: actions must be a list, not {reprlib.repr(actions)}")
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
            raise InvalidInput(f"{self.name}: seed must be a whole number below 2**31, not {reprlib.repr(seed)}")
        state = SimulatedState(self, self._begin(seed))
        for number, given in enumerate(actions, 1):
            try:
                state.apply(*(given if isinstance(given, list | tuple) else [given]))
            except IllegalAction as error:
                raise InvalidInput(f"{self.name}: action {number} cannot be played: {error}") from error
        return state

    def _fields(self, state: PythonState) -> dict[str, Any]:
        position: Position = state.position
        turns = [turn[0] if len(turn) == 1 else list(turn) for turn in position.turns]
        return {"seed": position.seed, "actions": turns}


def _copied(task: Any) -> Any:
    """A copy of a simulator; None where it cannot be copied.

    Simulators that are pickled by the arguments of their constructor (``EzPickle``) would come back as new ones.
    """
    inner, memo = getattr(task, "unwrapped", task), dict[int, Any]()
    try:
        if hasattr(inner, "_ezpickle_args"):
            other = memo[id(inner)] = object.__new__(type(inner))
            other.__dict__.update(copy.deepcopy(inner.__dict__, memo))
        return copy.deepcopy(task, memo)
    except Exception:  # whatever it raises
        return None


def is_choice(space: Any) -> bool:
    """Whether one of Gymnasium's spaces is one of n choices, which are numbered from ``start`` on."""
    return hasattr(space, "n") and hasattr(space, "start")


def whole_actions(space: Any, owner: str) -> range:
    """The actions of one of Gymnasium's spaces as it numbers them; raises InvalidInput where they are no choices."""
    if not is_choice(space):
        raise InvalidInput(f"{owner} cannot be played here: its actions are {space}, not a number of choices")
    first = operator.index(space.start)
    return range(first, first + operator.index(space.n))


def observation_shape(space: Any, owner: str) -> tuple[int, ...]:
    """The shape of observations from one of Gymnasium's spaces; raises InvalidInput where a network could not use it.

    Vectors stay as they are, images become planes, and one of n choices becomes a vector of n numbers.
    """
    if is_choice(space):
        return (operator.index(space.n),)
    shape = tuple(int(side) for side in getattr(space, "shape", None) or ())
    if not hasattr(space, "low") or not 1 <= len(shape) <= 3:
        raise InvalidInput(
            f"{owner} cannot be played here: its observations are {space}, not vectors, images or one of n choices"
        )
    return planes_shape(shape)


def planes_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an image, [height, width] or [height, width, planes], with its planes first; others stay."""
    return (1, *shape) if len(shape) == 2 else (shape[2], *shape[:2]) if len(shape) == 3 else shape


def planes_first(image: NDArray[Any]) -> NDArray[np.float32]:
    """An image in the shape of ``planes_shape``."""
    arranged = image.transpose(2, 0, 1) if image.ndim == 3 else image.reshape(planes_shape(image.shape))
    return np.ascontiguousarray(arranged, np.float32)


def observed(space: Any, given: Any) -> NDArray[np.float32]:
    """An observation from this space, in the shape of ``observation_shape``; bytes become numbers from 0 to 1."""
    if is_choice(space):
        chosen = np.zeros(operator.index(space.n), np.float32)
        chosen[int(given) - int(space.start)] = 1.0
        return chosen
    return planes_first(np.asarray(given)) / np.float32(255 if space.dtype == np.uint8 else 1)
