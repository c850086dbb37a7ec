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

from tools.fuzz.__main__ import arguments
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


@pytest.mark.slow
def test_the_seed_and_a_table_are_printed() -> None:
    done = fuzzing("fen", "htp", "--cases", "2", "--seed", "5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("seed 5\n")
    assert [line.split()[:2] for line in done.stdout.splitlines()[-2:]] == [["fen", "2"], ["htp", "2"]]


def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(["fen"], ["fan"])
    assert "there is no target fan; there are fen" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        arguments(["fen"], ["--case", "3"])
    assert "--case needs" in capsys.readouterr().err


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
    ("kind", "cases", "reported"),
    [("dies", 2, r"exit code -11"), ("hangs", 1, "no end within 2 seconds"), ("is wrong", 1, "Violation: wrong")],
)
def test_what_a_case_does_to_its_process_is_reported(
    kind: str,
    cases: int,
    reported: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "kind").write_text(kind)
    monkeypatch.setattr("tools.fuzz.runner.work", work)
    tally = fuzz(Target("bad", misbehaving, 2.0, ""), 7, 300.0, cases, tmp_path)
    assert (tally.cases, [failure.case for failure in tally.failures]) == (cases, list(range(cases)))
    assert tally.failures[-1].command == f"python -m tools.fuzz bad --seed 7 --case {cases - 1}"
    assert re.search(reported, capfd.readouterr().out)


def work(*arguments: Any) -> None:
    """As the runner's, in a process that knows the target above, too."""
    import tools.fuzz.runner as runner
    from tools.fuzz.case import TARGETS

    TARGETS["bad"] = Target("bad", misbehaving, 2.0, "")
    runner.work(*arguments)
