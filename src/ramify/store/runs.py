"""Training runs in the store: what they were told, their metrics and the networks they left."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import select, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from ramify.store.database import Database
from ramify.store.tables import CheckpointRow, MetricRow, RunRow, now

Status = Literal["running", "finished", "stopped", "failed"]


@dataclass(frozen=True)
class Run:
    """A training run. Times are UTC."""

    id: int
    name: str
    config: Mapping[str, Any]
    commit: str | None
    status: str
    started: datetime
    finished: datetime | None


@dataclass(frozen=True)
class Metric:
    """A number at a step of a run."""

    step: int
    name: str
    value: float


@dataclass(frozen=True)
class Checkpoint:
    """A network that a run has left."""

    iteration: int
    path: str
    network_id: str
    created: datetime


class Runs:
    """What ``Store`` offers for training runs. A run is named by its name or the number it got."""

    _database: Database

    def start_run(
        self, name: str, config: Mapping[str, Any], commit: str | None = None, *, resume: bool = False
    ) -> int:
        """Note that a run begins; its number. A name is used once, unless the run goes on (``resume``)."""
        plain = json.loads(json.dumps(config))  # raises a TypeError for what cannot be kept
        try:
            with self._database.writing() as session:
                there = session.scalar(select(RunRow).where(RunRow.name == name)) if resume else None
                row = there or RunRow(name=name, config=plain, commit=commit)
                row.status, row.finished = "running", None
                session.add(row)
                session.flush()
                return row.id
        except IntegrityError:
            raise ValueError(f"there is a run {name!r} already; choose another name, or resume it") from None

    def finish_run(self, run: int | str, status: Status = "finished") -> None:
        """Note how a run has ended."""
        with self._database.writing() as session:
            found = run_id(session, run)
            session.execute(update(RunRow).where(RunRow.id == found).values(status=status, finished=now()))

    def runs(self) -> list[Run]:
        """All runs, in the order in which they began."""
        with self._database.reading() as session:
            return [run_of(row) for row in session.scalars(select(RunRow).order_by(RunRow.id))]

    def run(self, run: int | str) -> Run:
        """One of them."""
        with self._database.reading() as session:
            return run_of(session.get_one(RunRow, run_id(session, run)))

    def add_metrics(self, run: int | str, step: int, values: Mapping[str, float]) -> None:
        """Keep numbers of a step. Those there already are replaced: a resumed run writes its last steps again."""
        with self._database.writing() as session:
            found = run_id(session, run)
            rows = [
                {"run": found, "step": step, "name": name, "value": None if math.isnan(value) else float(value)}
                for name, value in values.items()
            ]
            if rows:
                order = insert(MetricRow)
                keys = ["run", "name", "step"]
                session.execute(
                    order.on_conflict_do_update(index_elements=keys, set_={"value": order.excluded.value}), rows
                )

    def metrics(self, run: int | str, name: str | None = None) -> list[Metric]:
        """A run's numbers by step, all of them or those of one name."""
        with self._database.reading() as session:
            asked = select(MetricRow).where(MetricRow.run == run_id(session, run))
            if name is not None:
                asked = asked.where(MetricRow.name == name)
            rows = session.scalars(asked.order_by(MetricRow.step, MetricRow.name))
            return [Metric(row.step, row.name, math.nan if row.value is None else row.value) for row in rows]

    def add_checkpoint(self, run: int | str, iteration: int, path: str | os.PathLike[str], network_id: str) -> None:
        """Note a network. One of the same iteration is replaced."""
        values = {"iteration": iteration, "path": os.fspath(path), "network_id": network_id, "created": now()}
        with self._database.writing() as session:
            row = {"run": run_id(session, run), **values}
            order = insert(CheckpointRow).on_conflict_do_update(index_elements=["run", "iteration"], set_=values)
            session.execute(order, [row])

    def checkpoints(self, run: int | str) -> list[Checkpoint]:
        """A run's networks, the oldest first."""
        with self._database.reading() as session:
            asked = select(CheckpointRow).where(CheckpointRow.run == run_id(session, run))
            rows = session.scalars(asked.order_by(CheckpointRow.iteration))
            return [Checkpoint(row.iteration, row.path, row.network_id, row.created) for row in rows]


def run_id(session: Session, run: int | str) -> int:
    """The number of a run; a KeyError if there is none."""
    wanted = RunRow.name == run if isinstance(run, str) else RunRow.id == run
    found = session.scalar(select(RunRow.id).where(wanted))
    if found is None:
        names = session.scalars(select(RunRow.name).order_by(RunRow.id.desc()).limit(10))
        raise KeyError(f"there is no run {run!r}; there are {', '.join(names) or 'none'}")
    return found


def run_of(row: RunRow) -> Run:
    return Run(row.id, row.name, row.config, row.commit, row.status, row.started, row.finished)
