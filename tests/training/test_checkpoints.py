"""Damaged checkpoints: told, set aside, and made again as they were."""

from __future__ import annotations

import errno
import logging
import os
import random
import shutil
import sys

import pytest
import torch

from ramify.training import DamagedCheckpoint, checkpoints, read_checkpoint, read_metrics, read_progress, train
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
    assert f"resuming from {folder / 'checkpoints' / '000002'}" in caplog.text
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

    config = tiny(loop__replay_ratio=8)
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


@pytest.mark.parametrize("name", ["learner.safetensors", "network.safetensors", "progress.json"])
def test_a_flipped_bit_is_noticed(unbroken, tmp_path, name):
    path = shutil.copytree(unbroken / "checkpoints" / "000003", tmp_path / "000003")
    whole, (tensors, said) = (path / name).read_bytes(), read_checkpoint(path)
    rng = random.Random(0)
    for _ in range(150):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (path / name).write_bytes(data)
        try:
            again, progress = read_checkpoint(path)
        except DamagedCheckpoint:
            continue
        # White space between the entries of a JSON text means nothing.
        assert name == "progress.json"
        assert progress == said
        assert all(torch.equal(again[key], tensor) for key, tensor in tensors.items())


def test_a_run_goes_on_from_the_checkpoint_before_one_with_a_flipped_bit(unbroken, tmp_path, caplog):
    folder = shutil.copytree(unbroken, tmp_path / "run")
    for _ in range(2):  # the second time under another name: nothing is deleted
        file = folder / "checkpoints" / "000003" / "learner.safetensors"
        data = bytearray(file.read_bytes())
        data[-5] ^= 1
        file.write_bytes(data)
        train(tiny(), folder)
        assert "the checksum of learner.safetensors is wrong" in caplog.text
        assert losses(folder) == losses(unbroken)
    names = sorted(path.name for path in (folder / "checkpoints").iterdir())
    assert names[-3:] == ["000003", "000003.damaged", "000003.damaged-2"]


@pytest.mark.parametrize("bit", [1, 128], ids=["another letter", "no text"])
def test_a_flipped_bit_in_the_figures_costs_one_line(unbroken, tmp_path, caplog, bit):
    folder = shutil.copytree(unbroken, tmp_path / "run")
    file = folder / "metrics.jsonl"
    data, lines = bytearray(file.read_bytes()), len(list(read_metrics(file)))
    data[2] ^= bit  # in the name "kind" of the first line
    file.write_bytes(data)
    assert len(list(read_metrics(file))) == lines - 1
    assert "metrics.jsonl: line 1 is damaged and left out" in caplog.text
    train(tiny(loop__iterations=4), folder)
    assert sum(line["kind"] == "iteration" for line in read_metrics(file)) == 4


def test_half_a_last_line_is_no_damage(unbroken, tmp_path, caplog):
    file = tmp_path / "metrics.jsonl"
    file.write_bytes((unbroken / "metrics.jsonl").read_bytes()[:-7])
    assert len(list(read_metrics(file))) == len(list(read_metrics(unbroken / "metrics.jsonl"))) - 1
    assert caplog.text == ""


@pytest.mark.parametrize(("number", "sentence"), [(errno.ENOSPC, "is full"), (errno.EROFS, "is read-only")])
def test_a_disk_that_fails_is_told_in_a_sentence(run, tmp_path, monkeypatch, number, sentence):
    def failing(*_):
        raise OSError(number, os.strerror(number))

    words = ("hex-5", "network=1x8", "loop.games=2", "loop.rollout_simulations=2", "loop.iterations=1", "--folder", "r")
    monkeypatch.setattr(sys.modules["ramify.training.checkpoints"], "sync", failing)
    code, _, err = run("train", *words)
    assert (code, err.count("\n")) == (2, 1)
    assert f"ramify: the disk of r {sentence}" in err
    assert not list((tmp_path / "r" / "checkpoints").iterdir())  # what was half written takes no room
