"""Strength of players of PyRat against the greedy player, on four kinds of boards.

    python -m tools.pyrat_strength search:network=runs/pyrat,simulations=200 --games 1200 --results strength.jsonl
    python -m tools.pyrat_strength search:evaluator=greedy --simulations 200 3200 --boards maze --sampled

Boards are played in pairs with the seats exchanged. A row has wins, draws and losses, the score with its 95 % interval,
the Elo difference to the greedy player (anchored at 1000) and the mean margin in cheese. Every row is appended to the
results as soon as it is known, and rows that are there already are not played again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ramify as rf
from ramify.arena import MatchConfig, MatchResult, Openings, ParallelSettings
from tools.result_rows import add_row, has_row, match_row, read_rows
from tools.timed_match import timed_match

OPEN = {"width": 7, "height": 7, "cheese": 10, "max_turns": 50, "wall_density": 0.0, "mud_density": 0.0}
BOARDS: dict[str, dict[str, Any]] = {
    "symmetric": OPEN,
    "asymmetric": {**OPEN, "symmetric": False, "starts": "random"},
    "maze": {"width": 11, "height": 9, "cheese": 13, "max_turns": 150},
    "full": {"width": 21, "height": 15, "cheese": 41, "max_turns": 300},
}
SEARCH = "graph=true,normalize=remaining,fpu=reduction,fpu_offset=0.2,exact=false,cache=0"
SAMPLED = "temperature=1,temperature_moves=100000"


def player(text: str, simulations: int, sampled: bool) -> str:
    """The player with the settings that suit PyRat; those in ``text`` come last and so win."""
    kind, _, given = text.partition(":")
    settings = [f"simulations={simulations}", SEARCH, *([SAMPLED] if sampled else []), *([given] if given else [])]
    chosen = dict(setting.split("=", 1) for part in settings for setting in part.split(","))
    return f"{kind}:" + ",".join(f"{name}={value}" for name, value in chosen.items())


def margin(found: MatchResult) -> float:
    """Mean difference of cheese, from the view of the first player."""
    differences = [game.returns[0] for game in found]  # rewards are the difference
    return sum(-d if number % 2 else d for number, d in enumerate(differences)) / max(len(differences), 1)


def row(found: MatchResult) -> dict[str, Any]:
    return {
        **match_row(found),
        "elo": [1000 + found.elo, *(1000 + end for end in found.elo_interval)],
        "margin": margin(found),
    }


def rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    known = read_rows(arguments.results)
    for board in arguments.boards:
        game = rf.make("pyrat", **BOARDS[board], reward="difference")
        for simulations in arguments.simulations:
            key = {
                "board": board,
                "player": player(arguments.player, simulations, arguments.sampled),
                "opponent": arguments.opponent,
                "seed": arguments.seed,
                "wanted": arguments.games,
            }
            if has_row(known, key):
                continue
            began = time.perf_counter()
            config = MatchConfig(Openings("none"), arguments.seed)
            parallel = ParallelSettings(arguments.concurrency)
            found = timed_match(
                game,
                key["player"],
                arguments.opponent,
                arguments.games,
                config=config,
                parallel=parallel,
                seconds=arguments.max_seconds,
            )
            yield {**key, **row(found), "seconds": round(time.perf_counter() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("player", help="a player as in 'ramify match'")
    parser.add_argument("--opponent", default="greedy")
    parser.add_argument("--boards", nargs="+", choices=list(BOARDS), default=list(BOARDS))
    parser.add_argument("--simulations", nargs="+", type=int, default=[200])
    parser.add_argument("--games", type=int, default=300)
    parser.add_argument("--max-seconds", type=float, help="end a match after this time, with the games played so far")
    parser.add_argument("--sampled", action="store_true", help="sample actions by visits instead of the most visited")
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, help="JSON lines to append to")
    arguments = parser.parse_args()
    for line in rows(arguments):
        low, high = line["interval"]
        print(
            f"| {line['board']} | {line['player']} | +{line['wins']} ={line['draws']} -{line['losses']} | "
            f"{line['score']:.1%} ({low:.1%} to {high:.1%}) | {line['elo'][0]:.0f} | {line['margin']:+.2f} | "
            f"{line['seconds']} s |",
            flush=True,
        )
        add_row(arguments.results, line)


if __name__ == "__main__":
    main()
