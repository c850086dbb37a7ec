"""Sweeps on the nodes of a cluster: each of them takes part, and the study and the store divide the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from ramify.arena import ParallelSettings
from ramify.base.imports import import_modules, imported
from ramify.cluster import ClusterConfig, Link, connected, helped
from ramify.store.remote import reachable
from ramify.sweeps.config import SweepConfig
from ramify.sweeps.run import Sweep, SweepProgress

GRACE_SECONDS = 20.0  # for a process to give back its trial when the sweep is stopped


def sweep_on_node(
    link: Link, config: SweepConfig, modules: tuple[str, ...], folder: Path, store: str | None, concurrency: int
) -> None:
    """The work of a process on a node: trials that others have not begun, until there are enough, or a message."""
    import_modules(modules)

    def watch(_: SweepProgress) -> None:
        if link.poll():
            raise KeyboardInterrupt  # the trial is given back, as by Ctrl-C

    with suppress(KeyboardInterrupt):
        Sweep(config, folder, ParallelSettings(concurrency), store).take_part(watch)


def planned(
    config: SweepConfig,
    folder: Path,
    parallel: ParallelSettings | None = None,
    store: str | None = None,
    cluster: ClusterConfig | None = None,
) -> AbstractContextManager[Sweep]:
    """The sweep, with help from the nodes of a cluster if one is given."""
    if cluster is None:
        return nullcontext(Sweep(config, folder, parallel, store))
    return swept_on_cluster(config, folder, parallel or ParallelSettings(), store, cluster)


@contextmanager
def swept_on_cluster(
    config: SweepConfig, folder: Path, parallel: ParallelSettings, store: str | None, cluster: ClusterConfig
) -> Iterator[Sweep]:
    """The sweep, with which the nodes of a cluster help while the context is open. Nothing is written where there is
    no cluster."""
    assert cluster.address is not None
    place = reachable(store, cluster)
    with connected(cluster.address):
        sweep = Sweep(config, folder, parallel, store)
        arguments = (config, imported(), folder.resolve(), place, parallel.concurrency)
        with helped(cluster, sweep_on_node, *arguments, grace=GRACE_SECONDS):
            yield sweep
