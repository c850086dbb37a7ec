"""A fixed set of searches finds what it found before: bit for bit, run after run, in every process."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ramify as rf
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
    assert again == [line for line in lines if "  hex " in line]


def test_every_native_game_and_every_case_is_there(lines: list[str]) -> None:
    made = [rf.make(name, **signature.GAMES.get(name, {})) for name in rf.games()]
    native = {game.name for game in made if type(game).__module__ == "ramify._core"}
    assert native == set(signature.GAMES)
    assert len({line.split("  ", 1)[0] for line in lines}) > 0.8 * len(lines)  # few searches agree by chance or nature


def test_a_changed_setting_changes_the_signature(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(signature.SETTINGS, "plain", {"c_puct": 1.1})
    changed = [f"{signature.digest(results)}  {name}" for name, results in signature.game_cases("hex")]
    before = [line for line in lines if "  hex " in line]
    assert [new == old for new, old in zip(changed, before, strict=True)].count(False) >= 1
