"""Logging (logger ``ramify``): one line per search at INFO, every simulation of a small search at DEBUG.

Logging never changes the result of a search: a search with batches or threads is not traced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ramify import _core
from ramify.engine.config import SearchConfig
from ramify.engine.result import Path, Report, SearchResult, name_of
from ramify.engine.seen import followed
from ramify.games import State

log = logging.getLogger("ramify")

TRACED_SIMULATIONS = 200  # larger searches are not traced: nobody reads it


def wants_trace(config: SearchConfig) -> bool:
    """Whether DEBUG is enabled, the run is small, and its simulations run one at a time anyway."""
    alone = config.batch == 1 and config.threads == 1
    return alone and config.simulations <= TRACED_SIMULATIONS and log.isEnabledFor(logging.DEBUG)


def trace_simulations(search: _core.Search, state: State, drive: Callable[[int], None]) -> None:
    """Run one simulation at a time and log the selected edges, their scores and the changed values."""
    done = -1
    while search.stats["simulations"] != done:
        done = search.stats["simulations"]
        before = search.report([])
        drive(1)
        if search.stats["simulations"] == done:
            return
        _log_simulation(search, state, done + 1, before)


def _log_simulation(search: _core.Search, state: State, number: int, before: Report) -> None:
    path = search.last_path
    if before["ready"]:
        for player in (0, 1):
            if before["acting"] >> player & 1:
                scores = before["scores"][player]
                text = " ".join(
                    f"{state.action_name(int(action), player)}:{score:.4f}"
                    for action, score in zip(before["outcomes"][player], scores, strict=True)
                )
                log.debug("simulation %d: scores of player %d at the root: %s", number, player, text)
    names, walk = [], state
    for joint in path:
        names.append(name_of(walk, joint))
        walk = followed(walk, joint)
    log.debug("simulation %d: path %s", number, " > ".join(names) or "(root)")
    prefix: Path = []
    for depth in range(len(path) + 1):
        report = search.report(prefix)
        log.debug(
            "simulation %d: depth %d visits=%d value=(%+.4f, %+.4f)",
            number,
            depth,
            report["visits"],
            *report["value"],
        )
        if depth < len(path):
            prefix = [*prefix, path[depth]]


def log_run(name: str, result: SearchResult) -> None:
    """Log one line of statistics."""
    if not log.isEnabledFor(logging.INFO):
        return
    stats = result.stats
    rate = stats["simulations"] / max(stats["seconds"], 1e-9)
    log.info(
        "search %s: %d simulations, %d evaluations, %d nodes, %d transpositions, depth %d, %.1f MB, %.3f s (%.0f/s), "
        "value (%+.3f, %+.3f)",
        name,
        stats["simulations"],
        stats["evaluations"],
        stats["nodes"],
        stats["transpositions"],
        stats["max_depth"],
        stats["bytes"] / 1e6,
        stats["seconds"],
        rate,
        *result.value,
    )
