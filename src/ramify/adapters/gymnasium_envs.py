"""A game as an environment of Gymnasium: one side of it, with a player on the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ramify.adapters.shared import (
    RENDER_MODES,
    checked_render_mode,
    legal,
    mask_of,
    refuse_action,
    rendered,
)
from ramify.arena import Player, PlayerConfig, Turn, read_player
from ramify.games import Game, State, number_of_players

Policy = Callable[[State, int], int]
Floats = NDArray[np.float32]


class GameEnv(gymnasium.Env[Floats, np.int64]):
    """One side of a game. Make one with :func:`ramify.adapters.gymnasium_env`."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": RENDER_MODES, "render_fps": 1}  # type: ignore[misc]

    def __init__(
        self,
        game: Game,
        opponent: Player | PlayerConfig | Policy | str | None,
        player: int | None,
        illegal_reward: float | None,
        render_mode: str | None,
    ) -> None:
        alone = number_of_players(game) == 1
        if alone and (opponent is not None or player != 0):
            raise ValueError(f"{game.name} has one player: leave out opponent and player")
        if player not in (0, 1, None):
            raise ValueError(f"player must be 0, 1 or None, not {player!r}")
        self.game, self.illegal_reward = game, illegal_reward
        self.render_mode = checked_render_mode(render_mode)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, game.observation_shape, np.float32)
        self.action_space = gymnasium.spaces.Discrete(game.num_actions)
        self.player = player or 0
        self.game_state: State | None = None
        self._draws_player = player is None
        self._opponent = None if alone else _Opponent(game, opponent)
        self._plies = 0
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Begin a game; the seed decides its start, its chance events and what is random about the opponent."""
        super().reset(seed=seed, options=options)
        if self._draws_player:
            self.player = int(self.np_random.integers(2))
        self._plies = 0
        self.game_state = self.game.initial_state(int(self.np_random.integers(2**63)))
        self._play_on({})
        self._over = self.game_state.is_over
        return self.game_state.observation(self.player), self._info()

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Play an action, and what the opponent answers until it is the player's turn again."""
        state = self.game_state
        if state is None or self._over:
            raise gymnasium.error.ResetNeeded("the game is over, or has not begun: call reset()")
        if not legal(state, self.player, action):
            if self.illegal_reward is None:
                refuse_action(state, self.player, action)
            self._over, reward, more = True, float(self.illegal_reward or 0.0), {"illegal_action": True}
        else:
            reward, more = self._play_on({self.player: int(action)}), {}
            self._over = state.is_over
        return state.observation(self.player), reward, self._over, False, self._info() | more

    def _play_on(self, chosen: dict[int, int]) -> float:
        """Play turns, the first with the chosen action, until the player has to choose; returns what it wins."""
        state, reward = self.game_state, 0.0
        assert state is not None
        while not state.is_over and (self.player not in state.acting or chosen):
            actions = []
            for player in state.acting:
                if player not in chosen:
                    assert self._opponent is not None
                    turn = Turn(state, player, int(self.np_random.integers(2**63)), self._plies)
                    chosen[player] = self._opponent.choose(turn)
                actions.append(chosen[player])
            reward += float(state.apply(*actions)[self.player])
            self._plies += 1
            chosen = {}
        return reward

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks().astype(np.int8)}

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are legal now; the name is the one that ``sb3_contrib.MaskablePPO`` looks for."""
        if self.game_state is None or self._over:
            return np.zeros(self.game.num_actions, np.bool_)
        return mask_of(self.game_state, self.player).astype(np.bool_)

    def render(self) -> Any:
        """The position as text."""
        return rendered(self.game_state, self.render_mode)

    def close(self) -> None:
        """End what the opponent has started."""
        if self._opponent is not None:
            self._opponent.close()


class _Opponent:
    """A player of the arena, opened on first use, or a function."""

    def __init__(self, game: Game, given: Player | PlayerConfig | Policy | str | None) -> None:
        if given is None:
            raise ValueError(f'{game.name} has two players: give an opponent, such as opponent="random"')
        self._game = game
        self._config = read_player(given) if isinstance(given, str) else given
        self._player: Player | None = None
        if isinstance(self._config, PlayerConfig):
            self._player = self._config.open(game)  # says at once what it cannot play
        elif not (callable(self._config) or hasattr(self._config, "choose")):
            raise TypeError(f"opponent must be a player, its text or a function (state, player), not {given!r}")

    def choose(self, turn: Turn) -> int:
        if isinstance(self._config, PlayerConfig):
            if self._player is None:
                self._player = self._config.open(self._game)
            return self._player.choose([turn])[0]
        if callable(self._config):
            return int(self._config(turn.state.copy(), turn.player))
        return self._config.choose([turn])[0]

    def close(self) -> None:
        """Close a player that was opened here; one that was given is its owner's."""
        if self._player is not None:
            self._player.close()
            self._player = None


# For gymnasium.make("ramify.adapters.gymnasium_envs:ramify/Game-v0", game="hex", opponent="random").
gymnasium.register(id="ramify/Game-v0", entry_point="ramify.adapters:gymnasium_env")
