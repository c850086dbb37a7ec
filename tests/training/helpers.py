"""Small runs that end in seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ramify as rf
from ramify.base.settings import overridden
from ramify.selfplay import PlayConfig, SelfPlay, decode
from ramify.training import TrainConfig, read_metrics

TINY: dict[str, Any] = {
    "game": "tictactoe",
    "network": "mlp:1x16",
    "search": {"simulations": 8, "noise_fraction": 0.25},
    "play": {"opening_moves": 2},
    "window": {"size": 300},
    "optimizer": {"warmup_steps": 3},
    "loop": {
        "iterations": 3,
        "games": 12,
        "batch": 16,
        "parallel_games": 8,
        "replay_ratio": 2,
        "device": "cpu",
        "overlap": False,
    },
}


def tiny(**changes: Any) -> TrainConfig:
    """A run of tic-tac-toe that ends in seconds; changes have dotted names with __ for the dot."""
    dotted = {name.replace("__", "."): value for name, value in changes.items()}
    return TrainConfig(**overridden(TINY, dotted, "training"))


def losses(folder: Path) -> list[float]:
    """The total loss of every step of a run."""
    lines = list(read_metrics(folder / "metrics.jsonl", "step"))
    assert [line["step"] for line in lines] == list(range(1, len(lines) + 1))
    return [line["total"] for line in lines]


def records(game: Any, search: rf.SearchConfig, games: int = 6, evaluator: Any = None, **play: Any) -> list[Any]:
    """Games of a search against itself."""
    chosen = rf.evaluators.Rollout() if evaluator is None else evaluator
    settings = PlayConfig(**{"temperature_end": 0.5, **play})
    made = SelfPlay(game, chosen, search, settings, games=games, parallel_games=4)
    return [decode(record) for lot in made for record in lot]


def as_before(folder: Path) -> None:
    """Make a run look as those did that had no marker and no checksums."""
    (folder / "ramify-run.json").unlink()
    for file in folder.glob("*/*/progress.json"):
        kept = ("overlap", "taken", "unreported", "files", "checksum")
        progress = {name: value for name, value in json.loads(file.read_text()).items() if name not in kept}
        file.write_text(json.dumps(progress, indent=2, sort_keys=True))
    for file in (folder / "config.yaml", *folder.glob("*/*/config.yaml")):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if "keep_games" not in line))
