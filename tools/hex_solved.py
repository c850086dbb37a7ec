"""How often a Hex network, alone and with search, plays a winning move where there is one.

The positions are those of tests/golden/hex_solved.jsonl, solved by another program. Counted are positions that
the player to move wins: any of the winning moves will do.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import ramify as rf

SOLVED = Path(__file__).resolve().parent.parent / "tests" / "golden" / "hex_solved.jsonl"


def won_positions(size: int) -> list[tuple[Any, set[int]]]:
    """(state, winning actions) of the won positions on a board of this size."""
    game = rf.make("hex", size=size)
    found = []
    for line in SOLVED.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["size"] == size and entry["winning_moves"]:
            state = game.state(" ".join(entry["moves"]))
            found.append((state, {state.action(name) for name in entry["winning_moves"]}))
    return found


def choices(states: list[Any], evaluator: Any, simulations: int) -> list[int]:
    """The action chosen in each position; with one simulation, the network's own."""
    config = rf.SearchConfig(simulations=simulations, c_puct=1.4, fpu="reduction", fpu_offset=0.2)
    searcher = rf.Searcher(states[0].game, evaluator, config)
    results = searcher.run_many(states)
    if simulations == 1:
        return [
            int(result.outcomes[result.acting[0]][np.argmax(result.priors[result.acting[0]])]) for result in results
        ]
    return [int(result.action()) for result in results]


def solved_share(evaluator: Any, size: int, simulations: int) -> tuple[int, int]:
    """Won positions in which a winning move is played, and all of them."""
    positions = won_positions(size)
    chosen = choices([state for state, _ in positions], evaluator, simulations)
    return sum(action in winning for action, (_, winning) in zip(chosen, positions, strict=True)), len(positions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", nargs="+", help="saved networks")
    parser.add_argument("--size", type=int, default=7)
    parser.add_argument("--simulations", type=int, nargs="+", default=[1, 400])
    given = parser.parse_args()
    game = rf.make("hex", size=given.size)
    for name in given.network:
        evaluator = rf.evaluators.Network(rf.networks.load(name, game))
        shares = []
        for simulations in given.simulations:
            right, count = solved_share(evaluator, given.size, simulations)
            shares.append(f"{simulations} simulations {right}/{count} = {right / count:.1%}")
        print(f"{name}: " + ", ".join(shares), flush=True)


if __name__ == "__main__":
    main()
