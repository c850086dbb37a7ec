"""The folder of a run: whether one can be there, that one process works in it at a time, and disks that fail."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # not on this system: nobody is kept out there
    fcntl = None  # type: ignore[assignment]

LOCK = "run.lock"
PLAYER_LOCK = "player.lock"  # of the process that plays, where it is another one


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
def held(folder: Path, lock: str = LOCK, doing: str = "training") -> Iterator[None]:
    """Keep other processes from training in the folder, which is made; a RuntimeError if one does already.

    The system lets go of the lock when the process ends, however it ends, so that nothing is left to clear away. The
    processes that a run starts do not inherit it; the one that plays has a lock of its own.
    """
    if not holds_a_process(folder / lock):
        raise OSError(f"a run cannot be kept in {folder}: {lock} there is not ramify's")
    with _opened(folder, lock) as file:
        if not _locked(file):
            file.seek(0)
            process = file.read().strip()
            who = f"process {process}" if process else "another process"
            raise RuntimeError(f"{who} is {doing} in {folder} already: wait for it, stop it, or give another folder")
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def holds_a_process(lock: Path) -> bool:
    """Whether a lock file has what we write there, the number of a process or nothing, or is not there at all."""
    if not lock.exists():
        return True
    if not lock.is_file():
        return False
    with lock.open("rb") as file:
        content = file.read(32)
    return not content or (content.isdigit() and len(content) < 32)


def wait_for_player(folder: Path, seconds: float) -> None:
    """Wait until the process that played for a trainer which was killed has put its games away and ended."""
    end = time.perf_counter() + seconds
    while (folder / PLAYER_LOCK).exists():
        try:
            with held(folder, PLAYER_LOCK, "playing"):
                return
        except RuntimeError:
            if time.perf_counter() > end:
                raise
            time.sleep(0.05)


def refuse_held(folder: Path) -> None:
    """Raise as ``held`` does, before there is anything to hold; makes nothing."""
    if (folder / LOCK).exists():
        with held(folder):
            pass


def _opened(folder: Path, lock: str) -> IO[str]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / lock).open("a+", encoding="utf-8")  # a: the number in it is the holder's
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


def explained(error: OSError, folder: Path) -> OSError:
    """The error of a disk that fails, as a sentence that says what can be done; any other as it is."""
    then = "the same command goes on from the last checkpoint then"
    sentences = {
        errno.ENOSPC: f"the disk of {folder} is full: make room on it; {then}",
        errno.EDQUOT: f"the disk quota of {folder} is used up: make room; {then}",
        errno.EROFS: f"the disk of {folder} can only be read now: make it writable; {then}",
        errno.EFBIG: f"a file in {folder} would become larger than this system allows: raise the limit; {then}",
        errno.EIO: f"the disk of {folder} fails to read or write: look after it; {then}",
    }
    sentence = sentences.get(error.errno) if error.errno is not None else None
    return error if sentence is None else OSError(sentence)
