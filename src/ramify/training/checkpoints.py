"""Checkpoints: one directory each, written atomically.

``network.safetensors`` is the network for play; training resumes from ``learner.safetensors`` and ``progress.json``,
which only the latest few checkpoints keep. ``progress.json`` has the checksums of the other files and of itself;
checkpoints of earlier versions have none and can still be read.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import re
import stat
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes

from ramify.base.files import sync
from ramify.networks import GameNetwork, save

PROGRESS, LEARNER, NETWORK, CONFIG = "progress.json", "learner.safetensors", "network", "config.yaml"
WEIGHTS = f"{NETWORK}.safetensors"
FILES = (PROGRESS, LEARNER, WEIGHTS, f"{NETWORK}.json", CONFIG)  # all that a checkpoint consists of
NEEDED = ("iteration", "steps", "steps_in_iteration", "seconds", "judged")  # of progress, to go on
SUMS, OWN = "files", "checksum"  # of progress: the checksums of the other files, and its own

logger = logging.getLogger("ramify")

Resumed = tuple[dict[str, torch.Tensor], dict[str, Any]]  # the learner's tensors, and how far it was


class DamagedCheckpoint(ValueError):  # noqa: N818 - it says what is wrong, as DamagedShard does
    """A checkpoint from which training cannot resume."""


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir() and path.name.isdigit())


def network_file(checkpoint: Path) -> Path:
    """The network of a checkpoint."""
    return checkpoint / WEIGHTS


def write_checkpoint(
    folder: Path,
    number: int,
    network: GameNetwork,
    tensors: dict[str, torch.Tensor],
    progress: dict[str, Any],
    config: str,
    keep: int,
) -> Path:
    """Write a checkpoint and the config, and delete the training state of old checkpoints.

    An existing checkpoint is not replaced: the same number means the same weights.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place, draft = folder / f"{number:06d}", folder / f".writing-{number:06d}"
    if place.exists():
        return place
    clear_drafts(folder)
    try:
        draft.mkdir()
        save(draft / NETWORK, network)
        (draft / LEARNER).write_bytes(to_bytes(tensors))
        (draft / CONFIG).write_text(config, encoding="utf-8")
        (draft / PROGRESS).write_text(_signed(draft, progress), encoding="utf-8")
        for path in (*draft.iterdir(), draft):
            sync(path)
        draft.rename(place)
    except BaseException:  # a full disk has room again
        clear_drafts(folder)
        raise
    sync(folder)
    for old in checkpoints(folder)[:-keep]:
        (old / LEARNER).unlink(missing_ok=True)
    return place


def _signed(folder: Path, progress: dict[str, Any]) -> str:
    """The text of progress.json with the checksums of the other files and its own."""
    whole = {**progress, SUMS: {path.name: checksum(path.read_bytes()) for path in sorted(folder.iterdir())}}
    return json.dumps({**whole, OWN: checksum_of(whole)}, indent=2, sort_keys=True)


def checksum(data: bytes) -> str:
    """Checksum of the content of a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def checksum_of(plain: dict[str, Any]) -> str:
    """Checksum of plain data, independent of its formatting."""
    return checksum(json.dumps(plain, sort_keys=True).encode())


def clear_drafts(folder: Path) -> None:
    """Delete unfinished checkpoints of a process that died. The caller holds the lock of the run."""
    for path in folder.glob(".writing-*"):
        if re.fullmatch(r"\.writing-\d{6,}", path.name):
            remove_checkpoint(path)


def remove_checkpoint(path: Path) -> bool:
    """Delete a checkpoint or an unfinished one, unless it contains other files; returns whether it was deleted."""
    if path.is_symlink() or not path.is_dir():
        return False
    entries = list(path.iterdir())
    if not all(stat.S_ISREG(entry.lstat().st_mode) and _of_checkpoint(entry.name) for entry in entries):
        return False
    for entry in entries:
        entry.unlink()
    path.rmdir()
    return True


def _of_checkpoint(name: str) -> bool:
    """Whether a checkpoint has a file of that name, including temporary files."""
    return name in FILES or re.fullmatch(r"\.network\.(safetensors|json)\.[0-9a-f]{8}", name) is not None


def latest(folder: Path) -> Path | None:
    """The newest checkpoint from which training can resume; None if there is none."""
    whole = [path for path in checkpoints(folder) if (path / LEARNER).exists()]
    return whole[-1] if whole else None


def read_progress(path: Path) -> dict[str, Any]:
    """The progress of training at a checkpoint; raises a ValueError if the file is damaged."""
    progress = json.loads((path / PROGRESS).read_text(encoding="utf-8"))
    if not isinstance(progress, dict):
        raise ValueError(f"{PROGRESS} is not a JSON object")
    if SUMS in progress or OWN in progress:  # earlier versions wrote neither
        said = progress.pop(OWN, None)
        if said != checksum_of(progress):
            raise ValueError(f"the checksum of {PROGRESS} is wrong")
    return progress


def read_checkpoint(path: Path) -> Resumed:
    """The learner's tensors and the progress of training, to resume from; raises DamagedCheckpoint."""
    try:
        progress = read_progress(path)
        if missing := [name for name in NEEDED if name not in progress]:
            raise ValueError(f"{PROGRESS} has no entry {', '.join(missing)}")
        content = {name: (path / name).read_bytes() for name in (WEIGHTS, LEARNER)}
        for name, data in content.items():
            if SUMS in progress and progress[SUMS].get(name) != checksum(data):
                raise ValueError(f"the checksum of {name} is wrong")
        from_bytes(content[WEIGHTS])  # a damaged one could not play
        return from_bytes(content[LEARNER]), progress
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise DamagedCheckpoint(f"{path} is damaged: {' '.join(str(error).split())}") from None


def read_newest(folders: list[Path]) -> Resumed | None:
    """The readable checkpoint of these directories with the most steps; None if there is no checkpoint.

    Damaged checkpoints with more steps are logged and renamed, so that training can write new ones in their place.
    """
    damaged: dict[Path, DamagedCheckpoint] = {}
    found: list[tuple[Path, Resumed]] = []
    for folder in folders:
        whole = checkpoints(folder)
        # All but the newest may lack a learner file without being damaged.
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
            raise DamagedCheckpoint(f"no checkpoint can be read: {newest}; to restart the run, delete {places}")
        return None
    chosen, resumed = max(found, key=lambda entry: int(entry[1][1]["steps"]))
    for path, problem in damaged.items():
        aside = _free_name(path)
        path.rename(aside)
        logger.warning("%s; renamed to %s, resuming from %s", problem, aside.name, chosen)
    return resumed


def _free_name(path: Path) -> Path:
    """An unused name for a damaged checkpoint."""
    names = (f"{path.name}.damaged{'' if time == 1 else f'-{time}'}" for time in itertools.count(1))
    return next(place for place in map(path.with_name, names) if not place.exists())
