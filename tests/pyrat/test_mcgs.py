"""Graph search for PyRat: node for node what its plain transcription finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.pyrat import PyRatGame, get_visit_distribution, new_root, search
from ramify.pyrat.predict import game_of
from tests.reference import mcgs
from tests.reference.evaluators import mix, unit

BOARDS = {
    "open": {"width": 3, "height": 3, "cheese": [[1, 1], [0, 2], [2, 0]], "p1": [0, 0], "p2": [2, 2], "max_turns": 8},
    "walls and mud": {
        "width": 4,
        "height": 3,
        "walls": [[[0, 0], [0, 1]], [[1, 1], [2, 1]], [[2, 2], [3, 2]]],
        "mud": [[[0, 0], [1, 0], 2], [[2, 1], [2, 2], 3], [[1, 0], [1, 1], 2]],
        "cheese": [[1, 0], [2, 1], [3, 0], [0, 2]],
        "p1": [0, 0],
        "p2": [3, 2],
        "max_turns": 12,
    },
    "one corridor": {
        "width": 5,
        "height": 2,
        "walls": [[[x, 0], [x, 1]] for x in range(4)],
        "mud": [[[2, 0], [3, 0], 2]],
        "cheese": [[2, 0], [2, 1]],
        "p1": [0, 0],
        "p2": [0, 1],
        "max_turns": 9,
    },
}


class Guess:
    """Any numbers, the same whenever a position is asked about: policies over outcomes, and values."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def predict(self, game: PyRatGame) -> tuple[Any, Any, float, float]:
        policies = []
        for player, outcomes in enumerate((game.effective_outcomes_p1(), game.effective_outcomes_p2())):
            weights = [1.0 + float(unit(mix(self.seed, game.key, player, action))) for action in outcomes]
            policies.append(np.array(weights) / sum(weights))
        values = (0.5 + 0.5 * float(unit(mix(self.seed, game.key, player, 99))) for player in (0, 1))
        return policies[0], policies[1], *values


def game_on(board: str) -> PyRatGame:
    return PyRatGame.from_parts(**BOARDS[board])


def random_game(seed: int) -> PyRatGame:
    game = rf.make("pyrat", width=5, height=4, cheese=4, max_turns=20, mud_density=0.3, wall_density=0.4)
    return PyRatGame(game.initial_state(seed=seed))


def assert_same_nodes(node: Any, other: Any, seen: dict[int, Any]) -> int:
    """Compare all nodes below two roots; returns their number. Shared nodes have to be shared in both."""
    if id(node) in seen:
        assert seen[id(node)] is other
        return 0
    seen[id(node)] = other
    assert (node.n1, node.n2, node.is_evaluated) == (other.n1, other.n2, other.is_evaluated)
    assert node.p1_outcomes.tolist() == other.p1_outcomes
    assert node.p2_outcomes.tolist() == other.p2_outcomes
    for name in ("edge_visits", "edge_r_p1", "edge_r_p2"):
        assert getattr(node, name).tolist() == getattr(other, name).tolist()
    for name in ("U_p1", "U_p2", "Q_p1", "Q_p2"):
        assert getattr(node, name) == float(getattr(other, name))
    for name in ("prior_p1", "prior_p2"):
        mine, theirs = getattr(node, name), getattr(other, name)
        assert (mine is None) == (theirs is None)
        assert mine is None or mine.tolist() == theirs.tolist()
    count = 1
    for row, other_row in zip(node.edge_children, other.edge_children, strict=True):
        for child, other_child in zip(row, other_row, strict=True):
            assert (child is None) == (other_child is None)
            if child is not None:
                count += assert_same_nodes(child, other_child, seen)
    return count


@pytest.mark.parametrize("c_puct", [0.5, 1.5])
@pytest.mark.parametrize("board", [*BOARDS, 1, 2, 3])
def test_search_without_network_equals_the_transcription(board: Any, c_puct: float) -> None:
    game = random_game(board) if isinstance(board, int) else game_on(board)
    root, plain = new_root(game, c_puct=c_puct), mcgs.Search(game, c_puct=c_puct)
    for simulations in (1, 2, 5, 100):
        search(root, game, simulations)
        plain.search(game, simulations)
        nodes = assert_same_nodes(root, plain.root, {})
    assert nodes == len(plain.transposition_table) + 1
    assert root.total_visits == 107


@pytest.mark.parametrize("board", [*BOARDS, 4])
def test_search_with_a_network_equals_the_transcription(board: Any) -> None:
    game = random_game(board) if isinstance(board, int) else game_on(board)
    nn = Guess(3)
    root, plain = new_root(game, nn, c_puct=1.2), mcgs.Search(game, Rounded(nn), c_puct=1.2)
    search(root, game, 150)
    plain.search(game, 150)
    assert assert_same_nodes(root, plain.root, {}) > 20


class Rounded:
    """A network's policies after a logarithm, an exponential and a sum in float32, as the engine takes them in."""

    def __init__(self, nn: Guess) -> None:
        self.nn = nn

    def predict(self, game: PyRatGame) -> tuple[Any, Any, float, float]:
        policy1, policy2, *values = self.nn.predict(game)
        return self.through_logits(policy1), self.through_logits(policy2), *values

    @staticmethod
    def through_logits(policy: np.ndarray) -> np.ndarray:
        logits = np.log(policy).astype(np.float32)
        powers = np.exp(logits - logits.max(), dtype=np.float32)
        return powers / powers.sum(dtype=np.float32)


def test_transpositions_are_one_node() -> None:
    game = game_on("open")
    root = new_root(game)
    search(root, game, 400)
    ways: dict[Any, int] = {}
    for row in root.edge_children:
        for child in row:
            if child is not None:
                for grandchild in (node for line in child.edge_children for node in line if node is not None):
                    ways[grandchild] = ways.get(grandchild, 0) + 1
    assert max(ways.values()) > 1
    assert len({node.state.key for node in ways}) == len(ways)


def test_second_search_continues_and_views_follow_it() -> None:
    game = game_on("walls and mud")
    once, twice = new_root(game), new_root(game)
    search(once, game, 60)
    search(twice, game, 20)
    child = next(node for row in twice.edge_children for node in row if node is not None)
    before = child.total_visits
    policy = search(twice, game, 40)
    assert twice.edge_visits.tolist() == once.edge_visits.tolist()
    assert child.total_visits > before
    assert policy[0].tolist() == get_visit_distribution(once)[0].tolist()
    assert game == game_on("walls and mud")


def test_before_and_after_the_first_simulation() -> None:
    game = game_on("open")
    root = new_root(game)
    assert not root.is_evaluated
    assert root.prior_p1 is None
    with pytest.raises(ValueError, match="not evaluated"):
        get_visit_distribution(root)
    policy = search(root, game, 1)
    assert (root.is_evaluated, root.total_visits, root.virtual_losses) == (True, 0, 0)
    assert policy[0] == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_another_position_is_refused() -> None:
    game = game_on("open")
    root = new_root(game)
    search(root, game, 30)
    child = next(node for row in root.edge_children for node in row if node is not None)
    with pytest.raises(ValueError, match="begins at the root"):
        search(child, game, 1)
    game.make_move(0, 0)
    with pytest.raises(ValueError, match="another position"):
        search(root, game, 1)


def test_nodes_are_read_only() -> None:
    game = game_on("open")
    root = new_root(game)
    search(root, game, 10)
    with pytest.raises(AttributeError):
        root.Q_p1 = 1.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        root.edge_visits[0, 0] = 5


@pytest.mark.parametrize("seed", range(6))
def test_games_go_forwards_and_backwards(seed: int) -> None:
    game, rng, undos = random_game(seed), np.random.default_rng(seed), []
    states = [game.state]
    while not game.is_over():
        undo = game.make_move(*(int(a) for a in rng.integers(5, size=2)))
        scores = game.player1_score + game.player2_score
        earlier = sum(float(x) for x in states[-1].returns)
        assert undo.cheese_collected_p1 + undo.cheese_collected_p2 == scores - earlier
        undos.append(undo)
        states.append(game.state)
    with pytest.raises(ValueError, match="reverse order"):
        game.unmake_move(undos[0])
    for undo in reversed(undos):
        assert game.key == states.pop().key
        game.unmake_move(undo)
    assert game == random_game(seed)


@pytest.mark.parametrize("seed", range(4))
def test_observations_tell_the_whole_position(seed: int) -> None:
    game, rng = random_game(seed), np.random.default_rng(seed)
    rules, start = game.state.game, game.fields
    while not game.is_over():
        assert game_of(game.state.observation(0), rules, start) == game
        game.make_move(*(int(a) for a in rng.integers(5, size=2)))


def test_policies_over_actions_are_summed_over_outcomes() -> None:
    game = game_on("one corridor")  # in a corner: UP, DOWN, LEFT and STAY are one outcome

    class ByAction:
        def predict(self, _: PyRatGame) -> Any:
            return [0.1, 0.6, 0.1, 0.1, 0.1], [0.2] * 5, 0.0, 0.0

    root = new_root(game, ByAction())
    search(root, game, 1)
    assert root.prior_p1 == pytest.approx([0.6, 0.4], abs=1e-3)


@pytest.mark.parametrize("policy", [[1.0, 2.0, 3.0], [-1.0, 2.0], [0.0, 0.0], [float("nan"), 1.0]])
def test_bad_predictions_are_refused(policy: list[float]) -> None:
    class Bad:
        def predict(self, _: PyRatGame) -> Any:
            return policy, [0.5, 0.5], 0.0, 0.0

    game = game_on("one corridor")
    with pytest.raises(ValueError, match="predict must give player 1"):
        search(new_root(game, Bad()), game, 5)


def test_only_pyrat_with_cheese_as_reward() -> None:
    with pytest.raises(ValueError, match="position of PyRat"):
        PyRatGame(rf.make("tictactoe").initial_state())
    with pytest.raises(ValueError, match="cheese gained"):
        PyRatGame(rf.make("pyrat", preset="tiny", reward="win").initial_state(seed=0))
