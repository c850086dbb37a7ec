"""The folder of a run: whether one can be there, whose it is, and that one process works in it at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ramify.search.files import write_atomically
from ramify.training.checkpoints import checkpoints
from ramify.training.config import TrainConfig
from ramify.training.presets import as_yaml, load_config

try:
    import fcntl
except ImportError:  # not on this system: nobody is kept out there
    fcntl = None  # type: ignore[assignment]

LOCK = "run.lock"
COUNTED = (
    "games",
    "batch",
    "reuse",
    "exact",
    "rollout_iterations",
    "rollout_simulations",
)  # of loop: what iterations are made of


def usable(folder: Path) -> None:
    """Raise an OSError that says why, where no run can be kept in a folder; makes nothing."""
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if _exists(place))
    except OSError as error:  # such as a name that is too long
        raise _unusable(folder, error) from None
    if not there.is_dir():
        raise OSError(f"a run cannot be kept in {folder}: {there} is not a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OSError(f"a run cannot be kept in {folder}: nothing may be written to {there}")


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes from training in the folder, which is made; a RuntimeError if one does already.

    The system lets go of the lock when the process ends, however it ends, so that nothing is left to clear away. The
    processes that a run starts do not inherit it: what they still write after a trainer was killed is kept apart.
    """
    with _opened(folder) as file:
        if not _locked(file):
            file.seek(0)
            process = file.read().strip()
            who = f"process {process}" if process else "another process"
            raise RuntimeError(f"{who} is training in {folder} already: wait for it, stop it, or give another folder")
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def refuse_held(folder: Path) -> None:
    """Raise as ``held`` does, before there is anything to hold; makes nothing."""
    if (folder / LOCK).exists():
        with held(folder):
            pass


def _opened(folder: Path) -> IO[str]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / LOCK).open("a+", encoding="utf-8")  # a: the number in it is the holder's
    except OSError as error:
        raise _unusable(folder, error) from None


def _locked(file: IO[str]) -> bool:
    """Whether nobody else has the lock; this process has it then, where there are locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _exists(place: Path) -> bool:
    """Whether anything is there, be it a link to nowhere."""
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _unusable(folder: Path, error: OSError) -> OSError:
    return OSError(f"a run cannot be kept in {folder}: {(error.strerror or str(error)).lower()}")


def has_work(folder: Path) -> bool:
    """Whether a run has left anything that other settings would spoil."""
    trained = [path for name in ("checkpoints", "partial") for path in checkpoints(folder / name) if int(path.name)]
    return bool(trained) or any((folder / "games").glob("*"))


def refuse_other_settings(config: TrainConfig, folder: Path) -> None:
    """Raise a ValueError if the folder has a run that was told something else; only looks."""
    file = folder / "config.yaml"
    if not (file.exists() and has_work(folder)):
        return
    known = load_config(file)
    groups = [name for name in TrainConfig.model_fields if name != "loop"]
    differing = [name for name in groups if getattr(known, name) != getattr(config, name)]
    differing += [f"loop.{name}" for name in COUNTED if getattr(known.loop, name) != getattr(config.loop, name)]
    if differing:
        raise ValueError(
            f"{folder} has a run with other settings of {', '.join(differing)}: "
            "give the same ones to go on with it, or another folder"
        )


def claim(config: TrainConfig, folder: Path) -> None:
    """Write the config into the run's folder, or find that it is the one of the run there."""
    refuse_other_settings(config, folder)
    file = folder / "config.yaml"
    if file.exists() and not has_work(folder):  # it came no further than its fresh network
        for name in ("checkpoints", "partial"):
            shutil.rmtree(folder / name, ignore_errors=True)
    write_atomically(file, as_yaml(config).encode())
