"""Checkpoints: a folder each, there completely or not at all.

``network.safetensors`` plays; ``learner.safetensors`` and ``progress.json`` are what training goes on from. Only the
latest few keep those; every network is kept.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from ramify.networks import GameNetwork, save
from ramify.search.files import sync

PROGRESS, LEARNER, NETWORK = "progress.json", "learner.safetensors", "network"


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


def read_checkpoint(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """What training goes on from: the learner's tensors, and how far it was."""
    return load_file(path / LEARNER), read_progress(path)
