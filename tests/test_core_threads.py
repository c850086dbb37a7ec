"""Rules are shared by all threads and change in none; also what the sanitizers run on every game."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ramify import _core

pytestmark = pytest.mark.core

THREADS = 4
TURNS = 20_000  # per thread: long enough that threads overlap, though each first waits for the interpreter


@pytest.mark.parametrize("name", _core.game_names())
def test_threads_share_a_game(name: str) -> None:
    game = _core.make_game(name, {})
    sample = game.random_turns(seed=0, games=4)
    games = max(4, min(4 * TURNS // sample, TURNS))
    alone = [game.random_turns(seed=seed, games=games) for seed in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(lambda seed: game.random_turns(seed=seed, games=games), range(THREADS)))
    assert together == alone
