"""Starting and stopping training runs, and what their processes use. Runs are processes of their own: they go on when
the server ends, and stopping one saves it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ramify.dashboard.runs import NAME, RunFolder

MOST_RUNS = 2  # started here that train at once
GROUPS = ("loop", "search", "play", "optimizer", "losses", "loss", "window", "targets", "params", "network", "seed")
SETTING = re.compile(r"[a-z_]+(\.[A-Za-z_]\w*)*=[\w.,+x\[\] -]{1,80}")  # no path can be written like this
TICKS = os.sysconf("SC_CLK_TCK")
NVIDIA = ("--query-gpu=utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits")


@dataclass
class Trainer:
    """The runs that this server has started."""

    runs: RunFolder
    _started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, preset: str, name: str, settings: str) -> None:
        """Start a run, or resume the one of that name. A ValueError says what is wrong."""
        from ramify.training import load_config, presets

        if not NAME.fullmatch(name):
            raise ValueError("the name of a run has letters, digits, dots, dashes and underscores")
        words = settings.split()
        for word in words:
            if not SETTING.fullmatch(word) or word.partition("=")[0].partition(".")[0] not in GROUPS:
                raise ValueError(f"{word[:60]!r} is not a setting that can be given here, such as loop.iterations=5")
        if preset not in presets():
            raise ValueError(f"there is no preset {preset[:40]!r}")
        if len(self.alive()) >= MOST_RUNS:
            raise ValueError(f"{MOST_RUNS} runs are training already: stop one first")
        load_config(preset, dict(_pair(word) for word in words))  # raises for a wrong setting before anything starts
        self._launch(name, [preset, *words])

    def resume(self, name: str) -> None:
        """Go on with a run that was stopped."""
        if self.runs.process(name) is not None:
            raise ValueError(f"{name} is training already")
        self._launch(name, [str(self.runs.path(name) / "config.yaml")])

    def _launch(self, name: str, words: list[str]) -> None:
        folder = self.runs.folder / name
        self.runs.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "ramify", "train", *words, "--folder", str(folder)]
        with (self.runs.folder / f".{name}.log").open("wb") as log:
            self._started[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def alive(self) -> list[str]:
        """Names of the runs started here that still train."""
        return [name for name, process in self._started.items() if process.poll() is None]

    def stop(self, name: str) -> None:
        """Stop a run; it saves its state first."""
        number = self.runs.process(name)
        if number is None:
            raise ValueError(f"{name} is not training")
        os.kill(number, signal.SIGTERM)

    def failures(self) -> list[str]:
        """Names of the runs started here that have failed, the last one first."""
        return [name for name in reversed(self._started) if self.problem(name)]

    def problem(self, name: str) -> str:
        """The last line of a run that was started here and has failed."""
        process = self._started.get(name)
        if process is None or process.poll() in (None, 0, 130, 143):
            return ""
        with suppress(OSError):
            lines = (self.runs.folder / f".{name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
            return lines[-1][:300] if lines else "it ended without a word"
        return ""


def _pair(word: str) -> tuple[str, object]:
    from ramify.base.settings import read_value

    key, _, value = word.partition("=")
    return key, read_value(value)


@dataclass(frozen=True)
class Usage:
    """What the processes of a run use at one time."""

    at: float
    cpu: float  # processors
    memory: float  # GB
    gpu: float | None = None  # share of the time
    gpu_memory: float | None = None  # GB


@dataclass
class Meter:
    """Measures the processes of a run, by its first process."""

    last: tuple[float, float] | None = None  # time, and processor seconds

    def read(self, number: int) -> Usage | None:
        """What they use now; None the first time, and once they have ended."""
        members = [number, *children(number)]
        seconds = memory = 0.0
        for one in members:
            with suppress(OSError, IndexError, ValueError):
                fields = Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                seconds += (int(fields[11]) + int(fields[12])) / TICKS
                memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e9
        now = time.monotonic()
        before, self.last = self.last, (now, seconds)
        if before is None or not memory or now <= before[0]:
            return None
        used, held = gpu_usage()
        return Usage(now, max(0.0, seconds - before[1]) / (now - before[0]), memory, used, held)


def children(number: int) -> list[int]:
    """All processes below one."""
    found: list[int] = []
    with suppress(OSError, ValueError):
        for thread in Path(f"/proc/{number}/task").iterdir():
            for word in (thread / "children").read_text(encoding="ascii").split():
                found += [int(word), *children(int(word))]
    return found


def gpu_usage() -> tuple[float | None, float | None]:
    """How busy the first GPU is, and its used memory in GB; None without one."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None, None
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        said = subprocess.run([program, *NVIDIA], capture_output=True, text=True, timeout=3, check=True).stdout
        used, held, _ = (float(part) for part in said.splitlines()[0].split(","))
        return used / 100, held / 1000
    return None, None
