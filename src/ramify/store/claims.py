"""Claims on games: who plays which, so that processes with the same tournament play different games of it.

A claim is a lease: its owner renews it while it plays, and after a process was killed others take its games over. That
is a matter of speed alone. Were a game played twice, the second result would not be stored.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Float, cast, delete, extract, func, literal, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ramify.base.files import is_running
from ramify.store.database import MANY, Database
from ramify.store.errors import StoreError
from ramify.store.tables import ClaimRow, GameRow

LEASE = 60.0  # seconds after which a claim that was not renewed is void
PATIENCE = 5.0  # seconds to wait for other writers when claims are given back


@cache
def machine() -> str:
    """A mark of this machine, or container, since its start: process numbers mean something within it only."""
    parts = [platform.node(), str(uuid.getnode())]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        parts.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115 - the target is no path
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def is_dead(owner: str) -> bool:
    """Whether the owner of a claim was a process of this machine that has ended."""
    where, process = (*owner.split("/"), "", "")[:2]
    return where == machine() and process.isdecimal() and not is_running(int(process))


class Claims:
    """The claims of one process. A thread renews them until they are given back."""

    def __init__(self, database: Database, finished: Callable[[GameRow], bool]) -> None:
        """``finished`` tells whether a stored game has been played since the caller looked for it."""
        self._database, self._finished = database, finished
        self._owner = f"{machine()}/{os.getpid()}/{secrets.token_hex(8)}"
        self._done: set[str] = set()  # claims to give back with the next ones
        self._renewing: tuple[threading.Thread, threading.Event] | None = None

    def done(self, key: str) -> None:
        """Note that a game is stored."""
        if self._renewing is not None:
            self._done.add(key)

    def look(self, keys: Sequence[str]) -> tuple[list[GameRow], set[str], set[str]]:
        """Games among these that were finished, keys that others have claimed, and owners that have ended."""
        rows: list[GameRow] = []
        taken: set[str] = set()
        dead: set[str] = set()
        with self._database.reading() as session:
            for start in range(0, len(keys), MANY):
                part = keys[start : start + MANY]
                wanted = ClaimRow.key.in_(part) & (ClaimRow.owner != self._owner) & (ClaimRow.expires >= self._clock())
                for key, owner in session.execute(select(ClaimRow.key, ClaimRow.owner).where(wanted)):
                    (dead if is_dead(owner) else taken).add(owner if is_dead(owner) else key)
                rows += self._finished_games(session, part)
        return rows, taken, dead

    def claim(self, keys: Sequence[str], dead: set[str]) -> tuple[list[str], list[GameRow]]:
        """Claim these games: the keys that were still free, and games that have been finished meanwhile."""
        self._renew_from_now_on()
        done = sorted(self._done)

        def take(session: Session) -> tuple[list[str], list[GameRow]]:
            if done:
                session.execute(delete(ClaimRow).where(ClaimRow.owner == self._owner, ClaimRow.key.in_(done)))
            self._insert(session, sorted(keys), dead)
            own = select(ClaimRow.key).where(ClaimRow.owner == self._owner, ClaimRow.key.in_(keys))
            granted = set(session.scalars(own))
            late = self._finished_games(session, sorted(granted))
            missed = {row.key for row in late}
            if missed:
                session.execute(delete(ClaimRow).where(ClaimRow.owner == self._owner, ClaimRow.key.in_(missed)))
            return [key for key in keys if key in granted - missed], late

        found = self._database.write(take)
        self._done.difference_update(done)
        return found

    def release(self) -> None:
        """Give all claims back, and remove those that were left long ago. On an error they expire by themselves."""
        if self._renewing is None:
            return
        thread, end = self._renewing
        self._renewing = None
        end.set()
        thread.join(2 * PATIENCE)
        self._done.clear()

        def give_back(session: Session) -> None:
            old = ClaimRow.expires < self._clock() - 10 * LEASE
            session.execute(delete(ClaimRow).where((ClaimRow.owner == self._owner) | old))

        with suppress(StoreError):
            self._database.write(give_back, PATIENCE)

    def _insert(self, session: Session, keys: Sequence[str], dead: set[str]) -> None:
        """Write claims on those of the keys that nobody else holds."""
        order = self._database.insert(ClaimRow).values(
            [{"key": key, "owner": self._owner, "expires": self._clock() + LEASE} for key in keys]
        )
        free = (ClaimRow.expires < self._clock()) | (ClaimRow.owner == self._owner)
        if dead:
            free = free | ClaimRow.owner.in_(dead)
        news = {"owner": order.excluded.owner, "expires": order.excluded.expires}
        session.execute(order.on_conflict_do_update(index_elements=["key"], set_=news, where=free))

    def _finished_games(self, session: Session, keys: Sequence[str]) -> list[GameRow]:
        rows = session.scalars(select(GameRow).where(GameRow.key.in_(keys)))
        found = [row for row in rows if self._finished(row)]
        session.expunge_all()  # they are read after the session has ended
        return found

    def _clock(self) -> ColumnElement[float]:
        """The time in seconds: of the server, as the clocks of several machines may differ."""
        if self._database.location.path is not None:
            return literal(time.time())
        return cast(extract("epoch", func.clock_timestamp()), Float(53))

    def _renew_from_now_on(self) -> None:
        if self._renewing is None:
            end = threading.Event()
            thread = threading.Thread(target=self._renew, args=(end,), name="ramify claims", daemon=True)
            self._renewing = thread, end
            thread.start()

    def _renew(self, end: threading.Event) -> None:
        """Renew the claims until the end."""

        def renew(session: Session) -> Any:
            own = update(ClaimRow).where(ClaimRow.owner == self._owner)
            session.execute(own.values(expires=self._clock() + LEASE).execution_options(synchronize_session=False))

        while not end.wait(LEASE / 3):
            with suppress(StoreError, SQLAlchemyError):  # the next time it may succeed
                self._database.write(renew, LEASE / 3)
