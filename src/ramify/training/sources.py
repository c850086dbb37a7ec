"""Additional sources of training games: folders with games of another run or another board size."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ramify.engine.config import SearchConfig
from ramify.games import Game
from ramify.games import make as make_game
from ramify.networks import GameNetwork
from ramify.selfplay.records import DamagedShard, Header, folder_shards, games_folder, read_header, read_shards
from ramify.training.compact import AnySamples, compacted
from ramify.training.config import TrainConfig
from ramify.training.kinds import check_board, training_samples
from ramify.training.processes import in_processes

logger = logging.getLogger("ramify")

ShardOfSource = tuple[dict[str, Any], AnySamples] | None  # the parameters of its game, and its positions


def check_sources(config: TrainConfig, module: GameNetwork) -> None:
    """Raise an error if a source does not exist, or has no games, or those of another game, or of a board that the
    network cannot take."""
    for source in config.sources:
        paths = folder_shards(games_folder(source.folder))
        headers = [header for path in paths if (header := _header(path)) is not None]
        if not headers:
            raise ValueError(f"sources: {source.folder} has no recorded positions")
        for header in headers:
            if header["game"] != config.game:
                raise ValueError(f"sources: {source.folder} has games of {header['game']}, not of {config.game}")
            if header["params"] != headers[0]["params"]:
                raise ValueError(
                    f"sources: {source.folder} has games with different parameters ({headers[0]['params']} and "
                    f"{header['params']}): use a folder and a source for each"
                )
        game = make_game(config.game, **headers[0]["params"])
        check_board(module, game, f"sources: the games of {source.folder} are of {game}")


def _header(path: Path) -> Header | None:
    try:
        return read_header(path)
    except (DamagedShard, OSError) as damage:
        logger.warning("skipped: %s", damage)
        return None


def load_source(
    folder: str,
    config: TrainConfig,
    players: int,
    heads: tuple[str, ...] | None,
    show: Callable[[float], None],
) -> tuple[Game, list[AnySamples]]:
    """The game of a source and its positions, loaded by ``loop.loaders`` processes; ``heads`` as for
    ``training_samples``. ``show`` is told the loaded share."""
    paths = folder_shards(games_folder(folder))
    tasks = [(path, config, players, heads) for path in paths]
    found: list[AnySamples] = []
    params: dict[str, Any] = {}
    for number, loaded in enumerate(in_processes(load_shard, tasks, config.loop.loaders), 1):
        if loaded is not None:
            params, samples = loaded
            found.append(samples)
        show(number / len(paths))
    if not any(map(len, found)):
        raise ValueError(f"sources: {folder} has no recorded positions")
    return make_game(config.game, **params), found


def load_shard(path: Path, config: TrainConfig, players: int, heads: tuple[str, ...] | None) -> ShardOfSource:
    """The positions of one shard of a source; None if it is damaged, which is logged. Runs in a loader process."""
    config.make_game()  # after the imports of the run
    header, games = next(iter(read_shards([path])), (None, []))
    if header is None:
        return None
    game = make_game(header["game"], **header["params"])
    search = SearchConfig(**header["search"])
    return dict(header["params"]), compacted(training_samples(game, games, search, config, players, heads))
