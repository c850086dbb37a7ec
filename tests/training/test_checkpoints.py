"""Damaged checkpoints: told, set aside, and made again as they were."""

from __future__ import annotations

import logging
import shutil

import pytest

from ramify.training import DamagedCheckpoint, checkpoints, read_checkpoint, read_progress, train
from tests.training.helpers import losses, tiny


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    train(tiny(), folder)
    return folder


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


DAMAGES = {
    "an empty learner": lambda path: (path / "learner.safetensors").write_bytes(b""),
    "half a learner": lambda path: cut(path / "learner.safetensors"),
    "no learner": lambda path: (path / "learner.safetensors").unlink(),
    "half a progress": lambda path: cut(path / "progress.json"),
    "no progress": lambda path: (path / "progress.json").write_text("{}"),
    "a progress of nothing": lambda path: (path / "progress.json").write_text("null"),
    "an empty network": lambda path: (path / "network.safetensors").write_bytes(b""),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_training_goes_on_from_the_newest_that_can_be_read(unbroken, tmp_path, caplog, damage):
    folder = shutil.copytree(unbroken, tmp_path / "run")
    newest = checkpoints(folder / "checkpoints")[-1]
    damage(newest)
    with pytest.raises(DamagedCheckpoint, match=f"^{newest} is damaged: "):
        read_checkpoint(newest)
    with caplog.at_level(logging.WARNING, "ramify"):
        train(tiny(), folder)
    assert f"{newest} is damaged" in caplog.text
    assert f"training goes on from {folder / 'checkpoints' / '000002'}" in caplog.text
    assert [path.name for path in sorted(newest.parent.iterdir())][-2:] == ["000003", "000003.damaged"]
    assert losses(folder) == losses(unbroken)  # the games were there: the same steps again
    again, before = (read_progress(place / "checkpoints" / "000003") for place in (folder, unbroken))
    assert again["network_id"] == before["network_id"]
    caplog.clear()
    train(tiny(), folder)  # all is well now
    assert caplog.text == ""


def test_a_damaged_checkpoint_in_the_middle_of_an_iteration(unbroken, tmp_path, caplog):
    stopped = []

    def stop(status):
        if not stopped and status.phase == "training" and status.iteration == 1 and status.share > 0:
            stopped.append(True)
            raise KeyboardInterrupt

    config = tiny(loop__reuse=8)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path, show=stop)
    [newest] = checkpoints(tmp_path / "partial")
    DAMAGES["an empty learner"](newest)
    train(config, tmp_path)
    assert f"{newest} is damaged" in caplog.text
    whole = tmp_path / "whole"
    train(config, whole)
    assert losses(tmp_path) == losses(whole)


def test_a_run_without_a_checkpoint_that_can_be_read_says_so(unbroken, tmp_path):
    folder = shutil.copytree(unbroken, tmp_path / "run")
    for path in checkpoints(folder / "checkpoints"):
        (path / "learner.safetensors").write_bytes(b"")
    before = sorted(path.name for path in (folder / "checkpoints").iterdir())
    with pytest.raises(DamagedCheckpoint, match=r"^no checkpoint can be read: .*000003 is damaged: ") as refused:
        train(tiny(), folder)
    assert "\n" not in str(refused.value)
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == before
    shutil.rmtree(folder / "checkpoints")  # as it says
    train(tiny(), folder)
    assert losses(folder) == losses(unbroken)
