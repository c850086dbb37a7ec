"""Tournaments on the nodes of a cluster: each of them plays the same one into the same store, and claims divide it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ramify.arena import ParallelSettings, Tournament
from ramify.base.files import is_url
from ramify.base.imports import import_modules, imported
from ramify.cluster import ClusterConfig, Link, helped
from ramify.store.store import Store


def play_on_node(link: Link, plan: bytes, modules: tuple[str, ...], store: str, concurrency: int) -> None:
    """The work of a process on a node: the whole tournament, as far as others have not claimed its games."""
    del link
    import_modules(modules)  # a game of the user's own has to be known before it is unpickled
    tournament: Tournament = pickle.loads(plan)
    with Store(store) as kept:
        tournament.run(results=kept.results(), parallel=ParallelSettings(concurrency))


@contextmanager
def played_on_cluster(plan: Tournament, store: str, config: ClusterConfig, concurrency: int) -> Iterator[None]:
    """Let the nodes of a cluster play games of a tournament while the context is open. The caller plays it, too, with
    the results of the same store, and ends when all games are there."""
    arguments = (pickle.dumps(plan), imported(), reachable(store, config), concurrency)
    with helped(config, play_on_node, *arguments):
        yield


def reachable(store: str | None, config: ClusterConfig) -> str | None:
    """The place of a store as the nodes of a cluster are told it; raises a ValueError if they cannot reach it."""
    if store is not None and is_url(store):
        return store
    if config.address != "local":
        raise ValueError(
            "the nodes of a cluster need a store that all of them reach: --store postgresql://user@host/database"
        )
    return None if store is None else os.fspath(Path(store).resolve())
