"""The tools that measure PyRat: payoffs against exact ones, evaluations saved by sharing nodes, exploitability."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.pyrat import OraclePosition
from tools import pyrat_exploitability, pyrat_oracle, pyrat_payoffs, pyrat_sharing
from tools.oracle_set import AsDifference, board, common_game, in_common_game, light_positions, size_of

SMALL = {"kind": "destinations", "blocks": 1, "channels": 8, "heads": ["payoffs"]}


def small_board(width: int, height: int) -> rf.State:
    return rf.make("pyrat", width=width, height=height, cheese=2, symmetric=False, reward="difference").initial_state(0)


@pytest.fixture(scope="module")
def positions() -> list[OraclePosition]:
    return list(light_positions(12, 0))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An untrained network for the difference of cheese."""
    torch.manual_seed(0)
    module = rf.networks.make(rf.make("pyrat", width=5, height=5, cheese=5, reward="difference"), SMALL)
    return str(rf.networks.save(tmp_path_factory.mktemp("networks") / "untrained", module))


class ByHand:
    """A network whose payoffs are known: those given for a position, for every action of each outcome."""

    def __init__(self, positions: list[OraclePosition], reward: str) -> None:
        self.tables = {}
        for position in positions:
            index = [position.state.outcomes(player)[1] for player in (0, 1)]
            lead = position.payoffs[np.ix_(*index)]
            both = [lead, -lead] if reward == "difference" else [lead + 1, np.ones_like(lead)]
            self.tables[position.state.observation(0).tobytes()] = np.stack(both)

    def __call__(self, observations: torch.Tensor) -> dict[str, torch.Tensor]:
        found = [self.tables[one.numpy().tobytes()] for one in observations]
        return {"payoffs": torch.from_numpy(np.stack(found))}


@pytest.mark.parametrize("reward", ["difference", "cheese"])
def test_payoffs_of_a_head_made_by_hand_are_exact(positions: list[OraclePosition], reward: str) -> None:
    size = size_of(positions[0].state)
    some = [position for position in positions if size_of(position.state) == size]
    found = pyrat_payoffs.head_payoffs(ByHand(some, reward), [position.state for position in some], reward)
    for table, position in zip(found, some, strict=True):
        np.testing.assert_allclose(table, position.payoffs, atol=1e-12)
    exact = pyrat_payoffs.flat([position.payoffs for position in some])
    line = next(pyrat_payoffs.rows("by hand", pyrat_payoffs.flat(found), exact, np.ones_like(exact)))
    assert line.endswith("| 0.000 | 1.000 | 1.000 |")


def test_the_table_of_payoffs_of_an_untrained_network(positions: list[OraclePosition], network: str) -> None:
    lines = [line.split(" | ") for line in pyrat_payoffs.compare(positions, network, simulations=30)][2:]
    by_name = {(cells[0].strip("| "), cells[1]): cells for cells in lines}
    pairs = sum(position.payoffs.size for position in positions)
    for name in ("network, one step", "network, head payoffs"):
        assert by_name[name, "all"][2] == f"{pairs:,}"
        groups = [cells for (source, group), cells in by_name.items() if source == name and group != "all"]
        assert sum(int(cells[2]) for cells in groups) == pairs
    head, step = (float(by_name[name, "all"][5].strip(" |")) for name in ("network, head payoffs", "network, one step"))
    assert head < step  # one step knows the rewards, the untrained head nothing


def test_a_position_of_the_common_game_is_the_same(positions: list[OraclePosition]) -> None:
    for position in positions[:4]:
        same = in_common_game(position.state)
        assert same.game == common_game(*size_of(position.state))
        found = rf.equilibria.solve_game(same)
        np.testing.assert_allclose(found.payoffs, position.solution.payoffs)


def test_values_of_cheese_become_differences() -> None:
    state = small_board(3, 4)
    inner = rf.evaluators.Function(lambda batch: (np.zeros((len(batch), 2, 5)), np.tile([1.5, 0.25], (len(batch), 1))))
    result = rf.search(state, AsDifference(inner), simulations=1)
    assert result.evaluation.tolist() == [1.25, -1.25]


def test_searches_with_a_network_are_rows_of_the_oracle_table(network: str, tmp_path: Any) -> None:
    file, name = tmp_path / "oracle.jsonl", "regret matching, graph and solver"
    found = pyrat_oracle.run_network(4, 0, [20], file, network, [name], None)
    assert list(found) == [(f"untrained: {name}", 20)]
    lines = file.read_text()
    assert pyrat_oracle.run_network(4, 0, [20], file, network, [name], None) == found
    assert file.read_text() == lines
    assert f"| untrained: {name} |" in pyrat_oracle.table(found, [20])


def test_evaluations_needed_for_an_error() -> None:
    budgets = np.array(pyrat_sharing.BUDGETS, np.float64)
    tree = 1 / np.sqrt(budgets)
    assert pyrat_sharing.needed(tree, 1 / np.sqrt(500.0)) == pytest.approx(500)
    assert pyrat_sharing.needed(tree, 2.0) == budgets[0]
    assert pyrat_sharing.needed(tree, 0.5 * tree[-1]) == pytest.approx(4 * budgets[-1])
    assert pyrat_sharing.needed(np.ones_like(tree), 0.5) == np.inf
    assert pyrat_sharing.share(tree[None], (tree / np.sqrt(2))[None]) == pytest.approx(0.5, rel=0.1)


def test_shared_nodes_are_counted() -> None:
    state = rf.make("pyrat", **pyrat_sharing.LARGER["7×7, open, 10 cheese"]).initial_state(0)
    nodes, shared, edges = pyrat_sharing.parents(state, 300)
    stats = rf.search(state, rf.evaluators.Uniform(), simulations=300, **pyrat_sharing.SEARCH).stats
    assert nodes == stats["nodes"] - 1
    assert edges == nodes + stats["transpositions"]
    assert 0 < shared < nodes


def test_exploitability_knows_equilibria_and_greedy_players() -> None:
    gaps = {"equilibrium": 0.0, "greedy": 0.0}
    for graph in pyrat_exploitability.boards(3, 4, 1_200, 0):
        states = pyrat_exploitability.positions(graph.state)
        assert len(states) == graph.positions
        solution = rf.equilibria.solve_game(graph)

        def equilibrium(states: Any, solution: Any = solution) -> Any:
            return [solution.strategy(state) for state in states]

        gaps["equilibrium"] += pyrat_exploitability.nash_convs([graph], equilibrium)[0]
        gaps["greedy"] += pyrat_exploitability.nash_convs([graph], pyrat_exploitability.greedy)[0]
    assert gaps["equilibrium"] < 1e-6
    assert gaps["greedy"] > 0.1


def test_every_agent_has_a_policy(network: str) -> None:
    states = pyrat_exploitability.positions(next(pyrat_exploitability.boards(3, 1, 3000, 0)).state)[:6]
    for name, agent in pyrat_exploitability.agents(20, network, None).items():
        for state, pair in zip(states, agent(states), strict=True):
            for player in (0, 1):
                assert pair[player].sum() == pytest.approx(1, abs=1e-4), name
                assert not pair[player][~state.legal_mask(player)].any(), name


def test_a_board_and_its_transpose_are_one_size() -> None:
    assert board(small_board(3, 5)) == board(small_board(5, 3)) == "3×5"
