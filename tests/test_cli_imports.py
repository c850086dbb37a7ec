"""--import: a game of one's own on the command line, in every process that needs it."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from ramify.base.imports import import_modules
from tests.children import Ended, run_command, run_program

EXAMPLE = Path(__file__).parent.parent / "examples/tictactoe_python.py"
PLAYER = """
from typing import Literal

from ramify.arena import PlayerConfig, register_player


@register_player
class LazyConfig(PlayerConfig):
    kind: Literal["lazy"] = "lazy"

    def open(self, game):
        return LazyPlayer()


class LazyPlayer:
    def choose(self, turns):
        return [int(turn.state.legal_actions(turn.player)[0]) for turn in turns]

    def close(self):
        pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A game in a file, which imports a player from a file beside it."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "own_player.py").write_text(PLAYER)
    (inner / "own_game.py").write_text("import own_player\n" + EXAMPLE.read_text().partition("\nif __name__")[0])
    return tmp_path


def ramify(folder: Path, *arguments: str) -> Ended:
    return run_command(*arguments, folder=folder)


def test_a_game_from_a_file_and_from_a_module(folder: Path) -> None:
    quick = ("analyze", "tictactoe_python", "--simulations", "30", "--actions", "b2", "--json")
    code, out, err = ramify(folder, *quick, "--import", "inner/own_game.py")
    assert (code, err) == (0, "")
    assert json.loads(out)["game"] == "tictactoe_python"
    code, _, err = ramify(folder / "inner", *quick, "--import", "own_game")
    assert (code, err) == (0, "")
    code, _, err = ramify(folder, *quick)
    assert code == 2
    assert "no game named 'tictactoe_python'; did you mean 'tictactoe'?" in err
    assert "--import MODULE" in err


def test_games_lists_it(folder: Path) -> None:
    assert "tictactoe_python" in ramify(folder, "games", "--import", "inner/own_game.py")[1]


def test_workers_of_a_match_import_it_too(folder: Path) -> None:
    """Neither the game's class nor the player's can be found by a new process on its own."""
    arguments = ["tictactoe_python", "lazy", "search:simulations=4", "--games", "4", "--workers", "2", "--json"]
    code, out, err = ramify(folder, "match", *arguments, "--import", "inner/own_game.py")
    assert (code, err) == (0, "")
    assert json.loads(out)["played"] == 4


def test_what_cannot_be_imported_is_one_line(run, tmp_path: Path) -> None:
    (tmp_path / "broken_game.py").write_text("raise RuntimeError('of its own making')\n")
    (tmp_path / "json.py").write_text("")
    for name, words in (
        ("broken_game.py", "RuntimeError: of its own making"),
        ("broken_game", "RuntimeError: of its own making"),
        ("nowhere.py", "there is no such file"),
        ("no_such_module", "No module named 'no_such_module'"),
        ("json.py", "another module named 'json'"),
    ):
        code, out, err = run("games", "--import", name)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err
    assert run("games", "--import", "broken_game.py", "--debug")[2].startswith("Traceback")


def look(pipe) -> None:
    from ramify.games import list_games

    import_modules(["own_settings"])
    pipe.send("forked_game" in list_games())


def test_a_forked_process_has_it_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = EXAMPLE.read_text().partition("\nif __name__")[0].replace("tictactoe_python", "forked_game")
    (tmp_path / "own_settings.py").write_text(text)
    import_modules(["own_settings"])
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=look, args=(there,))
    process.start()
    assert here.poll(30)
    assert here.recv()
    process.join()


SETTINGS = """
game: tictactoe_python
network: mlp:1x8
search: {simulations: 4}
loop: {iterations: 2, games: 8, batch: 8, games_per_shard: 4, threads: 1, device: cpu, loaders: 1, overlap: true}
"""


def test_a_config_imports_what_its_game_needs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from ramify.training import TrainConfig

    text = EXAMPLE.read_text().partition("\nif __name__")[0].replace("tictactoe_python", "remembered_game")
    (tmp_path / "remembered_module.py").write_text(text)
    gone = str(tmp_path / "gone.py")
    config = TrainConfig(game="remembered_game", imports=[gone, str(tmp_path / "remembered_module.py")])
    assert config.make_game().name == "remembered_game"
    assert TrainConfig(game="hex", imports=[gone]).make_game().name == "hex"  # it is known without
    with pytest.raises(ImportError, match=r"gone\.py"):
        TrainConfig(game="another_game", imports=[gone]).make_game()


RESUMED = """
import sys
from pathlib import Path

import ramify as rf
from ramify.base.imports import import_modules, imported
from ramify.cli.train import import_remembered
from ramify.training import TrainConfig
from ramify.training.claims import claim

old, other, new = sys.argv[1:]
Path("run").mkdir()
claim(TrainConfig(game="tictactoe_python", imports=[old, other]), Path("run"))
import_modules([new])
chosen = rf.make("tictactoe_python")
assert import_remembered(Path("run")) == [new, other] == list(imported())
assert rf.make("tictactoe_python") == chosen
assert type(chosen).__module__ == "new_game"
assert "other_game" in rf.list_games()
"""


def test_a_module_given_now_wins_over_that_of_the_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("yaml")
    text = EXAMPLE.read_text().partition("\nif __name__")[0]
    files = [tmp_path / f"{name}_game.py" for name in ("old", "other", "new")]
    for file in files:
        file.write_text(text.replace("tictactoe_python", "other_game") if file.stem == "other_game" else text)
    ended = run_program(RESUMED, *map(str, files), folder=tmp_path)
    assert ended.code == 0, ended.err
    assert [ended.err.count(word) for word in ("old_game.py", "other_game.py", "new_game.py")] == [1, 0, 1]


@pytest.mark.slow
def test_a_training_run_remembers_it(folder: Path) -> None:
    """The process that plays and the loaders import the game, and resuming needs no --import."""
    pytest.importorskip("torch")
    pytest.importorskip("yaml")
    (folder / "own.yaml").write_text(SETTINGS)
    code, _, err = ramify(folder, "train", "own.yaml", "--import", "inner/own_game.py", "--json")
    assert (code, err) == (0, "")
    marker = json.loads((folder / "runs/own/ramify-run.json").read_text())
    assert marker["config"]["imports"] == [str(folder / "inner/own_game.py")]
    code, _, err = ramify(folder, "train", "own.yaml", "loop.iterations=3", "--json")
    assert (code, err) == (0, "")
    (folder / "inner/own_game.py").rename(folder / "moved_game.py")
    code, _, err = ramify(folder, "train", "own.yaml", "loop.iterations=3")
    assert code == 2
    assert "no game named 'tictactoe_python'" in err
    (folder / "inner/own_player.py").rename(folder / "own_player.py")
    assert ramify(folder, "train", "own.yaml", "loop.iterations=3", "--import", "moved_game")[0] == 0
    arguments = ["tictactoe_python", "search", "random", "--network", "runs/own", "-s", "simulations=4", "--games", "2"]
    assert ramify(folder, "match", *arguments, "--import", "moved_game")[0] == 0
