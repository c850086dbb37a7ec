"""One process at a time trains in a folder, and what is left of one that died does not keep others out."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from ramify.training import checkpoints, train
from ramify.training.folder import LOCK, held
from tests.training.helpers import tiny

HOLDER = """
import sys, time
from pathlib import Path
from ramify.training.folder import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that trains in tmp_path / "run", as far as anybody can see."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path, holder):
    run = tmp_path / "run"
    with pytest.raises(RuntimeError, match=rf"^process {holder.pid} is already training in {run}: "):
        train(tiny(loop__iterations=1), run)
    assert [path.name for path in run.iterdir()] == [LOCK]
    holder.kill()
    holder.wait()
    train(tiny(loop__iterations=1), run)
    assert len(checkpoints(run / "checkpoints")) == 2


def test_a_run_holds_its_folder_while_it_lasts(tmp_path):
    seen = []

    def again(status):
        if not seen:
            seen.append(status)
            train(tiny(), tmp_path)

    with pytest.raises(RuntimeError, match=f"process {os.getpid()} is already training in"):
        train(tiny(), tmp_path, show=again)
    train(tiny(loop__iterations=1), tmp_path)  # it has let go


def test_two_that_begin_at_once_do_not_both_train(tmp_path, monkeypatch):
    """The second look counts: the first one is over before the other run has made the folder."""
    monkeypatch.setattr("ramify.training.run.refuse_held", lambda _: None)
    with held(tmp_path), pytest.raises(RuntimeError, match="is already training in"):
        train(tiny(), tmp_path)
    assert not (tmp_path / "config.yaml").exists()


def test_systems_without_locks_train_all_the_same(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    with held(tmp_path), held(tmp_path):
        pass


def test_a_run_of_an_earlier_version_is_held_and_can_be_resumed(tmp_path):
    """They kept their lock file, empty or with the process, and locked it by fcntl themselves."""
    train(tiny(loop__iterations=1), tmp_path)
    with (tmp_path / LOCK).open("w") as file:
        file.write("12345")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(RuntimeError, match=r"^process 12345 is already training in"):
            train(tiny(loop__iterations=2), tmp_path)
    for left in ("", "12345"):  # by a run that ended, and by one that was killed
        (tmp_path / LOCK).write_text(left)
        train(tiny(loop__iterations=2), tmp_path)
    assert len(checkpoints(tmp_path / "checkpoints")) == 3


def test_a_refused_run_is_not_noted_as_failed(run, tmp_path, holder, monkeypatch):
    monkeypatch.setattr("ramify.training.run.refuse_held", lambda _: None)  # as if both had begun at once
    pytest.importorskip("sqlalchemy")
    from ramify.store import Store

    name = str((tmp_path / "run").resolve())
    with Store(tmp_path / "r.db") as store:
        store.start_run(name, {})
        code, _, err = run("train", "hex-5", "network=1x8", "--folder", "run", "--store", "r.db")
        assert (code, err.count("\n")) == (2, 1)
        assert f"process {holder.pid} is already training in run" in err
        assert store.run(name).status == "running"
