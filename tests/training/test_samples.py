"""Targets, against plain recomputation from the games."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ramify as rf
from ramify.engine.policies import NashConfig, is_informative, outcome_weights
from ramify.training import TargetConfig, make_samples
from ramify.training.samples import replay, value_targets
from tests.training.helpers import records

SEARCH = rf.SearchConfig(simulations=12)
GAMES = {
    "tictactoe": rf.make("tictactoe"),
    "hex": rf.make("hex", size=3),
    "pyrat": rf.make("pyrat", width=3, height=3, cheese=3, max_turns=12),
    "goofspiel": rf.make("goofspiel", cards=3, returns="difference"),
}


def walk(game, record):
    """(state before the move, move, rewards from this move on)."""
    state, seen = game.initial_state(seed=record.seed), []
    for move in record.moves:
        before = state.copy()
        seen.append([before, move, np.array(state.apply(*move.actions), np.float64)])
    for number in range(len(seen)):
        seen[number].append(sum(entry[2] for entry in seen[number:]))
    return seen


@pytest.mark.parametrize("name", GAMES)
def test_rows_are_what_was_played(name):
    game, row = GAMES[name], 0
    players = 2 if game.simultaneous else 1
    games = records(game, SEARCH)
    made = make_samples(game, reversed(games), SEARCH, TargetConfig(), players, heads=())
    for record in sorted(games, key=lambda record: record.number):
        for state, move, _, to_come in walk(game, record):
            if move.found is None:
                continue
            order = [0, 1] if len(move.acting) == 2 else [move.acting[0], 1 - move.acting[0]]
            assert np.array_equal(made.observations[row], state.observation(order[0]))
            assert np.allclose(made.values[row], to_come[order[:players]], atol=1e-6)
            for place, player in enumerate(order[:players]):
                legal = np.zeros(game.num_actions, bool)
                legal[state.legal_actions(player)] = True
                assert np.array_equal(made.legal[row, place], legal)
                visits = move.found.visits.sum(axis=1 - player)
                wanted = np.zeros(game.num_actions)
                wanted[move.found.outcomes[player]] = visits / visits.sum()
                assert np.allclose(made.policies[row, place], wanted, atol=1e-6)
            assert made.games[row] == record.number
            row += 1
    assert row == len(made) > 10


@pytest.mark.parametrize("method", ["pruned", "improved", "nash"])
def test_policy_targets_are_those_of_policies(method):
    game = GAMES["pyrat"]
    games = records(game, SEARCH, games=3)
    targets = TargetConfig(policy=method, skip_uninformative=False)
    made = make_samples(game, games, SEARCH, targets, 2, heads=())
    found = [move.found for record in sorted(games, key=lambda r: r.number) for move in record.moves if move.found]
    for row, one in enumerate(found):
        for player in (0, 1):
            weights = outcome_weights(one.root(SEARCH), player, method)
            assert np.allclose(made.policies[row, player, one.outcomes[player]], weights / weights.sum(), atol=1e-6)


@pytest.mark.parametrize(("method", "skip"), [("nash", None), ("nash", False), ("visits", None), ("visits", True)])
def test_positions_without_information_have_no_policy_target(method, skip):
    """By default only where the target is nash; the rest of the row is as ever."""
    game, search = GAMES["pyrat"], rf.SearchConfig(simulations=60)
    games = records(game, search, games=4, evaluator=rf.evaluators.Uniform())
    targets = TargetConfig(policy=method, skip_uninformative=skip, nash={"min_visits": 8})
    made = make_samples(game, games, search, targets, 2, heads=())
    every = make_samples(game, games, search, targets.replace(skip_uninformative=False), 2, heads=())
    found = [move.found for record in sorted(games, key=lambda r: r.number) for move in record.moves if move.found]
    skips = skip if skip is not None else method == "nash"
    informative = [is_informative(one.root(search), method, targets.nash) or not skips for one in found]
    assert any(informative)
    assert all(informative) != skips
    for row, kept in enumerate(informative):
        assert np.array_equal(made.policies[row], every.policies[row] * kept)
        assert made.surprise[row] == every.surprise[row] * kept
        assert np.array_equal(made.legal[row], every.legal[row])
        assert np.array_equal(made.values[row], every.values[row])


def test_targets_have_settings_of_their_own_for_nash():
    """The target solves what it is told to, whatever self-play acts by."""
    game, search = GAMES["goofspiel"], rf.SearchConfig(simulations=40)
    games = records(game, search, games=2, acting="nash", nash={"choose": "any", "min_visits": 0})
    nash = NashConfig(choose="entropy", min_visits=2, pruned=True)
    targets = TargetConfig(policy="nash", nash=nash, skip_uninformative=False)
    made = make_samples(game, games, search, targets, 2, heads=())
    found = [move.found for record in sorted(games, key=lambda r: r.number) for move in record.moves if move.found]
    for row, one in enumerate(found):
        for player in (0, 1):
            weights = outcome_weights(one.root(search), player, "nash", nash)
            assert np.allclose(made.policies[row, player, one.outcomes[player]], weights, atol=1e-6)


def test_values_mix_returns_root_and_the_near_future():
    game = GAMES["pyrat"]
    record = records(game, SEARCH, games=1)[0]
    rewards = np.array([entry[2] for entry in walk(game, record)])
    roots = np.array([move.found.value for move in record.moves], np.float64)

    def values(**targets):
        return make_samples(game, [record], SEARCH, TargetConfig(**targets), 2, heads=()).values

    returns = np.cumsum(rewards[::-1], axis=0)[::-1]
    assert np.allclose(values(), returns, atol=1e-5)
    assert np.allclose(values(root_share=1.0), roots, atol=1e-5)
    assert np.allclose(values(root_share=0.25), 0.75 * returns + 0.25 * roots, atol=1e-5)
    # The mean of the next roots, each with what was won until then: weights 1/3 * (2/3)^k, the rest the returns.
    count, short = len(roots), np.zeros_like(roots)
    for start in range(count):
        left = 1.0
        for ahead in range(start, count):
            short[start] += left / 3 * (rewards[start:ahead].sum(axis=0) + roots[ahead])
            left *= 2 / 3
        short[start] += left * returns[start]
    assert np.allclose(values(short_share=1.0, short_moves=3), short, atol=1e-5)


def test_resignation_and_cut_games():
    game = GAMES["hex"]
    resigned = [
        record
        for record in records(game, SEARCH, 40, resign_below=0.5, resign_moves=1, playthrough=0.0)
        if record.resigned and record.moves
    ]
    assert resigned
    for record in resigned:
        _, rewards = replay(game, record)
        assert np.allclose(rewards.sum(axis=0), record.returns)
    cut = records(game, SEARCH, 3, max_moves=2)
    made = make_samples(game, cut, SEARCH, TargetConfig(), 1, heads=())
    record = min(cut, key=lambda record: record.number)
    assert record.cut
    last = record.moves[-1]
    assert made.values[1, 0] == pytest.approx(last.found.value[last.acting[0]])


def test_scores_and_owners():
    game = GAMES["hex"]
    record = records(game, SEARCH, 1)[0]
    made = make_samples(game, [record], SEARCH, TargetConfig(), 1, heads=("ownership",))
    final = replay(game, record)[0][-1]
    for row, move in enumerate(record.moves):
        viewer = move.acting[0]
        assert made.scores[row] == record.returns[viewer] - record.returns[1 - viewer]
        planes = final.observation(viewer)
        assert np.array_equal(made.owners[row].reshape(3, 3), planes[0] - planes[1])
    with pytest.raises(ValueError, match="ownership head cannot be trained for pyrat"):
        make_samples(GAMES["pyrat"], [], SEARCH, TargetConfig(), 2, heads=("ownership",))


def test_no_games_give_no_rows():
    assert len(make_samples(GAMES["hex"], [], SEARCH, TargetConfig(), 1, heads=("ownership",))) == 0


def test_surprise_is_the_divergence_from_the_prior():
    game = GAMES["hex"]
    record = records(game, SEARCH, 1)[0]
    made = make_samples(game, [record], SEARCH, TargetConfig(), 1, heads=())
    move = record.moves[0]
    share = move.found.visits.ravel() / move.found.visits.sum()
    told = share > 0
    wanted = (share[told] * np.log(share[told] / move.found.priors[move.acting[0]][told])).sum()
    assert made.surprise[0] == pytest.approx(wanted, rel=1e-4)


CUT = rf.make("pyrat", width=5, height=5, cheese=9, max_turns=40)


def made_by_hand(values, recorded, cut):
    """A game of PyRat, 5x5 with 9 pieces of cheese, with so many turns and these roots."""
    record = records(CUT, SEARCH, 1, max_moves=len(values))[0]
    moves = [
        replace(move, found=replace(move.found, value=np.array(value, np.float32)) if there else None)
        for move, value, there in zip(record.moves, values, recorded, strict=True)
    ]
    return replace(record, moves=moves, cut=cut)


def test_a_cut_game_does_not_count_the_last_rewards_twice():
    """Computed by hand: 1 was won before the last search, which expects 2.05 more, of which 1 was won right then."""
    rewards = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.5], [0.0, 0.5]])
    roots = [[3.2, 0.1], [3.0, 0.2], [2.05, 1.5], [9.0, 9.0]]
    game = made_by_hand(roots, [True, True, True, False], cut=True)  # the last move was of a fast search
    values = value_targets(game, rewards, TargetConfig(), 1.0)
    assert values[:3] == pytest.approx(np.array([[3.05, 1.5], [3.05, 1.5], [2.05, 1.5]]))
    assert value_targets(game, rewards, TargetConfig(), 0.5)[:3] == pytest.approx(
        np.array([[0.5 * (1 + 0.5 * 2.05), 0.25 * 1.5], [1 + 0.5 * 2.05, 0.5 * 1.5], [2.05, 1.5]])
    )
    ended = value_targets(replace(game, cut=False), rewards, TargetConfig(), 1.0)
    assert ended == pytest.approx(np.array([[2, 1], [2, 1], [1, 1], [0, 0.5]]))


@pytest.mark.parametrize("full_share", [1.0, 0.4])
def test_values_of_cut_games_against_a_plain_computation(full_share):
    """Sums of lists, from the first position on: no recursion from the end."""
    search = SEARCH.replace(discount=0.9, fast_simulations=4)
    games = [game for game in records(CUT, search, 12, max_moves=7, full_share=full_share) if game.cut]
    assert sum(sum(move.found is not None for move in game.moves) > 1 for game in games) > 5
    won = 0.0
    for record in games:
        steps = [(move, rewards) for _, move, rewards, _ in walk(CUT, record)]
        searched = [number for number, (move, _) in enumerate(steps) if move.found is not None]
        wanted = []
        for start in searched:
            last = searched[-1]
            total = [0.9 ** (last - start) * float(value) for value in steps[last][0].found.value]
            for number in range(start, last):
                for player in (0, 1):
                    total[player] += 0.9 ** (number - start) * float(steps[number][1][player])
            wanted.append(total)
        won += sum(float(rewards.sum()) for _, rewards in steps[searched[-1] :]) if searched else 0.0
        made = make_samples(CUT, [record], search, TargetConfig(), 2, heads=())
        assert made.values == pytest.approx(np.array(wanted, np.float32).reshape(-1, 2), abs=1e-5)
    assert won > 0  # there were rewards that had been counted twice
