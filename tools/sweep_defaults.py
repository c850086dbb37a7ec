"""Compare search settings with a baseline, one match each: the measurement behind the default of ``c_puct``.

    python -m tools.sweep_defaults hex:size=5 search:evaluator=rollout,simulations=2000 c_puct=0.5 c_puct=2 c_puct=4

The arguments are a game with its parameters, the baseline player, and for every candidate the settings in
which it differs from the baseline. Each line gives the candidate's score and a 95 % interval over pairs of games.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import ramify as rf
from ramify.arena import PlayerConfig, match, read_player
from ramify.base.settings import read_value


def pair_scores(game: rf.Game, candidate: PlayerConfig, baseline: PlayerConfig, games: int) -> np.ndarray:
    """The candidate's mean score in each pair of games, which share an opening and exchange sides."""
    points = []
    for number, played in enumerate(match(game, candidate, baseline, games)):
        seat = number % 2  # the candidate moves first in every other game
        points.append(0.5 if played.winner is None else float(played.winner == seat))
    return np.array(points).reshape(-1, 2).mean(axis=1)


def read_game(text: str) -> rf.Game:
    name, _, params = text.partition(":")
    return rf.make(name, **read_settings(params))


def read_settings(text: str) -> dict[str, Any]:
    return {name: read_value(value) for name, value in (pair.split("=") for pair in text.split(",") if pair)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("baseline")
    parser.add_argument("changes", nargs="+")
    parser.add_argument("--games", type=int, default=200)
    given = parser.parse_args(arguments)
    game, baseline = read_game(given.game), read_player(given.baseline)
    for change in given.changes:
        scores = pair_scores(game, baseline.replace(**read_settings(change)), baseline, given.games)
        error = 1.96 * scores.std(ddof=1) / len(scores) ** 0.5
        print(f"{given.game} | {given.baseline} | {change} | {scores.mean():.3f} ± {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
