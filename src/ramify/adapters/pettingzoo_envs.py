"""A game as environments of PettingZoo: AEC for every game, parallel where both players act at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv

from ramify.adapters.shared import (
    RENDER_MODES,
    checked_render_mode,
    legal,
    mask_of,
    refuse_action,
    rendered,
)
from ramify.games import Game, State, number_of_players


class _Agents:
    """The agents of a game and their spaces, for both kinds of environments."""

    def __init__(self, game: Game, illegal_reward: float | None, render_mode: str | None) -> None:
        self.game, self.illegal_reward = game, illegal_reward
        self.render_mode = checked_render_mode(render_mode)
        self.possible_agents = [f"player_{player}" for player in range(number_of_players(game))]
        self.agents: list[str] = []
        self.game_state: State | None = None
        shown = spaces.Box(-np.inf, np.inf, game.observation_shape, np.float32)
        masks = spaces.Box(0, 1, (game.num_actions,), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict({"observation": shown, "action_mask": masks}) for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(game.num_actions) for agent in self.possible_agents}
        self.metadata = {"name": game.name, "render_modes": RENDER_MODES, "is_parallelizable": game.simultaneous}
        self._rng = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Dict:
        """Of ``{"observation": ..., "action_mask": ...}``."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """All actions of the game; the mask tells which are legal."""
        return self.action_spaces[agent]

    def player(self, agent: str) -> int:
        """The number of an agent's player."""
        return self.possible_agents.index(agent)

    def begin(self, seed: int | None) -> State:
        """A new game; the seed decides this game and those that follow."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.game_state = self.game.initial_state(int(self._rng.integers(2**63)))
        return self.game_state

    def shown(self, agent: str, acts: bool) -> dict[str, Any]:
        """What an agent observes; a mask of zeros where it does not act."""
        state, player = self.game_state, self.player(agent)
        assert state is not None
        mask = mask_of(state, player) if acts else np.zeros(self.game.num_actions, np.int8)
        return {"observation": state.observation(player), "action_mask": mask}

    def accepts(self, agent: str, action: Any) -> bool:
        """Whether an action is legal; raises IllegalAction for one that is not, unless there is a reward for it."""
        state, player = self.game_state, self.player(agent)
        assert state is not None
        if legal(state, player, action):
            return True
        if self.illegal_reward is None:
            refuse_action(state, player, action)
        return False


class AecGameEnv(_Agents, AECEnv):  # type: ignore[misc]
    """A game whose agents act one after the other. Make one with :func:`ramify.adapters.aec_env`."""

    def __init__(self, game: Game, illegal_reward: float | None, render_mode: str | None) -> None:
        AECEnv.__init__(self)
        _Agents.__init__(self, game, illegal_reward, render_mode)
        self._chosen: dict[int, int] = {}  # by those who act at once, until all of them have chosen

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game."""
        del options
        self.begin(seed)
        self._chosen = {}
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._select()

    def step(self, action: Any) -> None:
        """Play an action of the agent to act; where both act at once, the turn is played when both have chosen."""
        agent, state = self.agent_selection, self.game_state
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert state is not None
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if self.accepts(agent, action):
            self._chosen[self.player(agent)] = int(action)
            if len(self._chosen) == len(state.acting):
                won = state.apply(*(self._chosen[player] for player in state.acting))
                self.rewards = {name: float(won[self.player(name)]) for name in self.agents}
                self._chosen = {}
                self.terminations = dict.fromkeys(self.agents, bool(state.is_over))
        else:
            self.rewards[agent] = float(self.illegal_reward or 0.0)
            self.infos[agent] = {"illegal_action": True}
            self.terminations = dict.fromkeys(self.agents, True)
        self._select()
        self._accumulate_rewards()

    def _select(self) -> None:
        """Name the agent whose turn it is; of a finished game any."""
        state = self.game_state
        assert state is not None
        waiting = [player for player in state.acting if player not in self._chosen]
        if any(self.terminations.values()) or not waiting:
            self.agent_selection = self.agents[0]
        else:
            self.agent_selection = self.possible_agents[waiting[0]]

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent sees."""
        over = any(self.terminations.values())
        return self.shown(agent, acts=not over and self.player(agent) not in self._chosen)

    def render(self) -> Any:
        """The position as text."""
        return rendered(self.game_state, self.render_mode)

    def close(self) -> None:
        """Nothing is open."""

    def __str__(self) -> str:
        return f"ramify_{self.game.name}"


class ParallelGameEnv(_Agents, ParallelEnv):  # type: ignore[misc]
    """A game whose agents act at once. Make one with :func:`ramify.adapters.parallel_env`."""

    def __init__(self, game: Game, illegal_reward: float | None, render_mode: str | None) -> None:
        if not game.simultaneous:
            raise ValueError(f"in {game.name} the players act in turn: use aec_env")
        _Agents.__init__(self, game, illegal_reward, render_mode)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin a game."""
        del options
        self.begin(seed)
        return {agent: self.shown(agent, acts=True) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Play a turn. The action of a player who does not act is ignored."""
        state, agents = self.game_state, list(self.agents)
        assert state is not None
        infos: dict[str, dict[str, Any]] = {agent: {} for agent in agents}
        chosen = {agent: actions.get(agent) for agent in agents if self.player(agent) in state.acting}
        wrong = [agent for agent, action in chosen.items() if not self.accepts(agent, action)]
        rewards = dict.fromkeys(agents, 0.0)
        if wrong:
            rewards |= dict.fromkeys(wrong, float(self.illegal_reward or 0.0))
            infos |= {agent: {"illegal_action": True} for agent in wrong}
        elif chosen:
            won = state.apply(*(int(action) for action in chosen.values() if action is not None))
            rewards = {agent: float(won[self.player(agent)]) for agent in agents}
        over = bool(wrong) or bool(state.is_over)
        if over:
            self.agents = []
        observations = {agent: self.shown(agent, acts=not over) for agent in agents}
        return observations, rewards, dict.fromkeys(agents, over), dict.fromkeys(agents, False), infos

    def render(self) -> Any:
        """The position as text."""
        return rendered(self.game_state, self.render_mode)

    def close(self) -> None:
        """Nothing is open."""

    def __str__(self) -> str:
        return f"ramify_{self.game.name}"
