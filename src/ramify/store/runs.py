"""Training runs in the store: settings, metrics and checkpoints."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import select, update
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
    """The value of a metric at a step of a run."""

    step: int
    name: str
    value: float


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of a run."""

    iteration: int
    path: str
    network_id: str
    created: datetime


class Runs:
    """The methods of ``Store`` for training runs. A run is given by its name or its number."""

    _database: Database

    def start_run(
        self, name: str, config: Mapping[str, Any], commit: str | None = None, *, resume: bool = False
    ) -> int:
        """Record the start of a run; returns its number. A name can be used once, unless ``resume`` is given."""
        plain = json.loads(json.dumps(config))  # raises a TypeError for what cannot be kept
        row = {"name": name, "config": plain, "commit": commit, "status": "running"}

        def start(session: Session) -> int:
            order = self._database.insert(RunRow)
            if resume:  # another process may do the same at the same time
                again = {"status": "running", "finished": None}
                order = order.on_conflict_do_update(index_elements=["name"], set_=again)
            session.execute(order, [row])
            return run_id(session, name)

        try:
            return self._database.write(start)
        except IntegrityError:
            raise ValueError(f"a run named {name!r} already exists: choose another name, or resume it") from None

    def finish_run(self, run: int | str, status: Status = "finished") -> None:
        """Record the end of a run."""

        def finish(session: Session) -> None:
            found = run_id(session, run)
            session.execute(update(RunRow).where(RunRow.id == found).values(status=status, finished=now()))

        self._database.write(finish)

    def runs(self) -> list[Run]:
        """All runs, in order of their start."""
        with self._database.reading() as session:
            return [run_of(row) for row in session.scalars(select(RunRow).order_by(RunRow.id))]

    def run(self, run: int | str) -> Run:
        """One of them."""
        with self._database.reading() as session:
            return run_of(session.get_one(RunRow, run_id(session, run)))

    def add_metrics(self, run: int | str, step: int, values: Mapping[str, float]) -> None:
        """Store metrics of a step. Existing values are replaced: a resumed run writes its last steps again."""
        plain = {name: None if math.isnan(value) else float(value) for name, value in sorted(values.items())}

        def add(session: Session) -> None:
            found = run_id(session, run)
            rows = [{"run": found, "step": step, "name": name, "value": value} for name, value in plain.items()]
            if rows:
                order = self._database.insert(MetricRow)
                keys, news = ["run", "name", "step"], {"value": order.excluded.value}
                session.execute(order.on_conflict_do_update(index_elements=keys, set_=news), rows)

        self._database.write(add)

    def metrics(self, run: int | str, name: str | None = None) -> list[Metric]:
        """The metrics of a run by step, all of them or those of one name."""
        with self._database.reading() as session:
            asked = select(MetricRow).where(MetricRow.run == run_id(session, run))
            if name is not None:
                asked = asked.where(MetricRow.name == name)
            rows = session.scalars(asked.order_by(MetricRow.step, MetricRow.name))
            return [Metric(row.step, row.name, math.nan if row.value is None else row.value) for row in rows]

    def add_checkpoint(self, run: int | str, iteration: int, path: str | os.PathLike[str], network_id: str) -> None:
        """Record a checkpoint. One of the same iteration is replaced."""
        values = {"iteration": iteration, "path": os.fspath(path), "network_id": network_id, "created": now()}

        def add(session: Session) -> None:
            row = {"run": run_id(session, run), **values}
            order = self._database.insert(CheckpointRow)
            session.execute(order.on_conflict_do_update(index_elements=["run", "iteration"], set_=values), [row])

        self._database.write(add)

    def checkpoints(self, run: int | str) -> list[Checkpoint]:
        """The checkpoints of a run, oldest first."""
        with self._database.reading() as session:
            asked = select(CheckpointRow).where(CheckpointRow.run == run_id(session, run))
            rows = session.scalars(asked.order_by(CheckpointRow.iteration))
            return [Checkpoint(row.iteration, row.path, row.network_id, row.created) for row in rows]


def run_id(session: Session, run: int | str) -> int:
    """The number of a run; raises a KeyError if there is no such run."""
    wanted = RunRow.name == run if isinstance(run, str) else RunRow.id == run
    found = session.scalar(select(RunRow.id).where(wanted))
    if found is None:
        names = session.scalars(select(RunRow.name).order_by(RunRow.id.desc()).limit(10))
        raise KeyError(f"no run {run!r}; the runs are {', '.join(names) or 'none'}")
    return found


def run_of(row: RunRow) -> Run:
    return Run(row.id, row.name, row.config, row.commit, row.status, row.started, row.finished)
