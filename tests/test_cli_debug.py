"""Every command takes --debug, and then shows the traceback that its one line hides."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer

from ramify import _core
from ramify.cli.app import app

# A mistake for each command, which it explains in one line.
MISTAKES = {
    "games": ["nosuchgame"],
    "check": ["nosuchgame"],
    "analyze": ["nosuchgame"],
    "selfplay": ["nosuchgame", "folder"],
    "train": ["nosuchpreset"],
    "match": ["hex", "nosuchplayer", "random"],
    "tournament": ["hex", "nosuchplayer", "random"],
    "gate": ["hex", "nosuchplayer", "random"],
    "ratings": ["--store", "nosuch.db"],
    "rate": ["nosuch"],
    "report": ["nosuch"],
    "inspect": ["nosuch"],
    "web": ["--player", "nosuchplayer"],
    "export": ["nosuch.safetensors", "net.onnx"],
    "htp": ["--network", "nosuch.safetensors"],
    "uci": ["--network", "nosuch.safetensors"],
    "pyrat-bot": ["--network", "nosuch.safetensors"],
    "sweep": ["nosuch.yaml"],
    "improve": ["nosuch.yaml"],
    "teach": ["folder", "--engine", "nosuchengine"],
    "records": ["nosuch.pgn", "folder"],
    "review": ["nosuch.pgn"],
    "analysis": ["nosuchgame"],
    "play": ["nosuchgame"],
    "demo": ["nosuch.setting=1"],
    "watch": ["nosuchgame"],
    "bench": ["nosuchgame"],
}


def commands(group: object = None, prefix: str = "") -> Iterator[str]:
    """Every command by name, those of groups too."""
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name


def test_the_table_has_every_command() -> None:
    assert set(commands()) == {*MISTAKES, "doctor"}


@pytest.mark.parametrize("command", list(commands()))
def test_help_lists_it(run, command: str) -> None:
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    assert "--debug" in out


@pytest.mark.parametrize("command", MISTAKES)
def test_it_shows_the_traceback(run, command: str) -> None:
    quiet = run(*command.split(), *MISTAKES[command])
    code, out, err = run(*command.split(), *MISTAKES[command], "--debug")
    assert (code, out) == (2, "") == quiet[:2]
    assert quiet[2].count("\n") == 1
    assert err.startswith("Traceback (most recent call last):\n")
    assert re.search(r'File ".*ramify.cli', err)
    assert err.endswith(quiet[2])
    assert run(*command.split(), *MISTAKES[command]) == quiet  # the next command is as it was


def test_options_that_cannot_be_read_have_a_traceback_too(run) -> None:
    code, _, err = run("games", "--nosuch", "--debug")
    assert code == 2
    assert err.startswith("Traceback")
    assert err.splitlines()[-1].startswith("ramify: No such option")


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_the_variable(run, monkeypatch: pytest.MonkeyPatch, value: str, shown: bool) -> None:
    monkeypatch.setenv("RAMIFY_DEBUG", value)
    assert run("games", "nosuchgame")[2].startswith("Traceback") == shown


def test_before_the_command(run) -> None:
    assert run("--debug", "games", "nosuchgame")[2].startswith("Traceback")


def test_doctor(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str, params: dict[str, object]) -> None:
        raise RuntimeError(f"{name} with {params} fails")

    monkeypatch.setattr(_core, "make_game", broken)
    code, out, err = run("doctor", "--debug")
    assert code == 1
    assert "the core is broken" in out
    assert "RuntimeError: " in err


def test_htp_says_why_a_command_was_refused() -> None:
    answers = []
    for more in ([], ["--debug"]):
        command = [sys.executable, "-m", "ramify", "htp", "--network", "rollout", *more]
        done = subprocess.run(command, input="play black z99\nquit\n", capture_output=True, text=True, check=True)
        answers.append(done.stdout)
        assert ("Traceback" in done.stderr) == bool(more)
    assert answers[0] == answers[1]
