"""What all tests share, and tests of commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Tests compare results bit for bit, and this one needs no measurements. Child processes inherit it.
os.environ["RAMIFY_BACKEND"] = "torch"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured speeds of the user are neither used nor changed."""
    monkeypatch.setenv("RAMIFY_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """run("games", ...) in a folder of its own -> (exit code, stdout, stderr)"""
    from ramify.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call
