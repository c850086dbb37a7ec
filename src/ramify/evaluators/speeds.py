"""Measured speeds of networks on the CPU of this machine, kept in a file in the user's cache folder."""

from __future__ import annotations

import json
import logging
import math
import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ramify.base.files import write_atomically

logger = logging.getLogger("ramify")

BACKENDS = ("openvino", "torch", "onnxruntime")  # libraries that run networks on a CPU
FOLDER = "RAMIFY_CACHE"  # environment variable: the folder of the file, and of what else is kept
FILE = "cpu-speeds.json"
FORMAT = 1
TIE = 0.05  # a backend this much slower than the fastest is as good, so that noise does not mix backends

Rates = dict[str, float]  # positions per second, by backend
Sizes = dict[int, Rates]  # by batch size


def cache_folder() -> Path | None:
    """The user's cache folder; None if this user has no home folder."""
    if folder := os.environ.get(FOLDER):
        return Path(folder)
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (shared if shared.is_absolute() else Path.home() / ".cache") / "ramify"
    except RuntimeError:
        return None


def speeds_file() -> Path | None:
    """The file of measured speeds; None if this user has no home folder."""
    folder = cache_folder()
    return None if folder is None else folder / FILE


@cache
def machine() -> str:
    """What speeds depend on besides the network: the processor and the versions of the libraries."""
    return f"{cpu_model()}, 1 thread; {library_versions()}"


@cache
def library_versions() -> str:
    """The versions of the libraries that run networks on a CPU."""
    versions = []
    for name in BACKENDS:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"no {name}")
    return ", ".join(versions)


def cpu_model() -> str:
    """The name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class SpeedTable:
    """Positions per second by network, batch size and backend, on this machine.

    A file that is damaged or cannot be read counts as empty; one that cannot be written is only kept in memory.
    """

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self._networks = self._read().get(machine(), {})

    @property
    def networks(self) -> Mapping[str, Mapping[str, Any]]:
        """The entries by network: ``sizes``, and ``recipe`` from which the network can be made again, or None."""
        return self._networks

    def sizes(self, network: str) -> Sizes:
        """What was measured for a network."""
        entry = self._networks.get(network)
        return {} if entry is None else dict(entry["sizes"])

    def add(self, network: str, recipe: Mapping[str, Any] | None, size: int, rates: Rates) -> None:
        """Store a measurement, unless another process has stored the same one since: then that one counts."""
        machines = self._read()
        known = machines.setdefault(machine(), {})
        entry = known.setdefault(network, {"recipe": recipe, "sizes": {}})
        entry["sizes"].setdefault(size, rates)
        for name, kept in self._networks.items():  # what could not be written earlier
            for other, speeds in kept["sizes"].items():
                known.setdefault(name, {**kept, "sizes": {}})["sizes"].setdefault(other, speeds)
        self._networks = known
        self._write(machines)

    def clear(self) -> None:
        """Forget what was measured on this machine, also with other versions of the libraries."""
        model = cpu_model() + ","
        self._networks = {}
        self._write({name: entries for name, entries in self._read().items() if not name.startswith(model)})

    def _read(self) -> dict[str, dict[str, dict[str, Any]]]:
        try:
            content = json.loads(self.file.read_bytes()) if self.file is not None else {}
            return _checked(content) if content.get("format") == FORMAT else {}
        except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
            return {}

    def _write(self, machines: dict[str, Any]) -> None:
        if self.file is None:
            return
        content = json.dumps({"format": FORMAT, "machines": machines}, indent=1)
        try:
            write_atomically(self.file, content.encode())
        except OSError as error:
            logger.debug("measured speeds are not kept: %s", error)


def _checked(content: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """The machines of a file. Raises one of many errors if it is not as ``SpeedTable`` writes it."""
    return {
        str(name): {
            str(network): {
                "recipe": entry["recipe"] if isinstance(entry.get("recipe"), dict) else None,
                "sizes": {int(size): _rates(rates) for size, rates in entry["sizes"].items()},
            }
            for network, entry in networks.items()
        }
        for name, networks in content["machines"].items()
    }


def _rates(rates: Mapping[str, Any]) -> Rates:
    found = {name: float(rate) for name, rate in rates.items() if name in BACKENDS}
    if not found or not all(math.isfinite(rate) and rate > 0 for rate in found.values()):
        raise ValueError("speeds must be positive numbers of known backends")
    return found


def fastest(rates: Rates) -> str:
    """The first of ``BACKENDS`` that is as fast as any, up to noise; torch if there is none."""
    enough = (1 - TIE) * max(rates.values(), default=0)
    return next((name for name in BACKENDS if rates.get(name, -1) >= enough), "torch")


_tables: dict[Path | None, SpeedTable] = {}


def speed_table() -> SpeedTable:
    """The table of this machine; one object per file and process, so that a choice holds as long as the process."""
    file = speeds_file()
    return _tables.setdefault(file, SpeedTable(file)) if file not in _tables else _tables[file]
