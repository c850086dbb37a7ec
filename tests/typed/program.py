"""A program as a user writes it. It is never run: `make lint` checks its types (mypy --strict)."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import ramify as rf


def play(game: rf.Game) -> int | None:
    state = game.initial_state()
    while not state.is_over:
        result = rf.search(state, rf.evaluators.Rollout(), simulations=50)
        assert_type(result.best_action, int | tuple[int, int])
        assert_type(result.action(), int | tuple[int, int])
        assert_type(state.legal_mask(0), NDArray[np.bool_])
        print(result, result.q_values, result.visit_counts, result.prior)
        state = state.after(result.best_action)
    assert_type(state.current_player, int | None)
    return state.winner


board = rf.make("hex", size=3).initial_state()
board.apply("a1")
play(board.game)
assert_type(rf.pretrained("hex-7"), rf.evaluators.Network)
assert_type(rf.pretrained(), list[rf.networks.Pretrained])
assert_type(rf.arena.read_player("random"), rf.arena.PlayerConfig)
assert_type(rf.training.train("hex-5", "run"), Path)
assert_type(rf.hex.HexGameState(5).winner, int | None)
rf.search(board, rf.evaluators.Network(rf.networks.make(board.game, "1x8")), simulations=10)
rf.search(board, rf.pretrained("hex-7"))
rf.store.Store("games.db")
rf.selfplay.PlayConfig()


@rf.register("types")
class Types(rf.PythonGame): ...


assert_type(Types.name, str)
