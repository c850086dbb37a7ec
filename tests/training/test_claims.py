"""Whose a folder is: nothing of anybody else is deleted or overwritten, and runs of earlier versions go on."""

from __future__ import annotations

import json
import logging
import shutil

import pytest

from ramify.arena.runs import read_run
from ramify.training import as_yaml, checkpoints, read_progress, train
from ramify.training.claims import MARKER, claim, read_marker
from ramify.training.folder import LOCK
from ramify.training.run import Training
from tests.training.helpers import as_before, losses, tiny

MINE = "# my own settings\ngame: tictactoe\nnetwork: mlp:1x16\nloop: {device: cpu, overlap: false}\n"


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    train(tiny(), folder)
    return folder


def test_the_files_of_a_user_stay_as_they_are(run, tmp_path):
    """The command that deleted a folder and overwrote its own config."""
    (tmp_path / "checkpoints" / "000001").mkdir(parents=True)
    (tmp_path / "checkpoints" / "000001" / "model.pt").write_text("weeks of work")
    (tmp_path / "checkpoints" / "best.ckpt").write_text("more work")
    (tmp_path / "config.yaml").write_text(MINE)
    before = content(tmp_path)
    code, out, err = run("train", "config.yaml", "--folder", ".")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert ". already has config.yaml and checkpoints, which are not from a run of ramify" in err
    assert "use another folder, such as run" in err
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["config.yaml", "metrics.jsonl", "games/cup.txt", "partial/0/x", "checkpoints/3/x", LOCK]
)
@pytest.mark.parametrize("text", [MINE, as_yaml(tiny()), '{"kind": "other"}\n'], ids=["yaml", "show", "json"])
def test_no_name_of_a_run_is_taken_from_anybody(tmp_path, name, text):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match="use another folder"):
        train(tiny(loop__iterations=1), tmp_path)
    assert content(tmp_path) == {name: text.encode()}


def test_a_marker_says_whose_a_folder_is(unbroken):
    marker = read_marker(unbroken)
    assert marker["config"] == tiny().model_dump(mode="json")
    assert (unbroken / "config.yaml").read_text() == as_yaml(tiny())


def test_a_run_without_a_marker_goes_on(unbroken, tmp_path, caplog):
    """As earlier versions have left it: no marker, no checksums, no counts."""
    folder = tmp_path / "run"
    train(tiny(loop__iterations=2, optimizer__schedule="constant"), folder)
    as_before(folder)
    train(tiny(optimizer__schedule="constant"), folder)
    assert caplog.text == ""
    whole = tmp_path / "whole"
    train(tiny(optimizer__schedule="constant"), whole)
    assert losses(folder) == losses(whole)
    assert (folder / "config.yaml").read_text() == (whole / "config.yaml").read_text()
    assert read_marker(folder) is not None


def test_nothing_is_deleted_without_a_marker(tmp_path):
    training = Training(tiny(), tmp_path)
    training.begin()  # a fresh network, and nothing else
    training.metrics.close()
    as_before(tmp_path)
    before = content(tmp_path)
    with pytest.raises(ValueError, match="other settings of network"):
        train(tiny(network="mlp:1x8"), tmp_path)
    assert content(tmp_path) == before
    train(tiny(loop__iterations=1), tmp_path)  # its own settings are welcome


def test_a_checkpoint_with_files_of_others_is_not_deleted(tmp_path):
    training = Training(tiny(), tmp_path)
    training.begin()
    training.metrics.close()
    (tmp_path / "checkpoints" / "000000" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="000000 has files that are not part of a checkpoint"):
        train(tiny(network="mlp:1x8"), tmp_path)
    assert (tmp_path / "checkpoints" / "000000" / "notes.txt").read_text() == "mine"


def test_a_config_changed_by_hand_stays(unbroken, tmp_path, caplog):
    folder = shutil.copytree(unbroken, tmp_path / "run")
    changed = "# longer\n" + (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(changed)
    train(tiny(loop__iterations=3, loop__keep=2), folder)
    assert "was edited by hand" in caplog.text
    assert (folder / "config.yaml").read_text() == changed
    assert read_marker(folder)["config"]["loop"]["keep"] == 2


@pytest.mark.parametrize("garbage", [b"{{{", b"\xff\xfe\x00", b"just words", b"", b"game: tictactoe\nlopo: {}\n"])
def test_a_damaged_config_is_an_error_of_every_command_until_it_is_deleted(unbroken, tmp_path, garbage):
    folder = shutil.copytree(unbroken, tmp_path / "run")
    (folder / "config.yaml").write_bytes(garbage)
    before, said = content(folder), []
    for command in (lambda: train(tiny(), folder), lambda: read_run(folder)):
        with pytest.raises(ValueError, match=r"delete config\.yaml") as caught:
            command()
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert content(folder) == before
    (folder / "config.yaml").unlink()
    train(tiny(), folder)
    assert read_run(folder) == tiny()


@pytest.mark.parametrize("at", [0.01, 0.3, 0.7, 0.99])
def test_a_damaged_marker_does_not_block_a_run(unbroken, tmp_path, at):
    folder = shutil.copytree(unbroken, tmp_path / "run")
    data = bytearray((folder / MARKER).read_bytes())
    data[int(at * len(data))] ^= 4
    (folder / MARKER).write_bytes(data)
    train(tiny(), folder)
    assert read_marker(folder)["config"] == tiny().model_dump(mode="json")
    with pytest.raises(ValueError, match="other settings of seed"):
        train(tiny(seed=3), folder)


def test_what_a_killed_run_has_left_is_cleared_away(unbroken, tmp_path):
    folder = shutil.copytree(unbroken, tmp_path / "run")
    ours = [".config.yaml.0123abcd", ".metrics.jsonl.ffffffff", "games/.000007.games.00000000"]
    ours += ["checkpoints/.writing-000004/learner.safetensors", "partial/.writing-000123/.network.json.01234567"]
    others = [".bashrc", ".metrics.jsonl.backup", "games/.notes.01234567", "checkpoints/.writing-000005/notes.txt"]
    others += [".ramify.db.01234567", "checkpoints/.writing-mine/learner.safetensors"]
    for name in ours + others:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("half of it")
    train(tiny(), folder)
    assert not [name for name in ours if (folder / name).exists()]
    assert not (folder / "checkpoints" / ".writing-000004").exists()
    assert all((folder / name).read_text() == "half of it" for name in others)


def test_a_marker_and_a_config_of_which_one_is_newer(unbroken, tmp_path, caplog):
    """A process may die between writing the two."""
    folder = shutil.copytree(unbroken, tmp_path / "run")
    old = (folder / "config.yaml").read_bytes()
    claim(tiny(loop__keep=2), folder)
    (folder / "config.yaml").write_bytes(old)
    with caplog.at_level(logging.WARNING, "ramify"):
        claim(tiny(loop__keep=4), folder)
    assert caplog.text == ""
    assert (folder / "config.yaml").read_text() == as_yaml(tiny(loop__keep=4))


@pytest.mark.slow
def test_keep_games_bounds_what_is_on_disk(tmp_path):
    """Runs that keep few games are the same runs, also when they are broken off in between."""
    settings = {"loop__games_per_shard": 4, "window": {"size": 60}, "loop__keep": 2, "optimizer__schedule": "constant"}
    everything, few, broken = (tmp_path / name for name in ("everything", "few", "broken"))
    train(tiny(loop__iterations=6, **settings), everything)
    train(tiny(loop__iterations=6, loop__keep_games=10, **settings), few)
    for iterations in (2, 4, 5, 6):
        train(tiny(loop__iterations=iterations, loop__keep_games=10, **settings), broken)
    assert losses(everything) == losses(few) == losses(broken)
    counts = [len(list((folder / "games").glob("*.games"))) for folder in (everything, few, broken)]
    assert counts[0] == 18
    assert counts[1] == counts[2] < 14
    for folder in (few, broken):
        taken = read_progress(checkpoints(folder / "checkpoints")[-1])["taken"]
        assert taken["games"] == 72
        assert taken["discarded"] == 72 - 4 * counts[1]
        first = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
        assert first["positions"] == taken["positions"]


def test_games_that_were_discarded_are_not_missed(tmp_path, caplog):
    settings = {"loop__games_per_shard": 4, "window": {"size": 40}, "loop__keep": 1, "loop__keep_games": 1}
    train(tiny(loop__iterations=4, **settings), tmp_path)
    (tmp_path / "games" / "foreign.games").write_text("not a shard")
    (tmp_path / "games" / "000000.games").write_text("not ours either")
    train(tiny(loop__iterations=5, **settings), tmp_path)
    assert "games of this run" not in caplog.text
    assert (tmp_path / "games" / "000000.games").read_text() == "not ours either"
    assert (tmp_path / "games" / "foreign.games").exists()
