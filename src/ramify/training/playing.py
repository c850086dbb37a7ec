"""The self-play of a run: its evaluator, its settings, and metrics of its games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ramify.engine.config import SearchConfig
from ramify.evaluators.latent import LatentNetwork
from ramify.evaluators.network import Network
from ramify.games import Game, number_of_players
from ramify.networks import GameNetwork, LearnedModel
from ramify.selfplay.play import SelfPlay
from ramify.selfplay.records import GameRecord, Header
from ramify.selfplay.run import Progress, other_parameters
from ramify.training.config import TrainConfig


def make_evaluator(config: TrainConfig, module: GameNetwork, device: torch.device) -> Any:
    """The evaluator of self-play, or the latent model in its place."""
    loop = config.loop
    if isinstance(module, LearnedModel):
        compiled = loop.compile and device.type == "cuda"
        return LatentNetwork(module, device, threads=loop.threads, compile=compiled)
    if loop.evaluator == "onnx" or (loop.exact and loop.evaluator == "auto"):
        from ramify.evaluators.onnx import Onnx

        return Onnx(module, threads=loop.threads)
    compiled = loop.compile and device.type == "cuda"
    return Network(module, device, threads=loop.threads, compile=compiled, backend=loop.evaluator)


def rollout_search(config: TrainConfig) -> SearchConfig:
    """Search settings of rollout iterations: every search is a full one, because simulations are cheap."""
    return config.search.replace(simulations=config.loop.rollout_simulations, fast_simulations=None, batch=1)


def self_play(
    config: TrainConfig,
    game: Game,
    evaluator: Any,
    first: int,
    games: int | None,
    search: SearchConfig | None = None,
    unfinished: Sequence[int] = (),
) -> SelfPlay:
    """Self-play games of a run: those with the numbers in ``unfinished``, then those numbered from ``first``."""
    loop = config.loop
    parallel = loop.parallel_games if games is None else min(loop.parallel_games, games)
    fixed = (loop.parallel_games + 1) // 2 * config.search.batch_size if loop.exact else None
    return SelfPlay(
        game,
        evaluator,
        search or config.search,
        config.play,
        games=games,
        parallel_games=parallel,
        threads=loop.threads,
        seed=config.seed,
        first=first,
        unfinished=unfinished,
        fixed_batches=fixed,
    )


def speed(progress: Progress) -> dict[str, float]:
    """Speed of self-play."""
    return {
        "positions_per_s": progress.positions_per_s,
        "evaluations_per_s": progress.evaluations_per_s,
        "evaluator_busy": progress.busy,
    }


def game_figures(game: Game, records: list[GameRecord]) -> dict[str, float]:
    """Metrics of games: how they ended, which is the return of a single player."""
    count = max(len(records), 1)
    made = {"games": float(len(records)), "game_length": sum(len(record.moves) for record in records) / count}
    if number_of_players(game) == 1:
        return {**made, "mean_return": sum(float(record.returns[0]) for record in records) / count}
    return {
        **made,
        "draws": sum(bool(record.returns[0] == record.returns[1]) for record in records) / count,
        "first_wins": sum(bool(record.returns[0] > record.returns[1]) for record in records) / count,
    }


def stage_of(header: Header, games: Sequence[Game]) -> int:
    """The stage or variant to which a shard belongs, by its header, as an index into ``games``."""
    if len(games) == 1:
        return 0
    for stage, game in enumerate(games):
        if not other_parameters(header["params"], game):
            return stage
    raise ValueError(f"{header.path}: the parameters of its games are those of no stage or variant")
