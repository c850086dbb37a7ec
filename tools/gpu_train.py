"""Train presets one after another on a machine with a GPU, and see how each network does on solved positions.

    python -m tools.gpu_train OUT hex-7 hex-7:graph:search.graph=true

A word is a preset, or PRESET:NAME:SETTING=VALUE,SETTING=VALUE (~ stands for a comma in a
value). Figures and the last networks go to OUT.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import ramify as rf
from ramify.base.settings import read_value
from ramify.training import Status, load_config, network_file, train
from tools.hex_solved import solved_share


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


def one(out: Path, word: str) -> None:
    preset, _, rest = word.partition(":")
    name, _, settings = rest.partition(":")
    name = name or preset
    changes = dict(pair.replace("~", ",").split("=", 1) for pair in settings.split(",") if pair)
    config = load_config(preset, {key: read_value(value) for key, value in changes.items()})
    folder = Path("build/runs") / name
    shutil.rmtree(folder, ignore_errors=True)
    print(f"== {name}: {changes}", flush=True)
    start = time.perf_counter()
    last = train(config, folder, show=Log())
    print(f"{name}: {time.perf_counter() - start:.0f} s, {last}", flush=True)
    size = config.params.get("size", 11)
    module = rf.networks.load(network_file(last))
    for file in (network_file(last), network_file(last).with_suffix(".json")):
        shutil.copy(file, out / f"{name}{file.suffix}")
    shutil.copy(folder / "metrics.jsonl", out / f"{name}.metrics.jsonl")
    if size <= 7:
        evaluator = rf.evaluators.Network(module)
        for simulations in (1, 100, 400):
            right, count = solved_share(evaluator, size, simulations)
            print(f"{name}: solved positions {size}x{size}, {simulations} simulations: {right}/{count}", flush=True)


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for word in sys.argv[2:]:
        one(out, word)


if __name__ == "__main__":
    main()
