"""What the tools on exact PyRat positions share: the positions, sorted by the size of their boards, and networks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import ramify as rf
from ramify.arena.network_files import network_facts, network_file
from ramify.engine import Batch, Evaluation, SearchResult
from ramify.engine.batch import split
from ramify.engine.config import c_puct_of
from ramify.pyrat import OraclePosition, oracle_positions

REWARD = "difference"  # of the positions: half the difference of the players' values is the first player's


def light_positions(count: int, seed: int) -> Iterator[OraclePosition]:
    """The positions of ``oracle_positions`` without the strategies of their whole games, which need much memory."""
    for position in oracle_positions(count, seed, REWARD):
        solution: Any = dataclasses.replace(position.solution, strategy=None)  # type: ignore[arg-type]
        yield OraclePosition(position.state, solution)


def size_of(state: rf.State) -> tuple[int, int]:
    """Width and height of the board."""
    width, height = state.game.params["width"], state.game.params["height"]
    return int(width), int(height)


def board(state: rf.State) -> str:
    """The size of the board as text, the shorter side first: a board and its transpose count as one size."""
    return "×".join(map(str, sorted(size_of(state))))


def common_game(width: int, height: int) -> rf.Game:
    """The game of this size that all positions of this size can belong to: their mazes and limits are their own."""
    return rf.make("pyrat", width=width, height=height, reward=REWARD)


def in_common_game(state: rf.State) -> rf.State:
    """The same position as a state of ``common_game``, so that many can be searched together."""
    native: Any = common_game(*size_of(state))
    found: rf.State = native.state(**state.fields)  # type: ignore[attr-defined]  # native states have it
    return found


class AsDifference:
    """Values of an evaluator that predicts the players' cheese, as the difference that positions are rewarded by."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.c_puct = inner, c_puct_of(inner)

    def evaluate(self, batch: Batch) -> Evaluation:
        logits, values = split(self.inner.evaluate(batch), batch)
        lead = values[:, 0] - values[:, 1]
        return Evaluation(logits, np.stack([lead, -lead], axis=1))


def network_evaluator(name: str, device: str | None = None) -> Any:
    """The evaluator of a PyRat network, of every board size that it fits, with values as the positions have them."""
    path = network_file(name)
    reward = network_facts(path)["params"].get("reward", "cheese")
    if reward not in ("cheese", REWARD):
        raise ValueError(f"{name} was trained for reward={reward!r}: it must be cheese or {REWARD}")
    found = rf.evaluators.Network(rf.networks.load(path, common_game(5, 5)), device)
    return found if reward == REWARD else AsDifference(found)


def search_all(
    states: Sequence[rf.State], evaluator: Any, settings: dict[str, Any], seed: int = 0
) -> list[SearchResult]:
    """One search of each position; those on boards of one size share batches of the evaluator."""
    found: dict[int, SearchResult] = {}
    for size in sorted({size_of(state) for state in states}):
        places = [place for place, state in enumerate(states) if size_of(state) == size]
        searcher = rf.Searcher(common_game(*size), evaluator, rf.SearchConfig(**settings))
        results = searcher.run_many([in_common_game(states[place]) for place in places], [seed] * len(places))
        found.update(zip(places, results, strict=True))
    return [found[place] for place in range(len(states))]
