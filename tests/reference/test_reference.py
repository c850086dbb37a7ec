"""The transcriptions hold one another: the same search, written down four times, makes the same visits."""

from dataclasses import replace

import numpy as np
import pytest

from . import alphazero, graph_search, hex_search, muzero
from .compare import SIMULATIONS, assert_same, simulate, tictactoe
from .config import Config
from .evaluators import HashEvaluator
from .tiny import Harvest, Historied, Ladder, RulesModel

MUZERO = Config(c_puct=1.25, c_base=19652, discount=0.997, normalize="minmax")


# ---------- trees ----------


@pytest.mark.parametrize("start", [(), (0, 4, 8)])
@pytest.mark.parametrize(("seed", "c_puct"), [(0, 1.0), (1, 1.4), (2, 3.0), (3, 0.3)])
def test_alphazero_is_the_tree_of_graph_search(start, seed, c_puct):
    state, evaluator, config = tictactoe(*start), HashEvaluator(seed), Config(c_puct=c_puct)
    assert_same(graph_search.Search(state, evaluator, config), alphazero.Search(state, evaluator, config))


@pytest.mark.parametrize("start", [(), (4,), (0, 4, 8)])
def test_hex_search_without_table_is_alphazero(start):
    state, evaluator, config = tictactoe(*start), HashEvaluator(4), Config(c_puct=1.4)
    searches = (module.Search(state, evaluator, config) for module in (hex_search, alphazero))
    assert_same(*searches, exact=True)


@pytest.mark.parametrize("settings", [MUZERO, Config(discount=0.5), replace(MUZERO, c_base=20, c_puct=0.3)])
@pytest.mark.parametrize(("players", "zero_sum"), [(2, True), (2, False), (1, False)])
def test_muzero_with_the_rules_as_model_is_graph_search(settings, players, zero_sum):
    state, evaluator = Ladder(players=players, zero_sum=zero_sum), HashEvaluator(0, zero_sum)
    acting = "alternating" if players == 2 else "single"
    model = RulesModel(state, evaluator)
    # Beyond the end the model has nodes, all worth 0, where the rules have none: only their number differs.
    searches = graph_search.Search(state, evaluator, settings), muzero.Search(state, model, settings, acting)
    assert_same(*searches, nodes=False)


def test_muzero_with_one_players_numbers():
    state, evaluator = Ladder(), HashEvaluator(5)
    both, one = RulesModel(state, evaluator), RulesModel(state, evaluator, per_player=False)
    assert_same(muzero.Search(state, both, MUZERO), muzero.Search(state, one, MUZERO), exact=True)


@pytest.mark.parametrize("start", [(), (4,)])
def test_muzero_avoids_actions_without_prior(start):
    # Illegal actions inside the model have logit -1e9, hence the least prior there is, and are never tried.
    state, evaluator = tictactoe(*start), HashEvaluator(6)
    searches = (
        graph_search.Search(state, evaluator, MUZERO),
        muzero.Search(state, RulesModel(state, evaluator), MUZERO),
    )
    assert_same(*searches, nodes=False)


def test_muzero_knows_legal_actions_at_the_root_only():
    class Restricted(Ladder):
        def legal_actions(self, player):
            return np.array([0, 2], dtype=np.int32)

    search = muzero.Search(Restricted(), RulesModel(Ladder(), HashEvaluator(0)), MUZERO)
    simulate(search)
    assert list(search.root.children) == [0, 2]
    assert {tuple(child.children) for child in search.root.children.values()} == {(0, 1, 2)}
    assert search.visits.shape == (2, 1)
    assert search.visits.sum() == SIMULATIONS - 1


def all_nodes(search):
    """Every node after all of its children."""
    seen, order = set(), []

    def visit(node):
        if id(node) not in seen:
            seen.add(id(node))
            for child in node.edge_children.values():
                visit(child)
            order.append(node)

    visit(search.root)
    return order


SETTINGS = [
    Config(),
    Config(parent_visits="edges", fpu="parent"),
    Config(fpu="reduction", fpu_offset=0.3, opponent_weights="prior", discount=0.9),
    Config(opponent_weights="visits", c_puct=2.0, normalize="minmax"),
    Config(opponent_weights="blended", fpu="parent", normalize="minmax", c_base=50),
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("make", [Harvest, Ladder, tictactoe])
def test_tree_invariants(settings, make):
    search = graph_search.Search(make(), HashEvaluator(1, zero_sum=False), settings)
    simulate(search)
    nodes = all_nodes(search)
    assert search.visits.sum() == SIMULATIONS - 1
    assert search.nodes == len(nodes)
    for node in nodes:
        for edge, child in node.edge_children.items():
            assert child.is_terminal or child.visits == node.edge_visits[edge]
        before = list(node.Q)
        search.recompute_Q(node)
        assert before == node.Q  # in a tree nothing is ever stale


@pytest.mark.parametrize("settings", SETTINGS)
def test_values_are_means_of_what_was_seen(settings):
    """Without the recursion: a node is worth the discounted mean over the simulations that passed it."""
    search = graph_search.Search(Harvest(), HashEvaluator(2, zero_sum=False), settings)
    simulate(search)

    def total(node, player):
        visits = 1 + node.edge_visits.sum()
        value = float(node.U[player])
        for edge, child in node.edge_children.items():
            below = 0.0 if child.is_terminal else total(child, player)[0]
            value += node.edge_visits[edge] * float(node.edge_r[player][edge]) + settings.discount * below
        return value, visits

    for player in (0, 1):
        value, visits = total(search.root, player)
        assert visits == SIMULATIONS
        assert search.value[player] == pytest.approx(value / visits, abs=1e-5)


# ---------- graphs ----------


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("make", [Harvest, tictactoe])
@pytest.mark.parametrize("short_circuit", [False, True])
def test_graph_without_transpositions_is_the_tree(settings, make, short_circuit):
    state, evaluator = Historied(make()), HashEvaluator(3, zero_sum=False)
    graph = graph_search.Search(state, evaluator, replace(settings, graph=True, short_circuit=short_circuit))
    assert_same(graph_search.Search(state, evaluator, settings), graph, simulations=60, exact=True)


@pytest.mark.parametrize("start", [Harvest(), tictactoe(4, 0)])
@pytest.mark.parametrize("short_circuit", [False, True])
def test_graph_shares_nodes(start, short_circuit):
    evaluator, config = HashEvaluator(3, zero_sum=False), Config(c_puct=2.0)
    tree = graph_search.Search(start, evaluator, config)
    graph = graph_search.Search(start, evaluator, replace(config, graph=True, short_circuit=short_circuit))
    simulate(tree, graph)
    nodes = all_nodes(graph)
    assert graph.visits.sum() == SIMULATIONS - 1
    assert graph.nodes == len(nodes) == 1 + len(graph.transposition_table)
    links = sum(len(node.edge_children) for node in nodes)
    assert len(nodes) - 1 < links  # every link leads to a node other than the root: some have several parents
    assert graph.nodes < tree.nodes
    assert graph.root not in graph.transposition_table.values()


def test_root_is_never_shared():
    """A child with the root's key gets a node of its own; a cycle is refused, not followed for ever."""

    class Loop(Ladder):
        def apply(self, action):
            rewards = super().apply(action)
            self.key = 1 + action  # a key that forgets the turn: positions repeat
            return rewards

    search = graph_search.Search(Loop(turns=50), HashEvaluator(0), Config(graph=True))
    search.state.key = 1
    with pytest.raises(RuntimeError, match="cycle"):
        simulate(search)
    assert search.transposition_table[1] is not search.root
