"""The folder of a run: whether one can be there, and whose it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ramify.search.files import write_atomically
from ramify.training.checkpoints import checkpoints
from ramify.training.config import TrainConfig
from ramify.training.presets import as_yaml, load_config

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


def make(folder: Path) -> None:
    """Make the folder, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from None


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
    make(folder)
    file = folder / "config.yaml"
    if file.exists() and not has_work(folder):  # it came no further than its fresh network
        for name in ("checkpoints", "partial"):
            shutil.rmtree(folder / name, ignore_errors=True)
    write_atomically(file, as_yaml(config).encode())
