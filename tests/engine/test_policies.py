"""Policies from what a search found, against examples worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ramify as rf
from ramify.engine import policies
from tests.engine.helpers import HashEvaluator, tictactoe
from tests.engine.positions import walk

EDGES = rf.SearchConfig(parent_visits="edges")  # exploration is sqrt(N) with N the visits of all edges: easy numbers
PENNIES = [[1.0, -1.0], [-1.0, 1.0]]
BIASED = [[3.0, -1.0], [-1.0, 1.0]]  # both play the first with probability 1/3


def root_of(visits: Any, priors: Any, q: Any, config: rf.SearchConfig = EDGES, **rest: Any) -> policies.Root:
    """A root as a search might leave it; one row of priors or values stands for player 0, with player 1 passive."""
    counts = np.asarray(visits, np.int64)
    if counts.ndim == 1:
        counts, priors, q = counts[:, None], (priors, [1.0]), (q, [0.0])
    given = {"payoffs": np.zeros((2, *counts.shape), np.float32), "evaluation": np.zeros(2, np.float32), **rest}
    first, second = (tuple(np.asarray(row, np.float32) for row in pair) for pair in (priors, q))
    return policies.Root(
        visits=counts,
        priors=(first[0], first[1]),
        q=(second[0], second[1]),
        average=None,
        scores=((), ()),
        config=config,
        **given,
    )


def matrix(payoffs: Any) -> rf.State:
    return rf.make("matrix", payoffs=payoffs).initial_state()


# --- pruned, one player ---


def test_pruned_visits_of_one_player_by_hand() -> None:
    # N = 64, so u = sqrt(64) = 8. The most visited is outcome 0: S = 0.375 + 8 * 0.5 / (1 + 31) = 0.5.
    #   outcome 1: 8 * 0.25  / (0.5 - 0.25) - 1 = 7
    #   outcome 2: 8 * 0.125 / (0.5 + 0.5)  - 1 = 0: nothing but noise or force explains these visits
    #   outcome 3: its value alone reaches S: nothing is taken
    root = root_of([31, 16, 7, 10], [0.5, 0.25, 0.125, 0.125], [0.375, 0.25, -0.5, 0.5])
    assert policies.excess(root, 0).tolist() == [0, 9, 7, 0]
    assert policies.pruned_visits(root)[:, 0].tolist() == [31, 7, 0, 10]


def test_what_is_left_is_rounded_up() -> None:
    # u = 8; S = 0.375 + 8 * 0.5 / 32 = 0.5; due are 8 * 0.25 / (0.5 - 0.125) - 1 = 4 1/3 and 8 * 0.25 / 0.5 - 1 = 3.
    root = root_of([31, 20, 13], [0.5, 0.25, 0.25], [0.375, 0.125, 0.0])
    np.testing.assert_allclose(policies.excess(root, 0), [0, 15 + 2 / 3, 10])
    assert policies.pruned_visits(root)[:, 0].tolist() == [31, 5, 3]


def test_visits_below_what_selection_would_make_stay() -> None:
    # As above, but outcome 1 has 4 of its 7 visits: another was better while it waited.
    root = root_of([31, 4, 13, 16], [0.5, 0.25, 0.125, 0.125], [0.375, 0.25, 0.0, 0.5])
    assert policies.pruned_visits(root)[:, 0].tolist() == [31, 4, 1, 16]  # 8 * 0.125 / 0.5 - 1 = 1


def test_one_lucky_visit_does_not_make_the_best() -> None:
    # 9 * 1/2 + 2 * 0.875 = 6.25 against 10 * 1/2 + 2 * 0.125 = 5.25: the prior's favourite is what others are held to.
    root = root_of([9, 10], [0.875, 0.125], [0.0, -0.25])
    assert policies.excess(root, 0)[0] == 0
    # u = sqrt(19), S = u * 0.875 / 10; outcome 1: u * 0.125 / (S + 0.25) - 1 < 0.
    assert policies.pruned_visits(root)[:, 0].tolist() == [9, 0]


def test_growing_exploration_and_node_visits_count_as_in_selection() -> None:
    config = rf.SearchConfig(c_puct=1.5, c_base=50.0)
    assert policies.exploration(config, 63) == pytest.approx((1.5 + np.log(115 / 50)) * 8)
    assert policies.exploration(rf.SearchConfig(c_puct=2.0), 63) == 16
    assert policies.exploration(EDGES, 63) == pytest.approx(np.sqrt(63))


@st.composite
def roots(draw: Any) -> policies.Root:
    shape = draw(st.sampled_from([(1, 4), (3, 1), (6, 1), (3, 3), (2, 5)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    visits = rng.integers(0, draw(st.sampled_from([2, 20, 1000])), shape) * (rng.random(shape) < 0.8)
    values = [rng.uniform(-1, 1, n) for n in shape]
    priors = [rng.dirichlet(np.full(n, draw(st.sampled_from([0.2, 1.0, 10.0])))) for n in shape]
    config = rf.SearchConfig(c_puct=draw(st.sampled_from([0.0, 0.5, 3.0])))
    return root_of(visits, (priors[0], priors[1]), (values[0], values[1]), config)


@settings(max_examples=300, deadline=None)
@given(roots())
def test_pruning_only_takes_away_and_leaves_the_best_alone(root: policies.Root) -> None:
    left = policies.pruned_visits(root)
    assert left.shape == root.visits.shape
    assert (left >= 0).all()
    assert (left <= root.visits).all()
    assert (left[root.visits == 0] == 0).all()
    assert (left.sum() > 0) == (root.visits.sum() > 0)
    for player in (0, 1):
        visits, surplus = policies.marginal(root.visits, player), policies.excess(root, player)
        tried = max(1, int((visits > 0).sum()))
        best = np.argmax(np.where(visits > 0, visits * (tried - 1) / tried + 2 * root.priors[player], -1))
        assert surplus[best] == 0
        if root.visits.shape[1 - player] == 1:
            after = policies.marginal(left, player)
            assert after[best] == visits[best]
            # Of every other outcome exactly what the formula says is taken, rounded in its favour.
            assert (after - (visits - surplus) < 1).all()
            assert (after - (visits - surplus) > -1e-6).all()
            if (visits[best] > np.delete(visits, best)).all():
                assert after.argmax() == visits.argmax()


def test_without_force_and_noise_nothing_is_taken() -> None:
    """Where values do not move and the best is met first, what selection visits is what the inverse form calls due."""
    for seed in range(10):
        values = np.sort(np.random.default_rng(seed).uniform(-1, 1, 8))[::-1]
        state = matrix(np.stack([values, -values])[:, :, None].tolist())
        result = rf.search(state, simulations=1000)
        assert policies.excess(result._root(), 0).max() <= 1  # the first visit of an outcome is on credit
        assert policies.pruned_visits(result._root()).sum() >= result.visits.sum() - 8


def test_forced_visits_are_pruned() -> None:
    values = np.array([0.3, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3])
    state = matrix(np.stack([values, -values])[:, :, None].tolist())
    for seed in range(5):
        noise = {"noise_fraction": 0.5, "noise_alpha": 0.5, "simulations": 400}
        forced = rf.search(state, seed=seed, forced_playouts=2.0, **noise)
        plain = rf.search(state, seed=seed, **noise)
        np.testing.assert_array_equal(forced.priors[0], plain.priors[0])
        assert forced.visits[0, 0] < plain.visits[0, 0]
        left = policies.pruned_visits(forced._root())[:, 0]
        assert left[0] == forced.visits[0, 0]
        # Of the visits that force added, at least nine in ten go; what stays is what plain selection wants as well.
        added = forced.visits[1:].sum() - plain.visits[1:].sum()
        assert forced.visits[1:].sum() - left[1:].sum() > 0.9 * added
        assert (left[1:] <= plain.visits[1:, 0] + 1).all()


@pytest.mark.parametrize("normalize", ["none", "minmax", "remaining"])
def test_pruning_compares_values_on_the_scale_of_the_search(normalize: str) -> None:
    """Values in cheese are put on the scale of selection first: else a search would lose visits of its own."""
    state = rf.make("pyrat", width=5, height=5, cheese=5, symmetric=False).initial_state(seed=1)
    result = rf.search(state, rf.evaluators.Rollout(1), simulations=500, normalize=normalize)
    if normalize != "none":
        assert policies.pruned_visits(result._root()).sum() > 0.95 * result.visits.sum()
    root = result._root()
    visits = policies.marginal(root.visits, 0)
    q = np.asarray(result.scores[0], np.float64)
    q = q - policies.exploration(root.config, float(visits.sum())) * root.priors[0] / (1 + visits)
    if normalize == "remaining":
        np.testing.assert_allclose(q, result.q[0] / 5, atol=1e-5)
    if normalize == "none":
        np.testing.assert_allclose(q, result.q[0], atol=1e-5)


# --- pruned, two players ---


def test_pruned_visits_of_a_pair_by_hand() -> None:
    # N = 64, u = 8, and as above both players' outcomes 1 and 2 are due 7 and 3 visits:
    #   D0 = [0, 20 - 7, 13 - 3] = [0, 13, 10], D1 = [0, 25 - 7, 8 - 3] = [0, 18, 5].
    # From pair (i, j) go D0[i] * P1[j] + D1[j] * P0[i], as far as there is something:
    #   (0, 1): 12 - 18 / 2 = 3        (0, 2): 4 - 5 / 2 = 1.5
    #   (1, 0): 10 - 13 / 2 = 3.5      (1, 1): 8 - 13 / 4 - 18 / 4 = 0.25     (2, 0): 6 - 10 / 2 = 1
    visits = [[15, 12, 4], [10, 8, 2], [6, 5, 2]]
    priors, q = [0.5, 0.25, 0.25], [0.375, 0.25, 0.0]
    root = root_of(visits, (priors, priors), (q, q))
    assert policies.excess(root, 0).tolist() == [0, 13, 10]
    assert policies.excess(root, 1).tolist() == [0, 18, 5]
    assert policies.pruned_visits(root).tolist() == [[15, 3, 1.5], [3.5, 0.25, 0], [1, 0, 0]]
    assert policies.outcome_weights(root, 0, "pruned").tolist() == [19.5, 3.75, 1]
    assert policies.outcome_weights(root, 1, "pruned").tolist() == [19.5, 3.25, 1.5]


@pytest.mark.parametrize("form", ["sqrt", "linear"])
def test_pruned_visits_of_forced_pairs_by_hand(form: Any) -> None:
    # N = 64, u = 8, priors 1/2, 1/4, 1/4 for both. As above: D0 = [0, 13, 10], D1 = [0, 18, 5].
    # sqrt, k = 1: minima sqrt(P0 * P1 * 64) = [[4, r, r], [r, 2, 2], [r, 2, 2]] with r = sqrt(8).
    # linear, k = 4: minima 4 * P0 * P1 * 8 = [[8, 4, 4], [4, 2, 2], [4, 2, 2]].
    # Row 1 has D0 = 13, shared as its forced visits; column 1 has D1 = 18. Of the two parts the larger is taken.
    k, r = (1.0, np.sqrt(8)) if form == "sqrt" else (4.0, 4.0)
    visits = [[15, 12, 4], [10, 8, 2], [6, 5, 2]]
    priors, q = [0.5, 0.25, 0.25], [0.375, 0.25, 0.0]
    config = EDGES.replace(forced_playouts=k, forced_form=form, forced_by="pair")
    root = root_of(visits, (priors, priors), (q, q), config)
    total = r + 4
    taken = np.array(
        [
            [0, 18 * r / total, 5 * r / total],
            [13 * r / total, max(13, 18) * 2 / total, max(13, 5) * 2 / total],
            [10 * r / total, max(10, 18) * 2 / total, max(10, 5) * 2 / total],
        ]
    )
    np.testing.assert_allclose(policies.pruned_visits(root), np.maximum(0, np.array(visits) - taken), rtol=1e-6)


@pytest.mark.parametrize("by", ["player", "pair"])
@pytest.mark.parametrize("form", ["sqrt", "linear"])
def test_forced_visits_of_either_player_are_pruned(form: Any, by: Any) -> None:
    """Where each player has one good outcome, pruning gives it back much of the share that force has taken away.

    Both are alike here, so that players forced one by one are forced at once, into pairs that the formula expects less.
    """
    good = np.array([0.5, -0.5, -0.6, -0.7])
    state = matrix(np.stack([good[:, None] + 0 * good, 0 * good[:, None] + good]).tolist())
    settings = {"simulations": 600, "forced_form": form, "forced_by": by}
    forced = rf.search(state, forced_playouts=3.0 if form == "sqrt" else 6.0, **settings)
    plain = rf.search(state, **settings)
    assert forced.visits[0, 0] < plain.visits[0, 0]
    for player in (0, 1):
        lost = plain.policy(player)[0] - forced.policy(player)[0]
        returned = forced.policy(player, "pruned")[0] - forced.policy(player)[0]
        assert lost > 0.01
        assert (0.8 if by == "pair" else 0.4) * lost < returned < 1.05 * lost


def test_pruning_leaves_a_single_outcome_alone() -> None:
    one = rf.make("matrix", payoffs=[[3.0]]).initial_state()
    result = rf.search(one, simulations=20, normalize="minmax")
    assert policies.pruned_visits(result._root()).tolist() == [[19]]


def test_if_everything_would_go_everything_stays() -> None:
    # The best of player 0 was met only by what is due nothing for player 1, and the other way round.
    priors = [0.5, 0.5]
    root = root_of([[0, 3], [2, 0]], (priors, priors), ([1.0, -1.0], [1.0, -1.0]), rf.SearchConfig(c_puct=0.01))
    assert policies.pruned_visits(root).sum() > 0


# --- the other methods ---


def test_visits_and_temperatures() -> None:
    result = rf.search(tictactoe(4), HashEvaluator(2), simulations=300)
    counts = result.visits[0].astype(np.float64)
    policy = result.policy()
    np.testing.assert_allclose(policy[result.outcomes[1]], counts / counts.sum(), rtol=1e-6)
    assert policy[4] == 0  # taken
    for temperature in (0.25, 0.5, 2.0):
        powers = counts ** (1 / temperature)
        np.testing.assert_allclose(
            result.policy(temperature=temperature)[result.outcomes[1]], powers / powers.sum(), rtol=1e-5
        )
    assert result.policy(temperature=0.0).tolist() == np.eye(9)[result.action()].tolist()
    assert result.policy(temperature=1e-9).argmax() == result.action()  # no overflow on the way to 0
    np.testing.assert_allclose(result.policy(temperature=1e9)[result.outcomes[1]][counts > 0].std(), 0, atol=1e-6)
    with pytest.raises(ValueError, match="temperature must be 0 or more, not -1"):
        result.policy(temperature=-1.0)
    with pytest.raises(ValueError, match="temperature must be 0 or more, not nan"):
        result.policy(temperature=float("nan"))


@pytest.mark.parametrize("name", ["matrix", "goofspiel", "pyrat zero-sum", "pyrat"])
def test_nash_is_the_equilibrium_of_the_payoffs(name: str) -> None:
    for seed in range(4):
        state = walk(name, seed)
        if len(state.acting) < 2:
            continue
        result = rf.search(state, HashEvaluator(seed), simulations=200)
        solved = rf.equilibria.solve(result.payoffs, visits=result.visits)
        for player, strategy in ((0, solved.x), (1, solved.y)):
            np.testing.assert_allclose(result.policy(player, "nash")[result.outcomes[player]], strategy, atol=1e-6)


def test_nash_of_one_player_is_its_best_outcome() -> None:
    result = rf.search(matrix([[[0.1], [0.7], [0.3]], [[0.0], [0.0], [0.0]]]), simulations=400)
    assert (result.visits >= 5).all()
    assert result.policy(0, "nash").tolist() == [0, 1, 0]


def test_nash_by_its_settings() -> None:
    # Player 1 may play anything between (1, 0, 0) and (0, 1/2, 1/2): see docs/methods/equilibria.md.
    payoffs = np.array([[0, 1, -1], [0, -1, 1]], np.float32)
    result = rf.search(matrix(payoffs.tolist()), simulations=4000, selection="regret")
    assert (result.visits > 0).all()
    for choose, wanted in (("centroid", [0.5, 0.25, 0.25]), ("entropy", [1 / 3, 1 / 3, 1 / 3])):
        np.testing.assert_allclose(result.policy(1, "nash", nash=rf.NashConfig(choose=choose)), wanted, atol=1e-4)
    extreme = result.policy(1, "nash", nash=rf.NashConfig(choose="any"))
    assert extreme[0] in (0, 1)
    actions = {result.action(method="nash", rng=seed, nash=rf.NashConfig(choose="any"))[1] for seed in range(30)}
    assert actions == set(np.flatnonzero(extreme))


def test_nash_leaves_out_outcomes_by_visits_or_by_pruned_visits() -> None:
    # Outcome 2 of player 0 has the best payoffs and 6 visits, none of which selection would have made.
    visits = [[30, 24], [2, 2], [3, 3]]
    own = np.array([[0.2, 0.2], [0.1, 0.1], [0.9, 0.9]], np.float32)
    priors, q = ([0.9, 0.05, 0.05], [0.5, 0.5]), ([0.2, 0.1, -0.9], [0, 0])
    root = root_of(visits, priors, q, payoffs=np.stack([own, -own]))
    assert policies.marginal(policies.pruned_visits(root), 0)[2] < 5
    # No outcome of player 1 has 50 visits: then all are kept.
    cases = [((5, False), 2), ((7, False), 0), ((5, True), 0), ((0, True), 2), ((50, True), 2)]
    for (least, pruned), best in cases:
        strategy = policies.nash(root, 0, rf.NashConfig(min_visits=least, pruned=pruned))
        assert strategy.tolist() == np.eye(3)[best].tolist(), (least, pruned)
    # Where too few pruned visits are left, all visits count.
    even, payoffs = ([0.5, 0.5], [0.5, 0.5]), np.eye(2)[None].repeat(2, 0)
    few = root_of([[30, 30], [30, 30]], even, ([1, -1], [1, -1]), payoffs=payoffs)
    left = policies.pruned_visits(few)
    least = float(min(policies.marginal(left, 0).max(), policies.marginal(left, 1).max())) + 1
    by_visits = policies.equilibrium(few, rf.NashConfig(min_visits=least))
    by_pruned = policies.equilibrium(few, rf.NashConfig(min_visits=least, pruned=True))
    assert by_visits is not None
    assert by_pruned is not None
    assert by_pruned.enough_visits
    assert by_pruned.x.tolist() == by_visits.x.tolist()


def test_what_there_is_to_learn_from() -> None:
    even = ([0.5, 0.5], [0.5, 0.5])
    differing = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], np.float32)
    one_cares = np.array([[[1, 1], [1, 1]], [[0, 1], [1, 0]]], np.float32)
    same = np.full((2, 2, 2), 0.7, np.float32) + np.float32(1e-7) * differing
    ten = [[10, 10], [10, 10]]
    for payoffs, visits, by_nash, by_visits in (
        (differing, ten, True, True),
        (one_cares, ten, True, True),
        (same, ten, False, False),
        (differing, [[1, 1], [1, 1]], False, True),
        (np.where([[True, False], [False, True]], differing, np.nan), [[9, 0], [0, 9]], False, False),
        (np.full((2, 2, 2), np.nan, np.float32), [[0, 0], [0, 0]], False, False),
    ):
        root = root_of(visits, even, even, payoffs=payoffs.astype(np.float32))
        assert policies.is_informative(root) == by_nash
        assert policies.is_informative(root, "visits") == by_visits
    result = rf.search(matrix(PENNIES), simulations=200, selection="regret")
    assert result.is_informative()
    assert not result.is_informative(nash=rf.NashConfig(min_visits=1000))
    assert not rf.search(matrix([[0.5, 0.5], [0.5, 0.5]]), simulations=100).is_informative("visits")


def test_a_single_simulation_knows_its_priors() -> None:
    state = matrix(BIASED)
    for method in ("visits", "pruned", "nash", "improved"):
        result = rf.search(state, HashEvaluator(1), simulations=1)
        np.testing.assert_allclose(result.policy(0, method), result.priors[0], atol=1e-3)
        assert result.action(method=method) is not None
    average = rf.search(state, HashEvaluator(1), simulations=1, selection="regret")
    np.testing.assert_allclose(average.policy(1, "average"), average.priors[1], atol=1e-3)
    assert isinstance(rf.search(tictactoe(), simulations=1).action(method="lcb"), int)


def test_improved_is_the_softmax_of_logits_and_completed_values() -> None:
    # Visits 3, 1, 0; evaluation 0.2. Unvisited: (0.2 + 4 * (0.5 * 0.6 + 0.25 * 0.3) / 0.75) / 5 = (0.2 + 2) / 5 = 0.44.
    # Weight of values: (10 + 3) * 0.5 = 6.5.
    config = rf.SearchConfig(selection="gumbel", gumbel_visit=10, gumbel_value=0.5, gumbel_rescale=False)
    root = root_of([3, 1, 0], [0.5, 0.25, 0.25], [0.6, 0.3, -9.0], config, evaluation=np.array([0.2, 0], np.float32))
    weights = np.array([0.5, 0.25, 0.25]) * np.exp(6.5 * np.array([0.6, 0.3, 0.44]))
    np.testing.assert_allclose(policies.improved(root, 0), weights / weights.sum(), rtol=1e-5)
    # Rescaled: 0.3 becomes 0, 0.6 becomes 1, 0.44 becomes 7/15.
    scaled = root_of(
        [3, 1, 0],
        [0.5, 0.25, 0.25],
        [0.6, 0.3, -9.0],
        config.replace(gumbel_rescale=True),
        evaluation=np.array([0.2, 0], np.float32),
    )
    weights = np.array([0.5, 0.25, 0.25]) * np.exp(6.5 * np.array([1, 0, 7 / 15]))
    np.testing.assert_allclose(policies.improved(scaled, 0), weights / weights.sum(), rtol=1e-5)


@pytest.mark.parametrize("selection", ["regret", "exp3"])
def test_average_is_the_strategy_that_was_learnt(selection: Any) -> None:
    result = rf.search(matrix(BIASED), simulations=20_000, selection=selection)
    assert result.average is not None
    for player in (0, 1):
        average = result.policy(player, "average")
        np.testing.assert_allclose(average, result.average[player], atol=1e-6)
        np.testing.assert_allclose(average, [1 / 3, 2 / 3], atol=0.01 if selection == "regret" else 0.1)
    alone = rf.search(tictactoe(), simulations=50, selection=selection)  # one player chooses: nothing to mix
    np.testing.assert_array_equal(alone.policy(0, "average"), alone.policy(0))


def test_methods_that_are_not_there_say_so() -> None:
    result = rf.search(matrix(PENNIES), simulations=20)
    with pytest.raises(
        ValueError, match=r"unknown policy method 'nsah'; the methods are visits, pruned, nash, average, improved"
    ):
        result.policy(0, "nsah")
    with pytest.raises(ValueError, match=r"unknown policy method 'nsah'; the methods are visits, .*, improved, lcb"):
        result.action(method="nsah")
    for selection in ("puct", "gumbel"):
        plain = rf.search(matrix(PENNIES), simulations=20, selection=selection)
        with pytest.raises(ValueError, match=r'"average" needs .* selection="regret" or "exp3"'):
            plain.policy(0, "average")
    with pytest.raises(ValueError, match="both players act here"):
        result.policy()
    with pytest.raises(ValueError, match="player 1 does not act here"):
        rf.search(tictactoe(), simulations=5).policy(1)


# --- acting ---


def test_a_seed_stands_for_its_generator() -> None:
    result = rf.search(matrix(PENNIES), simulations=200)
    for seed in (0, 3, np.int64(7)):
        assert result.action(1.0, rng=seed) == result.action(1.0, rng=np.random.default_rng(seed))
    assert len({result.action(1.0, rng=seed) for seed in range(40)}) == 4
    for wrong in ("3", -1, 1.5, True):
        with pytest.raises(ValueError, match=r"seed must be a whole number .*, or rng a numpy.random.Generator, not"):
            result.action(1.0, rng=wrong)


def test_mixed_policies_are_sampled_unless_told_otherwise() -> None:
    result = rf.search(matrix(BIASED), simulations=5000, selection="regret")
    for method in ("nash", "average"):
        rng = np.random.default_rng(0)
        actions = np.array([result.action(rng=rng, method=method) for _ in range(2000)])
        for player in (0, 1):
            share, wanted = (actions[:, player] == 0).mean(), float(result.policy(player, method)[0])
            assert abs(share - wanted) < 4.5 * np.sqrt(wanted * (1 - wanted) / 2000)
        assert result.action(0.0, method=method) == (1, 1)
        assert result.action(method=method) == result.action(method=method)
    assert result.action() == result.action(0.0)  # visits are not mixed: the most visited
    cold = np.array([result.action(0.1, np.random.default_rng(seed), "average") for seed in range(50)])
    assert (cold == 1).mean() > 0.95  # (1/2) ** 10


def test_acting_and_learning_choose_apart() -> None:
    """One result gives the action by one rule and the target by another; neither changes the result."""
    result = rf.search(matrix(BIASED), simulations=3000, selection="regret")
    before = result.visits.copy()
    acted = result.action(1.0, np.random.default_rng(1), "visits")
    target = result.policy(0, "nash")
    np.testing.assert_allclose(target, [1 / 3, 2 / 3], atol=1e-5)
    assert np.abs(result.policy(0, "visits") - target).max() > 0.01  # exploration is in the visits
    assert result.action(1.0, np.random.default_rng(1), "visits") == acted
    np.testing.assert_array_equal(result.visits, before)


def test_gumbel_plays_the_winner_of_its_race_and_teaches_the_improved_policy() -> None:
    for seed in range(20):
        result = rf.search(tictactoe(), HashEvaluator(seed), simulations=33, seed=seed, selection="gumbel")
        most = np.flatnonzero(result.visits[:, 0] == result.visits.max())
        assert result.action() in result.outcomes[0][most]
        assert result.policy(method="improved").min() > 0  # every legal action, the unvisited ones too


def test_nash_of_many_outcomes_that_are_all_the_same() -> None:
    state = rf.make("matrix", payoffs=np.zeros((40, 40)).tolist()).initial_state()
    policy = rf.search(state, simulations=500).policy(0, "nash")
    assert abs(policy.sum() - 1) < 1e-6


@pytest.mark.parametrize("temperature", [5e-324, 1e-310, 1e-3, 1.0, 1e39, 1e308])
@pytest.mark.parametrize("weights", [[0.3, 0.7], [3.0, 7.0, 0.0], [1e-300, 1.0]])
def test_any_temperature_gives_probabilities(weights: list[float], temperature: float) -> None:
    found = policies.tempered(np.array(weights), temperature)
    assert found.sum() == pytest.approx(1)
    assert found[np.argmax(weights)] == found.max()
    if temperature < 1e-2:
        assert found.max() == pytest.approx(1)
