"""Finished games on a node of a cluster, until whoever directs the work has them.

They lie in a directory of the process that played them, below one for the whole run. If the process dies, the next one
on a node that sees this directory hands them over.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ramify.base.files import InUse, locked
from ramify.selfplay.journal import recover
from ramify.selfplay.records import next_shard, place_shard, shards

STOP = "stop"  # tells a process to end


@dataclass(frozen=True)
class Kept:
    """This shard was saved: the process may forget it."""

    name: str


@dataclass(frozen=True)
class Ready:
    """A process has begun, and has handed over what others left behind."""


def scratch_folder(scratch: str | None, folder: Path) -> Path:
    """Where the nodes keep the games of this folder until they are handed over; the same when a run is resumed."""
    base = Path(scratch or tempfile.gettempdir())
    name = hashlib.blake2b(f"{platform.node()}:{folder.resolve()}".encode(), digest_size=8).hexdigest()
    return base / f"ramify-games-{name}"


@contextmanager
def own_place(root: Path) -> Iterator[Path]:
    """A directory of this process below ``root``, removed afterwards if no games are left in it."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise OSError(f"{root} belongs to somebody else: set cluster.scratch to another directory")
    name = f"{os.getpid()}-{secrets.token_hex(4)}"
    with locked(_lock(root / name), f"playing in {root / name}"):
        place = root / name
        place.mkdir()
        try:
            yield place
        finally:
            if not shards(place / "games"):
                shutil.rmtree(place, ignore_errors=True)
    remove_empty(root)


def adopt(root: Path, place: Path) -> int:
    """Move the games of processes that have died to the directory ``place``; returns the number of shards."""
    found = 0
    for other in sorted(root.glob("*-*")):
        if other == place or not other.is_dir():
            continue
        try:
            with locked(_lock(other), f"playing in {other}"):
                recover(other / "games")
                for path in shards(other / "games"):
                    place_shard(next_shard(place / "games"), path.read_bytes())
                    path.unlink()
                    found += 1
                shutil.rmtree(other, ignore_errors=True)
        except InUse:
            continue
    return found


def left_behind(root: Path) -> Iterator[Path]:
    """Shards that processes of this machine could not hand over; what is done with a shard is done before the next."""
    if root.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            adopt(root, Path(folder))
            yield from shards(Path(folder) / "games")


def _lock(place: Path) -> Path:
    return place.with_name(f".{place.name}.lock")


def remove_empty(root: Path) -> None:
    """Remove the directory of a run if nobody has anything in it."""
    try:
        root.rmdir()
    except OSError:  # others play there
        return
