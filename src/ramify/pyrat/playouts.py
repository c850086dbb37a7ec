"""Payoff matrices of positions too far from the end to be solved: every pair of outcomes is played out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ramify.base.seeds import derive
from ramify.engine.batch import Evaluator, NativeEvaluator
from ramify.engine.config import SearchConfig
from ramify.engine.searcher import Searcher
from ramify.games import State


@dataclass(frozen=True)
class PlayedOut:
    """Payoffs by games played to their end, without the value of any evaluator, and what they cost."""

    payoffs: NDArray[np.float64]  # [2, n0, n1]: mean rewards from the position on
    errors: NDArray[np.float64]  # [2, n0, n1]: standard errors of these means
    games: int
    searches: int
    seconds: float


def played_out_payoffs(
    state: State,
    evaluator: Evaluator | NativeEvaluator | None = None,
    *,
    games: int = 50,
    simulations: int = 50,
    temperature: float = 1.0,
    seed: int = 0,
) -> PlayedOut:
    """Play ``games`` games from a position for every pair of distinct outcomes; both players then search and sample.

    The result is unbiased for these players: it is the payoff of the pair if both go on as a search of so many
    simulations with this evaluator does.
    """
    started = time.perf_counter()
    outcomes = [state.outcomes(p)[0].tolist() if p in state.acting else [-1] for p in (0, 1)]
    pairs = list(product(range(len(outcomes[0])), range(len(outcomes[1]))))
    playing, earned = list[State](), np.zeros((len(pairs), games, 2))
    for number, (i, j) in enumerate(pairs):
        for game in range(games):
            child = state.copy()
            earned[number, game] = child.apply(*(a for a in (outcomes[0][i], outcomes[1][j]) if a >= 0))
            playing.append(child)
    searcher = Searcher(state.game, evaluator, SearchConfig(simulations=simulations), seed=seed)
    searches = _play(playing, earned.reshape(-1, 2), searcher, temperature, seed)
    shape = (2, len(outcomes[0]), len(outcomes[1]))
    spread = earned.std(axis=1, ddof=1) if games > 1 else np.full((len(pairs), 2), np.nan)
    return PlayedOut(
        earned.mean(axis=1).T.reshape(shape),
        (spread / np.sqrt(games)).T.reshape(shape),
        len(playing),
        searches,
        time.perf_counter() - started,
    )


def _play(playing: list[State], earned: NDArray[np.float64], searcher: Searcher, temperature: float, seed: int) -> int:
    """Play all games to their end, side by side, and add up their rewards; returns the number of searches."""
    searches, turn = 0, 0
    while True:
        alive = [number for number, state in enumerate(playing) if not state.is_over]
        if not alive:
            return searches
        results = searcher.run_many([playing[number] for number in alive])
        for number, result in zip(alive, results, strict=True):
            chosen = result.action(temperature, derive(seed, number, turn))
            earned[number] += playing[number].apply(*(chosen if isinstance(chosen, tuple) else (chosen,)))
        searches, turn = searches + len(alive), turn + 1
