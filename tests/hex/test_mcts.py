"""The search of Hex, node by node: backpropagation, perspective, integration, statistics, logging."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.hex import MCTSNode, NeuralMCTS, SimpleModelInference, select_move
from tests.reference import hex_search
from tests.reference.config import Config
from tests.reference.evaluators import HashEvaluator

from .helpers import after, fixed, values_by_stones


def test_backpropagation_in_a_small_tree() -> None:
    """By hand: the root and two levels below it, with known leaf values."""
    root = NeuralMCTS(values_by_stones({0: 0.5, 1: 0.25, 2: -0.125}, 2)).search(after(2), 1)
    assert (root.visits, root.total_value) == (1, 0.5)
    assert not any(child.visits for child in root.children.values())

    root = NeuralMCTS(values_by_stones({0: 0.5, 1: 0.25, 2: -0.125}, 2)).search(after(2), 2)
    child = root.children[0, 0]  # of equals the first
    assert (child.visits, child.total_value) == (1, 0.25)
    assert (root.visits, root.total_value) == (2, 0.5 - 0.25)  # the child's value, negated, came on top

    # Without exploration the third simulation goes on below the first child, which looked good to the root.
    values = values_by_stones({1: -0.5, 2: -0.75, 3: 0.5}, 3)
    root = NeuralMCTS(values, exploration_constant=0.0).search(after(3, (1, 1)), 3)
    child = root.children[0, 0]
    grandchild = child.children[0, 1]
    assert (grandchild.visits, grandchild.total_value) == (1, 0.5)
    assert (child.visits, child.total_value) == (2, -0.75 - 0.5)
    assert (root.visits, root.total_value) == (3, pytest.approx(-0.5 + 0.75 + 0.5))


@pytest.mark.parametrize("simulations", [1, 2, 10, 200])
@pytest.mark.parametrize("moves", [(), ((1, 1), (0, 0), (0, 2))])
def test_every_node_is_the_sum_of_its_evaluation_and_its_negated_children(simulations: int, moves) -> None:
    evaluator = HashEvaluator(5)
    root = NeuralMCTS(evaluator).search(after(3, *moves), simulations)
    assert root.visits == simulations
    for node in root.walk():
        assert node.mean_value == pytest.approx(node.total_value / node.visits)
        if node.is_terminal():
            assert (node.is_leaf(), node.mean_value) == (True, -1.0)
            continue
        own = float(evaluator(node.state.state).values[node.state.current_player])
        children = node.children.values()
        assert node.visits == 1 + sum(child.visits for child in children)
        total = own - sum(child.total_value for child in children)
        assert node.total_value == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_whole_tree_is_that_of_the_transcribed_search(seed: int) -> None:
    """Node by node against the search as it was specified, with N and W and sign flips."""
    start, evaluator = after(4, (1, 1)), HashEvaluator(seed)
    reference = hex_search.Search(start.state, evaluator, Config(c_puct=1.4, priors_from_logits=_core.softmax))
    for _ in range(300):
        reference.simulate()
    root = NeuralMCTS(evaluator, 1.4).search(start, 300)
    assert compare(root, reference.tree) > 100


def compare(node: MCTSNode, wanted: hex_search.MCTSNode) -> int:
    """Compares two trees; returns how many nodes."""
    assert node.visits == wanted.visits
    assert node.mean_value == pytest.approx(float(wanted.mean_value), abs=1e-5)
    assert node.state.state.key == wanted.state.key
    assert len(node.children) == len(wanted.children)
    compared = 1
    for (row, column), child in node.children.items():
        if child.visits:
            assert child.parent is node
            assert child.move == (row, column)
            compared += compare(child, wanted.children[row * 4 + column])
        else:
            assert wanted.children[row * 4 + column].visits == 0
    if wanted.children:
        assert list(node.policy_priors.values()) == [float(prior) for prior in wanted.policy_priors]
    return compared


def test_changing_a_childs_position_leaves_parent_and_siblings() -> None:
    root = NeuralMCTS(fixed()).search(after(3), 30)
    boards = {move: child.state.board.tolist() for move, child in root.children.items()}
    child = root.children[1, 1]
    child.state.state.apply(0)
    child.state.board[...] = 2
    child.state.make_move(0, 0)
    assert root.state.board.sum() == 0
    assert {move: child.state.board.tolist() for move, child in root.children.items()} == boards
    assert len({str(board) for board in boards.values()}) == 9


@pytest.mark.parametrize("value", [-0.9, 0.0, 0.9])
@pytest.mark.parametrize(
    ("moves", "winning"),
    [
        (((0, 0), (0, 1), (1, 0), (0, 2)), (2, 0)),  # player 0 joins top and bottom
        (((0, 0), (1, 0), (0, 2), (1, 1), (2, 2)), (1, 2)),  # player 1 left and right
    ],
)
def test_a_win_in_one_gets_the_most_visits(moves, winning, value: float) -> None:
    root = NeuralMCTS(fixed(value)).search(after(3, *moves), 50)
    visits = {move: child.visits for move, child in root.children.items()}
    assert max(visits, key=visits.get) == winning == select_move(root)
    assert visits[winning] > 25
    assert root.children[winning].is_terminal()


def test_values_are_those_of_the_player_to_move() -> None:
    """The same lead seen from both sides: what wins has a negative value below and a positive one above."""
    winning = after(3, (0, 0), (0, 1), (1, 0), (0, 2))  # player 0 wins on (2, 0)
    root = NeuralMCTS(fixed()).search(winning, 100)
    child = root.children[2, 0]
    assert child.mean_value == -1.0 == child.state.get_winner_value()
    assert root.mean_value > 0.8
    assert root.state.current_player == 0 != child.state.current_player
    # One move earlier it is player 1 who is to move, and does not see that c1 loses at once.
    earlier = NeuralMCTS(fixed()).search(after(3, (0, 0), (0, 1), (1, 0)), 2000)
    blunder, block = earlier.children[0, 2], earlier.children[2, 0]
    assert blunder.mean_value > 0.8  # good for the one to move there, player 0
    assert block.mean_value < blunder.mean_value
    assert select_move(earlier) == (2, 0)


def test_the_engines_values_are_per_player_and_the_nodes_follow() -> None:
    for moves in ((), ((1, 1),)):
        state = after(3, *moves)
        result = rf.search(state.state, HashEvaluator(1), simulations=64, c_puct=1.4)
        root = NeuralMCTS(HashEvaluator(1)).search(state, 64)
        player = state.current_player
        assert root.mean_value == pytest.approx(float(result.value[player]))
        assert [c.visits for c in root.children.values()] == result.visits.ravel().tolist()
        wanted = np.nan_to_num(-result.payoffs[player].ravel())
        assert [c.mean_value for c in root.children.values()] == pytest.approx(wanted.tolist())


def test_a_node_cannot_be_written_to() -> None:
    root = NeuralMCTS(fixed()).search(after(3), 10)
    for name in ("visits", "total_value", "mean_value", "state", "parent", "move", "policy_priors", "children"):
        with pytest.raises(AttributeError):
            setattr(root, name, 1)
    for view in (root.children, root.policy_priors):
        with pytest.raises(TypeError):
            view[0, 0] = 1  # type: ignore[index]


def test_roots_outlive_later_searches() -> None:
    engine = NeuralMCTS(HashEvaluator(3))
    first = engine.search(after(3), 60)
    engine.search(after(3, (0, 0)), 60)
    again = NeuralMCTS(HashEvaluator(3)).search(after(3), 60)
    assert [n.visits for n in first.walk()] == [n.visits for n in again.walk()]


def test_an_unexpanded_node_has_nothing_below() -> None:
    root = NeuralMCTS(fixed()).search(after(3), 1)
    child = root.children[0, 0]
    assert child.is_leaf()
    assert not root.is_leaf()
    assert (dict(child.children), child.policy_priors, child.mean_value) == ({}, None, 0.0)
    with pytest.raises(ValueError, match="not been expanded"):
        select_move(child)


def test_moves_are_drawn_by_visits() -> None:
    root = NeuralMCTS(HashEvaluator(2)).search(after(3), 400)
    moves, rng = list(root.children), np.random.default_rng(0)
    drawn = [select_move(root, 1.0, rng) for _ in range(20_000)]
    shares = np.array([root.children[move].visits for move in moves]) / 399
    counts = np.array([drawn.count(move) for move in moves])
    assert np.abs(counts / 20_000 - shares).max() < 0.015  # four standard errors of the largest share
    sharp = [select_move(root, 0.05, rng) for _ in range(200)]
    assert sharp.count(select_move(root)) > 190


def test_statistics_of_a_search() -> None:
    engine = NeuralMCTS(fixed(size=4))
    root = engine.search(after(4), 300)
    stats = engine.statistics
    assert stats["simulations"] == 300
    ends = [node for node in root.walk() if node.is_terminal()]
    assert stats["tree_size"] == sum(1 for _ in root.walk()) - len(ends)
    assert stats["max_depth"] == max(len(node.state.move_history) for node in root.walk())
    assert stats["simulations_per_second"] == pytest.approx(300 / stats["seconds"])
    assert (stats["table_hits"], stats["hit_rate"]) == (0, 0.0)


def test_value_propagation_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="ramify"):
        root = NeuralMCTS(HashEvaluator(4)).search(after(3), 12)
    lines = [record.getMessage() for record in caplog.records]
    for move, child in root.children.items():
        assert f"Node {move}: value={child.mean_value:+.4f}, visits={child.visits}" in lines
    last = [line for line in lines if line.startswith("simulation 12: depth 0")]
    assert last == [f"simulation 12: depth 0 visits=12 value=({root.mean_value:+.4f}, {-root.mean_value:+.4f})"]
    assert any(line.startswith("simulation 12: scores of player 0 at the root") for line in lines)
    with caplog.at_level(logging.INFO, logger="ramify"):
        caplog.clear()
        NeuralMCTS(HashEvaluator(4)).search(after(3), 12)
    assert len(caplog.records) == 1


def test_shipped_networks_go_by_their_names() -> None:
    pytest.importorskip("torch")
    state = after(5, (1, 1))
    named = SimpleModelInference("hex-5", "cpu").simple_infer(state.get_board_tensor())
    given = SimpleModelInference(rf.pretrained("hex-5", "cpu")).simple_infer(state.get_board_tensor())
    np.testing.assert_allclose(named[0], given[0], atol=1e-5)
    with pytest.raises(ValueError, match="did you mean 'hex-5'"):
        NeuralMCTS("hx-5")


def test_models_of_every_kind_give_the_same_answer(tmp_path) -> None:
    pytest.importorskip("torch")
    import torch

    torch.set_num_threads(1)
    module = rf.networks.make(rf.make("hex", size=4), "1x8")
    rf.networks.save(tmp_path / "net", module)
    state = after(4, (1, 1), (2, 0))
    answers = [
        SimpleModelInference(model, "cpu").simple_infer(state.get_board_tensor())
        for model in (module, rf.evaluators.Network(module, "cpu"), tmp_path / "net")
    ]
    with torch.inference_mode():
        wanted = module.eval()(torch.from_numpy(state.get_board_tensor()[None]))
    for logits, value in answers:
        assert logits.shape == (16,)
        np.testing.assert_allclose(logits, wanted["logits"].reshape(-1)[:16].numpy(), atol=1e-4)
        assert value == pytest.approx(float(wanted["values"].reshape(-1)[0]), abs=1e-4)


def test_a_model_sees_the_position_that_the_tensor_shows() -> None:
    evaluator = HashEvaluator(6)
    for moves in ((), ((0, 1),), ((0, 1), (2, 2))):
        state = after(3, *moves)
        logits, value = SimpleModelInference(evaluator).simple_infer(state.get_board_tensor())
        wanted = evaluator(state.state)
        assert logits.tolist() == wanted.logits[state.current_player].tolist()
        assert value == wanted.values[state.current_player]


def test_what_is_no_model_or_position_is_named() -> None:
    with pytest.raises(TypeError, match="torch module or an evaluator, not int"):
        NeuralMCTS(3)
    with pytest.raises(TypeError, match="HexGameState, not"):
        NeuralMCTS(fixed()).search(after(3).state, 3)
    with pytest.raises(TypeError, match="Rollout runs only inside a search"):
        SimpleModelInference(rf.evaluators.Rollout()).simple_infer(after(3).get_board_tensor())
    with pytest.raises(ValueError, match=r"\[3, size, size\], not \[2, 3, 3\]"):
        SimpleModelInference(fixed()).simple_infer(np.zeros((2, 3, 3)))
    with pytest.raises(ValueError, match="there is no network 'no such file'"):
        SimpleModelInference("no such file")
    over = after(2, (0, 0), (0, 1), (1, 0))
    with pytest.raises(rf.IllegalAction, match="over"):
        NeuralMCTS(fixed(size=2)).search(over, 5)
    with pytest.raises(ValueError, match="finished game"):
        SimpleModelInference(fixed(size=2)).simple_infer(over.get_board_tensor())
    with pytest.raises(ValueError, match="temperatur"):
        NeuralMCTS(fixed(), temperatur=1)
