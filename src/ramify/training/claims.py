"""The marker of a run's directory: files of other programs are never overwritten or deleted.

``ramify-run.json`` holds the run's settings, the checksums of the ``config.yaml`` files that were written, and a
checksum of its own. Nothing is deleted in a directory without it. Runs of earlier versions, which wrote no marker, are
recognised by a valid config together with a checkpoint or metrics; they get a marker when they are resumed. Any other
directory with files of these names is rejected before anything is written.
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
from ramify.base.settings import SettingsError
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
NAMES = (CONFIG, METRICS, GAMES, *KEPT)  # files of a run, besides its marker and locks
COUNTED = (
    "games",
    "uniform_share",
    "batch",
    "source_steps",
    "replay_ratio",
    "exact",
    "rollout_iterations",
    "rollout_simulations",
)  # fields of loop that define an iteration
TEMPORARY = re.compile(rf"\.({'|'.join(map(re.escape, (MARKER, CONFIG, METRICS)))}|\d{{6,}}\.games)\.[0-9a-f]{{8}}")

logger = logging.getLogger("ramify")


def read_marker(folder: Path) -> dict[str, Any] | None:
    """The content of a directory's marker; None if it is missing or damaged."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(marker, dict) or not isinstance(marker.get("config"), dict):
        return None
    said = marker.pop("checksum", None)
    return marker if said == checksum_of(marker) else None


def is_unmarked_run(folder: Path) -> bool:
    """Whether the directory has a run without a valid marker: of an earlier version, or with a damaged marker."""
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
    """Raise a ValueError if a directory has files of another program under the names that a run uses."""
    for name in (LOCK, PLAYER_LOCK):
        if not holds_a_process(folder / name):
            raise ValueError(f"{folder / name} is not a lock file of ramify: use another folder")
    if read_marker(folder) is not None or is_unmarked_run(folder):
        return
    existing = [name for name in NAMES if (folder / name).exists() or (folder / name).is_symlink()]
    if existing:
        raise ValueError(
            f"{folder} already has {' and '.join(existing)}, which are not from a run of ramify: "
            f"use another folder, such as {folder / 'run'}"
        )


def has_work(folder: Path) -> bool:
    """Whether a run has trained checkpoints or games, which depend on its settings."""
    trained = [path for name in KEPT for path in checkpoints(folder / name) if int(path.name)]
    return bool(trained) or any((folder / GAMES).glob("*"))


def known_config(folder: Path) -> TrainConfig | None:
    """The settings of the run in a directory; None if there is none."""
    marker = read_marker(folder)
    if marker is not None:
        return TrainConfig(**marker["config"])
    return load_config(folder / CONFIG) if (folder / CONFIG).exists() else None


def file_config(folder: Path) -> TrainConfig:
    """The settings in a run's ``config.yaml``; a ValueError says how to repair a file that no longer has any."""
    try:
        return load_config(folder / CONFIG)
    except SettingsError as error:
        if read_marker(folder) is None:
            raise
        raise ValueError(
            f"{folder / CONFIG} is damaged: {error}; the run's settings are also in {MARKER}: "
            f"delete {CONFIG}, and 'ramify train' writes it again"
        ) from None


def remembered_imports(folder: Path) -> tuple[str, ...]:
    """The modules imported by the run in a directory, so that resuming it needs no ``--import``; () without a run.

    They are read before settings are validated, because settings may depend on the games that they register.
    """
    marker = read_marker(folder)
    names = marker["config"].get("imports", ()) if marker is not None else ()
    return tuple(name for name in names if isinstance(name, str))


def refuse_other_settings(config: TrainConfig, folder: Path) -> None:
    """Raise a ValueError if the directory has a run with other settings."""
    if (folder / CONFIG).is_file():
        file_config(folder)  # a damaged one is not passed over: other commands read it
    known = known_config(folder)
    if known is None or (read_marker(folder) is not None and not has_work(folder)):
        return
    groups = [name for name in TrainConfig.model_fields if name not in ("loop", "imports", "cluster")]
    differing = [name for name in groups if getattr(known, name) != getattr(config, name)]
    differing += [f"loop.{name}" for name in COUNTED if getattr(known.loop, name) != getattr(config.loop, name)]
    if differing:
        raise ValueError(
            f"{folder} has a run with other settings of {', '.join(differing)}: "
            "use the same settings to resume it, or another folder"
        )


def claim(config: TrainConfig, folder: Path) -> None:
    """Write the run's marker and config to the directory, and delete temporary files of a run that died.

    The caller holds the lock of the run, and no self-play process of an earlier run is left.
    """
    refuse_foreign(folder)
    refuse_other_settings(config, folder)
    if read_marker(folder) is not None and not has_work(folder):  # it only has its initial network
        for path in [path for name in KEPT for path in checkpoints(folder / name)]:
            if not remove_checkpoint(path):
                raise ValueError(
                    f"{path} has files that are not part of a checkpoint: move them, or use another folder"
                )
    _write_config(config, folder)
    _clear_temporaries(folder)


def _write_config(config: TrainConfig, folder: Path) -> None:
    """Write the marker and then ``config.yaml``, unless that was edited by hand."""
    file, marker, text = folder / CONFIG, read_marker(folder), as_yaml(config)
    content = file.read_bytes() if file.exists() else None
    if content is None:
        ours = True
    elif marker is not None:
        ours = checksum(content) in marker["written"]
    else:
        ours = is_written_by_us(content)
    # If the process dies here, the file may be the old or the new one: the marker has both checksums.
    written = [checksum(text.encode()), *([checksum(content)] if ours and content is not None else [])]
    if not ours:
        logger.warning("%s was edited by hand and is not overwritten; the run's settings are in %s", file, MARKER)
    said = {"format": 1, "config": config.model_dump(mode="json"), "written": sorted(set(written))}
    whole = json.dumps({**said, "checksum": checksum_of(said)}, indent=2, sort_keys=True) + "\n"
    write_atomically(folder / MARKER, whole.encode())
    if ours:
        write_atomically(file, text.encode())


def _clear_temporaries(folder: Path) -> None:
    """Delete temporary files of a process that died."""
    for name in KEPT:
        clear_drafts(folder / name)
    for path in [*folder.glob(".*"), *(folder / GAMES).glob(".*")]:
        if TEMPORARY.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode):
            path.unlink(missing_ok=True)
