"""The file: made, brought up to date, refused; and training runs in it."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from ramify.store import Store, StoreError
from ramify.store.database import HEAD, migrations_config
from tests.children import forking_context


def test_a_new_file_has_the_tables_that_the_code_expects(place: str) -> None:
    """Migrations and tables say the same: Alembic finds nothing that one has and the other has not."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    from ramify.store.tables import Base

    with Store(place) as store, store._database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
        assert context.get_current_revision() == HEAD
    assert ScriptDirectory.from_config(migrations_config()).get_current_head() == HEAD


def test_the_file_is_set_up_for_several_processes(tmp_path: Path) -> None:
    with Store(tmp_path / "x.db") as store, store._database.engine.connect() as connection:
        ask = lambda name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()  # noqa: E731
        assert (ask("journal_mode"), ask("foreign_keys"), ask("busy_timeout")) == ("wal", 1, 60000)


def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreError, match=r"newer version of ramify.*9999.*update ramify"):
        Store(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)
    connection.close()


def test_an_empty_file_of_an_older_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
    connection.close()
    with Store(path) as store:
        assert store.games() == []


def test_files_of_something_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, and long enough to be taken for one\n" * 50)
    with pytest.raises(StoreError, match=r"text\.db cannot be opened as a store"):
        Store(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="another program, with the tables cats"):
        Store(tmp_path / "other.db")
    with pytest.raises(StoreError, match="directory"):
        Store(tmp_path)


def test_runs_metrics_and_checkpoints(tmp_path: Path, place: str) -> None:
    with Store(place) as store:
        run = store.start_run("first", {"lr": 0.1, "net": {"blocks": 2}}, commit="abc")
        store.start_run("second", {})
        store.add_metrics(run, 1, {"loss": 2.0, "entropy": 1.5})
        store.add_metrics("first", 2, {"loss": math.nan, "entropy": math.inf})
        store.add_metrics("first", 2, {"entropy": 1.25})
        store.add_metrics("first", 3, {})
        store.add_checkpoint("first", 0, tmp_path / "a.safetensors", "id0")
        store.add_checkpoint(run, 1, "b", "id1")
        store.add_checkpoint(run, 1, "c", "id2")
        store.finish_run("first")
        with pytest.raises(ValueError, match="'first' already"):
            store.start_run("first", {})
    with Store(place) as store:
        found = store.run("first")
        assert (found.config, found.commit, found.status) == ({"lr": 0.1, "net": {"blocks": 2}}, "abc", "finished")
        assert found.finished is not None
        assert found.started <= found.finished
        assert [one.status for one in store.runs()] == ["finished", "running"]
        assert [(one.step, one.value) for one in store.metrics("first", "entropy")] == [(1, 1.5), (2, 1.25)]
        assert math.isnan(store.metrics("first", "loss")[1].value)
        assert [(one.iteration, one.path, one.network_id) for one in store.checkpoints(run)] == [
            (0, str(tmp_path / "a.safetensors"), "id0"),
            (1, "c", "id2"),
        ]
        assert store.start_run("first", {}, resume=True) == run
        assert store.run(run).status == "running"
        assert store.run(run).config["lr"] == 0.1
        for call in (lambda: store.add_metrics("third", 1, {"x": 1.0}), lambda: store.checkpoints(99)):
            with pytest.raises(KeyError, match="the runs are second, first"):
                call()


def write_metrics(path: str, worker: int, pipe: Any) -> None:
    with Store(path) as store:
        for step in range(60):
            store.add_metrics("run", step, {f"metric{worker}": step, "shared": step})
    pipe.send("done")


def test_several_processes_write_metrics_at_once(place: str) -> None:
    context = forking_context()
    with Store(place) as store:
        store.start_run("run", {})
    pipes = [context.Pipe() for _ in range(3)]
    processes = [context.Process(target=write_metrics, args=(place, i, pipe[1])) for i, pipe in enumerate(pipes)]
    for process in processes:
        process.start()
    for process, (pipe, _) in zip(processes, pipes, strict=True):
        assert pipe.recv() == "done"
        process.join()
    with Store(place) as store:
        for name in ("metric0", "metric1", "metric2", "shared"):
            assert [one.value for one in store.metrics("run", name)] == list(range(60))


def test_the_arena_needs_no_database() -> None:
    code = "import ramify.arena, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "ramify.arena.tournament" in loaded
    assert not {"sqlalchemy", "alembic", "torch"} & set(loaded)


def test_a_file_that_is_up_to_date_needs_no_migrations(tmp_path: Path) -> None:
    """Alembic is slow to load, and most files need nothing of it."""
    Store(tmp_path / "x.db").close()
    code = "import sys; from ramify.store import Store; Store(sys.argv[1]); print(*sys.modules)"
    command = [sys.executable, "-c", code, str(tmp_path / "x.db")]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "sqlalchemy" in loaded
    assert "alembic" not in loaded
