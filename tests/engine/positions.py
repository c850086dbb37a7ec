"""Positions to search: random walks into every native game."""

from __future__ import annotations

from typing import Any

import numpy as np

import ramify as rf

# Small enough for a slow reference, with walls, mud, swaps and simultaneous moves among them.
GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "tictactoe": ("tictactoe", {}),
    "connect_four": ("connect_four", {}),
    "hex": ("hex", {"size": 4}),
    "hex with swap": ("hex", {"size": 3, "swap": True}),
    "chess": ("chess", {}),
    "pyrat": ("pyrat", {"width": 5, "height": 4, "cheese": 4, "max_turns": 30, "symmetric": False, "mud_density": 0.4}),
    "pyrat zero-sum": ("pyrat", {"width": 4, "height": 4, "cheese": 4, "max_turns": 12, "reward": "difference"}),
    "goofspiel": ("goofspiel", {"cards": 5, "returns": "difference"}),
    "matrix": ("matrix", {"payoffs": [[[0.3, -0.2], [0.1, 0.5], [-0.4, 0.0]], [[0.2, 0.2], [0.1, -0.5], [0.4, 0.6]]]}),
}
SIMULTANEOUS = {"pyrat", "pyrat zero-sum", "goofspiel", "matrix"}


def play(state: rf.State, rng: np.random.Generator) -> None:
    """One random turn."""
    state.apply(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))


def walk(name: str, seed: int) -> rf.State:
    """A position a few random turns into the game; never a finished one."""
    game, params = GAMES[name]
    rng = np.random.default_rng([seed, len(name)])
    state = rf.make(game, **params).initial_state(seed=seed)
    for _ in range(int(rng.integers(0, 7))):
        after = state.copy()
        play(after, rng)
        if after.is_over:
            break
        state = after
    return state


def positions(count: int) -> list[tuple[str, int]]:
    """(game, seed) pairs, the games in turn."""
    return [(list(GAMES)[i % len(GAMES)], i // len(GAMES)) for i in range(count)]
