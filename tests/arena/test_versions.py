"""A player whose code has changed is another player: it does not get its old games back."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ramify as rf
from ramify.arena import Memory, PlayerConfig, match, read_player
from ramify.protocols import UciConfig

FAKE = Path(__file__).parent.parent / "protocols" / "fake_uci.py"
SOURCE = """
from typing import ClassVar, Literal
from ramify.arena import PlayerConfig

class EdgeConfig(PlayerConfig):
    kind: Literal["edge"] = "edge"
    def open(self, game):
        from edge_helper import Edge
        return Edge()
"""
HELPER = """
class Edge:
    def choose(self, turns):
        return [int(turn.state.legal_actions(turn.player)[PLACE]) for turn in turns]
    def close(self):
        pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a player of the user's own, in two modules."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "edge_player.py").write_text(SOURCE)
    (tmp_path / "edge_helper.py").write_text(HELPER.replace("PLACE", "0"))
    yield tmp_path
    for name in ("edge_player", "edge_helper"):
        sys.modules.pop(name, None)


def load() -> PlayerConfig:
    """The player, as a new process would load it."""
    for name in ("edge_player", "edge_helper"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    module: Any = importlib.import_module("edge_player")
    config: PlayerConfig = module.EdgeConfig()
    return config


@pytest.mark.parametrize("edited", ["edge_player.py", "edge_helper.py"])
def test_an_edited_player_plays_its_games_again(folder: Path, edited: str) -> None:
    game, kept = rf.make("tictactoe"), Memory()
    before = load()
    assert load().identity == before.identity
    match(game, before, "random", 4, results=kept)
    (folder / edited).write_text((folder / edited).read_text().replace("0]", "-1]") + "\n# changed\n")
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    after = load()
    assert after.content() == before.content()
    assert after.identity != before.identity
    match(game, after, "random", 4, results=kept)
    assert len(kept.games) == 8


def test_a_declared_version_stands_for_the_code(folder: Path) -> None:
    def declare(version: str, more: str = "") -> str:
        text = SOURCE.replace("    def open", f'    version: ClassVar[str] = "{version}"\n    def open')
        (folder / "edge_player.py").write_text(text + more)
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        return load().identity

    first = declare("1")
    assert declare("1", "\n# a remark\n") == first
    assert declare("2") != first


def test_a_class_without_a_file_is_known_to_its_process_alone() -> None:
    def typed() -> PlayerConfig:
        module = ModuleType("typed_at_a_prompt")
        exec(compile(SOURCE, "<prompt>", "exec", dont_inherit=True), vars(module))
        config: PlayerConfig = module.EdgeConfig()
        return config

    one = typed()
    assert one.identity == type(one)().identity
    assert one.identity != typed().identity


@pytest.mark.parametrize("what", ["ramify.arena.player.ENGINE_VERSION", "ramify.arena.player.package_version"])
def test_another_engine_or_package_is_another_player(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    before = read_player("search").identity
    monkeypatch.setattr(what, "another" if what.endswith("ENGINE_VERSION") else lambda: "another")
    assert read_player("search").identity != before


def test_every_process_gives_the_same_identities() -> None:
    texts = ["search", "alphabeta:depth=2", "random", "test_dice:skill=0.5"]
    code = "import sys, tests.arena.helpers; from ramify.arena import read_player; "
    code += "print(*[read_player(text).identity for text in sys.argv[1:]])"
    command = [sys.executable, "-c", code, *texts]
    there = subprocess.run(command, check=True, capture_output=True, text=True, cwd=FAKE.parent.parent.parent).stdout
    import tests.arena.helpers  # noqa: F401 - registers a kind

    assert there.split() == [read_player(text).identity for text in texts]


def test_a_recompiled_program_is_another_player(tmp_path: Path) -> None:
    """The same command and the same name: only the file differs."""
    pytest.importorskip("chess")
    program, log = tmp_path / "engine.py", tmp_path / "log"
    shutil.copy(FAKE, program)
    shutil.copy(FAKE.with_name("flood.py"), tmp_path)  # what it imports
    config = UciConfig(command=f"{sys.executable} {program} good {log}", nodes=1)
    before = config.identity
    assert log.exists()
    assert config.identity == before == UciConfig(**config.model_dump()).identity
    program.write_text(program.read_text().replace("min(move", "max(move"))
    assert config.identify() == "Fake 1.0"
    assert config.identity != before


def test_a_program_is_known_by_its_networks_and_not_by_its_logs(tmp_path: Path) -> None:
    pytest.importorskip("chess")
    from ramify.protocols import engine_player

    weights, log = tmp_path / "weights.bin", tmp_path / "log"
    weights.write_bytes(b"one")
    config = UciConfig(command=f"{sys.executable} {FAKE} good {log}", nodes=1, options={"EvalFile": str(weights)})
    before = config.identity
    engine_player._ask.cache_clear()  # as in another process, which finds the log of this one
    assert config.identity == before
    weights.write_bytes(b"another")
    engine_player._ask.cache_clear()
    assert config.identity != before
