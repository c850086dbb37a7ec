"""Networks of files as other libraries read them, kept in the user's cache folder: later starts do without torch.

Importing torch and recording a network take longer than everything else at the start of a program. What is kept depends
on the file's bytes, on the game, on the code of the networks and on the versions of the libraries: of anything else
than before there is nothing yet. A damaged entry counts as none, and a folder that cannot be written is not used.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from ramify.base.files import write_atomically
from ramify.evaluators.speeds import cache_folder, library_versions

logger = logging.getLogger("ramify")

FORMAT = 1
FOLDER = "networks"  # in the cache folder
FACTS = "facts"  # the ending of the file that describes a network; others end with the name of a library
SEAL = b"ramify %d " % FORMAT  # what a file begins with; then its checksum and a new line
MOST_BYTES = 256 << 20  # of all files together: the ones that were not used for the longest time are removed
LARGEST = MOST_BYTES // 4  # bytes of a file
NETWORKS = Path(__file__).resolve().parent.parent / "networks"  # the code of the networks
Shape = tuple[int, ...]


class ShapedGame(Protocol):
    """What has to be known of a game."""

    @property
    def name(self) -> str: ...

    @property
    def params(self) -> Mapping[str, Any]: ...

    @property
    def observation_shape(self) -> Any: ...

    @property
    def num_actions(self) -> int: ...


@dataclass(frozen=True)
class Facts:
    """What is asked of a network besides evaluations."""

    kind: str  # what its speed depends on, as in the table of speeds
    recipe: dict[str, Any] | None
    shape: Shape  # of observations
    num_parameters: int
    network_id: str


@dataclass(frozen=True)
class Kept:
    """What is kept of one network for one game."""

    folder: Path
    name: str  # a checksum of everything that it depends on

    def facts(self) -> Facts | None:
        """The description of the network, if it was kept."""
        content = self.read(FACTS)
        try:
            found = json.loads(content or b"")
            return Facts(**{**found, "shape": tuple(found["shape"])})
        except (ValueError, TypeError, KeyError):
            return None

    def keep_facts(self, facts: Facts) -> None:
        """Keep the description."""
        self.keep(FACTS, json.dumps(asdict(facts)).encode())

    def read(self, library: str) -> bytes | None:
        """What was kept for a library; None if there is nothing, or if it is damaged."""
        file = self._file(library)
        try:
            content = file.read_bytes()
            with suppress(OSError):
                os.utime(file)
        except OSError:
            return None
        seal, _, rest = content.partition(b"\n")
        if seal == _seal(rest):
            return rest
        logger.debug("%s is damaged and will be written again", file)
        return None

    def keep(self, library: str, content: bytes) -> None:
        """Keep what a library reads; without an error where that is not possible."""
        if len(content) > LARGEST:
            return
        try:
            write_atomically(self._file(library), _seal(content) + b"\n" + content)
            remove_oldest(self.folder)
        except OSError as error:
            logger.debug("the exported network is not kept: %s", error)

    def _file(self, library: str) -> Path:
        return self.folder / f"{self.name}.{library}"


def kept_for(file: Path, game: ShapedGame, errors: bool = False) -> Kept | None:
    """What is kept of the network in a file for a game; None if there is no folder for it.

    ``errors``: of the network that also gives the expected errors of its values.
    """
    folder = cache_folder()
    if folder is None:
        return None
    described = [game.name, dict(game.params), list(game.observation_shape), game.num_actions, errors]
    depends = [FORMAT, library_versions(), code_checksum(), *described]
    digest = hashlib.sha256(json.dumps(depends, sort_keys=True, default=str).encode())
    digest.update(file.read_bytes())
    return Kept(folder / FOLDER, digest.hexdigest()[:32])


@cache
def code_checksum() -> str:
    """A checksum of the code of the networks: changed code makes another network of the same weights."""
    digest = hashlib.sha256()
    for file in sorted(NETWORKS.glob("*.py")):
        digest.update(file.name.encode() + b"\n" + file.read_bytes())
    return digest.hexdigest()


def _seal(content: bytes) -> bytes:
    return SEAL + hashlib.sha256(content).hexdigest().encode()


def remove_oldest(folder: Path) -> None:
    """Remove files until the rest is small enough."""
    files = []
    for file in folder.iterdir():
        with suppress(OSError):  # another process may have removed it
            files.append((file.stat().st_mtime, file.stat().st_size, file))
    total = sum(size for _, size, _ in files)
    for _, size, file in sorted(files):
        if total <= MOST_BYTES:
            return
        with suppress(OSError):
            file.unlink()
            total -= size


def runs_on_cpu(device: object) -> bool:
    """Whether a network on this device runs on the CPU; known without torch. Where torch might find a GPU: no."""
    return str(device) == "cpu" or (device is None and not may_have_gpu())


@cache
def may_have_gpu() -> bool:
    """Whether torch might find a GPU of its own accord: where there is a driver of NVIDIA or AMD."""
    if sys.platform == "darwin":
        return False  # Apple's GPU is used where it is asked for
    if not sys.platform.startswith("linux") or Path("/dev/kfd").exists():
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True
