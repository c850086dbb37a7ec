"""Searches small enough to be worked out by hand; every number below was."""

from dataclasses import replace

import numpy as np
import pytest

from . import alphazero, graph_search, hex_search, muzero
from .config import Config
from .evaluators import Evaluation
from .numbers import f32
from .tiny import RulesModel, Script

PLAIN = Config(priors_from_logits=lambda probabilities: probabilities)  # logits are written as priors below


def evaluator(**rows):
    """name=((priors of player 0, of player 1), (values)); a player who does not act has no priors."""

    def evaluate(state):
        priors, values = rows[state.at]
        logits = np.zeros((2, state.num_actions), dtype=np.float32)
        for player in state.acting:
            logits[player, : len(priors[player])] = priors[player]
        return Evaluation(logits, np.array(values, dtype=np.float32))

    return evaluate


def steps(search, count):
    for _ in range(count):
        search.simulate()
    return search


# ---------- two players at once ----------

PENNIES = Script(
    {
        "root": (
            (0, 1),
            {
                (0, 0): ((1, -1), "end"),
                (0, 1): ((-1, 1), "end"),
                (1, 0): ((0, 0), "end"),
                (1, 1): ((0.5, -0.5), "end"),
            },
        )
    }
)
PENNIES_NET = evaluator(root=(((0.75, 0.25), (0.5, 0.5)), (0.25, -0.25)))
PENNIES_CONFIG = replace(PLAIN, parent_visits="edges", fpu="parent", fpu_offset=0.125)


def test_simultaneous_move():
    # N counts edges; urgency = Q - 1/8.
    # 1: the root is evaluated.    Q0 = 0.25
    # 2: N = 0, all scores equal the urgency, the prior decides: row 0 (0.75); columns tie, so index 0.
    #    (0, 0) pays 1.            Q0 = (0.25 + 1) / 2 = 0.625
    # 3: u = 1. rows: 1 + 0.75/2 = 1.375 > 0.5 + 0.25 = 0.75; columns: -1 + 0.5/2 < -0.75 + 0.5.
    #    (0, 1) pays -1.           Q0 = 0.25 / 3
    # 4: u = √2. rows: 0 + √2·0.75/3 = 0.354 > 0.083 - 0.125 + √2·0.25 = 0.312; columns: -1 + … < 1 + ….
    #    (0, 1) again.             Q0 = -0.75 / 4
    # 5: u = √3. rows: -1/3 + √3·0.75/4 = -0.009 < -0.3125 + √3·0.25 = 0.121; columns: 1 again.
    #    (1, 1) pays 0.5.          Q0 = -0.25 / 5
    search = graph_search.Search(PENNIES, PENNIES_NET, PENNIES_CONFIG)
    edges, values = [], []
    for _ in range(5):
        before = search.visits
        search.simulate()
        edges += [tuple(map(int, e)) for e in np.argwhere(search.visits - before)]
        values.append(search.value)
    assert edges == [(0, 0), (0, 1), (0, 1), (1, 1)]
    expected = np.array([0.25, 0.625, 0.25 / 3, -0.1875, -0.05], dtype=np.float32)
    np.testing.assert_array_equal(values, np.stack([expected, -expected], axis=1))
    assert search.nodes == 1 + 3  # without a table each edge has an end of its own
    assert search.visits.tolist() == [[1, 2], [0, 1]]


@pytest.mark.parametrize(
    ("weights", "row", "column"),
    [
        (
            "prior",
            0.0,
            (0.75 - 0.25 * 0.5) / 1.0,
        ),  # rows: columns 0.5, 0.5. Column 1: rows 0.75 (pays 1), 0.25 (-0.5)
        ("visits", (1 - 3) / 4, (3 * 1 - 1 * 0.5) / 4),  # column visits 1, 3; row visits 3, 1
        ("blended", (1.5 - 3.5) / 5, (3.75 - 1.25 * 0.5) / 5),
        ("conditional", (1 - 2) / 3, (2 - 0.5) / 3),  # N = [[1, 2], [0, 1]]
    ],
)
def test_opponent_weights(weights, row, column):
    search = steps(graph_search.Search(PENNIES, PENNIES_NET, PENNIES_CONFIG), 5)
    search.config = replace(PENNIES_CONFIG, opponent_weights=weights)
    # Row 1 was met by column 1 only, column 0 by row 0 only: over what was seen, all options agree there.
    np.testing.assert_array_equal(search.q[0], np.array([row, 0.5], dtype=np.float32))
    np.testing.assert_array_equal(search.q[1], np.array([-1, column], dtype=np.float32))


def test_urgency_of_the_unvisited():
    search = steps(graph_search.Search(PENNIES, PENNIES_NET, PENNIES_CONFIG), 2)  # Q0 = 0.625; row 0, column 0 visited
    for fpu, row, column in [
        ("zero", 0, 0),
        ("parent", 0.5, -0.75),
        ("reduction", 0.625 - 0.125 * 0.75**0.5, -0.625 - 0.125 * 0.5**0.5),
    ]:
        search.config = replace(PENNIES_CONFIG, fpu=fpu)
        assert (search.q[0][1], search.q[1][1]) == (f32(row), f32(column))


# ---------- one at a time ----------

# root (player 0): 0 -> "reply", 1 -> wins. reply (player 1): 0 -> wins, 1 -> a draw.
DUEL = Script(
    {
        "root": ((0,), {(0,): ((0, 0), "reply"), (1,): ((1, -1), "won")}),
        "reply": ((1,), {(0,): ((-1, 1), "lost"), (1,): ((0, 0), "drawn")}),
    }
)
DUEL_NET = evaluator(root=(((0.75, 0.25), ()), (0, 0)), reply=(((), (0.5, 0.5)), (0.5, -0.5)))


@pytest.mark.parametrize("method", ["graph", "alphazero", "hex", "muzero"])
def test_turns(method):
    # 1: the root is evaluated: N = 1.                                  Q0 = 0
    # 2: u = 1: 0.75 > 0.25; reply is evaluated, q = 0.5.               Q0 = 0.5 / 2
    # 3: u = √2: 0.5 + √2·0.75/2 = 1.03 > √2·0.25 = 0.35: reply. There the priors tie: 0, "lost",
    #    Q0(reply) = (0.5 - 1) / 2 = -0.25.                             Q0 = 2·-0.25 / 3
    # 4: u = √3: -0.25 + √3·0.75/3 = 0.18 < √3·0.25 = 0.43: the win.    Q0 = (2·-0.25 + 1) / 4
    if method == "muzero":
        search = muzero.Search(DUEL, RulesModel(DUEL, DUEL_NET), PLAIN)
    else:
        module = {"graph": graph_search, "alphazero": alphazero, "hex": hex_search}[method]
        search = module.Search(DUEL, DUEL_NET, PLAIN)
    values = [float(steps(search, 1).value[0]) for _ in range(4)]
    assert values == pytest.approx([0, 0.25, -0.5 / 3, 0.125], abs=1e-7)
    assert search.visits.tolist() == [[2], [1]]
    assert search.q[0].tolist() == [-0.25, 1]
    assert search.q[1].tolist() == [pytest.approx((2 * 0.25 - 1) / 3)]
    assert search.nodes == 4
    np.testing.assert_array_equal(search.value[1], -search.value[0])


@pytest.mark.parametrize("method", ["graph", "muzero"])
@pytest.mark.parametrize(("normalize", "visits", "value"), [("minmax", (3, 0), -0.1875), ("none", (2, 1), 0.1875)])
def test_discount_growth_and_normalisation(method, normalize, visits, value):
    # γ = 1/2, c(N) = 0.5 + ln((N + 5) / 4).
    # 2: reply is evaluated: q0 = 0.25, the only value so far: no range.    Q0 = 0.125
    # 3: u = (0.5 + ln 1.75)·√2 = 1.499: 0.25 + 1.499·0.75/2 = 0.81 > 0.375: reply. There "lost" (a tie):
    #    q0 = -1, Q0(reply) = -0.25, q0 = -0.125. Seen: -1 … 0.25.          Q0 = -0.25 / 3
    # 4: u = (0.5 + ln 2)·√3 = 2.067.
    #    Normalised: (-0.125 + 1) / 1.25 + 2.067·0.75/3 = 0.7 + 0.517 > 0 + 0.517: reply. There player 1,
    #    who has seen -0.25 … 1: 1 + … > 0.749: "lost", Q0(reply) = -0.5.   Q0 = 3·-0.25 / 4
    #    Not normalised: -0.125 + 0.517 < 0.517: the win.                   Q0 = (-0.25 + 1) / 4
    config = replace(PLAIN, c_puct=0.5, c_base=4, discount=0.5, normalize=normalize)
    if method == "muzero":
        search = muzero.Search(DUEL, RulesModel(DUEL, DUEL_NET), config)
    else:
        search = graph_search.Search(DUEL, DUEL_NET, config)
    assert steps(search, 3).value[0] == f32(-0.25 / 3)
    search.simulate()
    assert search.visits.ravel().tolist() == list(visits)
    assert search.value[0] == value


def test_urgency_is_normalised_like_any_value():
    # As above, but the unvisited are worth Q: at 4, (-0.0833 + 1) / 1.25 + 0.517 = 1.25 > 1.217: the win.
    config = replace(PLAIN, c_puct=0.5, c_base=4, discount=0.5, normalize="minmax", fpu="parent", fpu_offset=0.0)
    search = steps(graph_search.Search(DUEL, DUEL_NET, config), 4)
    assert search.visits.ravel().tolist() == [2, 1]


@pytest.mark.parametrize(("parent_visits", "visits"), [("node", [2, 0]), ("edges", [1, 1])])
def test_what_n_counts(parent_visits, visits):
    # 2: 0, by its prior; it pays -0.15. 3: -0.15 + u·0.75/2 against u·0.25, that is u/8 against 0.15:
    #    u = √2 (the root and one edge) 0.177 > 0.15, 0 again; u = 1 (one edge) 0.125 < 0.15, the other.
    toll = Script({"root": ((0,), {(0,): ((-0.15, 0), "end"), (1,): ((0, 0), "end")})})
    net, config = evaluator(root=(((0.75, 0.25), ()), (0, 0))), replace(PLAIN, parent_visits=parent_visits)
    assert steps(graph_search.Search(toll, net, config), 3).visits.ravel().tolist() == visits


# ---------- two ways to one position ----------

# root (player 0) -> x or y (player 1, one action each) -> "shared" (player 0): 0 loses, 1 gains a half.
DIAMOND = Script(
    {
        "root": ((0,), {(0,): ((0, 0), "x"), (1,): ((0, 0), "y")}),
        "x": ((1,), {(0,): ((0, 0), "shared")}),
        "y": ((1,), {(0,): ((0, 0), "shared")}),
        "shared": ((0,), {(0,): ((-1, 1), "bad"), (1,): ((0.5, -0.5), "good")}),
    }
)
DIAMOND_NET = evaluator(
    root=(((0.5, 0.5), ()), (0, 0)),
    x=(((), (1.0,)), (0, 0)),
    y=(((), (1.0,)), (0.25, -0.25)),
    shared=(((0.5, 0.5), ()), (0.5, -0.5)),
)


def test_short_circuit():
    # 2: x (a tie). 3: y (u = √2: 0.354 < 0.707).
    # 4: u = √3: x 0.433 < y 0.683; shared is evaluated.                        Q0(y) = (0.25 + 0.5) / 2
    # 5: u = 2: x 0.5 < y 0.708; y's edge and shared both have 1 visit: down.
    #    "bad" (a tie): Q0(shared) = (0.5 - 1) / 2 = -0.25.                     Q0(y) = (0.25 - 0.5) / 3
    # 6: u = √5: x 0.559 > y 0.196; shared has 2 visits, x's edge none: stop.   Q0(x) = -0.25 / 2
    # 7: u = √6: x -0.125 + 1.225/3 = 0.283 > y 0.223; 1 < 2: stop.             Q0(x) = -0.5 / 3
    # 8: u = √7: x -0.167 + 1.323/4 = 0.164 < y 0.247; 2 = 2: down.
    #    "good": Q0(shared) = (0.5 - 1 + 0.5) / 3 = 0.                          Q0(y) = 0.25 / 4
    #    x, off the path, keeps its old value.                                  Q0 = (-0.5 + 0.25) / 8
    search = steps(graph_search.Search(DIAMOND, DIAMOND_NET, replace(PLAIN, graph=True, short_circuit=True)), 5)
    x, y = (search.root.edge_children[i, 0] for i in (0, 1))
    shared = y.edge_children[0, 0]
    for visits, below, value in [(2, 1, -0.125), (3, 1, f32(-0.5 / 3)), (3, 2, f32(-0.5 / 3))]:
        search.simulate()
        assert (search.visits[0, 0], int(shared.edge_visits.sum()), x.Q[0]) == (visits, below, value)
    assert (shared.Q[0], y.Q[0]) == (0, 0.0625)
    assert search.value[0] == f32((3 * float(f32(-0.5 / 3)) + 0.25) / 8)
    assert search.nodes == 6


def test_shared_node_without_short_circuit():
    # As above up to 6, which now goes down, u = √2: "good" 0.707 > "bad" -0.646: Q0(shared) = 0 = Q0(x).
    search = steps(graph_search.Search(DIAMOND, DIAMOND_NET, replace(PLAIN, graph=True)), 6)
    x, y = (search.root.edge_children[i, 0] for i in (0, 1))
    assert x.edge_children[0, 0] is y.edge_children[0, 0]
    assert (x.Q[0], y.Q[0]) == (0, f32(-0.25 / 3))  # y is stale: shared is worth 0 by now
    assert search.q[0].tolist() == [0, f32(-0.25 / 3)]
