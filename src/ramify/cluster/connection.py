"""The connection to a Ray cluster, or a cluster that is started on this machine for as long as it is needed."""

from __future__ import annotations

import functools
import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STORE_BYTES = 256 << 20  # memory for objects of a cluster that is started here: weights, for all processes together
PROBE_SECONDS = 10.0
LONGEST_PATH = 30  # of the folder for a started cluster: Ray's sockets lie deep in it, and their paths are limited

# For a cluster on this machine alone: no statistics to others, no ports that other machines reach (Ray's own switch for
# that is named after the systems where it is the default).
PRIVATE = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}


@dataclass(frozen=True)
class Node:
    """A machine of the cluster."""

    id: str
    host: str
    cpus: float
    gpus: float
    here: bool  # whether the directing process runs on it


def import_ray() -> Any:
    """Ray; raises an ImportError that says how to install it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise ImportError("work on a cluster needs Ray: pip install 'ramify[cluster]'") from None
    return ray


@contextmanager
def connected(address: str, cpus: int | None = None) -> Iterator[None]:
    """Be connected to a cluster: ``auto``, HOST:PORT, or ``local``, which is started with so many ``cpus``, and ended.

    A connection that this process has already is used, and kept.
    """
    if "ray" in sys.modules and import_ray().is_initialized():
        yield
        return
    if address == "local":
        with _started(cpus):
            yield
        return
    ray = import_ray()
    try:
        if address != "auto":
            _probe(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        where = "on this machine" if address == "auto" else f"at {address}"
        raise ConnectionError(f"there is no Ray cluster {where}: {_first_line(error)}") from None
    try:
        yield
    finally:
        ray.shutdown()


def _probe(address: str) -> None:
    """Raise an OSError if nothing listens there: Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PROBE_SECONDS):
        pass


@functools.cache  # Ray reads it once in a process
def _token() -> str:
    return secrets.token_hex(32)


@contextmanager
def private() -> Iterator[Any]:
    """Ray, such that what is started can be reached from this machine only, and by nobody without a token."""
    before = {name: os.environ.get(name) for name in (*PRIVATE, "RAY_AUTH_TOKEN")}
    os.environ.update({**PRIVATE, "RAY_AUTH_TOKEN": _token()})
    known = "ray" in sys.modules
    ray = import_ray()
    if known:  # it has read the variables already
        from ray._private import ray_constants
        from ray._raylet import Config

        ray_constants.ENABLE_RAY_CLUSTER = False
        Config.initialize("")
    try:
        yield ray
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def _started(cpus: int | None) -> Iterator[None]:
    """A cluster of one node, for this process alone."""
    folder = _short_folder()
    with private() as ray:
        try:
            ray.init(
                address="local",
                num_cpus=cpus or os.cpu_count(),
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
                object_store_memory=STORE_BYTES,
                _temp_dir=str(folder),
            )
            yield
        finally:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> Path:
    usual = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="ramify-", dir=usual if len(usual) <= LONGEST_PATH else "/tmp"))


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def nodes() -> list[Node]:
    """The nodes that are alive."""
    ray = import_ray()
    here = ray.get_runtime_context().get_node_id()
    return [
        Node(
            one["NodeID"],
            one["NodeManagerHostname"],
            one["Resources"].get("CPU", 0.0),
            one["Resources"].get("GPU", 0.0),
            one["NodeID"] == here,
        )
        for one in ray.nodes()
        if one["Alive"]
    ]


class _InStore:
    """Published data, as an object of Ray's store."""

    def __init__(self, reference: Any) -> None:
        self.references = [reference]  # in a list Ray passes on the reference, not the data

    def ready(self) -> bool:
        done, _ = import_ray().wait(self.references, timeout=0)
        return bool(done)

    def get(self) -> bytes:
        found: bytes = import_ray().get(self.references[0])
        return found


def publish(data: bytes) -> _InStore:
    """Put data where all nodes can read it; it is there for as long as the result is."""
    return _InStore(import_ray().put(data))
