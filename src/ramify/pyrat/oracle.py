"""PyRat positions near the end of a game, with exact values and payoff matrices: what searches are measured against."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ramify.base.seeds import derive
from ramify.engine.equilibria import GameSolution, nash_conv, solve_game
from ramify.engine.policies import Method
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

    @property
    def payoffs(self) -> NDArray[np.float64]:
        """Half the difference of the players' payoffs, [n0, n1]: player 0's payoffs in a zero-sum game."""
        return np.asarray(0.5 * (self.solution.payoffs[0] - self.solution.payoffs[1]))

    def value_error(self, result: SearchResult) -> float:
        """Distance of a search's value from the exact one: half the difference of the players' values."""
        return 0.5 * abs(float(result.value[0]) - float(result.value[1]) - self.solution.difference)

    def nash_conv(self, result: SearchResult, method: Method) -> float:
        """NashConv of a search's policies in the exact payoff matrix of the position."""
        own, other = (result.policy(player, method)[actions] for player, actions in enumerate(self.solution.actions))
        return nash_conv(self.payoffs, own / own.sum(), other / other.sum())


def oracle_positions(count: int = 500, seed: int = 0, reward: Reward = "difference") -> Iterator[OraclePosition]:
    """Random positions on boards of 3 x 3 to 5 x 5 with walls and mud, up to 6 cheese and 6 to 12 turns left, solved.

    Positions in which no choice matters are left out. The same seed gives the same positions, and more of them begin
    with the same ones.
    """
    for number in range(count):
        yield next(_tries(derive(seed, "oracle", number), reward))


def _tries(seed: int, reward: Reward) -> Iterator[OraclePosition]:
    for number in itertools.count():
        state = _position(np.random.default_rng(derive(seed, number)), reward)
        if state is None:
            continue
        position = OraclePosition(state, solve_game(state))
        if np.ptp(position.payoffs) > 0:
            yield position


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
