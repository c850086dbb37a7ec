"""A game as a game of OpenSpiel, for its algorithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import IIGObserverForPublicInfoGame

from ramify._core import State as NativeState
from ramify.games import Game, InvalidInput, PythonGame, PythonState, number_of_players

TYPE = pyspiel.GameType


def as_openspiel(
    game: Game, seed: int, returns_range: tuple[float, float] | None, max_game_length: int
) -> OpenSpielAdapter:
    """The game of :func:`ramify.adapters.openspiel_game`; raises InvalidInput where OpenSpiel has no place for it."""
    start = _start(game, seed)
    known, zero_sum = _stakes(game, start)
    least, most = returns_range or known
    if not (math.isfinite(least) and math.isfinite(most) and least <= most):
        raise InvalidInput(
            f"OpenSpiel wants to know the least and the most that a player of {game.name} can win, which the game "
            "does not say: give returns_range=(least, most)"
        )
    chance = getattr(game, "has_chance_events", False)
    players = number_of_players(game)
    kind = TYPE(
        short_name=f"ramify_{game.name}",
        long_name=f"{game.name} of ramify",
        dynamics=TYPE.Dynamics.SIMULTANEOUS if game.simultaneous else TYPE.Dynamics.SEQUENTIAL,
        chance_mode=TYPE.ChanceMode.EXPLICIT_STOCHASTIC if chance else TYPE.ChanceMode.DETERMINISTIC,
        information=TYPE.Information.PERFECT_INFORMATION,
        utility=TYPE.Utility.ZERO_SUM if zero_sum and players == 2 else TYPE.Utility.GENERAL_SUM,
        reward_model=TYPE.RewardModel.TERMINAL,
        max_num_players=players,
        min_num_players=players,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={},
    )
    info = pyspiel.GameInfo(
        num_distinct_actions=game.num_actions,
        max_chance_outcomes=_most_outcomes(start) if chance else 0,
        num_players=players,
        min_utility=float(least),
        max_utility=float(most),
        utility_sum=0.0 if zero_sum and players == 2 else None,
        max_game_length=max_game_length,
    )
    return OpenSpielAdapter(kind, info, game, start)


def _start(game: Game, seed: int) -> Any:
    """The initial state; of a game with chance events the one before the first of them."""
    if isinstance(game, PythonGame) and game.has_chance_events:
        return PythonState(game, game.start(np.random.default_rng(seed)))
    return game.initial_state(seed)  # native games have drawn what comes before the first turn


def _stakes(game: Game, start: Any) -> tuple[tuple[float, float], bool]:
    """The least and the most that a player can win, as far as the game knows, and whether it is a zero-sum game."""
    if isinstance(start, NativeState):
        least, most, zero_sum = start.stakes
        return (min(least), max(most)), zero_sum
    return getattr(game, "returns_range", None) or (-math.inf, math.inf), bool(getattr(game, "zero_sum", False))


def _most_outcomes(start: Any) -> int:
    """One more than the largest number of an outcome of chance, looked for in random games."""
    largest, rng = 0, np.random.default_rng(0)
    for _ in range(20):
        state = start.copy()
        while not state.is_over:
            if state.is_chance:
                outcomes, shares = state.chance_outcomes()
                largest = max(largest, int(outcomes.max()))
                state.apply_only(int(rng.choice(outcomes, p=shares)))
            else:
                state.apply_only(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))
    return largest + 1


class OpenSpielAdapter(pyspiel.Game):  # type: ignore[misc]
    """The rules, as OpenSpiel has them."""

    def __init__(self, kind: Any, info: Any, game: Game, start: Any) -> None:
        super().__init__(kind, info, {})
        self.game, self.start = game, start

    def new_initial_state(self) -> OpenSpielAdapterState:
        """The start of a game."""
        return OpenSpielAdapterState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
        """Observations are those of the game; information states are histories, because everybody sees everything."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return Observer(self.game)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)


class OpenSpielAdapterState(pyspiel.State):  # type: ignore[misc]
    """A position, as OpenSpiel has it. ``game_state`` is ramify's."""

    def __init__(self, game: OpenSpielAdapter) -> None:
        super().__init__(game)
        self.game_state = game.start.copy()  # OpenSpiel's clones have copies of it

    def current_player(self) -> Any:
        """The player to act, or OpenSpiel's numbers for chance, both at once and the end."""
        state = self.game_state
        if len(state.acting) == 2:
            return pyspiel.PlayerId.SIMULTANEOUS
        if state.acting:
            return state.acting[0]
        return pyspiel.PlayerId.CHANCE if getattr(state, "is_chance", False) else pyspiel.PlayerId.TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        legal: list[int] = self.game_state.legal_actions(player).tolist()
        return legal

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Outcomes with their probabilities."""
        outcomes, shares = self.game_state.chance_outcomes()
        return list(zip(outcomes.tolist(), shares.tolist(), strict=True))

    def _apply_action(self, action: int) -> None:
        self._play(action)

    def _apply_actions(self, actions: list[int]) -> None:
        self._play(*actions)

    def _play(self, *actions: int) -> None:
        """Play a turn, and leave a chance event that follows to OpenSpiel."""
        getattr(self.game_state, "apply_only", self.game_state.apply)(*actions)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"outcome {action}"
        name: str = self.game_state.action_name(action, player)
        return name

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return bool(self.game_state.is_over)

    def returns(self) -> list[float]:
        """What each player has won, at the end; zero before."""
        players = self.num_players()
        return self.game_state.returns.tolist()[:players] if self.is_terminal() else [0.0] * players

    def __str__(self) -> str:
        return str(self.game_state)


class Observer:
    """What a player observes, in the form of OpenSpiel's observers."""

    def __init__(self, game: Game) -> None:
        self.tensor = np.zeros(math.prod(game.observation_shape), np.float32)
        self.dict = {"observation": self.tensor.reshape(game.observation_shape)}

    def set_from(self, state: OpenSpielAdapterState, player: int) -> None:
        """Fill ``tensor``."""
        self.dict["observation"][...] = state.game_state.observation(player)

    def string_from(self, state: OpenSpielAdapterState, player: int) -> str:
        """The position as text; with its key, because the text may leave out what decides the future."""
        del player
        return f"{state.game_state}\n{state.game_state.key:016x}"
