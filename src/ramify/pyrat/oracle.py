"""PyRat positions near the end of a game, with exact values and payoff matrices: what searches are measured against."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ramify.base.seeds import derive
from ramify.engine.equilibria import GameSolution, nash_conv, solve_game
from ramify.engine.result import SearchResult
from ramify.games import State, make

Reward = Literal["difference", "cheese", "win"]

SIDES = (3, 5)  # of the board, least and most
CHEESE = (1, 6)
TURNS = (6, 12)  # left to play
PLAYED = (0, 6)  # random turns before the position, so that scores and mud occur


@dataclass(frozen=True)
class OraclePosition:
    """A position and its exact solution."""

    state: State
    solution: GameSolution

    def value_error(self, result: SearchResult) -> float:
        """Distance of a search's value from the exact one: of player 0, in a zero-sum game."""
        return abs(float(result.value[0]) - float(self.solution.value[0]))

    def nash_conv(self, result: SearchResult, method: Literal["visits", "average", "nash"]) -> float:
        """NashConv of a search's policies in the exact payoff matrix of the position."""
        own, other = (result.policy(player, method)[actions] for player, actions in enumerate(self.solution.actions))
        payoffs = 0.5 * (self.solution.payoffs[0] - self.solution.payoffs[1])
        return nash_conv(payoffs, own / own.sum(), other / other.sum())


def oracle_positions(count: int = 500, seed: int = 0, reward: Reward = "difference") -> Iterator[State]:
    """Random positions on boards of 3 x 3 to 5 x 5 with walls and mud, up to 6 cheese and 6 to 12 turns left.

    The same seed gives the same positions; more of them begin with the same ones.
    """
    for number in range(count):
        yield next(state for state in _tries(derive(seed, "oracle", number), reward) if state is not None)


def solved_positions(count: int = 500, seed: int = 0, reward: Reward = "difference") -> Iterator[OraclePosition]:
    """The same positions with their exact solutions."""
    for state in oracle_positions(count, seed, reward):
        yield OraclePosition(state, solve_game(state))


def _tries(seed: int, reward: Reward) -> Iterator[State | None]:
    for number in itertools.count():
        yield _position(np.random.default_rng(derive(seed, number)), reward)


def _position(rng: np.random.Generator, reward: Reward) -> State | None:
    """A random position; None if its game is over."""

    def draw(limits: tuple[int, int]) -> int:
        return int(rng.integers(limits[0], limits[1] + 1))

    played = draw(PLAYED)
    game = make(
        "pyrat",
        width=draw(SIDES),
        height=draw(SIDES),
        cheese=draw(CHEESE),
        max_turns=played + draw(TURNS),
        wall_density=float(rng.uniform(0.0, 0.6)),
        mud_density=float(rng.uniform(0.0, 0.4)),
        symmetric=False,
        starts="random",
        reward=reward,
    )
    state = game.initial_state(seed=int(rng.integers(2**63)))
    for _ in range(played):
        state.apply(*(int(rng.choice(state.legal_actions(player))) for player in (0, 1)))
        if state.is_over:
            return None
    return state
