"""Games as games of OpenSpiel: by its own test, and its algorithms against ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests import chance_games
from tests.adapters.games import everything
from tests.games.small_games import Duel

pyspiel = pytest.importorskip("pyspiel")
GAMES = everything()
SILENT = {"simultaneous": (-3.0, 3.0), "python": (-1.0, 1.0)}  # what these games do not say of themselves


@pytest.mark.parametrize("name", GAMES)
def test_openspiels_random_games_pass(name: str) -> None:
    """Its own test of the interface: clones, histories, observations, undone and repeated actions."""
    game = rf.adapters.openspiel_game(GAMES[name](), returns_range=SILENT.get(name))
    pyspiel.random_sim_test(game, 2, False, False)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_the_same_game(name: str) -> None:
    """Observations, actions, returns and the end are those of a state that is played beside it."""
    game, rng = GAMES[name](), np.random.default_rng(0)
    theirs = rf.adapters.openspiel_game(game, returns_range=SILENT.get(name), seed=3).new_initial_state()
    ours = theirs.game_state.copy()
    while not theirs.is_terminal():
        assert theirs.returns() == [0.0, 0.0]
        if theirs.is_chance_node():
            outcomes, shares = zip(*theirs.chance_outcomes(), strict=True)
            turn = [int(rng.choice(outcomes, p=shares))]
        else:
            turn = [int(rng.choice(theirs.legal_actions(player))) for player in ours.acting]
            player = ours.acting[0]
            assert theirs.observation_tensor(player) == ours.observation(player).ravel().tolist()
            assert theirs.action_to_string(player, turn[0]) == ours.action_name(turn[0], player)
        theirs.apply_actions(turn) if len(turn) == 2 else theirs.apply_action(turn[0])
        ours.apply_only(*turn) if hasattr(ours, "apply_only") else ours.apply(*turn)
        assert theirs.clone().game_state.key == ours.key
    assert ours.is_over
    assert theirs.returns() == ours.returns.tolist()


def tables(game: Any, turn_based: Any, policy: Any) -> tuple[dict[int, Any], dict[int, Any]]:
    """{key of a position: {action: probability}} of both players, of a policy for the turn-based form of the game."""
    found: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
    waiting = [(game.new_initial_state(), turn_based.new_initial_state())]
    while waiting:
        plain, first = waiting.pop()
        if plain.is_terminal():
            continue
        for action in plain.legal_actions(0):
            second = first.child(action)
            for answer in plain.legal_actions(1):
                after = plain.clone()
                after.apply_actions([action, answer])
                waiting.append((after, second.child(answer)))
        key = plain.game_state.key
        found[0][key], found[1][key] = policy.action_probabilities(first), policy.action_probabilities(second)
    return found


def as_strategy(found: tuple[dict[int, Any], dict[int, Any]]) -> Any:
    """The same as our functions take it."""

    def strategy(state: Any) -> tuple[np.ndarray, np.ndarray]:
        rows = np.zeros((2, state.game.num_actions))
        for row, table in zip(rows, found, strict=True):
            row[list(table[state.key])] = list(table[state.key].values())
        return rows[0], rows[1]

    return strategy


GOOFSPIEL = ("goofspiel", {"cards": 3, "points": "ascending", "returns": "difference"})
MAZE = {"width": 3, "height": 3, "cheese": 1, "max_turns": 2, "symmetric": False, "wall_density": 0.0}
PYRAT = ("pyrat", {**MAZE, "mud_density": 0.0, "starts": "random", "reward": "difference"})


@pytest.mark.parametrize(("name", "params", "iterations"), [(*GOOFSPIEL, 60), (*PYRAT, 6)], ids=["goofspiel", "pyrat"])
def test_openspiels_cfr_solves_our_game_and_agrees_with_ours(name: str, params: Any, iterations: int) -> None:
    """NashConv of its strategies is the same by its code and by ours; its value is ours as far as NashConv allows."""
    from open_spiel.python.algorithms import cfr, expected_game_score, exploitability

    game = rf.adapters.openspiel_game(name, seed=4, **params)
    turn_based = pyspiel.convert_to_turn_based(game)
    solver = cfr.CFRPlusSolver(turn_based)
    graph = rf.equilibria.GameGraph(rf.make(name, **params).initial_state(4))
    value, before = float(rf.equilibria.solve_game(graph).value[0]), np.inf
    for more in (1, iterations):
        for _ in range(more):
            solver.evaluate_and_update_policy()
        policy = solver.average_policy()
        theirs = exploitability.nash_conv(turn_based, policy)
        ours = rf.equilibria.nash_conv(graph, as_strategy(tables(game, turn_based, policy)))
        assert ours == pytest.approx(theirs, abs=1e-5)
        assert theirs <= before
        before = theirs
    assert before < 0.1
    score = expected_game_score.policy_value(turn_based.new_initial_state(), [policy, policy])
    assert abs(score[0] - value) <= before + 1e-6


def test_openspiels_mcts_agrees_with_ours_on_hex() -> None:
    """Both prove who wins after a first action on 3×3, and choose one that wins."""
    from open_spiel.python.algorithms import mcts

    game = rf.adapters.openspiel_game("hex", size=3)
    rng = np.random.RandomState(1)
    bot = mcts.MCTSBot(game, 1.4, 1500, mcts.RandomRolloutEvaluator(1, rng), solve=True, random_state=rng)
    afters = [game.new_initial_state().child(action) for action in range(9)]
    ours = [rf.search(after.game_state, simulations=20_000, solver=True).proven for after in afters]
    for action in (0, 1, 4):
        root = bot.mcts_search(afters[action])
        assert root.best_child().outcome[0] == ours[action][0]
    assert ours[0][0] != ours[4][0]
    assert ours[bot.step(game.new_initial_state())][0] == 1.0
    best = rf.search(rf.make("hex", size=3).initial_state(), simulations=20_000, solver=True).best_action
    assert ours[best][0] == 1.0


def test_openspiels_expectiminimax_agrees_with_the_mean_over_outcomes() -> None:
    from open_spiel.python.algorithms import minimax

    rules = chance_games.Race(goal=5, turns=2)
    game = rf.adapters.openspiel_game(rules)
    value, _ = minimax.expectiminimax(
        game.new_initial_state(), 12, lambda state: state.returns()[0], maximizing_player_id=0
    )
    start = rules.start(np.random.default_rng(0))
    assert value == pytest.approx(chance_games.expectimax(rules)(start))


def test_minimax_finds_that_tictactoe_is_a_draw() -> None:
    from open_spiel.python.algorithms import minimax

    game = rf.adapters.openspiel_game("tictactoe")
    position = game.new_initial_state()
    for action in (0, 4, 8):
        position.apply_action(action)
    value, action = minimax.alpha_beta_search(game, position, None, 9, 1)
    assert value == 0.0
    assert action in (1, 3, 5, 7)  # a corner would lose


def test_one_player() -> None:
    pytest.importorskip("gymnasium")
    game = rf.adapters.openspiel_game("gym:CartPole-v1", time_limit=5, returns_range=(0, 5))
    assert game.num_players() == 1
    pyspiel.random_sim_test(game, 1, False, False)


def test_what_the_game_says_of_its_returns() -> None:
    kinds = pyspiel.GameType.Utility
    for name, params, least, most, kind in (
        ("hex", {}, -1.0, 1.0, kinds.ZERO_SUM),
        ("matrix", {"payoffs": [[[1, 2], [0, 0]], [[0, 0], [2, 1]]]}, 0.0, 2.0, kinds.GENERAL_SUM),
        ("pyrat", {"preset": "tiny"}, 0.0, 13.0, kinds.GENERAL_SUM),
    ):
        game = rf.adapters.openspiel_game(name, **params)
        assert (game.min_utility(), game.max_utility()) == (least, most)
        assert game.get_type().utility == kind
    with pytest.raises(rf.InvalidInput, match="give returns_range="):
        rf.adapters.openspiel_game(Duel())
