"""Strength of a chess network: best moves in known positions, and matches against an engine of limited strength.

    python -m tools.chess_strength best NETWORK --simulations 1 800
    python -m tools.chess_strength levels NETWORK --levels 1800 2000 2200 --simulations 800 --games 200 --workers 8
    python -m tools.chess_strength levels NETWORK --device cuda --workers 0 --concurrency 200 --copies 14

``best`` counts the positions of tests/golden/chess_best.jsonl, each with one clearly best move, in which the move is
found. ``levels`` plays against an engine with the options UCI_LimitStrength and UCI_Elo, with one thread and 0.1 s a
move, from random openings in pairs with the colours exchanged; the level 0 is the one at which the row before would
have been even. One simulation is the network alone. Rows are appended to --results as soon as they are known, and rows
that are there already are not played again.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ramify as rf
from ramify.arena import MatchConfig, Openings, ParallelSettings, network_file, player_config
from ramify.arena.workers import WorkerPool
from ramify.cli.common import parse_settings
from ramify.evaluators import Network
from ramify.networks import load
from ramify.protocols.uci_player import UciConfig
from tools.result_rows import add_row, has_row, match_row, read_rows
from tools.timed_match import timed_match

BEST = Path(__file__).resolve().parent.parent / "tests" / "golden" / "chess_best.jsonl"
SEARCH: dict[str, Any] = {"exact": False, "solver": True}
LEAST, MOST = 1350, 2850  # levels that Stockfish 15.1 offers


def best_positions() -> list[tuple[Any, int]]:
    """(state, best action) of positions with one clearly best move."""
    game: Any = rf.make("chess")
    found = list[tuple[Any, int]]()
    for line in BEST.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        state = game.state(entry["fen"])
        found.append((state, state.action(entry["best"])))
    return found


def share_found(searcher: Any, positions: list[tuple[Any, int]]) -> float:
    """The share of positions in which the searcher chooses the best action."""
    results = searcher.run_many([state for state, _ in positions])
    right = [int(result.action()) == best for result, (_, best) in zip(results, positions, strict=True)]
    return sum(right) / len(right)


def best_rows(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    positions = best_positions()
    evaluator = Network(load(network_file(given.network)), given.device)
    for simulations in given.simulations:
        config = rf.SearchConfig(simulations=simulations, batch=1, solver=True).replace(**parse_settings(given.set))
        share = share_found(rf.Searcher(rf.make("chess"), evaluator, config), positions)
        yield {"network": given.network, "simulations": simulations, "positions": len(positions), "share": share}


def engine(command: str, level: int, seconds: float, copies: int = 1) -> UciConfig:
    """An engine that plays at a level of Elo, with one thread; several copies for games side by side."""
    options = {"UCI_LimitStrength": True, "UCI_Elo": level, "Threads": 1}
    return UciConfig(command=command, seconds=seconds, options=options, name=f"{level} Elo", processes=copies)


def ours(given: argparse.Namespace, simulations: int) -> Any:
    """The network with so many simulations; with one, its policy's first choice."""
    chosen = {**SEARCH, "simulations": simulations, **parse_settings(given.set)}
    return player_config("search", network=given.network, device=given.device or "cpu", **chosen)


def level_at(level: int, score: float) -> float:
    """The level at which the score would be 50 %, by the Elo formula."""
    bounded = min(max(score, 0.001), 0.999)
    return level + 400 * math.log10(bounded / (1 - bounded))


def level_rows(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    known = read_rows(given.results)
    even = 2000.0
    with WorkerPool() as pool:
        for simulations in given.simulations:
            for wanted in given.levels:
                level = wanted or min(max(LEAST, round(even / 50) * 50), MOST)
                key = {"network": given.network, "simulations": simulations, "level": level, "wanted": given.games}
                if has_row(known, key):
                    continue
                row = {**key, **level_row(given, simulations, level, pool)}
                even = row["even_at"][0]
                yield row


def level_row(given: argparse.Namespace, simulations: int, level: int, pool: WorkerPool) -> dict[str, Any]:
    """The result of one match."""
    began = time.perf_counter()
    found = timed_match(
        rf.make("chess"),
        ours(given, simulations),
        engine(given.engine, level, given.seconds, given.copies),
        given.games,
        config=MatchConfig(Openings(given.opening), given.seed),
        parallel=ParallelSettings(given.concurrency, given.workers),
        seconds=given.max_seconds,
        pool=pool,
    )
    return {
        **match_row(found),
        "even_at": [level_at(level, share) for share in (found.score, *found.interval)],
        "seconds": round(time.perf_counter() - began, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["best", "levels"])
    parser.add_argument("network", help="a saved network, the folder of a run, or the name of a shipped one")
    parser.add_argument("--simulations", nargs="+", type=int, default=[1, 800])
    parser.add_argument("--device", default=None)
    parser.add_argument(
        "--levels", nargs="+", type=int, default=[2000], help="values of UCI_Elo; 0: where the row before is even"
    )
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--max-seconds", type=float, help="end a match after this time, with the games played so far")
    parser.add_argument("--engine", default="stockfish", help="the command that starts the engine")
    parser.add_argument("--seconds", type=float, default=0.1, help="the engine's time for a move")
    parser.add_argument("--opening", default="random:4")
    parser.add_argument("--workers", type=int, default=2, help="processes, each with engines and a network of its own")
    parser.add_argument("--copies", type=int, default=1, help="copies of the engine in each process")
    parser.add_argument("--concurrency", type=int, default=1, help="games at once in each process")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of our search")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, help="JSON lines to append to")
    given = parser.parse_args()
    for line in best_rows(given) if given.task == "best" else level_rows(given):
        print(json.dumps(line), flush=True)
        add_row(given.results, line)


if __name__ == "__main__":
    main()
