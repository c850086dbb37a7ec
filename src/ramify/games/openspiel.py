"""``openspiel:NAME``: OpenSpiel's games with two players and perfect information.

Parameters are OpenSpiel's. Observations are OpenSpiel's tensors, action names its action strings. Rewards are
what ``returns()`` gained with a turn; in games that pay at the end, with the last turn.

Chance is sampled: draw number n of a game is a function of the seed of ``initial_state`` and of n alone. A
state and its copies therefore see the same dice, and a search ahead looks at dice that have not been cast.

Equal keys promise equal futures, but the text of an OpenSpiel state may leave out what decides the future:
castling rights, repetitions, the turn limit, dice to come. So the key is that of the whole history, under
which no two paths meet, except for the games in TEXT_IS_ALL.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import IllegalAction, InvalidInput
from ramify.base.hints import nearest
from ramify.games.python_game import PythonGame, refuse_parts, refuse_unknown
from ramify.games.python_state import PythonState
from ramify.games.stable import stable_key

# Deterministic games whose text and player to move determine the future for all parameters: stones are only
# added, or each turn uses something up, so that positions do not recur and no turn limit ends a game early.
# tests/games/test_openspiel.py checks all positions of small boards. (Hex is not among them: its tensor
# depends on how stones became connected, and its text does not.)
TEXT_IS_ALL = frozenset(
    {
        "breakthrough",
        "clobber",
        "connect_four",
        "gomoku",
        "havannah",
        "mnk",
        "nim",
        "othello",
        "tic_tac_toe",
        "y",
    }
)


def _pyspiel() -> Any:
    try:
        import pyspiel  # a second to import, and optional
    except ImportError as error:
        raise ImportError("openspiel games need OpenSpiel: pip install ramify[openspiel]") from error
    return pyspiel


@dataclass(frozen=True, eq=False, slots=True)
class Position:
    """An OpenSpiel state, which is never changed, and the seed and count of its chance events."""

    state: Any
    seed: int  # of the chance events; 0 in games without chance
    draws: int  # chance events so far
    turns: tuple[tuple[int, ...], ...]  # the actions of the players so far, without chance events
    path: int  # key of the history
    returns: tuple[float, float]  # so far


class OpenSpielGame(PythonGame):
    """A game of OpenSpiel. Make one with ``ramify.make("openspiel:NAME", ...)``."""

    def __init__(self, short_name: str, **params: Any) -> None:
        pyspiel = _pyspiel()
        self._game = _load(pyspiel, short_name, params)
        kind = self._game.get_type()
        _refuse_unfit(pyspiel, self._game, kind)
        self.name = f"openspiel:{short_name}"
        self.params = dict(self._game.get_parameters())
        self.num_actions = self._game.num_distinct_actions()
        self.simultaneous = kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
        self.zero_sum = kind.utility == pyspiel.GameType.Utility.ZERO_SUM
        self.returns_range = (float(self._game.min_utility()), float(self._game.max_utility()))
        self._has_chance = kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC
        self.chance = self._has_chance
        self._pays_at_end = kind.reward_model == pyspiel.GameType.RewardModel.TERMINAL
        self._observes = bool(kind.provides_observation_tensor)
        tensor = "observation" if self._observes else "information_state"
        self.observation_shape = tuple(getattr(self._game, f"{tensor}_tensor_shape")())
        self._text_is_all = short_name in TEXT_IS_ALL
        self._short_name = short_name

    def start(self, rng: np.random.Generator) -> Position:
        seed = int(rng.integers(2**63)) if self._has_chance else 0
        return self._begin(seed)

    def _begin(self, seed: int) -> Position:
        return self._settled(self._game.new_initial_state(), seed, 0, (), stable_key(seed, self._identity))

    def acting(self, position: Position) -> Sequence[int]:
        state = position.state
        if state.is_terminal():
            return ()
        if state.is_simultaneous_node():
            return tuple(player for player in (0, 1) if state.legal_actions(player))
        return (state.current_player(),)

    def legal_actions(self, position: Position, player: int) -> list[int]:
        return list(position.state.legal_actions(player))

    def apply(self, position: Position, *actions: int) -> tuple[Position, tuple[float, float]]:
        state = position.state.clone()
        if state.is_simultaneous_node():
            given = iter(actions)
            idle = _pyspiel().INVALID_ACTION
            acting = self.acting(position)
            state.apply_actions([next(given) if player in acting else idle for player in (0, 1)])
        else:
            state.apply_action(actions[0])
        turns, path = (*position.turns, actions), stable_key((position.path, actions))
        after = self._settled(state, position.seed, position.draws, turns, path)
        now, before = after.returns, position.returns
        return after, (now[0] - before[0], now[1] - before[1])

    def _settled(self, state: Any, seed: int, draws: int, turns: tuple[tuple[int, ...], ...], path: int) -> Position:
        """The position after its chance nodes are sampled; changes the given state."""
        while state.is_chance_node():
            actions, weights = zip(*state.chance_outcomes(), strict=True)
            point = stable_key((seed, draws)) * 2.0**-64 * math.fsum(weights)
            choice = int(np.searchsorted(np.cumsum(weights), point, side="right"))
            state.apply_action(actions[min(choice, len(actions) - 1)])
            draws += 1
        first, second = state.returns() if state.is_terminal() or not self._pays_at_end else (0.0, 0.0)
        return Position(state, seed, draws, turns, path, (first, second))

    def observation(self, position: Position, player: int) -> NDArray[np.float32]:
        state = position.state
        tensor = state.observation_tensor(player) if self._observes else state.information_state_tensor(player)
        return np.array(tensor, dtype=np.float32).reshape(self.observation_shape)

    def key(self, position: Position) -> int:
        if self._text_is_all:
            return stable_key((str(position.state), self.acting(position)), self._identity)
        return position.path

    def text(self, position: Position) -> str:
        return str(position.state)

    def action_name(self, position: Position, player: int, action: int) -> str:
        return str(position.state.action_to_string(player, action))

    def state(self, actions: Any = (), chance_seed: Any = 0, **unknown: Any) -> PythonState:  # type: ignore[override]
        """The state after these turns from the initial state, as in `state.fields`.

        A turn is an action, by number or by name, or a list with one action per acting player. ``chance_seed``
        determines the chance events; it is not the seed of `initial_state`.
        """
        refuse_parts(self.name, ["actions", "chance_seed"], unknown)
        if not isinstance(actions, list | tuple):
            raise InvalidInput(f"{self.name}: actions must be a list of turns, not {reprlib.repr(actions)}")
        if isinstance(chance_seed, bool) or not isinstance(chance_seed, int) or not 0 <= chance_seed < 2**63:
            wanted = "a whole number from 0 to 2**63 - 1"
            raise InvalidInput(f"{self.name}: chance_seed must be {wanted}, not {reprlib.repr(chance_seed)}")
        state = PythonState(self, self._begin(chance_seed if self._has_chance else 0))
        for number, given in enumerate(actions, 1):
            turn = given if isinstance(given, list | tuple) else [given]
            try:
                state.apply(*turn)
            except IllegalAction as error:
                raise InvalidInput(f"{self.name}: turn {number} of actions cannot be played: {error}") from error
        return state

    def _fields(self, state: PythonState) -> dict[str, Any]:
        position: Position = state.position
        turns = [turn[0] if len(turn) == 1 else list(turn) for turn in position.turns]
        return {"actions": turns, **({"chance_seed": position.seed} if self._has_chance else {})}

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self._short_name, self.params)


def load(short_name: str, params: dict[str, Any]) -> OpenSpielGame:
    """The game ``openspiel:NAME``."""
    return OpenSpielGame(short_name, **params)


def _load(pyspiel: Any, short_name: str, params: dict[str, Any]) -> Any:
    """OpenSpiel's game; raises InvalidInput on names and values it does not know."""
    if short_name.startswith("python_"):
        import open_spiel.python.games  # noqa: F401  # registers OpenSpiel's games written in Python
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if short_name not in kinds:
        close = nearest(short_name, kinds)
        hint = f"; did you mean 'openspiel:{close}'?" if close else ""
        raise InvalidInput(f"OpenSpiel has no game '{short_name}'{hint}")
    known = kinds[short_name].parameter_specification
    refuse_unknown(f"game 'openspiel:{short_name}'", list(known), params)
    if "players" in known and kinds[short_name].min_num_players <= 2 <= kinds[short_name].max_num_players:
        params = {"players": 2, **params}
    # OpenSpiel rejects integers for parameters of type float.
    typed = {name: float(x) if isinstance(known[name], float) else x for name, x in params.items()}
    try:
        return pyspiel.load_game(short_name, typed)
    except (pyspiel.SpielError, RuntimeError, IndexError) as error:
        raise InvalidInput(f"OpenSpiel cannot load '{short_name}' with {params}: {error}") from error


def _refuse_unfit(pyspiel: Any, game: Any, kind: Any) -> None:
    reasons = []
    if game.num_players() != 2:
        reasons.append(f"its number of players is {game.num_players()}, not 2")
    if kind.information == pyspiel.GameType.Information.IMPERFECT_INFORMATION:
        reasons.append("its information is imperfect: players do not see the whole state")
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        reasons.append("it is a mean-field game")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        reasons.append("it draws chance events in secret, so that the same seed gives different games")
    if not kind.provides_observation_tensor and not kind.provides_information_state_tensor:
        reasons.append("it offers no tensor to observe")
    if reasons:
        raise InvalidInput(f"openspiel:{kind.short_name} cannot be played here: {'; '.join(reasons)}")
