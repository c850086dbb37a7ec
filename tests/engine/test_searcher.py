"""What a run promises: counts, shapes, arrays that agree with the graph, and errors that help."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine.batch import NativeEvaluator
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import GAMES, SIMULTANEOUS, walk
from tests.engine.walking import walk_searcher

STATS = {
    "backend",
    "batch",
    "in_flight",
    "solved",
    "simulations",
    "evaluations",
    "cache_hits",
    "cache_misses",
    "nodes",
    "transpositions",
    "short_circuits",
    "collisions",
    "terminals",
    "cycles",
    "full",
    "full_reason",
    "max_depth",
    "mean_depth",
    "bytes",
    "seconds",
    "seed",
    "interrupted",
    "stopped",
}


def run(name: str, seed: int = 0, **settings: Any) -> tuple[rf.State, rf.Searcher, rf.SearchResult]:
    state = walk(name, seed)
    searcher = searcher_of(state, HashEvaluator(seed, zero_sum=name not in SIMULTANEOUS), **settings)
    return state, searcher, searcher.run(state)


# ---------- counts and shapes ----------


@pytest.mark.parametrize("evaluator", [None, rf.evaluators.Uniform(), rf.evaluators.Rollout(2), HashEvaluator(1)])
@pytest.mark.parametrize("simulations", [1, 2, 3, 50, 333])
def test_n_simulations_make_n_less_one_edge_visits(simulations: int, evaluator: Any) -> None:
    result = rf.search(tictactoe(), evaluator, simulations=simulations)
    assert result.visits.sum() == simulations - 1
    assert result.stats["simulations"] == simulations


@pytest.mark.parametrize("name", GAMES)
def test_shapes_and_types(name: str) -> None:
    state, searcher, result = run(name, simulations=60)
    shape = tuple(len(state.outcomes(player)[0]) if player in state.acting else 1 for player in (0, 1))
    assert result.visits.shape == shape
    assert result.visits.dtype == np.int64
    assert result.payoffs.shape == (2, *shape)
    for player in (0, 1):
        expected = state.outcomes(player)[0] if player in state.acting else [-1]
        assert result.outcomes[player].tolist() == list(expected)
        assert result.outcomes[player].dtype == np.int32
        assert result.priors[player].shape == result.q[player].shape == (shape[player],)
        assert result.priors[player].sum() == pytest.approx(1, abs=1e-3)
    for array in (*result.priors, *result.q, result.payoffs, result.value, result.evaluation):
        assert array.dtype == np.float32
    assert result.value.shape == result.evaluation.shape == (2,)
    assert result.acting == state.acting
    assert result.num_actions == state.game.num_actions
    assert result.proven is None
    assert result.visits.sum() == 59
    assert len(walk_searcher(searcher)) == result.stats["nodes"]


def test_passive_player_has_one_outcome() -> None:
    first, second = rf.search(tictactoe(), simulations=20), rf.search(tictactoe(4), simulations=20)
    assert first.visits.shape == (9, 1)
    assert second.visits.shape == (1, 8)
    assert first.outcomes[1].tolist() == second.outcomes[0].tolist() == [-1]
    assert first.priors[1].tolist() == second.priors[0].tolist() == [1.0]
    # What the passive player expects of its one outcome: the mean over what the other chose.
    for result, passive in ((first, 1), (second, 0)):
        tried = result.visits > 0
        mean = (result.visits * np.nan_to_num(result.payoffs[passive])).sum() / result.visits[tried].sum()
        assert result.q[passive][0] == pytest.approx(mean, abs=1e-6)


def test_merged_actions_are_one_outcome() -> None:
    game = rf.make("pyrat", width=5, height=4, cheese=4, symmetric=False)
    state = game.initial_state(seed=3)
    result = rf.search(state, simulations=100)
    for player in (0, 1):
        actions, index = state.outcomes(player)
        assert len(actions) < len(state.legal_actions(player)), "no wall or edge beside this player: pick another seed"
        policy = result.policy(player)
        marginal = result.visits.sum(axis=1 - player)
        np.testing.assert_allclose(policy[actions], marginal / marginal.sum(), rtol=1e-6)
        assert policy[np.setdiff1d(np.arange(game.num_actions), actions)].sum() == 0
        merged = [sum(1 for a in state.legal_actions(player) if index[a] == i) for i in range(len(actions))]
        np.testing.assert_allclose(
            result.priors[player] * merged[0], np.full(len(actions), merged[0]) / len(actions), rtol=1e-3
        )  # the core's own uniform is over outcomes


def test_arrays_are_read_only() -> None:
    _, _, result = run("pyrat", simulations=30)
    arrays = [result.visits, result.payoffs, result.value, result.evaluation]
    for array in [*arrays, *result.outcomes, *result.priors, *result.q]:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        result.value = np.zeros(2)  # type: ignore[misc]


def test_stats() -> None:
    _, _, result = run("tictactoe", simulations=200, graph=True)
    assert set(result.stats) == STATS
    stats = result.stats
    assert stats["simulations"] == 200
    assert stats["evaluations"] + stats["terminals"] == 200
    assert stats["nodes"] == stats["evaluations"]
    assert stats["transpositions"] > 0
    assert 1 < stats["max_depth"] <= 9
    assert stats["bytes"] > 48 * stats["nodes"]
    assert stats["seconds"] > 0
    assert stats["seed"] == 0
    assert stats["interrupted"] is False
    assert stats["stopped"] is False


# ---------- values ----------


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("settings", [{}, {"graph": True, "discount": 0.9}])
def test_payoffs_are_reward_plus_discounted_child_value(name: str, settings: dict[str, Any]) -> None:
    state, searcher, result = run(name, 1, simulations=120, **settings)
    look, seen = result._look, 0
    assert look is not None
    for i, j in np.ndindex(result.visits.shape):
        payoff = result.payoffs[:, i, j]
        if result.visits[i, j] == 0:
            assert np.isnan(payoff).all()
            continue
        joint = (int(result.outcomes[0][i]), int(result.outcomes[1][j]))
        child = state.copy()
        rewards = child.apply(*(action for action in joint if action >= 0)).astype(np.float64)
        value = np.zeros(2) if child.is_over else look([joint])["value"].astype(np.float64)
        np.testing.assert_array_equal(payoff, (rewards + searcher.config.discount * value).astype(np.float32))
        seen += 1
    assert seen > 1
    total = result.evaluation + np.nansum(result.visits * result.payoffs, axis=(1, 2))
    np.testing.assert_allclose(result.value, total / result.stats["simulations"], atol=1e-5)


@pytest.mark.parametrize(
    ("fpu", "expected"),
    [
        ("zero", lambda value, tried: 0.0),
        ("parent", lambda value, tried: value - 0.25),
        ("reduction", lambda value, tried: value - 0.25 * np.sqrt(tried)),
    ],
)
@pytest.mark.parametrize("name", ["tictactoe", "pyrat"])
def test_q_is_first_play_urgency_where_unvisited(name: str, fpu: str, expected: Any) -> None:
    state = walk(name, 0)
    # A sharp evaluator leaves outcomes untried; the value comes from the position.
    sharp = rf.evaluators.Function(
        lambda batch: (
            np.where(np.arange(batch.legal.shape[2]) == batch.legal.argmax(axis=2)[..., None], 9.0, 0.0),
            HashEvaluator(3).evaluate(batch).values,
        )
    )
    result = rf.search(state, sharp, simulations=2, fpu=fpu, fpu_offset=0.25, c_puct=0.05)
    untried = 0
    for player in state.acting:
        marginal = result.visits.sum(axis=1 - player)
        mass = result.priors[player][marginal > 0].sum()
        for i in np.flatnonzero(marginal == 0):
            assert result.q[player][i] == pytest.approx(expected(result.value[player], mass), abs=1e-5)
            untried += 1
        for i in np.flatnonzero(marginal):
            along = [slice(None)] * 2
            along[player] = int(i)
            visits, payoffs = result.visits[tuple(along)], result.payoffs[player][tuple(along)]
            assert result.q[player][i] == pytest.approx(np.nansum(visits * payoffs) / visits.sum(), abs=1e-5)
    assert untried > 0


@pytest.mark.parametrize("name", GAMES)
def test_principal_variation_can_be_played(name: str) -> None:
    state, _, result = run(name, 2, simulations=150)
    assert result.principal_variation
    assert len(result.principal_variation) <= result.stats["max_depth"]
    replay = state.copy()
    for actions in result.principal_variation:
        if isinstance(actions, tuple):
            assert len(replay.acting) == 2
            replay.apply(*actions)
        else:
            assert len(replay.acting) == 1
            replay.apply(actions)


@pytest.mark.parametrize("seed", range(12))
def test_principal_variation_starts_with_the_action(seed: int) -> None:
    for simulations in (2, 3, 5, 8, 40):  # small counts tie
        _, _, result = run("tictactoe", seed, simulations=simulations)
        assert result.principal_variation[0] == result.action()
        assert result.variation(length=99) == result.principal_variation


@pytest.mark.parametrize("name", GAMES)
def test_variation_is_the_principal_one(name: str) -> None:
    for simulations in (2, 5, 12, 60):
        for graph in (False, True):
            _, _, result = run(name, 3, simulations=simulations, graph=graph)
            assert result.variation(length=99) == result.principal_variation
            first = result.principal_variation[0]
            chosen = first if isinstance(first, tuple) else (first,)
            assert result.variation(*chosen, length=99) == result.principal_variation


# ---------- policies and actions ----------


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("temperature", [0, 0.05, 0.5, 1, 2, 1e6])
def test_policy(name: str, temperature: float) -> None:
    state, _, result = run(name, simulations=70)
    for player in state.acting:
        policy = result.policy(player, temperature=temperature)
        assert policy.shape == (state.game.num_actions,)
        assert policy.dtype == np.float32
        assert policy.sum() == pytest.approx(1, abs=1e-6)
        assert (policy >= 0).all()
        assert set(np.flatnonzero(policy)) <= set(state.legal_actions(player).tolist())
        counts = result.visits.sum(axis=1 - player).astype(np.float64)
        mine = policy[result.outcomes[player]]
        if temperature == 0:
            assert mine.max() == 1
            assert counts[mine.argmax()] == counts.max()
        else:
            powers = (counts / counts.max()) ** (1 / temperature)
            np.testing.assert_allclose(mine, powers / powers.sum(), rtol=1e-5, atol=1e-7)


def test_policy_of_the_only_acting_player_is_the_default() -> None:
    result = rf.search(tictactoe(4), simulations=30)
    np.testing.assert_array_equal(result.policy(), result.policy(1))
    with pytest.raises(ValueError, match="player 0 does not act"):
        result.policy(0)
    both = rf.search(walk("pyrat zero-sum", 0), simulations=30)
    with pytest.raises(ValueError, match="both players act"):
        both.policy()


@pytest.mark.parametrize("bad", [-1, float("nan"), float("-inf")])
def test_impossible_temperature(bad: float) -> None:
    result = rf.search(tictactoe(), simulations=10)
    with pytest.raises(ValueError, match="temperature"):
        result.policy(temperature=bad)
    with pytest.raises(ValueError, match="temperature"):
        result.action(temperature=bad)


def test_infinite_temperature_is_uniform_over_what_was_tried() -> None:
    result = rf.search(tictactoe(), HashEvaluator(0), simulations=6)
    tried = result.visits[:, 0] > 0
    assert not tried.all()
    np.testing.assert_allclose(result.policy(temperature=float("inf")), tried / tried.sum(), rtol=1e-6)


def test_unknown_method() -> None:
    with pytest.raises(ValueError, match="unknown policy method 'mean'"):
        rf.search(tictactoe(), simulations=10).policy(method="mean")  # type: ignore[arg-type]


def test_single_simulation_leaves_the_priors_as_policy() -> None:
    result = rf.search(tictactoe(), HashEvaluator(5), simulations=1)
    np.testing.assert_allclose(
        result.policy()[result.outcomes[0]], result.priors[0] / result.priors[0].sum(), rtol=1e-6
    )
    assert result.action() == result.outcomes[0][result.priors[0].argmax()]
    assert np.isnan(result.payoffs).all()
    np.testing.assert_array_equal(result.value, result.evaluation)


def result_with(visits: list[int], q: list[float], priors: list[float]) -> rf.SearchResult:
    """A turn-based result made by hand."""
    n = len(visits)
    return rf.SearchResult(
        visits=np.array(visits).reshape(n, 1),
        outcomes=(np.arange(10, 10 + n, dtype=np.int32), np.array([-1], np.int32)),
        priors=(np.array(priors, np.float32), np.ones(1, np.float32)),
        q=(np.array(q, np.float32), np.zeros(1, np.float32)),
        payoffs=np.zeros((2, n, 1), np.float32),
        value=np.zeros(2, np.float32),
        evaluation=np.zeros(2, np.float32),
        acting=(0,),
        num_actions=10 + n,
        principal_variation=[],
        stats={"seed": 0},
    )


def test_action_breaks_ties_by_value_then_prior_then_index() -> None:
    assert result_with([3, 5, 5], [0.9, 0.1, 0.2], [0.5, 0.3, 0.2]).action() == 12  # more visits, better value
    assert result_with([5, 5, 5], [0.2, 0.2, 0.1], [0.3, 0.5, 0.2]).action() == 11  # higher prior
    assert result_with([5, 5, 5], [0.2, 0.2, 0.2], [0.3, 0.3, 0.3]).action() == 10  # lower index
    assert result_with([5, 6, 5], [0.9, 0.0, 0.9], [0.4, 0.2, 0.4]).action() == 11  # visits before all


def test_action_samples_the_policy() -> None:
    result = result_with([10, 30, 60], [0, 0, 0], [0.3, 0.3, 0.3])
    rng = np.random.default_rng(0)
    drawn = np.bincount([result.action(temperature=1, rng=rng) for _ in range(4000)], minlength=13)[10:] / 4000
    np.testing.assert_allclose(drawn, [0.1, 0.3, 0.6], atol=0.03)
    assert result.action(temperature=1) == result.action(temperature=1)  # without rng: from the result's seed
    joint = rf.search(walk("pyrat zero-sum", 0), simulations=40)
    actions = joint.action(temperature=1, rng=rng)
    assert isinstance(actions, tuple)
    assert all(actions[p] in joint.outcomes[p] for p in (0, 1))


# ---------- looking at it ----------


def test_tree_shows_the_most_visited_part() -> None:
    state, _, result = run("tictactoe", 0, simulations=100)
    lines = result.tree(depth=2, width=3).splitlines()
    assert lines[0] == f"value {result.value[0]:+.3f} {result.value[1]:+.3f}  visits 100"
    top = [line for line in lines[1:] if not line.startswith(" ")]
    assert len(top) == 3
    best = result.action()
    assert top[0].startswith(state.action_name(best))
    assert f"visits {result.visits.max()}" in top[0]
    assert any(line.startswith("    ") and not line.startswith("     ") for line in lines)
    assert len(result.tree(depth=1, width=3).splitlines()) == 4
    assert result.tree(depth=0).splitlines() == lines[:1]


def test_tree_of_a_joint_root_names_both_actions() -> None:
    state, _, result = run("pyrat zero-sum", 0, simulations=50)
    i, j = np.unravel_index(result.visits.argmax(), result.visits.shape)
    names = [state.action_name(int(result.outcomes[p][k]), p) for p, k in ((0, i), (1, j))]
    assert result.tree(depth=1).splitlines()[1].startswith(" / ".join(names))


def test_tree_is_refused_once_the_searcher_has_moved_on() -> None:
    state, searcher, result = run("tictactoe", 0, simulations=50)
    searcher.run(state)
    with pytest.raises(ValueError, match="graph of this result is gone"):
        result.tree()


@pytest.mark.parametrize("name", ["tictactoe", "pyrat"])
def test_html(name: str) -> None:
    state, _, result = run(name, simulations=50)
    html = result._repr_html_()
    assert "<svg" in html
    assert html.count("<table>") == html.count("</table>") == len(state.acting)
    for player in state.acting:
        best = int(result.outcomes[player][result.visits.sum(axis=1 - player).argmax()])
        assert f'<td style="text-align: left">{state.action_name(best, player)}</td>' in html
    assert "after 50 simulations" in html


# ---------- one searcher, many runs ----------


def test_run_goes_on_from_the_same_root() -> None:
    state = tictactoe(4)
    searcher = searcher_of(state, HashEvaluator(2), simulations=100)
    first, second = searcher.run(state), searcher.run(state.copy())
    assert first.visits.sum() == 99
    assert second.visits.sum() == 199
    assert second.stats["simulations"] == 100  # of this run
    assert_same_result(second, rf.search(state, HashEvaluator(2), simulations=200), stats=False)


def test_run_starts_afresh_on_another_root() -> None:
    searcher = searcher_of(tictactoe(), HashEvaluator(2), simulations=100)
    searcher.run(tictactoe())
    other = searcher.run(tictactoe(4))
    assert_same_result(other, rf.search(tictactoe(4), HashEvaluator(2), simulations=100))
    searcher.reset()
    assert searcher.run(tictactoe(4)).visits.sum() == 99


def test_run_leaves_the_state_alone() -> None:
    for name in ("tictactoe", "pyrat"):
        state = walk(name, 1)
        before = (state.key, str(state), state.legal_actions(state.acting[0]).tolist())
        searcher = searcher_of(state, simulations=50)
        searcher.run(state)
        searcher.run_many([state, state])
        assert (state.key, str(state), state.legal_actions(state.acting[0]).tolist()) == before


def test_the_searcher_keeps_its_own_root() -> None:
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(1), simulations=60)
    searcher.run(state)
    state.apply(4)  # the caller's state moves on; the graph does not
    assert_same_result(searcher.run(state), rf.search(tictactoe(4), HashEvaluator(1), simulations=60))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("evaluator", ["hash", "rollout"])
def test_same_seed_same_result(name: str, evaluator: str) -> None:
    def once(seed: int) -> rf.SearchResult:
        given = HashEvaluator(7, zero_sum=False) if evaluator == "hash" else rf.evaluators.Rollout(1)
        return rf.search(walk(name, 1), given, simulations=80, seed=seed, noise_fraction=0.25)

    first, second, other = once(5), once(5), once(6)
    assert_same_result(first, second)
    if max(map(len, first.priors)) > 1:
        assert any((a != b).any() for a, b in zip(first.priors, other.priors, strict=True))


# ---------- errors ----------


def finished() -> rf.State:
    return tictactoe(0, 3, 1, 4, 2)


def test_finished_game() -> None:
    with pytest.raises(rf.IllegalAction, match="over"):
        rf.search(finished())
    with pytest.raises(rf.IllegalAction, match="over"):
        searcher_of(finished()).run_many([tictactoe(), finished()])


@pytest.mark.parametrize("wrong", [None, 3, "start", object(), np.zeros(9)])
def test_not_a_state(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"must be a state of a game, not {type(wrong).__name__}"):
        rf.search(wrong)
    with pytest.raises(TypeError, match="must be a state"):
        searcher_of(tictactoe()).run(wrong)


def test_state_of_another_game() -> None:
    state = walk("pyrat", 0)
    with pytest.raises(ValueError, match=r"this searcher is for tictactoe.*belongs to pyrat"):
        searcher_of(tictactoe()).run(state)
    small = rf.make("pyrat", width=5, height=5, cheese=3)
    with pytest.raises(ValueError, match="this searcher is for pyrat"):
        rf.Searcher(small).run(rf.make("pyrat", width=5, height=5, cheese=4).initial_state(seed=0))
    rf.Searcher(small, config=rf.SearchConfig(simulations=5)).run(
        rf.make("pyrat", width=5, height=5, cheese=3).initial_state(seed=0)
    )  # equal games are one game


@pytest.mark.parametrize("wrong", [None, "tictactoe", 3, object])
def test_not_a_game(wrong: Any) -> None:
    with pytest.raises(TypeError, match="must be a game"):
        rf.Searcher(wrong)


def test_a_game_is_no_state() -> None:
    with pytest.raises(TypeError, match=r"must be a state of a game, such as game.initial_state\(\), not the game hex"):
        rf.search(rf.make("hex"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "instead"),
    [
        ("net", r"'net' is a text: ramify.evaluators.Rollout\(\) is one"),
        (3, "int has none"),
        (lambda batch: batch, r"ramify.evaluators.Function\(function\) is one"),
        (rf.evaluators.Rollout, r"give an object of it: Rollout\(…\)"),
        (rf.evaluators.Function, r"give an object of it: Function\(…\)"),  # it has the method
    ],
    ids=["name", "number", "function", "class", "class with the method"],
)
def test_not_an_evaluator(wrong: Any, instead: str) -> None:
    with pytest.raises(TypeError, match=rf"evaluator must have a method evaluate\(batch\); .*{instead}"):
        rf.Searcher(rf.make("tictactoe"), wrong)


def test_a_class_is_no_latent_model() -> None:
    class Model:
        recurrent = initial = None

    with pytest.raises(TypeError, match=r"game must be a game .* or a latent model; this is the class Model"):
        rf.Searcher(Model)  # type: ignore[arg-type]


def test_a_function_that_gives_no_pair() -> None:
    with pytest.raises(rf.EvaluatorError, match=r"valueless has to return \(logits, values\), not 3"):
        rf.search(tictactoe(), rf.evaluators.Function(valueless), simulations=5)


def valueless(batch: Any) -> int:
    return 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"simulation": 3}, "no search setting 'simulation'; did you mean 'simulations'"),
        ({"cpuct": 1.0}, "no search setting 'cpuct'; did you mean 'c_puct'"),
        ({"zzz": 1}, "no search setting 'zzz'; there are simulations, "),
        ({"simulations": 0}, "simulations=0: must be at least 1"),
        ({"simulations": 2.5}, "simulations=2.5"),
        ({"simulations": True}, "simulations=True.*whole number"),
        ({"c_puct": -1}, "c_puct=-1"),
        ({"c_puct": float("nan")}, "c_puct=nan"),
        ({"c_puct": float("inf")}, "c_puct=inf"),
        ({"c_base": 0}, "c_base=0"),
        ({"discount": 0}, "discount=0"),
        ({"discount": 1.01}, "discount=1.01"),
        ({"fpu": "none"}, "fpu='none'.*'zero', 'parent' or 'reduction'"),
        ({"opponent_weights": "nash"}, "opponent_weights='nash'"),
        ({"normalize": "z"}, "normalize='z'"),
        ({"parent_visits": "n"}, "parent_visits='n'"),
        ({"noise_alpha": 0}, "noise_alpha=0"),
        ({"noise_fraction": 1.5}, "noise_fraction=1.5"),
        ({"batch": 0}, "batch=0"),
        ({"threads": 0}, "threads=0"),
        ({"threads": 100_000}, "threads=100000"),
        ({"max_nodes": 0}, "max_nodes=0"),
        ({"max_evaluations": 0}, "max_evaluations=0"),
        ({"max_seconds": 0}, "max_seconds=0"),
        ({"max_seconds": float("nan")}, "max_seconds=nan"),
        ({"max_in_flight": 0}, "max_in_flight=0"),
        ({"max_in_flight": 2}, "max_in_flight=2"),
        ({"graph": "maybe"}, "graph='maybe'"),
    ],
)
def test_impossible_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.SearchConfig(**settings)
    with pytest.raises(ValueError, match=message):
        rf.search(tictactoe(), **{"simulations": 10, **settings})


def test_settings_are_frozen() -> None:
    config = rf.SearchConfig(simulations=5)
    with pytest.raises(ValueError, match="frozen"):
        config.simulations = 6  # type: ignore[misc]
    assert config.replace(simulations=6).simulations == 6
    assert config.simulations == 5
    with pytest.raises(ValueError, match="did you mean 'batch'"):
        config.replace(batches=3)


def test_rollouts_need_a_game() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        rf.evaluators.Rollout(0)


def test_uniform_written_in_python_equals_the_core() -> None:
    class Plain:
        evaluate = rf.evaluators.Uniform().evaluate

    for name in ("tictactoe", "pyrat zero-sum"):
        state = walk(name, 2)
        evaluators = rf.evaluators.Uniform(), Plain()
        native, python = (rf.search(state, evaluator, simulations=150) for evaluator in evaluators)
        if name == "tictactoe":  # where no actions merge
            assert_same_result(native, python, stats=False)
            small = {"seconds": 0, "backend": "", "bytes": 0}  # leaves of the core keep no list of actions
            assert {**native.stats, **small} == {**python.stats, **small}
            assert native.stats["bytes"] < python.stats["bytes"]
        assert isinstance(rf.evaluators.Uniform(), NativeEvaluator)


# ---------- the package ----------


def test_nothing_is_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ramify"):
        rf.search(tictactoe(), simulations=20)
    assert not caplog.records


def test_seeds_of_many_searches_make_each_what_it_is_alone() -> None:
    game = rf.make("hex", size=4)
    states = []
    for action in range(5):
        state = game.initial_state()
        state.apply(action)
        states.append(state)
    evaluator = rf.evaluators.Function(lambda batch: rf.evaluators.Uniform().evaluate(batch))
    config = rf.SearchConfig(simulations=20, noise_fraction=0.5)
    seeds = [7, 2**64 - 1, 0, 7, 12]
    found = rf.Searcher(game, evaluator, config, seed=99).run_many(states, seeds)
    for state, seed, result in zip(states, seeds, found, strict=True):
        alone = rf.Searcher(game, evaluator, config, seed=seed).run(state)
        np.testing.assert_array_equal(result.visits, alone.visits)
        np.testing.assert_array_equal(result.priors[1], alone.priors[1])
    assert not np.array_equal(found[0].priors[1], found[1].priors[1])
    with pytest.raises(ValueError, match="one Searcher per state"):
        rf.Searcher(game, rf.evaluators.Uniform(), config).run_many(states, seeds)
    with pytest.raises(ValueError, match="seed"):
        rf.Searcher(game, evaluator, config).run_many(states, [-1] * 5)
    with pytest.raises(ValueError, match="5 states, but 2 seeds"):
        rf.Searcher(game, evaluator, config).run_many(states, [1, 2])
