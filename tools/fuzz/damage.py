"""Damaged files: read as what was written, refused by an error that names them, or left out with a warning."""

from __future__ import annotations

import atexit
import dataclasses
import json
import logging
import random
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ramify as rf
from ramify.arena import match
from ramify.selfplay import DamagedShard, PlayConfig, SelfPlay, decode, read_folder, read_shard, recover, write_shard
from ramify.selfplay.journal import Journal
from ramify.selfplay.records import read_header
from tools.fuzz.case import Violation, expect, target

DEAD = 2**22 + 1  # no process has this number


def same(first: Any, second: Any) -> bool:
    """Whether two pieces of data, arrays and dataclasses included, are equal."""
    if isinstance(first, np.ndarray):
        return bool(np.array_equal(first, second, equal_nan=first.dtype.kind == "f"))
    if dataclasses.is_dataclass(first):
        fields = dataclasses.fields(first)
        return all(same(getattr(first, field.name), getattr(second, field.name)) for field in fields)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second)


def damage(rng: random.Random, path: Path) -> None:
    """Change a file as disks, copies and dying processes do."""
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data)) if rng.random() < 0.6 else rng.randrange(min(len(data), 200))
    size = rng.choice([1, 2, 8, 64, 4096])
    how = rng.randrange(7)
    if how <= 1:
        data[at] ^= 1 << rng.randrange(8)
    elif how == 2:
        data[at : at + size] = rng.randbytes(size)
    elif how == 3:
        del data[at:]
    elif how == 4:
        data[at : at + size] = bytes(size)
    elif how == 5:
        data[at:at] = data[at : at + size]
    else:
        data += rng.choice([b"\n", b"\x00" * 100, rng.randbytes(50), b"{}\n", bytes(data[-100:])])
    path.write_bytes(bytes(data))


class Heard(logging.Handler):
    """Warnings that were given."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())

    def __enter__(self) -> Heard:
        logging.getLogger("ramify").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("ramify").removeHandler(self)


def read(function: Callable[[], Any], allowed: tuple[type[Exception], ...], name: str) -> Any:
    """What a function reads; None where it refuses a file as it should."""
    try:
        return function()
    except allowed as error:
        expect(name in str(error), f"an error does not name the file {name}: {type(error).__name__}: {error}")
        expect(len(str(error)) < 3000, f"an error of {len(str(error))} characters")
        return None


@cache
def records() -> list[bytes]:
    play = SelfPlay(
        rf.make("tictactoe"),
        rf.evaluators.Rollout(),
        rf.SearchConfig(simulations=8),
        PlayConfig(),
        games=6,
        parallel_games=3,
    )
    return sorted((record for lot in play for record in lot), key=lambda record: decode(record).number)


HEADER = {"game": "tictactoe", "params": {}, "search": {}, "play": {}, "seed": 0, "network": None}


def shard(rng: random.Random, folder: Path) -> None:
    for number in range(2):
        write_shard(folder / f"00000{number}.games", records()[3 * number : 3 * number + 3], HEADER)
    path = folder / "000001.games"
    damage(rng, path)
    found = read(lambda: read_shard(path), (DamagedShard,), path.name)
    expect(found is None or same(found[1], [decode(record) for record in records()[3:]]), "other games than written")
    read(lambda: read_header(path), (DamagedShard,), path.name)
    with Heard() as heard:
        games = [game.number for _, games in read_folder(folder) for game in games]
    expect(games == ([0, 1, 2] if found is None else [0, 1, 2, 3, 4, 5]), f"the folder has the games {games}")
    expect(found is not None or any(path.name in message for message in heard.messages), "left out without a warning")


def journal(rng: random.Random, folder: Path) -> None:
    made = Journal(folder, HEADER)
    made.add(records())
    path = folder / f".journal-{DEAD}"
    shutil.copy(made.path, path)
    made.close()
    damage(rng, path)
    with Heard():
        read(lambda: recover(folder), (DamagedShard,), path.name)
        games = [game for _, games in read_folder(folder) for game in games]
    written = {decode(record).number: decode(record) for record in records()}
    expect(len({game.number for game in games}) == len(games), "a game is there twice")
    expect(all(same(game, written.get(game.number)) for game in games), "other games than written")


@cache
def network_folder() -> Path:
    """A network and a checkpoint as they were written; removed when the process ends."""
    import torch

    from ramify.training.checkpoints import write_checkpoint

    torch.manual_seed(0)
    folder = Path(tempfile.mkdtemp(prefix="ramify-fuzz-written-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    network = rf.networks.make(rf.make("tictactoe"), "mlp:1x16")
    rf.networks.save(folder / "net", network)
    progress = {"iteration": 1, "steps": 10, "steps_in_iteration": 10, "seconds": 1.0, "judged": 1}
    tensors = {name: weight.detach().clone() for name, weight in network.state_dict().items()}
    write_checkpoint(folder / "checkpoints", 1, network, tensors, progress, "game: tictactoe\n", 3)
    return folder


def network(rng: random.Random, folder: Path) -> None:
    for name in ("net.safetensors", "net.json"):
        shutil.copy(network_folder() / name, folder / name)
    path = folder / rng.choice(["net.safetensors", "net.safetensors", "net.json"])
    damage(rng, path)
    found = read(lambda: rf.networks.load(folder / "net"), (ValueError,), "net.safetensors")
    whole = rf.networks.load(network_folder() / "net")
    expect(
        found is None or rf.networks.network_id(found) == rf.networks.network_id(whole), "other weights than written"
    )


def checkpoint(rng: random.Random, folder: Path) -> None:
    from ramify.training import DamagedCheckpoint, network_file, read_checkpoint

    place = folder / "000001"
    shutil.copytree(network_folder() / "checkpoints" / "000001", place)
    damage(rng, rng.choice(sorted(place.iterdir())))
    read(lambda: read_checkpoint(place), (DamagedCheckpoint,), place.name)
    read(lambda: rf.networks.load(network_file(place)), (ValueError,), "network.safetensors")


@cache
def store_bytes() -> bytes:
    """A store with a few games, a run and its figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        with rf.store.Store(path) as store:
            match(rf.make("tictactoe"), "random", "alphabeta:depth=1", games=20, results=store.results())
            run = store.start_run("run", {"a": 1})
            for step in range(50):
                store.add_metrics(run, step, {"loss": 1.0 / (1 + step)})
            store.add_checkpoint(run, 1, "net.safetensors", "id")
        expect(not Path(f"{path}-wal").exists(), "a closed store has a log beside it")
        return path.read_bytes()


def store(rng: random.Random, folder: Path) -> None:
    from ramify.store import Store, StoreError

    path = folder / "x.db"
    path.write_bytes(store_bytes())
    damage(rng, path)
    allowed = (StoreError,)
    made = read(lambda: Store(path), allowed, path.name)
    if made is None:
        return
    with made:
        reads: list[Callable[[], Any]] = [made.games, made.players, made.kinds_of_games, made.runs]
        if runs := read(made.runs, allowed, path.name):
            reads += [lambda: made.metrics(runs[0].name), lambda: made.checkpoints(runs[0].name)]
        for function in reads:
            read(function, allowed, path.name)


def metrics(rng: random.Random, folder: Path) -> None:
    from ramify.training import Metrics, read_metrics

    path = folder / "metrics.jsonl"
    lines = [{"kind": "step", "step": step, "total": 1.0 / step} for step in range(1, 20)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    damage(rng, path)
    with Heard():
        found = read(lambda: list(read_metrics(path, "step")), (ValueError,), path.name)
        expect(found is None or all("total" in line for line in found) or bool(found), "nothing was read")
        made = read(lambda: Metrics(path, step=10), (ValueError,), path.name)
    if made is not None:
        made.close()


def config(rng: random.Random, folder: Path) -> None:
    from ramify.training import TrainConfig, as_yaml, load_config

    path = folder / "config.yaml"
    path.write_text(as_yaml(TrainConfig(game="tictactoe", network="mlp:1x16")))
    damage(rng, path)
    try:
        load_config(path)
    except ValueError as error:
        expect(str(error) != "" and len(str(error)) < 5000, "an error that says nothing, or too much")


FILES: dict[str, Callable[[random.Random, Path], None]] = {
    "shard": shard,
    "journal": journal,
    "network": network,
    "checkpoint": checkpoint,
    "store": store,
    "metrics": metrics,
    "config": config,
}


@target("damage", seconds=120.0)
def damaged(rng: random.Random, folder: Path) -> None:
    """Damaged shards, journals, networks, checkpoints, stores, figures and configs: read as written, or refused."""
    name = rng.choice(list(FILES))
    try:
        FILES[name](rng, folder)
    except Violation as violation:
        raise Violation(f"{name}: {violation}") from None
