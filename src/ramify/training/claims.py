"""Whose a folder is: a marker says that a run of ramify is kept there, and nothing else there is touched.

``ramify-run.json`` holds the run's settings, the checksums of the ``config.yaml`` files that were written, and a
checksum of its own. Nothing is deleted in a folder without it. Runs of versions that wrote no marker are known by a
config that can be read together with a checkpoint or figures in our layout; they get one when they go on. A folder
that has any of our names and is neither is not ours: it is refused before anything is written.
"""

from __future__ import annotations

import json
import logging
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from ramify.base.files import write_atomically
from ramify.training.checkpoints import (
    CONFIG,
    NEEDED,
    checkpoints,
    checksum,
    checksum_of,
    clear_drafts,
    network_file,
    read_progress,
    remove_checkpoint,
)
from ramify.training.config import TrainConfig
from ramify.training.folder import LOCK, PLAYER_LOCK, holds_a_process
from ramify.training.metrics import parse_line
from ramify.training.presets import as_yaml, is_written_by_us, load_config

MARKER, METRICS, GAMES = "ramify-run.json", "metrics.jsonl", "games"
KEPT = ("checkpoints", "partial")
NAMES = (CONFIG, METRICS, GAMES, *KEPT)  # what a run writes, besides its marker and locks
COUNTED = (
    "games",
    "batch",
    "replay_ratio",
    "exact",
    "rollout_iterations",
    "rollout_simulations",
)  # of loop: what iterations are made of
TEMPORARY = re.compile(rf"\.({'|'.join(map(re.escape, (MARKER, CONFIG, METRICS)))}|\d{{6,}}\.games)\.[0-9a-f]{{8}}")

logger = logging.getLogger("ramify")


def read_marker(folder: Path) -> dict[str, Any] | None:
    """What the marker of a folder says; None where there is none, or a damaged one."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(marker, dict) or not isinstance(marker.get("config"), dict):
        return None
    said = marker.pop("checksum", None)
    return marker if said == checksum_of(marker) else None


def is_unmarked_run(folder: Path) -> bool:
    """Whether a run is there that has no marker, because an earlier version has made it or the marker is damaged."""
    try:
        load_config(folder / CONFIG)
    except (OSError, ValueError, TypeError):
        return False
    kept = (path for name in KEPT for path in checkpoints(folder / name))
    return (folder / MARKER).is_file() or any(map(_is_checkpoint, kept)) or _has_figures(folder / METRICS)


def _is_checkpoint(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return network_file(path).is_file() and set(NEEDED) <= set(read_progress(path))
    return False


def _has_figures(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return parse_line(file.readline()) is not None
    return False


def refuse_foreign(folder: Path) -> None:
    """Raise a ValueError if a folder has files with the names of a run's that are not a run's; only looks."""
    for name in (LOCK, PLAYER_LOCK):
        if not holds_a_process(folder / name):
            raise ValueError(f"{folder / name} is not a lock of ramify and stays as it is: give another folder")
    if read_marker(folder) is not None or is_unmarked_run(folder):
        return
    taken = [name for name in NAMES if (folder / name).exists() or (folder / name).is_symlink()]
    if taken:
        raise ValueError(
            f"{folder} has {' and '.join(taken)} already, but no run of ramify: "
            f"they stay as they are; give another folder, such as {folder / 'run'}"
        )


def has_work(folder: Path) -> bool:
    """Whether a run has left anything that other settings would spoil."""
    trained = [path for name in KEPT for path in checkpoints(folder / name) if int(path.name)]
    return bool(trained) or any((folder / GAMES).glob("*"))


def known_config(folder: Path) -> TrainConfig | None:
    """The settings of the run in a folder, if there is one."""
    marker = read_marker(folder)
    if marker is not None:
        return TrainConfig(**marker["config"])
    return load_config(folder / CONFIG) if (folder / CONFIG).exists() else None


def remembered_imports(folder: Path) -> tuple[str, ...]:
    """The modules that the run in a folder imports, so that resuming it need not name them again; () if none is there.

    They are read before any setting is checked: settings may depend on the game that they register.
    """
    marker = read_marker(folder)
    names = marker["config"].get("imports", ()) if marker is not None else ()
    return tuple(name for name in names if isinstance(name, str))


def refuse_other_settings(config: TrainConfig, folder: Path) -> None:
    """Raise a ValueError if the folder has a run that was told something else; only looks."""
    known = known_config(folder)
    if known is None or (read_marker(folder) is not None and not has_work(folder)):
        return
    groups = [name for name in TrainConfig.model_fields if name not in ("loop", "imports")]
    differing = [name for name in groups if getattr(known, name) != getattr(config, name)]
    differing += [f"loop.{name}" for name in COUNTED if getattr(known.loop, name) != getattr(config.loop, name)]
    if differing:
        raise ValueError(
            f"{folder} has a run with other settings of {', '.join(differing)}: "
            "give the same ones to go on with it, or another folder"
        )


def claim(config: TrainConfig, folder: Path) -> None:
    """Mark the folder as this run's, or find that it is; clear away what a run that died has left half written.

    The caller holds the folder, and no process that plays for an earlier run is left.
    """
    refuse_foreign(folder)
    refuse_other_settings(config, folder)
    if read_marker(folder) is not None and not has_work(folder):  # it came no further than its fresh network
        for path in [path for name in KEPT for path in checkpoints(folder / name)]:
            if not remove_checkpoint(path):
                raise ValueError(f"{path} has files that are not a checkpoint's: move them, or give another folder")
    _write_config(config, folder)
    _clear_temporaries(folder)


def _write_config(config: TrainConfig, folder: Path) -> None:
    """Write the marker and then ``config.yaml``, unless somebody has changed that by hand."""
    file, marker, text = folder / CONFIG, read_marker(folder), as_yaml(config)
    content = file.read_bytes() if file.exists() else None
    if content is None:
        ours = True
    elif marker is not None:
        ours = checksum(content) in marker["written"]
    else:
        ours = is_written_by_us(content)
    # The file may be the old one or the new one if the process dies here: both are known then.
    written = [checksum(text.encode()), *([checksum(content)] if ours and content is not None else [])]
    if not ours:
        logger.warning("%s was changed by hand and stays as it is; the run's settings are in %s", file, MARKER)
    said = {"format": 1, "config": config.model_dump(mode="json"), "written": sorted(set(written))}
    whole = json.dumps({**said, "checksum": checksum_of(said)}, indent=2, sort_keys=True) + "\n"
    write_atomically(folder / MARKER, whole.encode())
    if ours:
        write_atomically(file, text.encode())


def _clear_temporaries(folder: Path) -> None:
    """Delete files of ours that were being written when an earlier process died."""
    for name in KEPT:
        clear_drafts(folder / name)
    for path in [*folder.glob(".*"), *(folder / GAMES).glob(".*")]:
        if TEMPORARY.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode):
            path.unlink(missing_ok=True)
