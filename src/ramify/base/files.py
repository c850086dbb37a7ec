"""Atomic writes that survive a crash of the machine, and file locks that end with their process."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Error codes of file systems without locks, or without hard links.
NO_LOCKS = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL}
NO_LINKS = {errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


class InUse(RuntimeError):  # noqa: N818 - named like IllegalAction
    """The directory is in use by another process."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically: to a temporary file that is then renamed. The directory is created if missing."""
    with _written_beside(path, content) as beside:
        beside.replace(path)


def write_new(path: Path, content: bytes) -> None:
    """Write a file like ``write_atomically``, but raise FileExistsError if it exists.

    If several processes write the same path at once, only one succeeds.
    """
    with _written_beside(path, content) as beside:
        try:
            os.link(beside, path)
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            _move_without_links(beside, path)
        else:
            beside.unlink()


def _move_without_links(beside: Path, path: Path) -> None:
    """Move a file without replacing another, on file systems without hard links: a marker file guards the move."""
    claim = path.with_name(f".{path.name}.claim")
    claim.open("xb").close()
    try:
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        beside.replace(path)
    finally:
        claim.unlink()


@contextmanager
def _written_beside(path: Path, content: bytes) -> Iterator[Path]:
    """A synced temporary file in the directory of ``path``, to be moved to ``path``; removed if that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield beside
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a directory, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(file: Path, doing: str, wait: float = 0.0) -> Iterator[bool]:
    """Hold a lock file, which is created and removed afterwards.

    If another process still holds it after ``wait`` seconds, InUse is raised, whose message names the process and what
    it is ``doing``. The system releases the lock when a process ends, however it ends: a file left behind locks
    nothing. Yields whether the file system supports locks; without them other processes are not excluded.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(file, fallback_to_soft=False)
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        message = f"{_holder(file)} is already {doing}: wait for it to end, stop it, or use another folder"
        raise InUse(message) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        with suppress(OSError):
            file.unlink()
        yield False
        return
    try:
        with suppress(OSError):  # on a full disk the lock is held, but without the process id
            file.write_text(str(os.getpid()))
        yield True
    finally:
        with suppress(OSError):  # removed before the release, so that a waiting process creates a new file
            file.unlink()
        lock.release()


def _holder(file: Path) -> str:
    """The process that holds a lock, if known."""
    with suppress(OSError, ValueError):
        return f"process {int(file.read_text())}"
    return "another process"


def reason(error: OSError) -> str:
    """The system's error message, in lower case for the end of a sentence."""
    return (error.strerror or str(error)).lower()


def is_running(process: int) -> bool:
    """Whether a process with this id exists; it may be another program than the one that had the id before."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it exists, and belongs to somebody else
        return True
    return True


def is_url(text: str | os.PathLike[str]) -> bool:
    """Whether a text is a URL, such as that of a database, and not the path of a file."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", os.fspath(text)) is not None
