"""Games written in Python: a class of functions over positions."""

from __future__ import annotations

import inspect
import math
import reprlib
from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ramify._core import InvalidInput
from ramify.base.hints import did_you_mean
from ramify.base.seeds import checked_seed
from ramify.games.broken import BrokenGame
from ramify.games.chance import checked_chance
from ramify.games.failures import call_form
from ramify.games.plain import like
from ramify.games.protocol import Symmetry
from ramify.games.python_state import PythonState
from ramify.games.stable import stable_bytes, stable_key
from ramify.games.symmetry import identity_symmetry

_MISSING: Any = object()


class _GameType(ABCMeta):
    """Metaclass of games: stores the constructor's arguments as parameters and validates the class attributes."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        _refuse_missing_methods(cls)
        params = _bound(cls, args, kwargs)
        game = super().__call__(*args, **kwargs)
        if "params" not in vars(game):
            object.__setattr__(game, "params", params)  # past the guard of a frozen dataclass
        _check_declarations(cast("PythonGame", game))
        return game


class PythonGame(metaclass=_GameType):
    """Base class of games written in Python. The arguments of its constructor are the game's parameters.

    A *position* is any immutable value: a tuple, a frozen dataclass, a read-only array. Set ``num_actions``
    and ``observation_shape`` (on the class, or in ``__init__`` if they depend on parameters), implement the
    five abstract methods, and verify the game with :func:`ramify.check_game`. The other methods are optional.
    The methods need not validate actions: :class:`PythonState` does.

    Rewards are per player and never negated: a win of player 0 gives (1, -1) with the last action.
    """

    name: str
    params: dict[str, Any]
    num_actions: int
    observation_shape: tuple[int, ...]
    simultaneous: bool = False  # True where both players can act at once
    symmetries: Sequence[Symmetry]  # the identity first; more of them need transform()
    zero_sum: bool = False  # True where one player wins what the other loses, at every turn
    returns_range: tuple[float, float] | None = None  # least and most of a player's returns; the solver needs it
    num_players: int = 2  # 1 where only player 0 ever acts
    chance: bool = False  # True where apply() draws lots by itself, which searches foresee: then nothing can be proven

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    # What the author writes.

    @abstractmethod
    def start(self, rng: np.random.Generator) -> Any:
        """The initial position; it must be determined by the random generator."""

    @abstractmethod
    def acting(self, position: Any) -> Sequence[int]:
        """The players who act now: (0,), (1,), (0, 1), or () when the game is over."""

    @abstractmethod
    def legal_actions(self, position: Any, player: int) -> Iterable[int]:
        """Legal actions of an acting player, in any order."""

    @abstractmethod
    def apply(self, position: Any, *actions: Any, **_: Any) -> tuple[Any, Sequence[float]]:
        """(next position, rewards of the two players), from one legal action per acting player, or a chance outcome."""

    @abstractmethod
    def observation(self, position: Any, player: int) -> ArrayLike:
        """The observation from the view of the player, of observation_shape; also for a player who does not act."""

    # What the author may write.

    def chance_outcomes(self, position: Any) -> Iterable[tuple[int, float]]:
        """(outcome, probability) pairs where chance decides, such as the faces of a die; nothing elsewhere.

        ``apply(position, outcome)`` then gives what follows. No player acts in such a position, so that ``acting`` and
        ``legal_actions`` are not called. An outcome means the same in the images of a position under symmetries.
        """
        del position
        return ()

    @cached_property
    def has_chance_events(self) -> bool:
        """Whether there are positions in which chance decides: whether the class defines ``chance_outcomes``."""
        return type(self).chance_outcomes is not PythonGame.chance_outcomes

    def key(self, position: Any) -> int:
        """A 64-bit key; equal keys promise equal futures. By default different positions have different keys."""
        return stable_key(position, self._identity)

    def text(self, position: Any) -> str:
        """The position as text."""
        return str(position)

    def svg(self, position: Any) -> str:
        """The position as a picture."""
        from ramify.games.pictures import draw_text  # drawing is rarely wanted: not at import

        return draw_text(self.text(position))

    def action_name(self, position: Any, player: int, action: int) -> str:
        """The name of an action; different legal actions must have different names."""
        del position, player
        return str(action)

    def heuristic(self, position: Any) -> float | None:
        """Heuristic estimate of player 0's remaining rewards, strictly between the extremes; None: no heuristic.

        Alpha-beta search uses it at its leaves.
        """
        del position
        return None

    def outcomes(self, position: Any, player: int) -> Iterable[Iterable[int]]:
        """The legal actions in groups with the same effect (same next key, same rewards)."""
        return [[action] for action in self.legal_actions(position, player)]

    def transform(self, position: Any, symmetry: int) -> Any:
        """The image of a position under symmetries[symmetry]."""
        if symmetry != 0:
            raise BrokenGame(
                f"{self.name} has symmetries, but does not define transform(position, symmetry)", "transform"
            )
        return position

    # What users and the rest of the package call.

    def initial_state(self, seed: int | None = None) -> PythonState:
        """The initial state. The seed matters if it is random; None draws a new seed."""
        if seed is not None:
            seed = checked_seed(seed, ", or None for a fresh one")
        rng = np.random.default_rng(seed)
        position = self.start(rng)
        if not self.has_chance_events:
            return PythonState(self, position)
        state = PythonState(self, position, chance_seed=int(rng.integers(2**63)))
        state._settle()
        return state

    def state(
        self,
        position: Any = _MISSING,
        returns: Sequence[float] = (0.0, 0.0),
        chance_seed: int = 0,
        chance_events: int = 0,
        **unknown: Any,
    ) -> PythonState:
        """A state from its parts (as in `state.fields`): a position, and the rewards so far.

        In a game with chance events also the seed of its chance events, and how many of them there were.

        Lists, as JSON has them, become what the initial position has in their place: tuples, unless that has lists,
        sets, arrays or named tuples there. The position is accepted if acting, legal_actions, observation and key
        work on it; otherwise InvalidInput names the method that failed.
        """
        chance = {"chance_seed": chance_seed, "chance_events": chance_events}
        if not self.has_chance_events:
            unknown = {**{name: value for name, value in chance.items() if value != 0}, **unknown}
        refuse_parts(self.name, ["position", "returns", *(chance if self.has_chance_events else ())], unknown)
        if position is _MISSING:
            raise InvalidInput(f"{self.name}: position is required")
        if isinstance(position, list | tuple | dict):
            example = self.start(np.random.default_rng(0))
            try:
                position = like(position, example)
            except (TypeError, ValueError, OverflowError) as error:
                raise InvalidInput(f"{self.name}: {reprlib.repr(position)} is not a position: {error}") from None
        checked = {name: checked_chance(self.name, name, value) for name, value in chance.items()}
        state = PythonState(self, position, _checked_returns(self.name, returns), **checked)
        _try_out(state)
        return state

    def _fields(self, state: PythonState) -> dict[str, Any]:
        """The value of `state.fields`, which `state()` accepts."""
        first, second = state._returns.tolist()
        chance = {"chance_seed": state.chance_seed, "chance_events": state.chance_events}
        more = chance if self.has_chance_events else {}
        return {"position": state.position, "returns": [first, second], **more}

    @cached_property
    def _identity(self) -> bytes:
        """The identity of the game: the salt of its keys."""
        return stable_bytes((self.name, self.params))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.params.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.params)


def _refuse_missing_methods(cls: type) -> None:
    """Raise a TypeError with the methods that a class does not define: how each begins, and what it has to return."""
    missing = [method for name, method in vars(PythonGame).items() if name in getattr(cls, "__abstractmethods__", ())]
    if missing:
        names = ", ".join(method.__name__ for method in missing)
        forms = "; ".join(f"{call_form(method)}: {str(method.__doc__).rstrip('.')}" for method in missing)
        raise TypeError(f"{cls.__name__} has to define {names}. {forms}")


def _restore(cls: type[PythonGame], params: dict[str, Any]) -> PythonGame:
    return cls(**params)


def _bound(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor by name, including defaults; raises InvalidInput for an unknown name."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]  # its signature pretends to take anything
        signature = inspect.Signature()
    else:
        full = inspect.signature(cls.__init__)  # type: ignore[misc]
        signature = full.replace(parameters=list(full.parameters.values())[1:])
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.POSITIONAL_ONLY in kinds:
        raise TypeError(f"{cls.__name__}: __init__ must not have *args or positional-only parameters")
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        refuse_unknown(f"game '{getattr(cls, 'name', cls.__name__)}'", list(signature.parameters), kwargs)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"game '{getattr(cls, 'name', cls.__name__)}': {error}") from None
    bound.apply_defaults()
    refuse_texts(cls, signature, bound.arguments)
    params: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        open_ended = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        params.update(value if open_ended else {name: value})
    return params


def refuse_unknown(owner: str, known: list[str], given: dict[str, Any]) -> None:
    """Raise InvalidInput for an unknown parameter, with the closest known name."""
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, "; ")
            takes = f" (it has {', '.join(known)})" if known else "; it takes none"
            raise InvalidInput(f"{owner} has no parameter '{name}'{hint}{takes}")


def refuse_texts(cls: type, signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    """Raise InvalidInput for a text where a parameter is annotated as a number or a bool, as from a command line."""
    for name, value in given.items():
        annotation = signature.parameters[name].annotation
        wanted = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        if isinstance(value, str) and wanted in ("int", "float", "bool"):
            owner = getattr(cls, "name", cls.__name__)
            raise InvalidInput(f"parameter '{name}' of game '{owner}' must be of type {wanted}, not {value!r}")


def refuse_parts(owner: str, known: list[str], given: dict[str, Any]) -> None:
    """Raise InvalidInput for an unknown part of a position, with the message of the native games."""
    for name in given:
        raise InvalidInput(f"{owner}: a position has no part {name!r} (it has {' '.join(known)})")


def _checked_returns(owner: str, returns: Any) -> tuple[float, float]:
    try:
        first, second = map(float, returns)
    except (TypeError, ValueError, OverflowError):
        first = second = math.nan
    most = float(np.finfo(np.float32).max)  # what states keep them in
    if not (abs(first) <= most and abs(second) <= most):
        raise InvalidInput(f"{owner}: returns must be two finite numbers, one per player, not {reprlib.repr(returns)}")
    return first, second


def _try_out(state: PythonState) -> None:
    """Call every method on a given position once, so that an invalid one is rejected here and not later."""
    method = "chance_outcomes" if state.game.has_chance_events else "acting"
    try:
        acting = () if state.is_chance else state.acting
        for player in (0, 1):
            if player in acting:
                method = "legal_actions"
                state.legal_actions(player)
            method = "observation"
            state.observation(player)
        method = "key"
        _ = state.key
    except BrokenGame as error:
        why = str(error).partition(", in\n")[0]  # without the position, which may be anything
        raise InvalidInput(f"{state.game.name}: {reprlib.repr(state.position)} is not a position: {why}") from error
    except Exception as error:
        why = f"{method} raised {type(error).__name__}: {error}"
        if isinstance(state.position, str):
            why += "; for moves, state = game.initial_state() and then state.apply(move) for each"
        raise InvalidInput(f"{state.game.name}: {reprlib.repr(state.position)} is not a position: {why}") from error


def _check_declarations(game: PythonGame) -> None:
    cls = type(game).__name__
    for name, example in (("num_actions", "9"), ("observation_shape", "(2, 3, 3)")):
        if not hasattr(game, name):
            raise TypeError(f"{cls} has no {name}: set it on the class or in __init__, such as {example}")
    if isinstance(game.num_actions, bool) or not isinstance(game.num_actions, int | np.integer):
        raise TypeError(f"{cls}.num_actions must be a whole number, not {game.num_actions!r}")
    if game.num_actions < 1:
        raise ValueError(f"{cls}.num_actions must be at least 1, not {game.num_actions}")
    shape = game.observation_shape
    if not isinstance(shape, tuple) or not all(isinstance(side, int) and side > 0 for side in shape):
        raise TypeError(f"{cls}.observation_shape must be a tuple of positive whole numbers, not {shape!r}")
    if not hasattr(game, "symmetries"):
        identity = (identity_symmetry(game.num_actions, math.prod(shape)),)
        object.__setattr__(game, "symmetries", identity)
