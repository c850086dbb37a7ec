"""A fixed set of searches finds what it found before: bit for bit, run after run, in every process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ramify as rf
from ramify.engine.engine_version import ENGINE_VERSION
from tools import signature


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return signature.cases()


def test_results_are_the_stored_ones(lines: list[str]) -> None:
    first, *stored = signature.STORED.read_text(encoding="utf-8").splitlines()
    changed = [new.split("  ", 1)[1] for new, old in zip(lines, stored, strict=True) if new != old]
    assert not changed, (
        f"results for a fixed seed have changed in {len(changed)} of {len(lines)} searches. If that is meant, store "
        f"them with `make signature ARGS=--write` and say `signature: {first} → {signature.signature(lines)}` in the "
        f"commit message. Changed: {changed[:10]}"
    )
    assert first == signature.signature(lines)


def test_a_fresh_process_prints_the_same(lines: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.signature"], cwd=signature.ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout.split() == [signature.signature(lines)]


def test_twice_in_one_process(lines: list[str]) -> None:
    again = [f"{signature.digest(results)}  {name}" for name, results in signature.game_cases("hex")]
    assert again == [line for line in lines if "  hex " in line and "alphabeta" not in line]


def test_the_engine_version_is_the_signature(lines: list[str]) -> None:
    """Stored games are found by it: if it stayed when results change, games of another engine would be reused."""
    assert signature.signature(lines) == ENGINE_VERSION, "run `make signature ARGS=--write`"


def test_writing_stores_the_lines_and_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = tmp_path / "engine_version.py"
    version.write_text(signature.VERSION.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(signature, "VERSION", version)
    monkeypatch.setattr(signature, "STORED", tmp_path / "signature.txt")
    signature.write(["one search", "another"])
    assert (tmp_path / "signature.txt").read_text(encoding="utf-8").splitlines()[1:] == ["one search", "another"]
    assert f'ENGINE_VERSION = "{signature.signature(["one search", "another"])}"' in version.read_text(encoding="utf-8")


def test_every_native_game_and_every_case_is_there(lines: list[str]) -> None:
    made = [rf.make(name, **signature.GAMES.get(name, {})) for name in rf.list_games()]
    native = {game.name for game in made if type(game).__module__ == "ramify._core"}
    assert native - {"pig"} == set(signature.GAMES)  # searches of pig are those of plain Python: see test_pig.py
    assert len({line.split("  ", 1)[0] for line in lines}) > 0.8 * len(lines)  # few searches agree by chance or nature


def test_a_changed_setting_changes_the_signature(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(signature.SETTINGS, "plain", {"c_puct": 1.1})
    changed = [f"{signature.digest(results)}  {name}" for name, results in signature.game_cases("hex")]
    before = [line for line in lines if "  hex " in line and "alphabeta" not in line]
    assert [new == old for new, old in zip(changed, before, strict=True)].count(False) >= 1
