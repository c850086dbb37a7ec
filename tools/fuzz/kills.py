"""Runs that are killed or interrupted at any moment, and go on."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from ramify.selfplay import read_folder, recover
from tools.fuzz.case import Violation, expect, target

RAMIFY = [sys.executable, "-m", "ramify"]
START_SECONDS = 120.0  # until a run has begun, on a busy machine
END_SECONDS = 240.0  # for a whole run
KILLS = 2
TRAIN = """\
game: tictactoe
network: mlp:1x16
search: {simulations: 8, noise_fraction: 0.25}
window: {size: 300}
loop: {iterations: 4, games: 24, batch: 16, parallel_games: 8, replay_ratio: 8, device: cpu, overlap: %s}
"""


def snapshot(folder: Path) -> set[tuple[str, int]]:
    """Files of a folder, and when they were written."""
    found = set()
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # gone meanwhile
            found.add((str(path), path.stat().st_mtime_ns))
    return found


def interrupt(rng: random.Random, command: list[str], folder: Path) -> None:
    """Start a run and end it at some moment after it has touched its first file."""
    with (folder / "stderr").open("wb") as errors:
        before = snapshot(folder)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
    try:
        limit = time.monotonic() + START_SECONDS
        while snapshot(folder) == before and process.poll() is None:
            expect(time.monotonic() < limit, "a run does not begin")
            time.sleep(0.02)
        number = rng.choice([signal.SIGKILL, signal.SIGINT, signal.SIGINT, signal.SIGTERM])
        time.sleep(rng.uniform(0.0, 1.5) ** 2)
        if process.poll() is None:
            process.send_signal(number)
        if number == signal.SIGINT and rng.random() < 0.3:
            time.sleep(rng.uniform(0, 0.3))
            if process.poll() is None:
                process.send_signal(number)  # an impatient user
        code = process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        raise Violation(f"no end within {END_SECONDS:.0f} seconds of {number}: {' '.join(command)}") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    said = (folder / "stderr").read_text(errors="replace")
    expect("Traceback" not in said, f"after signal {number}: {said[-3000:]}")
    expect(code in (0, 1, 130, -signal.SIGINT, -number), f"exit code {code} after signal {number}: {said[-500:]}")


def finish(command: list[str]) -> None:
    """Let a run go on to its end."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=END_SECONDS)
    expect(done.returncode == 0, f"exit code {done.returncode} of {' '.join(command)}: {done.stderr[-3000:]}")


def numbers(folder: Path, beside: Path) -> list[int]:
    """The games that a run has kept, in shards and journals; looked at in a copy."""
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(folder, beside, ignore=lambda _, names: [name for name in names if name.endswith(".tmp")])
    recover(beside)
    return sorted(game.number for _, games in read_folder(beside) for game in games)


def selfplay(rng: random.Random, folder: Path) -> None:
    """No finished game is lost, none is there twice."""
    games = folder / "games"
    command = [
        *RAMIFY,
        "selfplay",
        "tictactoe",
        str(games),
        "--games",
        "300",
        "--simulations",
        "30",
        "--parallel-games",
        "16",
    ]
    kept: set[int] = set()
    for _ in range(rng.randint(1, KILLS)):
        interrupt(rng, command, folder)
        found = numbers(games, folder / "copy") if games.is_dir() else []
        expect(kept <= set(found), f"games are lost: {sorted(kept - set(found))}")
        kept = set(found)
    finish(command)
    found = numbers(games, folder / "copy")
    expect(len(found) == len(set(found)), "a game is there twice")
    expect(kept <= set(found) and len(found) >= 300, f"{len(found)} games, without {sorted(kept - set(found))}")
    expect(not list(games.glob(".*journal*")), f"files are left: {list(games.iterdir())}")


def tournament(rng: random.Random, folder: Path) -> None:
    """The store has every finished game once; the same command plays what is missing."""
    from ramify.store import Store

    path = folder / "x.db"
    players = ["random", "alphabeta:depth=1", "search:simulations=30"]
    command = [*RAMIFY, "tournament", *players, "--game", "tictactoe", "--games", "60", "--store", str(path)]
    kept: set[str] = set()
    for _ in range(rng.randint(1, KILLS)):
        interrupt(rng, command, folder)
        with Store(path) as store:
            found = [played.key for played in store.games()]
        expect(kept <= set(found) and len(found) == len(set(found)), "games are lost, or there twice")
        kept = set(found)
    finish(command)
    with Store(path) as store:
        found = [played.key for played in store.games()]
    expect(kept <= set(found), "games are lost")
    expect(len(found) == len(set(found)) == 180, f"{len(found)} games, {len(set(found))} different ones, of 180")


def train(rng: random.Random, folder: Path) -> None:
    """Games and figures of a run that was ended are those of one unbroken run."""
    from ramify.training import read_metrics

    overlap = rng.random() < 0.3
    (folder / "config.yaml").write_text(TRAIN % ("true" if overlap else "false"))
    run = folder / "run"
    command = [*RAMIFY, "train", str(folder / "config.yaml"), "--folder", str(run)]
    kept: set[int] = set()
    for _ in range(rng.randint(1, KILLS)):
        interrupt(rng, command, folder)
        if overlap:
            time.sleep(2.0)  # the process that plays ends by itself
        if (run / "games").is_dir():
            found = numbers(run / "games", folder / "copy")
            expect(kept <= set(found), f"games are lost: {sorted(kept - set(found))}")
            kept = set(found)
    finish(command)
    found = numbers(run / "games", folder / "copy")
    expect(len(found) == len(set(found)), "a game is there twice")
    expect(kept <= set(found), f"games are lost: {sorted(kept - set(found))}")
    expect(len(found) >= 96, f"{len(found)} games of 96")
    steps = [line["step"] for line in read_metrics(run / "metrics.jsonl", "step")]
    expect(steps == list(range(1, len(steps) + 1)), f"the steps of the figures are {steps}")


@target("kills", seconds=1200.0)
def kills(rng: random.Random, folder: Path) -> None:
    """Self-play, tournaments and training, killed or interrupted at random: nothing finished is lost or there twice."""
    rng.choice([selfplay, tournament, train])(rng, folder)
