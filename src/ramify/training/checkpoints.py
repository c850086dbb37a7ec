"""Checkpoints: a folder each, there completely or not at all.

``network.safetensors`` plays; ``learner.safetensors`` and ``progress.json`` are what training goes on from. Only the
latest few keep those; every network is kept.
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ramify.networks import GameNetwork, save
from ramify.search.files import sync

PROGRESS, LEARNER, NETWORK = "progress.json", "learner.safetensors", "network"
NEEDED = ("iteration", "steps", "steps_in_iteration", "seconds", "judged")  # of progress, to go on

logger = logging.getLogger("ramify")

Resumed = tuple[dict[str, torch.Tensor], dict[str, Any]]  # the learner's tensors, and how far it was


class DamagedCheckpoint(ValueError):  # noqa: N818 - it says what is wrong, as DamagedShard does
    """A checkpoint that training cannot go on from."""


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir() and path.name.isdigit())


def network_file(checkpoint: Path) -> Path:
    """The network of a checkpoint."""
    return checkpoint / f"{NETWORK}.safetensors"


def write_checkpoint(
    folder: Path,
    number: int,
    network: GameNetwork,
    tensors: dict[str, torch.Tensor],
    progress: dict[str, Any],
    beside: dict[str, str],
    keep: int,
) -> Path:
    """Write a checkpoint, with some texts beside it, and take from old ones what only the latest need.

    One that is there already is left alone: the same number means the same weights.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".writing-*"):  # by a run that died
        shutil.rmtree(left, ignore_errors=True)
    place, draft = folder / f"{number:06d}", folder / f".writing-{number:06d}"
    if place.exists():
        return place
    draft.mkdir()
    save(draft / NETWORK, network)
    save_file(tensors, draft / LEARNER)
    for name, text in {**beside, PROGRESS: json.dumps(progress, indent=2, sort_keys=True)}.items():
        (draft / name).write_text(text, encoding="utf-8")
    for path in (*draft.iterdir(), draft):
        sync(path)
    draft.rename(place)
    sync(folder)
    for old in checkpoints(folder)[:-keep]:
        (old / LEARNER).unlink(missing_ok=True)
    return place


def latest(folder: Path) -> Path | None:
    """The newest checkpoint that training can go on from."""
    whole = [path for path in checkpoints(folder) if (path / LEARNER).exists()]
    return whole[-1] if whole else None


def read_progress(path: Path) -> dict[str, Any]:
    """How far training was at a checkpoint."""
    progress: dict[str, Any] = json.loads((path / PROGRESS).read_text(encoding="utf-8"))
    return progress


def read_checkpoint(path: Path) -> Resumed:
    """What training goes on from: the learner's tensors, and how far it was; raises DamagedCheckpoint."""
    try:
        progress = read_progress(path)
        if missing := [name for name in NEEDED if name not in progress]:
            raise ValueError(f"{PROGRESS} does not say {', '.join(missing)}")
        load_file(network_file(path))  # a damaged one could not play
        return load_file(path / LEARNER), progress
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise DamagedCheckpoint(f"{path} is damaged: {' '.join(str(error).split())}") from None


def read_newest(folders: list[Path]) -> Resumed | None:
    """The checkpoint of these folders that is furthest, of those that can be read; None if there is none at all.

    Damaged ones that would have been further are reported and set aside under another name: what training comes to
    write in their place would not be written over them.
    """
    damaged: dict[Path, DamagedCheckpoint] = {}
    found: list[tuple[Path, Resumed]] = []
    for folder in folders:
        whole = checkpoints(folder)
        # All but the newest may have given their learners away, and are not damaged for that.
        for path in reversed([path for path in whole if path == whole[-1] or (path / LEARNER).exists()]):
            try:
                found.append((path, read_checkpoint(path)))
                break
            except DamagedCheckpoint as damage:
                damaged[path] = damage
    if not found:
        if damaged:
            newest = next(iter(damaged.values()))
            places = " and ".join(str(folder) for folder in folders if folder.exists())
            raise DamagedCheckpoint(f"no checkpoint can be read: {newest}; without {places} the run starts anew")
        return None
    chosen, resumed = max(found, key=lambda entry: int(entry[1][1]["steps"]))
    for path, problem in damaged.items():
        aside = path.with_name(f"{path.name}.damaged")
        shutil.rmtree(aside, ignore_errors=True)  # of an earlier time
        path.rename(aside)
        logger.warning("%s; it is now %s, and training goes on from %s", problem, aside.name, chosen)
    return resumed
