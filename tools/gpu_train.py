"""Train presets one after another on a machine with a GPU, and see how each network does on solved positions.

    python -m tools.gpu_train OUT hex-7 hex-7:graph:search.graph=true
    python -m tools.gpu_train OUT --together muzero-chess connect-four-gpu:seed-1:seed=1

A word is a preset, or PRESET:NAME:SETTING=VALUE,SETTING=VALUE (~ stands for a comma in a
value). Figures and the last networks go to OUT. With --together the runs share the GPU, each
in a process of its own, and OUT gets their newest networks every half minute, so that a
machine that is taken away leaves what was learnt.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import ramify as rf
from ramify.base.settings import read_value
from ramify.training import Status, load_config, network_file, train
from ramify.training.run import start_file
from tools.hex_solved import solved_share

KEEP_SECONDS = 30.0  # between two copies of the newest networks


class Log:
    """Prints a line for every iteration."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, status: Status) -> None:
        if len(status.history) > self.seen:
            self.seen = len(status.history)
            last = {name: round(value, 3) for name, value in status.history[-1].items()}
            shown = (
                "seconds",
                "step",
                "positions",
                "games",
                "new_policy",
                "new_value",
                "new_top1",
                "new_explained_variance",
                "game_length",
                "first_wins",
                "evaluations_per_s",
                "positions_per_s",
                "trained_positions_per_s",
                "replay_age",
            )
            print({name: last.get(name) for name in shown}, status.figures.get("busy"), flush=True)


@dataclass(frozen=True)
class Run:
    """A run as a word of the command line names it."""

    word: str

    @property
    def preset(self) -> str:
        return self.word.split(":")[0]

    @property
    def name(self) -> str:
        return [*self.word.split(":"), ""][1] or self.preset

    @property
    def changes(self) -> dict[str, str]:
        settings = self.word.split(":", 2)[2] if self.word.count(":") > 1 else ""
        return dict(pair.replace("~", ",").split("=", 1) for pair in settings.split(",") if pair)

    @property
    def folder(self) -> Path:
        return Path("build/runs") / self.name

    def keep(self, out: Path) -> None:
        """Copy the newest network and the metrics, if there are any yet."""
        try:
            file = start_file(self.folder)
        except FileNotFoundError:
            return
        for found in (file, file.with_suffix(".json"), self.folder / "metrics.jsonl"):
            if found.exists():
                shutil.copy(found, out / f"{self.name}{'.metrics.jsonl' if found.suffix == '.jsonl' else found.suffix}")

    def train(self, out: Path) -> None:
        """Train, and see how the network does on solved positions."""
        config = load_config(self.preset, {key: read_value(value) for key, value in self.changes.items()})
        shutil.rmtree(self.folder, ignore_errors=True)
        print(f"== {self.name}: {self.changes}", flush=True)
        start = time.perf_counter()
        last = train(config, self.folder, show=Log())
        print(f"{self.name}: {time.perf_counter() - start:.0f} s, {last}", flush=True)
        self.keep(out)
        size = config.params.get("size", 11)
        if config.game != "hex" or size > 7:
            return
        evaluator = rf.evaluators.Network(rf.networks.load(network_file(last)))
        for simulations in (1, 100, 400):
            right, count = solved_share(evaluator, size, simulations)
            print(
                f"{self.name}: solved positions {size}x{size}, {simulations} simulations: {right}/{count}", flush=True
            )


def together(out: Path, runs: list[Run]) -> None:
    """All runs at once, in processes that write their figures to OUT/NAME.log."""
    with ExitStack() as stack:
        processes = []
        for run in runs:
            log = stack.enter_context((out / f"{run.name}.log").open("w", encoding="utf-8"))
            command = [sys.executable, "-m", "tools.gpu_train", str(out), run.word]
            processes.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
            stack.callback(processes[-1].terminate)
        waiting = True
        while waiting:
            until = time.monotonic() + KEEP_SECONDS
            while (waiting := any(process.poll() is None for process in processes)) and time.monotonic() < until:
                time.sleep(0.2)
            for run in runs:
                run.keep(out)


def main() -> None:
    out, words = Path(sys.argv[1]), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    runs = [Run(word) for word in words if word != "--together"]
    if "--together" in words:
        together(out, runs)
        return
    for run in runs:
        run.train(out)


if __name__ == "__main__":
    main()
