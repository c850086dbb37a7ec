"""``make fuzz``: every target runs, and what a case does is reported and can be repeated."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("sqlalchemy")
pytest.importorskip("chess")
pytest.importorskip("pyspiel")

from tools.fuzz.case import Target, Violation, chance, load_targets
from tools.fuzz.runner import fuzz, run_case

ROOT = Path(__file__).parent.parent
QUICK = [name for name in load_targets() if name not in ("engines", "kills")]


def fuzzing(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.fuzz", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600
    )


@pytest.mark.parametrize("name", QUICK)
def test_targets_find_nothing_in_a_few_cases(name: str, tmp_path: Path) -> None:
    for number in range(5):
        run_case(load_targets()[name], 0, number, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["engines", "kills"])
def test_targets_with_processes_find_nothing(name: str, tmp_path: Path) -> None:
    for number in range(3):
        run_case(load_targets()[name], 0, number, tmp_path)


def test_the_seed_and_a_table_are_printed() -> None:
    done = fuzzing("fen", "htp", "--cases", "2", "--seed", "5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("seed 5\n")
    assert [line.split()[:2] for line in done.stdout.splitlines()[-2:]] == [["fen", "2"], ["htp", "2"]]
    again = fuzzing("fen", "--seed", "5", "--case", "1")
    assert (again.returncode, again.stdout) == (0, "nothing wrong\n")


def test_wrong_arguments_are_refused() -> None:
    assert "there is no target fan" in fuzzing("fan").stderr
    assert "--case needs" in fuzzing("--case", "3").stderr


def test_cases_depend_on_their_numbers_alone() -> None:
    assert chance("fen", 1, 2).random() == chance("fen", 1, 2).random()
    assert len({chance(name, seed, case).random() for name in "ab" for seed in (1, 2) for case in (1, 2)}) == 8


def misbehaving(rng: Any, folder: Path) -> None:
    """By its number: dies, hangs, or is wrong."""
    kind = (folder.parent / "kind").read_text()
    if kind == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "hangs":
        time.sleep(1000)
    raise Violation("wrong")


@pytest.mark.parametrize(
    ("kind", "reported"),
    [("dies", r"exit code -11"), ("hangs", "no end within 2 seconds"), ("is wrong", "Violation: wrong")],
)
def test_what_a_case_does_to_its_process_is_reported(
    kind: str, reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kind").write_text(kind)
    monkeypatch.setattr("tools.fuzz.runner.work", work)
    tally = fuzz(Target("bad", misbehaving, 2.0, ""), 7, 60.0, 2, tmp_path)
    assert (tally.cases, [failure.case for failure in tally.failures]) == (2, [0, 1])
    assert tally.failures[1].command == "python -m tools.fuzz bad --seed 7 --case 1"
    assert re.search(reported, capfd.readouterr().out)


def work(*arguments: Any) -> None:
    """As the runner's, in a process that knows the target above, too."""
    import tools.fuzz.runner as runner
    from tools.fuzz.case import TARGETS

    TARGETS["bad"] = Target("bad", misbehaving, 2.0, "")
    runner.work(*arguments)
