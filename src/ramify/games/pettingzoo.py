"""``pettingzoo:NAME``: PettingZoo's environments with one or two agents as games.

NAME is PettingZoo's, such as ``classic/connect_four-v3``, without its first part (``connect_four-v3``) or as its
modules are called (``connect_four_v3``), or a module of your own that has ``env`` or ``parallel_env``. Parameters are
those of the environment. Where both agents act at once (``parallel_env``), both players do; otherwise they act in turn.

Observations are boxes of numbers (images as planes) or a choice, as a vector with a one; legal actions are those of
``action_mask``, in the observation or in the info. What a position is, and how a search comes back to one, is described
in ``simulators.py``. PettingZoo does not say whether agents see the whole position: card games are refused by name.
"""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import InvalidInput
from ramify.base.hints import did_you_mean
from ramify.games.simulators import Seen, SimulatedGame, observation_shape, observed, whole_actions

HIDDEN = ("hanabi", "leduc_holdem", "texas_holdem", "texas_holdem_no_limit")  # agents do not see the whole position


def _pettingzoo() -> Any:
    try:
        import pettingzoo
    except ImportError as error:
        raise ImportError("pettingzoo games need PettingZoo: pip install 'ramify[pettingzoo]'") from error
    return pettingzoo


class PettingZooGame(SimulatedGame):
    """An environment of PettingZoo. Make one with ``ramify.make("pettingzoo:NAME", ...)``."""

    def __init__(self, task: str, **params: Any) -> None:
        self._task, self._options = task, params
        self.name = f"pettingzoo:{task}"
        self.params = dict(params)
        self._make, self.simultaneous = _maker(task)
        first = self._new()
        self._agents: list[str] = list(first.possible_agents)
        if len(self._agents) not in (1, 2):
            raise InvalidInput(f"{self.name} cannot be played here: it has {len(self._agents)} agents, not one or two")
        self.num_players = len(self._agents)
        self._actions = [whole_actions(first.action_space(agent), self.name) for agent in self._agents]
        self.num_actions = max(map(len, self._actions))
        spaces = [_shown_space(first.observation_space(agent)) for agent in self._agents]
        if any(space != spaces[0] for space in spaces):
            raise InvalidInput(f"{self.name} cannot be played here: its agents have different observations: {spaces}")
        self._space = spaces[0]
        self.observation_shape = observation_shape(self._space, self.name)
        self._try_out(first)

    def _new(self) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions, and of modules that are called the old way
                return self._make(**self._options)
        except Exception as error:  # of the environment's own constructor, of a package that it needs, of the registry
            raise InvalidInput(f"PettingZoo cannot make {self._task!r} with {self._options}: {error}") from error

    def _draws(self, task: Any) -> Any:
        generator = getattr(task.unwrapped, "np_random", None)
        return generator.bit_generator.state if isinstance(generator, np.random.Generator) else None

    def _start(self, task: Any, seed: int) -> Seen:
        if self.simultaneous:
            observations, infos = task.reset(seed=seed)
            return self._seen_at_once(task, observations, infos)
        task.reset(seed=seed)
        return self._seen_in_turn(task)

    def _turn(self, task: Any, actions: tuple[int, ...]) -> tuple[Seen, tuple[float, float]]:
        if self.simultaneous:
            given = {
                agent: own[action] for agent, own, action in zip(self._agents, self._actions, actions, strict=True)
            }
            observations, rewards, terminations, truncations, infos = task.step(given)
            seen = self._seen_at_once(task, observations, infos, _cut_off(terminations, truncations))
            return seen, self._pair(rewards)
        task.step(self._actions[self._agents.index(task.agent_selection)][actions[0]])
        total = np.array(self._pair(task.rewards))
        while task.agents and _done(task, task.agent_selection) and not all(_done(task, name) for name in task.agents):
            task.step(None)  # one of the agents has left
            total += self._pair(task.rewards)
        return self._seen_in_turn(task), (float(total[0]), float(total[1]))

    def _pair(self, rewards: dict[str, Any]) -> tuple[float, float]:
        given = [float(rewards.get(agent, 0.0)) for agent in self._agents]
        return given[0], given[1] if len(given) == 2 else 0.0

    def _seen_in_turn(self, task: Any) -> Seen:
        """Of an AEC environment."""
        observations = [task.observe(agent) for agent in self._agents]
        over = not task.agents or all(_done(task, agent) for agent in task.agents)
        if over:
            return self._seen(observations, (), (), _cut_off(task.terminations, task.truncations))
        player = self._agents.index(task.agent_selection)
        legal = self._legal(player, observations[player], task.infos.get(task.agent_selection, {}))
        return self._seen(observations, (player,), (legal,))

    def _seen_at_once(
        self, task: Any, observations: dict[str, Any], infos: dict[str, Any], cut_off: bool = False
    ) -> Seen:
        """Of a parallel environment; it is over as soon as an agent has left, by a limit if ``cut_off``."""
        shown = [observations.get(agent, np.zeros(self._space.shape or ())) for agent in self._agents]
        if len(task.agents) < len(self._agents):
            return self._seen(shown, (), (), cut_off)
        players = tuple(range(len(self._agents)))
        legal = tuple(self._legal(p, shown[p], infos.get(self._agents[p], {})) for p in players)
        return self._seen(shown, players, legal)

    def _legal(self, player: int, observation: Any, info: dict[str, Any]) -> tuple[int, ...]:
        mask = observation.get("action_mask") if isinstance(observation, dict) else None
        mask = info.get("action_mask") if mask is None else mask
        if mask is None:
            return tuple(range(len(self._actions[player])))
        return tuple(int(action) for action in np.flatnonzero(mask))

    def _seen(
        self,
        observations: list[Any],
        acting: tuple[int, ...],
        legal: tuple[tuple[int, ...], ...],
        truncated: bool = False,
    ) -> Seen:
        planes = [self._planes(observation) for observation in observations]
        return Seen((planes[0], planes[-1]), acting, legal, truncated)

    def _planes(self, observation: Any) -> NDArray[np.float32]:
        return observed(self._space, observation["observation"] if isinstance(observation, dict) else observation)

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self._task, self.params)


def load(task: str, params: dict[str, Any]) -> PettingZooGame:
    """The game ``pettingzoo:NAME``."""
    return PettingZooGame(task, **params)


def _done(task: Any, agent: str) -> bool:
    return bool(task.terminations.get(agent, True) or task.truncations.get(agent, True))


def _cut_off(terminations: dict[str, Any], truncations: dict[str, Any]) -> bool:
    """Whether a limit has ended the game, and not the task for any agent."""
    return any(truncations.values()) and not any(terminations.values())


def _maker(task: str) -> tuple[Any, bool]:
    """A function that makes environments of that name, and whether agents act at once in them."""
    zoo = _pettingzoo()
    wanted = re.sub(r"_v(\d+)$", r"-v\1", task)
    names = [name for name in zoo.aec_registry if wanted in (name, name.partition("/")[2])]
    if names:
        if names[0].partition("/")[2].partition("-")[0] in HIDDEN:
            raise InvalidInput(f"pettingzoo:{task} cannot be played here: agents do not see the whole position")
        at_once = names[0] in zoo.parallel_registry
        return lambda **params: zoo.make("parallel" if at_once else "aec", names[0], **params), at_once
    try:
        module = importlib.import_module(task)
    except (ImportError, ValueError) as error:
        hint = did_you_mean(wanted, [name.partition("/")[2] for name in zoo.aec_registry], after=" ")
        raise InvalidInput(
            f"PettingZoo has no environment {task!r}, and there is no such module; {hint}({error})"
        ) from error
    for name in ("parallel_env", "env"):
        if hasattr(module, name):
            return getattr(module, name), name == "parallel_env"
    raise InvalidInput(f"pettingzoo:{task} cannot be played here: the module has neither parallel_env nor env")


def _shown_space(space: Any) -> Any:
    """The space of observations without the mask."""
    inner = getattr(space, "spaces", None)
    return inner["observation"] if isinstance(inner, dict) and "observation" in inner else space
