"""Chance events in searches, against expectimax over all outcomes in plain Python."""

from types import MappingProxyType

import numpy as np
import pytest

import ramify as rf
from ramify.engine.equilibria import solve_game
from tests.chance_games import Bluff, Pig, Race, action_values, expectimax

UNIFORM = rf.evaluators.Uniform()


class Once(rf.PythonGame):
    """One action, then one event: what a search finds must be the mean, whatever it draws how often."""

    num_actions = 2
    observation_shape = (1,)
    zero_sum, returns_range = True, (-11, 11)
    event = ((5, 0.61), (0, 0.07), (9, 0.3), (2, 0.02))
    pays = MappingProxyType({5: 1.0, 0: -4.0, 9: 0.5, 2: 10.0})

    def start(self, rng):
        return "start"

    def acting(self, position):
        return (0,) if position == "start" else ()

    def legal_actions(self, position, player):
        return (0, 1)

    def chance_outcomes(self, position):
        return self.event if position == "event" else ()

    def apply(self, position, action):
        if position == "start" and action == 0:
            return "event", (0.25, -0.25)
        return "over", (0.0, 0.0) if position == "start" else (self.pays[action], -self.pays[action])

    def observation(self, position, player):
        return (0,)


MEAN = 0.25 + sum(share * Once.pays[outcome] for outcome, share in Once.event)


@pytest.mark.core
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize(
    "settings", [{}, {"batch": 4}, {"solver": True}, {"selection": "gumbel"}, {"normalize": "minmax"}]
)
def test_an_event_is_worth_the_mean_by_probabilities(graph, settings):
    evaluator = rf.evaluators.Function(zeros) if "batch" in settings else UNIFORM
    result = rf.search(Once().initial_state(), evaluator, simulations=1000, graph=graph, **settings)
    assert result.q[0][0] == pytest.approx(MEAN, abs=1e-5)
    event = result.node([(0, -1)])
    assert event["acting"] == 4
    assert event["value"][0] == pytest.approx(MEAN - 0.25, abs=1e-5)
    assert event["outcomes"][0].tolist() == [5, 0, 9, 2]
    assert event["priors"][0] == pytest.approx([0.61, 0.07, 0.3, 0.02])
    if "solver" not in settings:  # which visits what is not proven, in place of sampling
        drawn = event["edge_visits"].ravel()
        assert drawn.sum() == event["visits"]
        assert drawn / drawn.sum() == pytest.approx([0.61, 0.07, 0.3, 0.02], abs=0.03)


def zeros(batch):
    return np.zeros((len(batch), 2), np.float32), np.zeros(len(batch), np.float32)


def test_outcomes_are_drawn_by_the_seed_of_the_search():
    """The first outcome of the first visit, over seeds; five standard deviations."""
    counts = dict.fromkeys(Once.pays, 0)
    for seed in range(300):
        result = rf.search(Once().initial_state(), UNIFORM, simulations=2, seed=seed, actions=[0])
        event = result.node([(0, -1)])
        counts[int(event["outcomes"][0][event["edge_visits"].ravel().argmax()])] += 1
    for outcome, share in Once.event:
        assert abs(counts[outcome] - 300 * share) < 5 * (300 * share * (1 - share)) ** 0.5
    first, again = (rf.search(Pig().initial_state(0), UNIFORM, simulations=200, seed=7) for _ in range(2))
    assert first.value.tolist() == again.value.tolist()
    assert first.stats["nodes"] == again.stats["nodes"]


GAMES = [Pig(target=5, turns=2), Pig(target=3, turns=4, faces=3), Race(goal=7, turns=3), Race(goal=12, turns=2)]


def named(game):
    return repr(game)


@pytest.mark.parametrize("game", GAMES, ids=named)
@pytest.mark.parametrize("graph", [False, True])
def test_values_converge_to_expectimax(game, graph):
    state = game.initial_state(1)
    exact = expectimax(game)(state.position)
    sign = 1 if state.acting == (0,) else -1
    near, far = (abs(rf.search(state, UNIFORM, simulations=n, graph=graph).value[0] - exact) for n in (50, 1500))
    assert far < 0.08
    assert far <= near
    values = action_values(game, state.position)
    best = rf.search(state, rf.evaluators.Rollout(), simulations=500, graph=graph).best_action
    assert sign * values[best] >= sign * exact - 0.02


@pytest.mark.core
@pytest.mark.parametrize("game", GAMES, ids=named)
@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_the_solver_proves_expectimax(game, discount):
    value = expectimax(game, discount)
    for seed in range(3):
        state = game.initial_state(seed)
        settings = {"graph": True, "solver": True, "discount": discount}
        result = rf.search(state, UNIFORM, simulations=20_000, **settings)
        if discount == 1.0:
            assert result.proven is not None
        if result.proven is not None:
            assert result.proven[0] == pytest.approx(value(state.position), abs=1e-5)
        assert result.proof.bounds[0][0] <= value(state.position) + 1e-5
        assert result.proof.bounds[1][0] >= value(state.position) - 1e-5


def test_bounds_hold_before_anything_is_proven():
    game = Race(goal=9, turns=4)
    value = expectimax(game)
    for graph in (False, True):
        for simulations in (1, 5, 30, 200, 800):
            state = game.initial_state(2)
            bounds = rf.search(state, UNIFORM, simulations=simulations, solver=True, graph=graph).proof.bounds
            assert bounds[0][0] - 1e-5 <= value(state.position) <= bounds[1][0] + 1e-5


@pytest.mark.parametrize("game", GAMES, ids=named)
def test_a_discount_counts_the_turns_of_players(game):
    value = expectimax(game, 0.5)
    state = game.initial_state(3)
    result = rf.search(state, UNIFORM, simulations=2000, graph=True, discount=0.5)
    assert result.value[0] == pytest.approx(value(state.position), abs=0.05)


@pytest.mark.core
@pytest.mark.parametrize("game", GAMES, ids=named)
@pytest.mark.parametrize("table", [0, 10_000])
def test_alphabeta_finds_expectimax(game, table):
    value = expectimax(game)
    for seed in range(4 if table else 1):
        state = game.initial_state(seed)
        found = rf.alphabeta(state, depth=30, table=table)
        assert found.solved
        assert found.value[0] == pytest.approx(value(state.position), abs=1e-6)
        values = action_values(game, state.position)
        assert values[found.action] == pytest.approx(value(state.position), abs=1e-6)


def test_alphabeta_at_a_small_depth_takes_means_of_the_heuristic():
    class Judged(Race):
        def heuristic(self, position):
            places, *_ = position
            return 0.01 * (places[0] - places[1])

    game = Judged(goal=20, turns=6)
    state = game.initial_state(1)

    def limited(position, depth):
        if event := game.chance_outcomes(position):
            return sum(share * step(position, outcome, depth) for outcome, share in event)
        acting = game.acting(position)
        if not acting:
            return 0.0
        if not depth:
            return game.heuristic(position)
        best = max if acting == (0,) else min
        return best(step(position, action, depth - 1) for action in (0, 1))

    def step(position, action, depth):
        after, rewards = game.apply(position, action)
        return rewards[0] + limited(after, depth)

    for depth in (1, 2, 3):
        found = rf.alphabeta(state, depth=depth)
        assert found.value[0] == pytest.approx(limited(state.position, depth), abs=1e-6)
        assert not found.solved


@pytest.mark.core
def test_chance_where_both_act():
    """Each round is the matrix game of the mean payoffs, whose value the solver knows."""
    mean = 0.75 * np.array(Bluff.matrices[0]) + 0.25 * np.array(Bluff.matrices[1])
    value = float(rf.equilibria.solve(mean).value[0])
    proven = rf.search(Bluff(rounds=2).initial_state(0), UNIFORM, simulations=2000, solver=True, graph=True).proven
    assert proven[0] == pytest.approx(2 * value, abs=1e-5)
    found = rf.search(Bluff(rounds=1).initial_state(0), UNIFORM, simulations=4000, selection="regret")
    assert found.payoffs[0] == pytest.approx(mean, abs=1e-5)
    assert found.value[0] == pytest.approx(value, abs=0.05)


def foreseeing(game, seed):
    """Whether the root's best action depends on the dice that the state will draw."""
    state = game.initial_state(seed)
    results = []
    for chance in range(6):
        other = state.copy()
        other.reseed_chance(chance)
        results.append(rf.search(other, UNIFORM, simulations=300).value.tolist())
    return len({tuple(value) for value in results}) > 1


def test_a_search_does_not_foresee_the_dice():
    assert not foreseeing(Pig(), 0)
    assert not foreseeing(Race(), 1)
    spiel = pytest.importorskip("pyspiel")
    assert spiel
    assert not foreseeing(rf.make("openspiel:pig", winscore=10), 0)
    assert not foreseeing(rf.make("openspiel:backgammon"), 2)


def spiel_value(state):
    """Expectimax over OpenSpiel's own states."""
    if state.is_terminal():
        return state.returns()[0]
    if state.is_chance_node():
        return sum(share * spiel_value(state.child(outcome)) for outcome, share in state.chance_outcomes())
    best = max if state.current_player() == 0 else min
    return best(spiel_value(state.child(action)) for action in state.legal_actions())


def test_pig_of_openspiel_has_its_value():
    pyspiel = pytest.importorskip("pyspiel")
    exact = spiel_value(pyspiel.load_game("pig", {"winscore": 4, "horizon": 6}).new_initial_state())
    state = rf.make("openspiel:pig", winscore=4, horizon=6).initial_state(0)
    assert 0 < exact < 1
    assert rf.alphabeta(state, depth=10).value[0] == pytest.approx(exact, abs=1e-6)
    assert rf.search(state, UNIFORM, simulations=5000, solver=True).proven[0] == pytest.approx(exact, abs=1e-5)
    assert rf.search(state, UNIFORM, simulations=1500).value[0] == pytest.approx(exact, abs=0.08)


@pytest.mark.core
def test_advance_follows_the_dice_of_the_game():
    """The graph goes along: what is known after the drawn outcome is the child's part of it."""
    game = Race(goal=30, turns=12)
    searcher = rf.Searcher(game, UNIFORM, rf.SearchConfig(simulations=400))
    state = game.initial_state(5)
    kept = 0
    while not state.is_over:
        result = searcher.run(state)
        searcher.advance(result.best_action)
        state.apply(result.best_action)
        if state.is_over:
            break
        known = searcher.snapshot()
        if known is not None:
            kept += 1
            assert known.acting == state.acting
            assert int(known.visits.sum()) < 400
    assert kept >= 5


@pytest.mark.core
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("max_nodes", [1, 2, 3, 7, 20])
def test_a_full_graph_is_searched_on(max_nodes, graph):
    for seed in range(3):
        result = rf.search(Pig().initial_state(seed), UNIFORM, simulations=300, max_nodes=max_nodes, graph=graph)
        assert result.stats["nodes"] <= max_nodes
        assert np.isfinite(result.value).all()


@pytest.mark.core
def test_batches_lose_no_visits():
    result = rf.search(Pig().initial_state(0), rf.evaluators.Function(zeros), simulations=500, batch=16)
    assert int(result.visits.sum()) == 499
    path, total = [(1, -1)], 0
    event = result.node(path)
    for outcome, visits in zip(event["outcomes"][0].tolist(), event["edge_visits"].ravel().tolist(), strict=True):
        child = result.node([*path, (outcome, -1)])
        assert child["visits"] == visits
        total += visits
    assert total == event["visits"] == 499


def test_lines_end_before_chance_and_trees_show_it():
    state = Pig().initial_state(0)
    result = rf.search(state, UNIFORM, simulations=300)
    assert result.principal_variation == [1]
    assert result.variation() == [1]
    assert "chance 6" in result.tree(depth=2, width=6)
    assert "probability 0.167" in result.tree(depth=2, width=6)
    assert str(result)


def test_what_a_search_with_chance_refuses():
    event = Pig().initial_state(0)
    event.apply_only(1)
    for search in (lambda: rf.search(event, simulations=10), lambda: rf.alphabeta(event, depth=2)):
        with pytest.raises(rf.InvalidInput, match="chance decides in this state"):
            search()
    with pytest.raises(rf.InvalidInput, match="error_scale is not available in games with chance"):
        rf.search(Pig().initial_state(0), rf.evaluators.Function(zeros), simulations=10, error_scale=0.5)
    with pytest.raises(rf.InvalidInput, match="a game with chance cannot be solved as a graph"):
        solve_game(Bluff().initial_state(0))


class OneKey(Pig):
    """A key that does not tell a roll to come from the position before it."""

    def key(self, position):
        return super().key(position[:4])


@pytest.mark.core
def test_equal_keys_of_an_event_and_a_position_are_refused():
    with pytest.raises(rf.InvalidInput, match="a chance event and a position in which a player acts have the same key"):
        rf.search(OneKey().initial_state(0), UNIFORM, simulations=300, graph=True)
