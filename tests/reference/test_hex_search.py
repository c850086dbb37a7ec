"""Hex: transpositions under canonical keys, tried on tic-tac-toe with Hex's symmetry and on Hex itself."""

from dataclasses import replace

import numpy as np
import pytest

import ramify as rf

from . import alphazero, graph_search, hex_search
from .compare import assert_same, simulate, tictactoe
from .config import Config
from .evaluators import Evaluation, HashEvaluator
from .tiny import AlwaysCanonical, Turnable, Unturned


@pytest.mark.parametrize("start", [(), (4,), (0, 4)])
def test_hex_search_with_plain_keys_is_graph_search(start):
    state, evaluator, config = Unturned(tictactoe(*start)), HashEvaluator(7), Config(c_puct=1.4, graph=True)
    searches = (module.Search(state, evaluator, config) for module in (graph_search, hex_search))
    assert_same(*searches, exact=True)


@pytest.mark.parametrize("start", [(), (4,), (0,), (8, 4)])
@pytest.mark.parametrize("seed", [0, 1])
def test_hex_search_is_graph_search_of_canonical_positions(start, seed):
    evaluator, config = HashEvaluator(seed), Config(c_puct=1.4, graph=True)
    hex_graph = hex_search.Search(Turnable(tictactoe(*start)), evaluator, config)
    assert_same(graph_search.Search(AlwaysCanonical(tictactoe(*start)), evaluator, config), hex_graph, exact=True)
    assert reached_both_ways(hex_graph) > 0


def test_rotated_root_has_rotated_visits():
    hashed = HashEvaluator(9)

    def evaluate(state):  # of the canonical orientation, its actions turned back
        canonical = hex_search.canonical(state)
        logits, values = hashed(canonical)
        return Evaluation(logits if canonical is state else logits[:, ::-1], values)

    for start in [(0,), (0, 5)]:
        one, other = (Turnable(tictactoe(*cells)) for cells in (start, [8 - cell for cell in start]))
        assert one.transform(1).key == other.key != one.key
        config = Config(graph=True)
        first, second = (hex_search.Search(state, evaluate, config) for state in (one, other))
        simulate(first, second)
        assert first.visits.ravel().tolist() == second.visits.ravel().tolist()[::-1]
        assert first.value.tolist() == second.value.tolist()


def reached_both_ways(search):
    """How many shared nodes stand for a position and for its rotation, both reached."""
    keys = {}
    for node in [search.graph, *search.transposition_table.values()]:
        for move, child in zip(node.moves, node.children, strict=True):
            if child is not None:
                keys.setdefault(id(child), set()).add(hex_search.make_move(node.state, move)[0].key)
    return sum(len(both) == 2 for both in keys.values())


@pytest.mark.skipif("hex" not in rf.list_games(), reason="hex is not among the native games")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_hex(size):
    state, evaluator, config = (
        rf.make("hex", size=size).initial_state(),
        HashEvaluator(size),
        Config(c_puct=1.4),
    )
    searches = [module.Search(state, evaluator, config) for module in (graph_search, alphazero)]
    assert_same(*searches)
    # An exploration this strong tries every action of the empty board, so each opening and its rotation.
    shared = hex_search.Search(state, evaluator, replace(config, c_puct=5.0, graph=True))
    simulate(shared)
    assert np.all(shared.visits > 0)
    assert reached_both_ways(shared) >= size * size // 2
