"""Ctrl-C on the command line: one is enough, and the exit code says so."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.children import COMMAND, PATIENCE, interrupt_command


@pytest.mark.parametrize("game", ["pyrat", "hex"])
def test_watch_ends(game: str) -> None:
    ended = interrupt_command("watch", game, "search:simulations=8000", "--pause", "0")
    assert ended.code == 130
    assert ended.err == "ramify: stopped\n"
    assert "wins" not in ended.out


def test_analyze_shows_what_was_found() -> None:
    """Sent again and again, as an impatient person would: none may come before the search has begun."""
    command = [sys.executable, "-c", COMMAND, "analyze", "hex", "-p", "size=4", "-s", "max_seconds=3600"]
    prepare = COMMAND.replace(
        "main(sys.argv[1:])",
        "from ramify.cli import analyze; bar = analyze.ProgressBar.__call__\n"
        "def told(self, stats): stats['simulations'] and print('.', file=sys.stderr, flush=True); bar(self, stats)\n"
        "analyze.ProgressBar.__call__ = told; main(sys.argv[1:])",
    )
    command[2] = prepare
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == ".\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert json.loads(out)["stats"]["interrupted"] is True


def test_htp_ends() -> None:
    command = [sys.executable, "-u", "-c", COMMAND, "htp", "-p", "size=7", "--network", "rollout", "--seconds", "3600"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("name\ngenmove black\n")
        process.stdin.flush()
        assert process.stdout.readline() == "= ramify\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130


def test_selfplay_keeps_what_is_finished(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    arguments = ["selfplay", "tictactoe", str(folder), "--games", "1000000", "--simulations", "8"]
    command = [sys.executable, "-c", COMMAND, *arguments, "--games-per-shard", "16", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and len(list(folder.glob("*.games"))) < 2:
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.startswith("ramify: stopped. ")
    saved = json.loads(out)["games"]
    assert saved >= 32
    again = shlex.split(err.partition("ramify selfplay ")[2])  # the same command for the games that are left
    assert ["selfplay", *again] == [
        str(1_000_000 - saved) if word == "1000000" else word
        for word in [*arguments, "--games-per-shard", "16", "--json"]
    ]
