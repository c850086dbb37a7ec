"""The directory of a run: checks before it is used, its lock, and error messages of failing disks."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ramify.base.files import locked, reason

LOCK = "run.lock"
PLAYER_LOCK = "player.lock"  # of the self-play process, with overlap


def check_folder(folder: Path) -> None:
    """Raise an OSError with the reason if a run cannot be saved in a directory; creates nothing."""
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if _exists(place))
    except OSError as error:  # such as a name that is too long
        raise _unusable(folder, error) from None
    if not there.is_dir():
        raise OSError(f"cannot save a run in {folder}: {there} is not a directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OSError(f"cannot save a run in {folder}: {there} is not writable")


@contextmanager
def held(folder: Path, lock: str = LOCK, doing: str = "training", wait: float = 0.0) -> Iterator[None]:
    """Lock the directory of a run (created if missing); raises InUse if another process has it after ``wait`` seconds.

    The system releases the lock when the process ends, however it ends. Child processes of a run do not inherit it; the
    self-play process has a lock of its own.
    """
    if not holds_a_process(folder / lock):
        raise OSError(f"cannot save a run in {folder}: {lock} is not a lock file of ramify")
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder / lock, f"{doing} in {folder}", wait))
        except OSError as error:
            raise _unusable(folder, error) from None
        yield


def holds_a_process(lock: Path) -> bool:
    """Whether a lock file is missing, empty, or contains a process id, as this module writes it."""
    if not lock.exists():
        return True
    if not lock.is_file():
        return False
    with lock.open("rb") as file:
        content = file.read(32)
    return not content or (content.isdigit() and len(content) < 32)


def wait_for_player(folder: Path, seconds: float) -> None:
    """Wait until the self-play process of a killed trainer has saved its games and ended."""
    if (folder / PLAYER_LOCK).exists():
        with held(folder, PLAYER_LOCK, "playing", seconds):
            pass


def refuse_held(folder: Path) -> None:
    """Raise like ``held`` if the directory is locked; creates nothing."""
    if (folder / LOCK).exists():
        with held(folder):
            pass


def _exists(place: Path) -> bool:
    """Whether the path exists, broken links included."""
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _unusable(folder: Path, error: OSError) -> OSError:
    return OSError(f"cannot save a run in {folder}: {reason(error)}")


def explained(error: OSError, folder: Path) -> OSError:
    """An error of a failing disk with a message that says what to do; any other error unchanged."""
    then = "run the same command again to resume from the last checkpoint"
    sentences = {
        errno.ENOSPC: f"the disk of {folder} is full: free some space, then {then}",
        errno.EDQUOT: f"the disk quota of {folder} is exceeded: free some space, then {then}",
        errno.EROFS: f"the disk of {folder} is read-only: make it writable, then {then}",
        errno.EFBIG: f"a file in {folder} exceeds the maximum file size: raise the limit, then {then}",
        errno.EIO: f"the disk of {folder} has input/output errors: check it, then {then}",
    }
    sentence = sentences.get(error.errno) if error.errno is not None else None
    return error if sentence is None else OSError(sentence)
