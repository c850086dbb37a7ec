"""Packages that add games, networks, players and presets: the example package, really installed, and broken ones."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.children import ROOT, run_python


def package(folder: Path, name: str, module: str, code: str | None, entries: str) -> None:
    """What pip would leave of a package with one module; without code, only its metadata."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)
    if code is not None:
        (folder / f"{module}.py").write_text(code)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the example package is installed."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples/plugin", folder / "source")  # building leaves files there
    command = (
        "install --quiet --no-deps --no-build-isolation --no-index --no-compile --disable-pip-version-check --target"
    )
    subprocess.run(
        [sys.executable, "-m", "pip", *command.split(), folder / "target", folder / "source"], check=True, timeout=120
    )
    return folder / "target"


@pytest.fixture
def with_example(installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Programs find the example package; gives a folder to work in."""
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ramify(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ramify", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed(program: str) -> str:
    ended = run_python(program)
    assert ended.code == 0, ended.err
    return ended.out


def test_the_example_from_python(with_example: Path) -> None:
    shown = printed("""
import sys
import ramify as rf
from ramify.base import plugins
rf.make("hex", size=3)
rf.arena.read_player("random")
assert plugins._found.cache_info().misses == 0  # names that are known need no look at other packages
assert "nim" in rf.list_games()
assert not any(name.startswith("ramify_nim") for name in sys.modules)  # a list imports nothing
game = rf.make("nim", heaps=(1, 2))
assert "ramify_nim.player" not in sys.modules
assert rf.check_game(game, games=5).ok
player = rf.arena.read_player("nim-perfect").open(game)
turn = rf.arena.Turn(game.initial_state(), 0, 0)
print(game.initial_state().action_name(player.choose([turn])[0]))
print(rf.search(game.initial_state(), simulations=200, solver=True).proven)
assert "nim-perfect" in rf.arena.player_kinds()
""")
    assert shown.split() == ["b1", "[", "1.", "-1.]"]


@pytest.mark.slow
def test_the_examples_network_and_preset(with_example: Path) -> None:
    pytest.importorskip("torch")
    shown = printed("""
import ramify as rf
from ramify.training import load_config, presets
game = rf.make("nim")
network = rf.networks.make(game, {"kind": "nim", "width": 8})
rf.networks.save("nim.safetensors", network)
print(rf.networks.load("nim.safetensors").config.width)
assert "nim-quick" in presets()
print(load_config("nim-quick", {"network.width": 4}).network)
print(load_config("nim_quick").game)
""")
    assert shown.splitlines() == ["8", "{'kind': 'nim', 'width': 4}", "nim"]


def test_the_example_on_the_command_line(with_example: Path) -> None:
    assert "heaps" in ramify("games")
    assert "Take any number of objects" in ramify("games", "nim")
    pytest.importorskip("sqlalchemy")
    assert "100.0 %" in ramify("match", "nim", "nim-perfect", "random", "--games", "6")


@pytest.mark.slow
def test_the_examples_preset_trains(with_example: Path) -> None:
    pytest.importorskip("torch")
    assert "network.safetensors" in ramify("train", "nim-quick")


BROKEN = """
[ramify.games]
broken = broken_plugin:Game
absent = broken_plugin_that_is_not_there:Game
number = fine_plugin:NUMBER
[ramify.players]
broken = broken_plugin:Player
number = fine_plugin:NUMBER
[ramify.networks]
broken = broken_plugin:KIND
number = fine_plugin:NUMBER
[ramify.presets]
broken = broken_plugin:PRESET
number = fine_plugin:NUMBER
"""
FINE = """
[ramify.games]
fine = fine_plugin:Fine
twice = fine_plugin:Fine
"""
CODE = """
import ramify as rf
from examples.tictactoe_python import TicTacToe
NUMBER = 3
class Fine(TicTacToe):
    "A game that works."
"""


@pytest.fixture
def with_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package(tmp_path, "broken-package", "broken_plugin", "import sys\nsys.exit('I quit')", BROKEN)
    package(tmp_path, "fine-package", "fine_plugin", CODE, FINE)
    package(
        tmp_path, "other-package", "other", None, "[ramify.games]\ntwice = fine_plugin:Fine\nhex = broken_plugin:Game"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")


def test_a_broken_package_is_named_and_disturbs_no_other(with_broken: None) -> None:
    shown = printed("""
import warnings
import ramify as rf
from ramify.networks import config_of
from ramify.training import load_config, presets
from ramify.training.presets import preset_texts

def why(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")

print(rf.make("fine").name, rf.make("hex").name)
assert {"broken", "absent", "fine", "twice"} <= set(rf.list_games())
assert "broken" in presets() and "number" in presets()
assert preset_texts()["broken"] == "Of the package broken-package 1.0."
for call in (rf.make, rf.arena.read_player, config_of_kind := lambda kind: config_of({"kind": kind}), load_config):
    why(call, "broken")
    why(call, "number")
why(rf.make, "absent")
why(rf.make, "twice")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert "random" in rf.arena.player_kinds()
print(sorted(str(warning.message)[:60] for warning in caught))
""")
    lines = shown.splitlines()
    assert lines[0] == "fine hex"
    where = "of the package broken-package 1.0"
    for line, what in zip(lines[1:9:2], ("game", "player", "network", "preset"), strict=True):
        assert line.startswith(f"PluginError: the {what} 'broken' {where} (broken_plugin:")
        assert line.endswith("SystemExit: I quit")
    assert f"the game 'number' {where} (fine_plugin:NUMBER): it must be a class or a function" in lines[2]
    assert "it must be a subclass of ramify.arena.PlayerConfig, not 3" in lines[4]
    assert "it must be (config, builder) of the kind 'number', not 3" in lines[6]
    assert "it must be a mapping of settings or the path of a YAML file, not 3" in lines[8]
    assert "No module named 'broken_plugin_that_is_not_there'" in lines[9]
    assert "offered by several packages, fine-package 1.0 and other-package 1.0" in lines[10]
    assert lines[11].count("PluginError") == 0
    assert lines[11].count("of the package broken-package") == 2


def test_the_list_of_games_says_which_package_does_not_work(with_broken: None) -> None:
    text = " ".join(ramify("games").split())
    assert "I quit" in text
    assert "hex size 11" in text
    done = subprocess.run(
        [sys.executable, "-m", "ramify", "analyze", "broken"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert "broken-package 1.0" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
