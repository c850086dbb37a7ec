"""Alpha-beta in games written in Python and in OpenSpiel's: the same search; and what ends or refuses it."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine import AlphaBetaConfig
from tests.chance_games import HiddenDie
from tests.engine.minimax import assert_finds_minimax, walk
from tests.engine.tiny_games import Carousel, Fragile, Paths, Turntable
from tests.games.table import load_example


class ZeroSumPaths(Paths):
    """Pays with every turn, and the same player may move twice: values add up along the way."""

    simultaneous = False
    num_actions = 3

    def __init__(self, order: str = "alternating", turns: int = 6) -> None:
        super().__init__(order=order, turns=turns)


class Judged(ZeroSumPaths):
    """As ZeroSumPaths, with an opinion of its own about every position."""

    def heuristic(self, position: Any) -> float:
        return 0.01 * (len(position) % 3) - 0.002 * sum(turn[0] for turn in position)


class Circle(Carousel):
    """Positions come back at other plies: an entry of the table has another depth than is wanted."""

    zero_sum = True

    def acting(self, position: Any) -> tuple[int, ...]:
        return () if position[0] < 0 else (position[1],)

    def start(self, rng: np.random.Generator) -> Any:
        return 0, 0

    def apply(self, position: Any, action: int) -> tuple[Any, tuple[float, float]]:
        place, rewards = super().apply(position[0], action)
        return (place, 1 - position[1] if action != 1 else position[1]), rewards

    def observation(self, position: Any, player: int) -> Any:
        return np.eye(3)[position[0]]

    def heuristic(self, position: Any) -> float:
        return (0.1, -0.2, 0.15)[position[0]]


GAMES: dict[str, tuple[Any, tuple[int, ...], int]] = {  # the game, depths, the most random turns before
    "python": (load_example().TicTacToe, (1, 2, 3), 5),
    "rewards on the way": (ZeroSumPaths, (1, 2, 3, 4), 3),
    "several turns in a row": (lambda: ZeroSumPaths("single"), (2, 4), 3),
    "judged": (lambda: Judged(turns=9), (1, 2, 3, 4), 3),
    "circle": (Circle, (1, 2, 3, 5, 7), 2),
    "openspiel": (lambda: rf.make("openspiel:breakthrough", rows=4, columns=3), (2, 3), 8),
}


@pytest.mark.parametrize(("name", "depth"), [(name, depth) for name, case in GAMES.items() for depth in case[1]])
def test_it_finds_what_minimax_finds(name: str, depth: int) -> None:
    make, _, turns = GAMES[name]
    for seed in range(3):
        assert_finds_minimax(walk(make(), seed, int(np.random.default_rng(seed).integers(turns + 1))), depth)


@pytest.mark.parametrize("table", [1, 10, 1000])
def test_the_table_tells_depths_apart(table: int) -> None:
    """In a circle every position comes back, and each depth is worth something else."""
    for depth in range(2, 9):
        without, found = (rf.alphabeta(Circle().initial_state(), depth=depth, table=size) for size in (0, table))
        assert (found.value, found.plies) == (without.value, without.plies)


# ---------- limits ----------


@pytest.mark.parametrize("game", ["chess", "hex", "python"])
def test_seconds_are_kept(game: str) -> None:
    state = ZeroSumPaths(turns=40).initial_state() if game == "python" else rf.make(game).initial_state()
    for seconds in (1e-9, 0.05, 0.2):
        started = time.process_time()
        found = rf.alphabeta(state, seconds=seconds)
        assert time.process_time() - started < seconds + 0.2
        assert found.seconds >= min(seconds, 1e-6)
        assert found.action in state.legal_actions()


@pytest.mark.parametrize("on_interrupt", ["raise", "return"])
@pytest.mark.parametrize("game", ["chess", "python"])
def test_ctrl_c_raises_or_returns_what_was_found(game: str, on_interrupt: Any) -> None:
    state = ZeroSumPaths(turns=40).initial_state() if game == "python" else rf.make(game).initial_state()
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        started = time.perf_counter()
        with pytest.raises(KeyboardInterrupt) if on_interrupt == "raise" else nullcontext():
            found = rf.alphabeta(state, seconds=60, on_interrupt=on_interrupt)
        assert time.perf_counter() - started < 30
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, previous)
    if on_interrupt == "raise":
        return
    assert found.interrupted
    assert found.depth >= 1
    assert found.action in state.legal_actions()


# ---------- what cannot be searched ----------


@pytest.mark.parametrize("method", ["apply", "acting", "legal_actions", "key"])
def test_errors_of_a_game_pass(method: str) -> None:
    with pytest.raises(ArithmeticError, match=f"call 9 of {method}"):
        rf.alphabeta(Fragile(method, 9).initial_state(), depth=4)


def test_a_game_that_never_ends() -> None:
    class Endless(Turntable):
        zero_sum = True

    found = rf.alphabeta(Endless().initial_state(), depth=60)
    assert (found.value, found.depth, found.solved) == ((0, 0), 60, False)


def test_refusals() -> None:
    class Uneven(ZeroSumPaths):
        def __init__(self) -> None:
            super().__init__()
            self.zero_sum = False

    class Loud(ZeroSumPaths):
        def heuristic(self, position: Any) -> float:
            return 1e9

    start = rf.make("tictactoe").initial_state
    with pytest.raises(ValueError, match="at least one of depth, nodes and seconds"):
        rf.alphabeta(start())
    with pytest.raises(ValueError, match="did you mean 'width'"):
        rf.alphabeta(start(), depth=1, widht=3)
    with pytest.raises(ValueError, match="depth=0: must be at least 1"):
        AlphaBetaConfig(depth=0)
    with pytest.raises(ValueError, match="a game that ranks its actions"):
        rf.alphabeta(start(), depth=1, width=3)
    with pytest.raises(ValueError, match="both players act at once"):
        rf.alphabeta(rf.make("goofspiel").initial_state(), depth=1)
    with pytest.raises(ValueError, match="zero-sum game; here the rewards"):
        rf.alphabeta(Uneven().initial_state(), depth=1)
    with pytest.raises(ValueError, match="game with chance"):
        rf.alphabeta(HiddenDie().initial_state(0), depth=1)
    with pytest.raises(ValueError, match="from -100000 to 100000"):
        rf.alphabeta(Loud().initial_state(), depth=1)
    with pytest.raises(rf.IllegalAction, match="the game is over"):
        rf.alphabeta(rf.make("connect_four").state("a b a b a b a"), depth=1)  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="must be a state"):
        rf.alphabeta(rf.make("hex"), depth=1)  # type: ignore[arg-type]
