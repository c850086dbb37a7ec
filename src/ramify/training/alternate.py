"""Alternating self-play and training: exactly resumable, and the best mode for a small machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ramify.evaluators import Uniform
from ramify.evaluators.simple import rollouts_of
from ramify.networks import network_id
from ramify.selfplay.records import GameRecord
from ramify.selfplay.run import Progress
from ramify.selfplay.run import run as play_games
from ramify.training.playing import game_figures, rollout_search, self_play, speed, stage_of
from ramify.training.processes import uninterrupted
from ramify.training.run import Training
from ramify.training.shards import Consumed, in_window, missing


@dataclass(frozen=True)
class StagedGame:
    """A game and the stage of the curriculum it belongs to."""

    record: GameRecord
    stage: int


Games = dict[int, StagedGame]  # by number


def train_alternating(training: Training) -> None:
    """Run iterations of self-play and training until the end of the run."""
    loop, watcher, evaluator = training.config.loop, training.watcher, training.evaluator
    training.show(done=training.progress(min(1.0, training.iteration / loop.iterations)))
    training.recover_games()
    games = fresh_games(training)  # not trained on yet
    window = refill(training, games)
    while training.iteration < loop.iterations and not training.out_of_time:
        first, rollouts = training.iteration * loop.games, training.iteration < loop.rollout_iterations
        if training.steps_in_iteration == 0 or missing(first, loop.games, games):  # or they were lost meanwhile
            evaluator.load_weights(training.learner.playing)
            # If a killed run has left all games of the iteration, none are played and their speed is unknown.
            training.rates = play(training, evaluator, first, games, rollouts=rollouts)
            games |= fresh_games(training)
        fresh = [games.pop(number) for number in range(first, first + loop.games) if number in games]
        before = training.replay.total
        add(training, fresh)
        new = training.replay.total - before
        if training.steps_in_iteration == 0:
            training.judge(new)
            training.reanalyse(new)
        train_iteration(training, new)
        window = in_window([*window, (first, new)], training.config.window.positions(training.replay.total))
        window = [part for part in window if part[0] >= training.replay.oldest(first)]
        consumed = Consumed(
            games=training.consumed.games + len(fresh),
            positions=training.replay.total,
            next_game=first + loop.games,
            needed_from=watcher.first_with(window[0][0]),
            discarded=training.consumed.discarded,
            discarded_before=training.consumed.discarded_before,
        )
        training.end_iteration(game_figures(training.game, [game.record for game in fresh]), consumed)


def fresh_games(training: Training) -> Games:
    """The games of new shards, by number."""
    return {
        record.number: StagedGame(record, stage_of(header, training.games))
        for header, records in training.watcher.fresh()
        for record in records
    }


def add(training: Training, games: list[StagedGame], total: int | None = None) -> None:
    """Add the positions of an iteration's games to the window. ``total``: positions recorded so far, with these."""
    stages = sorted({game.stage for game in games}) or [-1]
    parts = [training.samples([game.record for game in games if game.stage == stage], stage) for stage in stages]
    before = training.replay.total if total is None else total - sum(map(len, parts))
    for stage, samples in zip(stages, parts, strict=True):
        before += len(samples)
        training.replay.add(samples, before, stage)


def refill(training: Training, games: Games) -> list[tuple[int, int]]:
    """Reload the positions of finished iterations that are still in the window; removes their games from ``games``.

    Returns the first game number and the number of positions of every iteration in the window.
    """
    size = training.config.loop.games
    iterations = {
        start: [games.pop(number) for number in range(start, start + size) if number in games]
        for start in range(0, training.iteration * size, size)
    }
    counts = [
        (start, sum(training.positions_in(game.record) for game in played)) for start, played in iterations.items()
    ]
    there = sum(count for _, count in counts)
    total = max(there, training.consumed.positions)  # some may have been deleted since
    kept = in_window(counts, training.config.window.positions(total))
    so_far = total - sum(count for _, count in kept)
    for start, count in kept:
        so_far += count
        add(training, iterations[start], so_far)
    return [part for part in kept if part[0] >= training.replay.oldest(kept[-1][0])]


def play(training: Training, evaluator: Any, first: int, games: Games, *, rollouts: bool) -> dict[str, float]:
    """Play the missing games of an iteration, with the network or with rollouts; returns the speed.

    The first games of an iteration are those with equal priors (``loop.uniform_share``).
    """
    config, loop = training.config, training.config.loop
    stage = config.stage_at(training.progress(training.iteration / loop.iterations))
    game = training.games[config.board_at(stage, training.iteration)]
    search = rollout_search(config) if rollouts else config.search
    uniform = 0 if rollouts else round(loop.uniform_share * loop.games)

    def show(progress: Progress) -> None:
        training.show(phase="playing", share=progress.games / loop.games, figures=speed(progress))

    rates: dict[str, float] = {}
    plan = [(Uniform(), part) for part in missing(first, uniform, games)]
    rest = missing(first + uniform, loop.games - uniform, games)
    for judge, (start, count) in plan + [(rollouts_of(game) if rollouts else evaluator, part) for part in rest]:
        done = play_games(
            self_play(config, game, judge, start, count, search),
            training.games_folder,
            games_per_shard=loop.games_per_shard,
            network=network_id(training.learner.playing) if judge is evaluator else None,
            progress=show,
            others=training.games,
        )
        rates = speed(done)
    return rates


def train_iteration(training: Training, new: int) -> None:
    """Run the training steps of an iteration with ``new`` new positions."""
    loop = training.config.loop
    steps = max(1, round(loop.replay_ratio * new / loop.batch))
    while training.steps_in_iteration < steps:
        within = training.steps_in_iteration / steps
        with uninterrupted():
            training.train_step((training.iteration + within) / loop.iterations)
            training.steps_in_iteration += 1
        if training.steps_in_iteration % 10 == 0:
            training.show(phase="training", share=within)
