"""Files that are there completely or not at all, even if the machine stops; locks that end with their process."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# What a system answers that cannot lock a file there, or cannot give it a second name.
NO_LOCKS = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL}
NO_LINKS = {errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


class InUse(RuntimeError):  # noqa: N818 - it says what is wrong, as IllegalAction does
    """Another process is at work in a folder that takes one at a time."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there; its folder is made where it is missing."""
    with _written_beside(path, content) as beside:
        beside.replace(path)


def write_new(path: Path, content: bytes) -> None:
    """Write a file as ``write_atomically`` does; a FileExistsError, and nothing changed, if one is there already.

    Of several processes that write one path at once, only one succeeds.
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
    """Move a file to where none is, on file systems without hard links: who makes the claim may move."""
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
    """A file on disk with a name of its own, to be moved to ``path``; gone if that fails."""
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
    """Wait until a file, or the list of what is in a folder, is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(file: Path, doing: str, wait: float = 0.0) -> Iterator[bool]:
    """Hold a lock file, which is made and is gone afterwards.

    If it is held by another after ``wait`` seconds, InUse says which process is ``doing`` what. The system lets go of
    the lock when a process ends, however it ends: a file that is left behind keeps nobody out. Gives whether the file
    system has locks; where it has none, nobody is kept out.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(file, fallback_to_soft=False)
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        message = f"{_holder(file)} is {doing} already: wait for it, stop it, or give another folder"
        raise InUse(message) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        with suppress(OSError):
            file.unlink()
        yield False
        return
    try:
        with suppress(OSError):  # a full disk: nobody will know who holds it, but it is held
            file.write_text(str(os.getpid()))
        yield True
    finally:
        with suppress(OSError):  # while it is held: who waits for it sees that it is gone, and makes another
            file.unlink()
        lock.release()


def _holder(file: Path) -> str:
    """Who holds a lock, as far as that can be told."""
    with suppress(OSError, ValueError):
        return f"process {int(file.read_text())}"
    return "another process"


def reason(error: OSError) -> str:
    """Why the system has refused something, for the end of a sentence."""
    return (error.strerror or str(error)).lower()
