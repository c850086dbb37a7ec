"""What the README says is true: its code runs, its commands exist, its table agrees with the games."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ramify import _core

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_the_python_example_runs() -> None:
    (example,) = blocks("python")
    shown = subprocess.run([sys.executable, "-c", example], check=True, capture_output=True, text=True).stdout
    assert shown.splitlines()[-1] in ("[ 1. -1.]", "[-1.  1.]")  # somebody wins every game of Hex
    assert shown.splitlines()[-2] in ("x has won", "o has won")


def test_the_commands_are_targets() -> None:
    (commands,) = blocks("sh")
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    words = [line.partition("#")[0].split() for line in commands.splitlines()]
    assert [command for command, _ in words] == ["make", "make"]
    assert [target for _, target in words] == ["demo", "test"]
    assert {"demo", "test"} <= set(targets)


def test_the_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def table() -> dict[str, str]:
    """{game: what the table says of its parameters}"""
    return dict(re.findall(r"^\| `([^`]+)` \|([^|]*)\|", README, flags=re.MULTILINE))


@pytest.mark.parametrize("name", _core.game_names())
def test_the_table_agrees_with_the_game(name: str) -> None:
    cell = table()[name].replace('"', "'")
    stated = re.findall(r"`([^`]+)`", cell)
    defaults = [(key, value) for key, value, _ in _core.game_params(name)]
    wanted = [key if isinstance(value, list) else f"{key}={value!r}" for key, value in defaults]
    assert sorted(stated) == sorted(wanted)
