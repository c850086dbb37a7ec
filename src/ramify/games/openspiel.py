"""``openspiel:NAME``: OpenSpiel's games with two players and perfect information.

Parameters are OpenSpiel's. Observations are OpenSpiel's tensors, action names its action strings. Rewards are
what ``returns()`` gained with a turn; in games that pay at the end, with the last turn.

OpenSpiel's chance nodes are chance events (see ``PythonGame.chance_outcomes``): a game that is played draws them from
the seed of ``initial_state``, and a search takes the mean over their outcomes.

Equal keys promise equal futures, but the text of an OpenSpiel state may leave out what decides the future:
castling rights, repetitions, the turn limit. So the key is that of the whole history, under
which no two paths meet, except for the games in TEXT_IS_ALL.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import IllegalAction, InvalidInput
from ramify.base.hints import nearest
from ramify.games.chance import checked_chance
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
    """An OpenSpiel state, which is never changed, and how it came about."""

    state: Any
    turns: tuple[tuple[int, ...], ...]  # the actions of the players so far, without chance events
    chance: tuple[int, ...]  # the outcomes of chance events so far
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
        self.has_chance_events = kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC
        self._pays_at_end = kind.reward_model == pyspiel.GameType.RewardModel.TERMINAL
        self._observes = bool(kind.provides_observation_tensor)
        tensor = "observation" if self._observes else "information_state"
        self.observation_shape = tuple(getattr(self._game, f"{tensor}_tensor_shape")())
        self._text_is_all = short_name in TEXT_IS_ALL
        self._short_name = short_name

    def start(self, rng: np.random.Generator) -> Position:
        del rng  # what is random at the start is a chance event
        return self._reached(self._game.new_initial_state(), (), (), stable_key(0, self._identity))

    def chance_outcomes(self, position: Position) -> list[tuple[int, float]]:
        if not position.state.is_chance_node():
            return []
        return [(outcome, share) for outcome, share in position.state.chance_outcomes() if share > 0.0]

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
        state, turns, chance = position.state.clone(), position.turns, position.chance
        if state.is_chance_node():
            chance = (*chance, actions[0])
        else:
            turns = (*turns, actions)
        if state.is_simultaneous_node():
            given = iter(actions)
            idle = _pyspiel().INVALID_ACTION
            acting = self.acting(position)
            state.apply_actions([next(given) if player in acting else idle for player in (0, 1)])
        else:
            state.apply_action(actions[0])
        after = self._reached(state, turns, chance, stable_key((position.path, actions)))
        now, before = after.returns, position.returns
        return after, (now[0] - before[0], now[1] - before[1])

    def _reached(self, state: Any, turns: tuple[tuple[int, ...], ...], chance: tuple[int, ...], path: int) -> Position:
        paid = state.is_terminal() or not (self._pays_at_end or state.is_chance_node())
        first, second = state.returns() if paid else (0.0, 0.0)
        return Position(state, turns, chance, path, (first, second))

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

    def state(  # type: ignore[override]
        self, actions: Any = (), chance_seed: Any = 0, chance: Any = (), **unknown: Any
    ) -> PythonState:
        """The state after these turns from the initial state, as in `state.fields`.

        A turn is an action, by number or by name, or a list with one action per acting player. ``chance``: the outcomes
        of the first chance events; the others are drawn from ``chance_seed``, which is not the seed of `initial_state`.
        """
        parts = ["actions", "chance_seed", *(["chance"] if self.has_chance_events else [])]
        if not self.has_chance_events and chance != ():
            unknown = {"chance": chance, **unknown}
        refuse_parts(self.name, parts, unknown)
        for name, given in (("actions", actions), ("chance", chance)):
            if not isinstance(given, list | tuple):
                wanted = "turns" if name == "actions" else "outcomes"
                raise InvalidInput(f"{self.name}: {name} must be a list of {wanted}, not {reprlib.repr(given)}")
        seed = checked_chance(self.name, "chance_seed", chance_seed)
        state = PythonState(self, self.start(np.random.default_rng(0)), chance_seed=seed)
        self._settle(state, chance)
        for number, given in enumerate(actions, 1):
            turn = given if isinstance(given, list | tuple) else [given]
            try:
                state.apply_only(*turn)
            except IllegalAction as error:
                raise InvalidInput(f"{self.name}: turn {number} of actions cannot be played: {error}") from error
            self._settle(state, chance)
        if len(state.position.chance) < len(chance):
            raise InvalidInput(
                f"{self.name}: chance has {len(chance)} outcomes, but there were {len(state.position.chance)} events"
            )
        return state

    def _settle(self, state: PythonState, chance: Sequence[Any]) -> None:
        """Let chance decide until a player acts: by these outcomes as far as they reach, then by the state's seed."""
        while state.is_chance:
            number = state.chance_events
            if number >= len(chance):
                state.draw_chance()
                continue
            try:
                state.apply_only(chance[number])
            except IllegalAction as error:
                raise InvalidInput(f"{self.name}: chance event {number + 1} cannot be so: {error}") from error

    def _fields(self, state: PythonState) -> dict[str, Any]:
        position: Position = state.position
        turns = [turn[0] if len(turn) == 1 else list(turn) for turn in position.turns]
        if not self.has_chance_events:
            return {"actions": turns}
        return {"actions": turns, "chance_seed": state.chance_seed, "chance": list(position.chance)}

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
