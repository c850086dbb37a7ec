"""Exact PyRat positions: the same for a seed, within their limits, and as plain backward induction finds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.pyrat import OraclePosition, oracle_positions
from tests.reference.backward_induction import BackwardInduction
from tools import pyrat_oracle


def check(position: OraclePosition) -> None:
    """Values and payoffs, of the position and of what follows it, against linear programs in Python."""
    reference = BackwardInduction()
    state, solution = position.state, position.solution
    assert abs(reference.value(state) - 0.5 * solution.difference) < 1e-8
    index = [state.outcomes(player)[1] for player in (0, 1)]
    np.testing.assert_allclose(reference.payoffs(state), position.payoffs[np.ix_(*index)], atol=1e-8)
    assert rf.equilibria.nash_conv(solution.strategy.graph, solution.strategy) < 1e-9
    assert solution.strategy.graph.positions == len(reference.values)


def small(count: int, most: int, reward: Any = "difference") -> list[OraclePosition]:
    found = (one for one in oracle_positions(10 * count, reward=reward) if one.solution.strategy.graph.positions < most)
    return [position for _, position in zip(range(count), found, strict=False)]


def test_positions_are_the_same_for_a_seed() -> None:
    first, again, other = (
        [position.state.key for position in oracle_positions(count, seed)] for count, seed in ((5, 0), (8, 0), (5, 1))
    )
    assert first == again[:5]
    assert first != other


def test_positions_are_as_promised() -> None:
    positions = list(oracle_positions(40))
    facts: list[Any] = [position.state.fields for position in positions]  # type: ignore[attr-defined]
    assert {fields["width"] for fields in facts} == {fields["height"] for fields in facts} == {3, 4, 5}
    assert {len(fields["cheese"]) for fields in facts} == {1, 2, 3, 4, 5, 6}
    assert {fields["max_turns"] - fields["turn"] for fields in facts} == set(range(6, 13))
    assert any(fields["walls"] for fields in facts)
    assert any(fields["mud"] for fields in facts)
    assert any(fields["mud1"] or fields["mud2"] for fields in facts)
    assert any(fields["score1"] or fields["score2"] for fields in facts)
    assert all(np.ptp(position.payoffs) > 0 for position in positions)


def test_oracle_agrees_with_linear_programs() -> None:
    for position in small(6, 500):
        check(position)


@pytest.mark.parametrize("reward", ["cheese", "win"])
def test_other_rewards_agree_too(reward: Any) -> None:
    check(small(1, 300, reward)[0])


@pytest.mark.slow
def test_a_hundred_positions_agree_with_linear_programs() -> None:
    positions = small(110, 4000)
    assert len(positions) >= 100
    for position in positions:
        check(position)


@pytest.mark.slow
def test_mccfr_agrees_within_its_error() -> None:
    for position in small(20, 1000):
        found = rf.equilibria.mccfr(position.state, 5000)
        assert found.nash_conv < 0.1
        assert abs(found.value[0] - position.solution.value[0]) <= found.nash_conv + 1e-12


def test_the_table_of_the_tool(tmp_path: Any) -> None:
    """Stored searches are not repeated, and searching more brings a search nearer."""
    file = tmp_path / "oracle.jsonl"
    found = pyrat_oracle.run(4, 0, [50, 2000], file)
    lines = file.read_text().splitlines()
    assert len(lines) == 4 * 2 * len(list(pyrat_oracle.searches()))
    assert pyrat_oracle.run(4, 0, [50, 2000], file) == found
    assert file.read_text().splitlines() == lines
    name = "regret matching, graph and solver"
    few, many = (np.mean([row["value"] for row in found[name, n]]) for n in (50, 2000))
    assert many < few
    assert name in pyrat_oracle.table(found, [50, 2000])


def test_the_table_of_forced_playouts_has_every_variant() -> None:
    text = pyrat_oracle.forced_table(2, 0, [60])
    assert all(f"| 60 | {name} |" in text for name in pyrat_oracle.FORCED)
    assert len(text.splitlines()) == 2 + len(pyrat_oracle.FORCED)
