"""A draw by perpetual check, which material does not show: found by the search, through the rule of repetition."""

from __future__ import annotations

from typing import Any

import pytest

import ramify as rf
from ramify.chess import MaterialEvaluator
from ramify.protocols.uci_options import UciSettings

# White is a rook and four pawns behind and about to be mated; the only draw is Qe8+ Kh7 Qh5+ Kg8, three times over.
PERPETUAL = "6k1/pp4p1/2p2p2/7Q/8/8/rq6/7K w - - 0 1"
ROUND = ("h5e8", "g8h7", "e8h5", "h7g8")


def position() -> rf.State:
    state: rf.State = rf.make("chess").state(PERPETUAL)  # type: ignore[attr-defined]
    return state


def test_the_third_time_is_a_draw() -> None:
    state = position()
    for number, move in enumerate(2 * ROUND):
        assert not state.is_over, number
        state.apply(move)
    assert state.is_over
    assert list(state.returns) == [0.0, 0.0]


@pytest.mark.parametrize(
    "settings",
    [{"graph": True, "solver": True}, UciSettings().search_config(False).model_dump(exclude={"simulations", "c_puct"})],
    ids=["graph", "uci"],
)
def test_the_solver_finds_it_without_a_network(settings: dict[str, Any]) -> None:
    """Every move looks the same to this evaluator, and the draw is four of them deep: one visit has to be enough."""
    state = position()
    result = rf.search(state, MaterialEvaluator(), simulations=2000, **settings)
    assert state.action_name(int(result.best_action)) == "h5e8"  # type: ignore[arg-type]
    assert result.value[0] == pytest.approx(0.0)
