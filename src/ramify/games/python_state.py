"""The state of a game written in Python: a position, the rewards so far, and input validation."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ramify._core import SAME_RETURNS, IllegalAction, InvalidInput
from ramify.base.hints import did_you_mean
from ramify.games.broken import BrokenGame
from ramify.games.chance import MOST_EVENTS, NO_EVENT, Event, checked_chance, checked_event, drawn
from ramify.games.protocol import ActionLike

if TYPE_CHECKING:
    from ramify.games.python_game import PythonGame

Integers = NDArray[np.int32]
Floats = NDArray[np.float32]

_ACTING = ((), (0,), (1,), (0, 1))
_SHOWN = 12  # legal actions that an error message lists


class PythonState:
    """A position of a :class:`PythonGame`, with the same checks and messages as a native state.

    Positions are never changed, so copies share them and a copy costs a few references.

    In a game with chance events a state has a seed of its own, from which ``apply`` draws them: event number n of a
    game is a function of the seed and n alone, so a state and its copies see the same dice. A look ahead that must not
    foresee them uses ``apply_only`` and ``chance_outcomes``, as searches do.
    """

    __slots__ = (
        "_acting",
        "_chance_events",
        "_chance_seed",
        "_event",
        "_game",
        "_key",
        "_legal",
        "_position",
        "_returns",
    )

    def __init__(
        self,
        game: PythonGame,
        position: Any,
        returns: tuple[float, float] = (0.0, 0.0),
        chance_seed: int = 0,
        chance_events: int = 0,
    ) -> None:
        self._game = game
        self._returns: Floats = np.array(returns, dtype=np.float32)
        self._chance_seed, self._chance_events = chance_seed, chance_events
        self._move_to(position)

    def _move_to(self, position: Any) -> None:
        self._position = position
        self._acting: tuple[int, ...] | None = None  # this and the next three are computed on first use
        self._event: Event | None = None
        self._key: int | None = None
        self._legal: dict[int, Integers] = {}

    @property
    def game(self) -> PythonGame:
        """The rules."""
        return self._game

    @property
    def position(self) -> Any:
        """The position, as the game's own functions use it."""
        return self._position

    @property
    def fields(self) -> dict[str, Any]:
        """The state as data; game.state(**fields) restores it."""
        return self._game._fields(self)

    @property
    def acting(self) -> tuple[int, ...]:
        """Players who choose now: (0,), (1,), (0, 1), or () when the game is over or chance decides."""
        if self._acting is None:
            if self._game.has_chance_events and self.is_chance:
                self._acting = ()
                return ()
            given = self._game.acting(self._position)
            acting = tuple(given) if isinstance(given, tuple | list) else None
            if acting not in _ACTING:
                self._blame("acting", f"must return (0,), (1,), (0, 1) or (), not {given!r}")
            if acting == (0, 1) and not self._game.simultaneous:
                self._blame("acting", "gave (0, 1), but the game does not say simultaneous = True")
            self._acting = tuple(map(int, acting or ()))
        return self._acting

    @property
    def current_player(self) -> int | None:
        """The player who acts; None where both act, chance decides or the game is over."""
        return self.acting[0] if len(self.acting) == 1 else None

    @property
    def is_over(self) -> bool:
        """Whether the game is over."""
        return not self.acting and not self.is_chance

    @property
    def is_chance(self) -> bool:
        """Whether chance decides here, and not a player. ``apply`` leaves no state like that; ``apply_only`` does."""
        return self._game.has_chance_events and self._chance_event()[0].size > 0

    def chance_outcomes(self) -> tuple[Integers, NDArray[np.float64]]:
        """(outcomes, probabilities) of the chance event here; empty where there is none."""
        outcomes, probabilities = self._chance_event() if self._game.has_chance_events else NO_EVENT
        return outcomes.copy(), probabilities.copy()

    @property
    def chance_seed(self) -> int:
        """The seed from which the chance events of this game are drawn."""
        return self._chance_seed

    @property
    def chance_events(self) -> int:
        """The number of chance events so far."""
        return self._chance_events

    @property
    def winner(self) -> int | None:
        """The player with the higher return in a finished game; None for a draw or an unfinished game."""
        lead = float(self._returns[0]) - float(self._returns[1])
        if not self.is_over or abs(lead) <= SAME_RETURNS:
            return None
        return 0 if lead > 0 else 1

    @property
    def returns(self) -> Floats:
        """Rewards so far, per player: float32[2]."""
        return self._returns.copy()

    @property
    def key(self) -> int:
        """A 64-bit key; positions with equal keys have equal futures."""
        if self._key is None:
            self._key = self._checked_key(self._position)
        return self._key

    @property
    def history_key(self) -> int:
        """Equal to the key: a position of a Python game contains all of the history that matters."""
        return self.key

    @property
    def canonical_key(self) -> int:
        """The least key among the images under symmetries that keep the players."""
        others = [k for k, symmetry in enumerate(self._game.symmetries) if k and not symmetry.swaps_players]
        return min([self.key, *(self._checked_key(self._game.transform(self._position, k)) for k in others)])

    @property
    def heuristic(self) -> float | None:
        """Heuristic estimate of player 0's remaining rewards; None if the game has no heuristic."""
        given = 0.0 if self.is_over else self._game.heuristic(self._position)
        if given is None:
            return None
        try:
            value = float(given)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            self._blame("heuristic", f"must return a number or None, not {given!r}")
        return value

    def legal_actions(self, player: int | None = None) -> Integers:
        """int32, ascending; empty for a player who does not act."""
        return self._legal_actions(self._player(player)).copy()

    def legal_mask(self, player: int | None = None) -> NDArray[np.bool_]:
        """bool[num_actions]: True where ``legal_actions`` has the action."""
        mask = np.zeros(self._game.num_actions, dtype=np.bool_)
        mask[self._legal_actions(self._player(player))] = True
        return mask

    def outcomes(self, player: int | None = None) -> tuple[Integers, Integers]:
        """(actions, index): one action per outcome, and for every action its outcome or -1."""
        player = self._player(player)
        legal = self._legal_actions(player)
        index = np.full(self._game.num_actions, -1, dtype=np.int32)
        if not legal.size:
            return legal.copy(), index
        groups = sorted(sorted(map(int, group)) for group in self._game.outcomes(self._position, player))
        if sorted(action for group in groups for action in group) != legal.tolist() or not all(groups):
            self._blame("outcomes", f"must put every legal action in one group, not {groups!r}")
        for outcome, group in enumerate(groups):
            index[group] = outcome
        return np.array([group[0] for group in groups], dtype=np.int32), index

    def apply(self, *actions: ActionLike | tuple[ActionLike, ...]) -> Floats:
        """Play one action per acting player, as a number or by its name, in place; returns the rewards, float32[2].

        A pair may be one tuple, as in ``state.apply(result.best_action)``. Chance events that follow are drawn, until
        a player acts or the game is over.
        """
        if not self._game.has_chance_events:
            return self._play(self._checked_actions(actions))
        return self.apply_only(*actions) + self._settle()

    def apply_only(self, *actions: ActionLike | tuple[ActionLike, ...]) -> Floats:
        """As ``apply``, but leave a chance event that follows undrawn. At a chance event, give it this outcome."""
        if not self.is_chance:
            return self._play(self._checked_actions(actions))
        rewards = self._play([self._checked_outcome(actions)])
        self._chance_events += 1
        return rewards

    def _play(self, checked: list[int]) -> Floats:
        result = self._game.apply(self._position, *checked)
        if not isinstance(result, tuple) or len(result) != 2:
            self._blame("apply", f"must return (position, rewards), not {result!r}")
        position, rewards = result[0], self._pair(result[1])
        self._move_to(position)
        self._returns = self._returns + rewards
        return rewards

    def draw_chance(self) -> int:
        """Draw the chance event here from the seed of this game, in place; returns the outcome."""
        outcome = self.peek_chance()
        self.apply_only(outcome)
        return outcome

    def peek_chance(self) -> int:
        """The outcome that ``draw_chance`` would give."""
        if not self.is_chance:
            raise IllegalAction(f"there is no chance event to draw in\n{self}")
        return drawn(self._chance_event(), self._chance_seed, self._chance_events)

    def reseed_chance(self, seed: int) -> None:
        """Draw the chance events still to come from another seed, in place."""
        self._chance_seed = checked_chance(self._game.name, "chance_seed", seed)

    def _settle(self) -> Floats:
        """Draw chance events until a player acts or the game is over; returns the rewards."""
        rewards, last = np.zeros(2, dtype=np.float32), self._chance_events + MOST_EVENTS
        while self.is_chance:
            if self._chance_events >= last:
                self._blame("chance_outcomes", f"was followed by {MOST_EVENTS} more chance events in a row")
            rewards = rewards + self.apply_only(self.peek_chance())
        return rewards

    def after(self, *actions: ActionLike | tuple[ActionLike, ...]) -> Self:
        """A copy with these actions applied, given as for ``apply``."""
        state = self.copy()
        state.apply(*actions)
        return state

    def observation(self, player: int | None = None) -> Floats:
        """float32 of game.observation_shape, as `player` sees it."""
        given = self._game.observation(self._position, self._player(player))
        try:
            array = np.array(given, dtype=np.float32, order="C")
        except (TypeError, ValueError) as error:
            self._blame("observation", f"must return numbers: {error}")
        if array.shape != self._game.observation_shape:
            self._blame("observation", f"must have shape {self._game.observation_shape}, not {array.shape}")
        return array

    def action_name(self, action: int, player: int | None = None) -> str:
        """The name of an action of the player."""
        count = self._game.num_actions
        if not 0 <= operator.index(action) < count:
            raise InvalidInput(f"an action of {self._game.name} must be from 0 to {count - 1}, not {action}")
        return self._name(self._player(player), operator.index(action))

    def action(self, name: str, player: int | None = None) -> int:
        """The legal action with that name."""
        player = self._player(player)
        names = {self._name(player, action): int(action) for action in reversed(self._legal_actions(player).tolist())}
        if name not in names:
            hint = did_you_mean(name, names, "; ")
            raise IllegalAction(f"'{name}' names no legal action of player {player}{hint} {self._where(player)}")
        return names[name]

    def transform(self, symmetry: int) -> Self:
        """The image under game.symmetries[symmetry]."""
        if not 0 <= operator.index(symmetry) < len(self._game.symmetries):
            raise InvalidInput(f"symmetry must be from 0 to {len(self._game.symmetries) - 1}, not {symmetry}")
        image = self.copy()
        image._move_to(self._game.transform(self._position, symmetry))
        if self._game.symmetries[symmetry].swaps_players:
            image._returns = self._returns[::-1].copy()
        return image

    def copy(self) -> Self:
        """An independent state of the same position."""
        other = object.__new__(type(self))
        other._game, other._position, other._returns = self._game, self._position, self._returns
        other._acting, other._event, other._key = self._acting, self._event, self._key
        other._chance_seed, other._chance_events = self._chance_seed, self._chance_events
        other._legal = dict(self._legal)
        return other

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def svg(self) -> str:
        """The position as a picture."""
        return self._game.svg(self._position)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        text = self._game.text(self._position)
        if not isinstance(text, str):
            game = type(self._game).__name__
            raise BrokenGame(f"{game}.text must return a string, not {text!r}, in\n{self._position!r}", "text")
        return text

    def __repr__(self) -> str:
        return f"<{self._game!r}\n{self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        returns = float(self._returns[0]), float(self._returns[1])
        chance = (self._chance_seed, self._chance_events) if self._game.has_chance_events else ()
        return type(self), (self._game, self._position, returns, *chance)

    # The checks.

    def _player(self, player: int | None) -> int:
        if player is None:
            if self.acting == (0, 1):
                raise InvalidInput("both players act here: give player=0 or player=1")
            return self.acting[0] if self.acting else 0
        if operator.index(player) not in (0, 1):
            raise InvalidInput(f"player must be 0 or 1, not {player}")
        return operator.index(player)

    def _legal_actions(self, player: int) -> Integers:
        if player not in self._legal:
            self._legal[player] = self._computed_legal_actions(player)
        return self._legal[player]

    def _computed_legal_actions(self, player: int) -> Integers:
        if player not in self.acting:
            return np.empty(0, dtype=np.int32)
        count = self._game.num_actions
        found = self._game.legal_actions(self._position, player)
        if not isinstance(found, Iterable):
            self._blame("legal_actions", f"must return the numbers of the legal actions, not {found!r}")
        given = list(islice(found, count + 1))
        try:
            actions = sorted(operator.index(action) for action in given)
        except TypeError:
            self._blame("legal_actions", f"must return whole numbers, not {reprlib.repr(given)}{_of_mask(given)}")
        if not actions:
            self._blame("legal_actions", f"returned no action for player {player}, who acts")
        if len(set(actions)) != len(actions):
            self._blame("legal_actions", f"returned an action twice: {actions[:_SHOWN]}")
        if actions[0] < 0 or actions[-1] >= count:
            wrong = actions[0] if actions[0] < 0 else actions[-1]
            self._blame("legal_actions", f"returned {wrong}, but actions must be from 0 to {count - 1}")
        return np.array(actions, dtype=np.int32)

    def _chance_event(self) -> Event:
        """The chance event here; only of a game that has some."""
        if self._event is None:
            given = self._game.chance_outcomes(self._position)
            try:
                self._event = checked_event(given or ())
            except (TypeError, ValueError) as error:
                self._blame("chance_outcomes", str(error))
        return self._event

    def _checked_outcome(self, given: tuple[Any, ...]) -> int:
        outcomes = self._chance_event()[0]
        try:
            outcome = operator.index(given[0]) if len(given) == 1 else None
        except TypeError:
            outcome = None
        if outcome is None or outcome not in outcomes:
            some = f"{', '.join(map(str, outcomes[:_SHOWN]))}{', ...' if len(outcomes) > _SHOWN else ''}"
            raise IllegalAction(f"chance decides here: its outcome must be one of {some}, not {given!r}, in\n{self}")
        return outcome

    def _checked_actions(self, given: tuple[ActionLike | tuple[ActionLike, ...], ...]) -> list[int]:
        if len(given) == 1 and isinstance(given[0], tuple):
            given = given[0]
        actions = [self._read(item, place) for place, item in enumerate(given)]
        acting = self.acting
        if not acting:
            raise IllegalAction(f"the game is over, so no action is legal in\n{self}")
        if len(actions) != len(acting):
            who = "one player acts here, so apply takes 1 action"
            if len(acting) == 2:
                who = "both players act here, so apply takes 2 actions"
            raise IllegalAction(f"{who}, not {len(actions)}, in\n{self}")
        for player, action in zip(acting, actions, strict=True):
            if action not in self._legal_actions(player):
                raise IllegalAction(f"action {action} is not legal for player {player} {self._where(player)}")
        return actions

    def _read(self, item: Any, place: int) -> int:
        """The action given for the acting player at that place, as a number."""
        if not isinstance(item, str):
            return _whole(item, self._game.num_actions)
        # Too many actions are rejected later, with a message that has the right number.
        return self.action(item, self.acting[place]) if place < len(self.acting) else -1

    def _where(self, player: int) -> str:
        legal = self._legal_actions(player).tolist()
        shown = [f"{action} ({self._name(player, action)})" for action in legal[:_SHOWN]]
        return f"(legal: {', '.join(shown + ['...'] * (len(legal) > _SHOWN))}) in\n{self}"

    def _name(self, player: int, action: int) -> str:
        name = self._game.action_name(self._position, player, action)
        if not isinstance(name, str):
            self._blame("action_name", f"must return a string, not {name!r}")
        return name

    def _checked_key(self, position: Any) -> int:
        key = self._game.key(position)
        if isinstance(key, bool) or not isinstance(key, int | np.integer) or not 0 <= key < 2**64:
            self._blame("key", f"must return a whole number from 0 to 2**64 - 1, not {key!r}")
        return int(key)

    def _pair(self, rewards: Any) -> Floats:
        try:
            pair = np.array(rewards, dtype=np.float32)
        except (TypeError, ValueError):
            pair = np.empty(0, dtype=np.float32)
        if pair.shape != (2,) or not np.isfinite(pair).all():
            self._blame(
                "apply",
                f"must return (position, rewards), with a finite reward for each player; its rewards are {rewards!r}",
            )
        return pair

    def _blame(self, method: str, what: str) -> NoReturn:
        try:
            text = str(self)
        except Exception:  # the author's text() fails here too: show the bare position
            text = repr(self._position)
        raise BrokenGame(f"{type(self._game).__name__}.{method} {what}, in\n{text}", method)


def _of_mask(given: list[Any]) -> str:
    """A hint for a mask in place of numbers."""
    mask = all(isinstance(item, bool | np.bool_) for item in given)
    return "; of a mask, np.flatnonzero(mask) are the numbers" if mask else ""


def _whole(item: SupportsIndex, num_actions: int) -> int:
    """An action as a Python int; raises IllegalAction if it is not a whole number."""
    try:
        number = operator.index(item)
    except TypeError:
        number = 2**31
    if isinstance(item, bool) or not -(2**31) <= number < 2**31:
        raise IllegalAction(f"an action is a whole number from 0 to {num_actions - 1} or a name, not {item!r}")
    return number
