"""Random games of Hex 11x11, here and in OpenSpiel, and the memory of one position of every native game.

Both sides play uniformly random games to the end. The bar compares what a search pays, games played inside
the core (`game.random_turns`), with games played through OpenSpiel's Python interface: at least twenty times
as many turns per second of CPU time. Our own Python interface is reported beside it, without a bar. Each
ratio is taken within one run, over interleaved rounds, so that a busy machine slows both sides alike.

Run: ``python -m benchmarks.hex_games``
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import ramify as rf

ROUNDS = 5
GAMES = {"core": 3000, "python": 40, "open_spiel": 40}  # per round: a few tenths of a second each


def rows() -> list[dict[str, Any]]:
    """One row per number: name, value, unit, target (None: no bar) and whether it is met."""
    return [*_speed_rows(), *_memory_rows()]


def _row(name: str, value: float, unit: str, target: float | None = None) -> dict[str, Any]:
    met = target is None or value >= target
    return {"name": name, "value": value, "unit": unit, "target": target, "ok": met}


def _speed_rows() -> list[dict[str, Any]]:
    import pyspiel

    game, spiel_game = rf.make("hex", size=11), pyspiel.load_game("hex(board_size=11)")
    players: dict[str, Callable[[int, int], int]] = {
        "core": lambda seed, games: game.random_turns(seed, games),
        "python": lambda seed, games: _python_turns(game, seed, games),
        "open_spiel": lambda seed, games: _open_spiel_turns(spiel_game, seed, games),
    }
    turns, seconds = dict.fromkeys(players, 0), dict.fromkeys(players, 0.0)
    for seed in range(ROUNDS):
        for name, play in players.items():
            start = time.process_time()
            turns[name] += play(seed, GAMES[name])
            seconds[name] += time.process_time() - start
    rates = {name: turns[name] / seconds[name] for name in players}
    base = "times OpenSpiel's Python interface"
    return [
        _row("hex 11x11 random turns, OpenSpiel through Python", rates["open_spiel"], "turns/s"),
        _row("hex 11x11 random turns, ramify through Python", rates["python"], "turns/s"),
        _row("hex 11x11 random turns, ramify's core", rates["core"], "turns/s"),
        _row("hex 11x11 random games, ramify's core", rates["core"] / rates["open_spiel"], base, target=20),
        _row("hex 11x11 random games, ramify through Python", rates["python"] / rates["open_spiel"], base),
    ]


def _python_turns(game: Any, seed: int, games: int) -> int:
    rng = random.Random(seed)
    turns = 0
    for _ in range(games):
        state = game.initial_state()
        while not state.is_over:
            legal = state.legal_actions()
            state.apply(legal[int(rng.random() * len(legal))])
            turns += 1
    return turns


def _open_spiel_turns(game: Any, seed: int, games: int) -> int:
    rng = random.Random(seed)
    turns = 0
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            state.apply_action(legal[int(rng.random() * len(legal))])
            turns += 1
    return turns


def _memory_rows() -> list[dict[str, Any]]:
    names = [name for name in rf.list_games() if hasattr(rf.make(name), "state_bytes")]  # the native ones
    return [_row(f"{name}: one position in the core", rf.make(name).state_bytes, "bytes") for name in names]


def main() -> None:
    for row in rows():
        bar = "" if row["target"] is None else f"   bar {row['target']}: {'ok' if row['ok'] else 'MISSED'}"
        print(f"{row['name']:<52} {row['value']:>14,.1f} {row['unit']}{bar}")


if __name__ == "__main__":
    main()
