"""Reference players without a network: random, greedy and alpha-beta."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from ramify._core import State as NativeState
from ramify.arena.player import Player, PlayerConfig, Turn, register_player
from ramify.engine.alphabeta import AlphaBetaConfig, run
from ramify.games import Game


class _TurnByTurn:
    """A player that handles its turns one by one."""

    def __init__(self, decide: Callable[[Turn], int]) -> None:
        self._decide = decide

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        return [self._decide(turn) for turn in turns]

    def close(self) -> None:
        pass


def _any_of(actions: Sequence[int], turn: Turn) -> int:
    """A random one of the actions, seeded by the turn."""
    return int(actions[int(np.random.default_rng((turn.seed, turn.player)).integers(len(actions)))])


@register_player
class RandomConfig(PlayerConfig):
    """Plays uniformly random legal actions."""

    kind: Literal["random"] = "random"

    def open(self, game: Game) -> Player:
        del game
        return _TurnByTurn(lambda turn: _any_of(turn.state.legal_actions(turn.player).tolist(), turn))


@register_player
class AlphaBetaPlayerConfig(PlayerConfig, AlphaBetaConfig):
    """Alpha-beta search. Deterministic without ``seconds``; with ``ties``, ties are broken by the turn's seed."""

    kind: Literal["alphabeta"] = "alphabeta"

    def open(self, game: Game) -> Player:
        if game.simultaneous:
            raise ValueError(f"alpha-beta needs a turn-based game; in {game.name} both players act at once")
        settings = AlphaBetaConfig(**self.model_dump(include=set(AlphaBetaConfig.model_fields)))
        run(game.initial_state(seed=0), settings.replace(nodes=1, table=0))  # says why, where it cannot search the game
        return _TurnByTurn(lambda turn: _best(turn, settings))


@register_player
class GreedyConfig(PlayerConfig):
    """Plays the best action after one ply by the game's heuristic; in PyRat, moves towards the nearest cheese."""

    kind: Literal["greedy"] = "greedy"
    ties: bool = Field(
        False, description="Break ties at random, seeded by the turn; otherwise take the first of the best actions."
    )

    def open(self, game: Game) -> Player:
        if game.name == "pyrat":  # the one game of the core that knows a simple player
            return _TurnByTurn(lambda turn: _greedy(turn, self.ties))
        if game.simultaneous or getattr(game.initial_state(seed=0), "heuristic", None) is None:
            raise ValueError(f"the greedy player needs a turn-based game with a heuristic; {game.name} has none")
        settings = AlphaBetaConfig(depth=1, quiescence=False, ties=self.ties, table=0)
        return _TurnByTurn(lambda turn: _best(turn, settings))


def _best(turn: Turn, settings: AlphaBetaConfig) -> int:
    found = run(turn.state, settings)
    return _any_of(sorted(found.actions), turn) if settings.ties else found.action


def _greedy(turn: Turn, ties: bool) -> int:
    """The first, or any, of the actions that the game's simple player thinks best."""
    assert isinstance(turn.state, NativeState)
    best = turn.state.greedy_actions(turn.player)
    assert best is not None
    return _any_of(best.tolist(), turn) if ties else int(best[0])
