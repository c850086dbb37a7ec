"""Reanalyse: fresh targets for old games, by searches with the newest network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.engine.config import SearchConfig
from ramify.engine.result import SearchResult
from ramify.engine.searcher import Searcher
from ramify.engine.seen import SeenPosition
from ramify.training.config import TargetConfig
from ramify.training.unroll import UnrollReplay

TOGETHER = 2048  # positions that are searched in common batches


def reanalyse(
    replay: UnrollReplay, model: Any, count: int, search: SearchConfig, targets: TargetConfig, seed: tuple[int, ...]
) -> int:
    """Search ``count`` positions of the window again, drawn at random; returns how many were searched."""
    size = len(replay)
    if not size or count < 1:
        return 0
    rng = np.random.default_rng(seed)
    places = np.sort(rng.choice(size, min(count, size), replace=False))
    config = search if search.selection == "gumbel" else search.replace(noise_fraction=0.0, root_temperature=1.0)
    searcher = Searcher(model, config=config.replace(forced_playouts=0.0), seed=int(rng.integers(2**63)))
    for start in range(0, len(places), TOGETHER):
        some = places[start : start + TOGETHER]
        found = searcher.run_many(positions(replay, some))
        replay.renew(some, *fresh_targets(found, targets, replay.game.num_actions, model.acting == "both"))
    searcher.reset()
    return len(places)


def positions(replay: UnrollReplay, places: NDArray[Any]) -> list[Any]:
    """What is known of the positions at these places of the window."""
    seen = replay.searched(places)
    players = seen["legal"].shape[1]
    made = []
    for observation, legal, viewer in zip(seen["observations"], seen["legal"], seen["viewers"].tolist(), strict=True):
        acting = (0, 1) if players == 2 else (viewer,)
        made.append(SeenPosition(observation, acting, [np.flatnonzero(row) for row in legal]))
    return made


def fresh_targets(
    results: list[SearchResult], targets: TargetConfig, num_actions: int, both: bool
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Policy targets [n, players, num_actions] and root values [n, 2] of searches."""
    policies = np.zeros((len(results), 1 + both, num_actions), np.float32)
    for row, result in enumerate(results):
        for place, player in enumerate(result.acting):
            policies[row, place] = result.policy(player, targets.policy, nash=targets.nash)[:num_actions]
    return policies, np.stack([result.value for result in results]).astype(np.float32)
