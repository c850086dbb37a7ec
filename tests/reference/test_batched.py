"""The reference of search in batches: one leaf at a time it is the plain search, and collisions are as described."""

import numpy as np
import pytest

from . import batched, graph_search
from .compare import tictactoe
from .config import Config
from .evaluators import Evaluation, HashEvaluator
from .tiny import Harvest, Ladder, Script

SETTINGS = [
    Config(),
    Config(graph=True, fpu="parent", parent_visits="edges"),
    Config(fpu="reduction", normalize="minmax", c_base=20, discount=0.9),
]


@pytest.mark.parametrize("config", SETTINGS)
@pytest.mark.parametrize(
    "state", [tictactoe(), Harvest(), Ladder(zero_sum=False)], ids=["tictactoe", "harvest", "ladder"]
)
def test_batches_of_one_leaf_are_the_plain_search(state, config):
    evaluator = HashEvaluator(0, zero_sum=False)
    plain, search = graph_search.Search(state, evaluator, config), batched.Search(state, evaluator, config)
    for simulations in range(1, 151):
        plain.simulate()
        search.run(simulations)
        assert plain.visits.tolist() == search.visits.tolist(), f"simulation {simulations}"
        for mine, other in zip((plain.value, *plain.q), (search.value, *search.q), strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-6)
    assert search.collisions == 0


def two_choices(state):
    """Action 0 has almost all of the prior; everything is worth 0."""
    return Evaluation(np.array([[3.0, 0.0], [3.0, 0.0]], dtype=np.float32), np.zeros(2, dtype=np.float32))


def test_collisions_with_a_leaf_double():
    # exp(3) = 20.1: action 1 is chosen once 1 + M of action 0 is above that.
    # M is 1 by the leaf in flight, and by the collisions 2, 3, 5, 9, 17, 33.
    book = {"root": ((0,), {(0,): ((0, 0), "left"), (1,): ((0, 0), "right")})}
    book |= {name: ((1,), {(0,): ((0, 0), "end"), (1,): ((0, 0), "end")}) for name in ("left", "right")}
    search = batched.Search(Script(book), two_choices, Config())
    search.run(1)
    leaves, collided = search.find_leaves(6, 6)
    assert [leaf.state.at for leaf in leaves] == ["left", "right"]
    assert [collision.visits for collision in collided[:6]] == [1, 1, 2, 4, 8, 16]
    assert len(collided) == 7  # more than the leaves that were asked for
    for collision in collided:
        search.take_back(collision)
    assert search.visits.ravel().tolist() == [1, 1]
    assert search.root.visits == 3


def test_a_collision_is_a_loss_for_whoever_chose_until_it_is_taken_back():
    book = {"root": ((0,), {(0,): ((0, 0), "child")}), "child": ((1,), {(0,): ((0, 0), "leaf")})}
    book["leaf"] = ((0,), {(0,): ((0, 0), "end")})
    nothing = Evaluation(np.zeros((2, 1), dtype=np.float32), np.zeros(2, dtype=np.float32))
    search = batched.Search(Script(book, num_actions=1), lambda _: nothing, Config())
    search.run(2)
    leaves, collided = search.find_leaves(2, 2)
    assert [leaf.state.at for leaf in leaves] == ["leaf"]
    assert [collision.visits for collision in collided] == [1, 1, 2]
    edge = search.root.edges[0, 0]
    assert edge.visits == 1 + 1 + 4  # of the second simulation, the leaf in flight and the collisions
    assert edge.q == pytest.approx([-(1 / 3 + 1 / 4 + 2 / 6), 0])  # player 1 has not chosen this edge
    assert edge.child.edges[0, 0].q == [0, 0]  # pending: it has no value yet
    for collision in collided:
        search.take_back(collision)
    assert edge.visits == edge.child.visits == 2
    assert edge.q == edge.child.Q == search.root.Q == [0, 0]
