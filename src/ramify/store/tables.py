"""The tables. A change here needs a new migration in ``migrations/``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Float, ForeignKey, Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# Seeds have 63 bits. Every integer of SQLite holds them, and only its INTEGER can number rows.
BIG = BigInteger().with_variant(Integer(), "sqlite")


def now() -> datetime:
    """The current time in UTC, without a time zone, as it is stored."""
    return datetime.now(UTC).replace(tzinfo=None)


class Base(DeclarativeBase):
    """Base class of all tables."""

    type_annotation_map = {dict[str, Any]: JSON, list[Any]: JSON, float: Float}  # noqa: RUF012


class PlayerRow(Base):
    """A player by its content (the settings and the network's checksum) and the versions of its code."""

    __tablename__ = "players"

    identity: Mapped[str] = mapped_column(String(16), primary_key=True)
    kind: Mapped[str]
    label: Mapped[str]  # as it was first called; others may call it otherwise
    content: Mapped[dict[str, Any]]
    versions: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))  # None: met before they were kept
    added: Mapped[datetime] = mapped_column(default=now)


class GameRow(Base):
    """An arena game. ``key`` is the checksum of players, game, parameters, opening, seed and limits.

    A forfeited game is replaced once it is played to its end.
    """

    __tablename__ = "games"
    __table_args__ = (UniqueConstraint("key"), Index("games_by_game", "game", "params"))

    id: Mapped[int] = mapped_column(BIG, primary_key=True)
    key: Mapped[str] = mapped_column(String(32))
    game: Mapped[str]
    params: Mapped[str]  # JSON with sorted names: equal parameters are equal texts
    first: Mapped[str] = mapped_column(ForeignKey("players.identity"))
    second: Mapped[str] = mapped_column(ForeignKey("players.identity"))
    opening: Mapped[list[Any]]
    start: Mapped[int] = mapped_column(BIG)
    seed: Mapped[int] = mapped_column(BIG)
    limits: Mapped[dict[str, Any]]
    actions: Mapped[list[Any]]
    first_return: Mapped[float]
    second_return: Mapped[float]
    winner: Mapped[int | None]
    reason: Mapped[str]
    detail: Mapped[str]
    first_seconds: Mapped[float]
    second_seconds: Mapped[float]
    played: Mapped[datetime] = mapped_column(default=now)


class ClaimRow(Base):
    """A game that a process is about to play; ``owner`` names the machine and the process."""

    __tablename__ = "claims"
    __table_args__ = (Index("claims_by_owner", "owner"),)

    key: Mapped[str] = mapped_column(String(32), primary_key=True)
    owner: Mapped[str] = mapped_column(String(64))
    expires: Mapped[float]  # seconds since 1970


class RunRow(Base):
    """A training run."""

    __tablename__ = "runs"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    config: Mapped[dict[str, Any]]
    commit: Mapped[str | None]
    status: Mapped[str] = mapped_column(default="running")
    started: Mapped[datetime] = mapped_column(default=now)
    finished: Mapped[datetime | None]


class MetricRow(Base):
    """A metric of a run at one step. SQLite has no nan, which is stored as null."""

    __tablename__ = "metrics"

    run: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(BIG, primary_key=True)
    value: Mapped[float | None]


class CheckpointRow(Base):
    """A checkpoint of a run."""

    __tablename__ = "checkpoints"

    run: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    iteration: Mapped[int] = mapped_column(primary_key=True)
    path: Mapped[str]
    network_id: Mapped[str] = mapped_column(String(16))
    created: Mapped[datetime] = mapped_column(default=now)
