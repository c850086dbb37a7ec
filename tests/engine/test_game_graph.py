"""Whole games as graphs: exact values against linear programs and OpenSpiel, best responses, NashConv, CFR, limits."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine.equilibria import GameGraph, best_response, mccfr, nash_conv, solve_game, strategy_value
from tests.children import LISTEN
from tests.engine.golden_games import Solved, solved_positions
from tests.engine.tiny_games import Carousel, Paths
from tests.reference.backward_induction import BackwardInduction

ROCK_PAPER_SCISSORS = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]


def uniform(state: rf.State) -> Any:
    policies = [state.legal_mask(player) / len(state.legal_actions(player)) for player in state.acting]
    return policies[0] if len(policies) == 1 else tuple(policies)


def matrix(payoffs: Any) -> rf.State:
    return rf.make("matrix", payoffs=np.asarray(payoffs).tolist()).initial_state()


def random_strategy(state: rf.State) -> Any:
    """Some strategy, the same whenever a position is asked for."""
    policies = []
    for player in state.acting:
        weights = np.random.default_rng((state.key, player)).exponential(size=state.game.num_actions)
        policies.append(weights * state.legal_mask(player) / (weights * state.legal_mask(player)).sum())
    return policies[0] if len(policies) == 1 else tuple(policies)


# --- exact solutions ---


@pytest.mark.core
def test_known_games_have_their_values() -> None:
    assert solve_game(rf.make("tictactoe").initial_state()).value.tolist() == [0.0, 0.0]
    rock = solve_game(matrix(ROCK_PAPER_SCISSORS))
    np.testing.assert_allclose([rock.x, rock.y], np.full((2, 3), 1 / 3), atol=1e-12)
    for cards in (3, 4, 5):
        solution = solve_game(rf.make("goofspiel", cards=cards).initial_state())
        assert abs(solution.value[0]) < 1e-12  # the players' hands are alike
        assert nash_conv(solution.strategy.graph, solution.strategy) < 1e-10


def test_a_solution_is_shown_in_a_line() -> None:
    state = rf.make("goofspiel", cards=3).initial_state()
    solution = solve_game(state)
    for found in (solution, mccfr(state, iterations=20), best_response(state, solution.strategy, 0)):
        assert len(repr(found)) < 300
        assert "goofspiel" in repr(found)
        assert "\n" not in repr(found)
    assert f"{solution.strategy.graph.positions} positions" in repr(solution)
    scissors = solve_game(rf.make("matrix").initial_state())
    assert repr(scissors).count("33.3 %") == 6
    assert "player 1" not in repr(solve_game(rf.make("tictactoe").initial_state()))  # it does not act


@pytest.mark.parametrize("position", solved_positions("goofspiel"), ids=str)
def test_golden_positions_of_goofspiel(position: Solved) -> None:
    state = position.state()
    solution = solve_game(state)
    assert abs(solution.value[0] + float(state.returns[0]) - position.value) < 1e-9
    np.testing.assert_allclose(solution.payoffs[0] + float(state.returns[0]), position.payoffs, atol=1e-9)


@pytest.mark.parametrize("order", ["alternating", "single", "both"])
@pytest.mark.parametrize("zero_sum", [True, False])
def test_games_written_in_python(order: str, zero_sum: bool) -> None:
    """Every order of acting, against backward induction with linear programs."""
    state = Paths(order, turns=3, branching=3, zero_sum=zero_sum).initial_state()
    reference = BackwardInduction()
    solution = solve_game(state)
    assert abs(0.5 * solution.difference - reference.value(state)) < 1e-7
    assert solution.zero_sum == zero_sum
    half = 0.5 * (solution.payoffs[0] - solution.payoffs[1])
    np.testing.assert_allclose(half, reference.payoffs(state), atol=1e-7)
    np.testing.assert_allclose(solution.x @ solution.payoffs @ solution.y, solution.value, atol=1e-12)
    assert nash_conv(state, solution.strategy) < 1e-10


def test_own_rewards_of_a_general_sum_game() -> None:
    """The game solved is that of differences; what is reported is each player's own."""
    prisoners = [[[3, 0], [5, 1]], [[3, 5], [0, 1]]]
    solution = solve_game(matrix(prisoners))
    assert solution.value.tolist() == [1.0, 1.0]
    assert solution.difference == 0.0
    assert not solution.zero_sum
    both_silent = {solution.strategy.graph.state.key: ([1.0, 0.0], [1.0, 0.0])}
    assert nash_conv(matrix(prisoners), both_silent, objective="returns") == 4.0  # 5 instead of 3, each
    assert nash_conv(matrix(prisoners), both_silent) == 5.0  # half of 5 - 0 instead of nothing, each
    assert best_response(matrix(prisoners), both_silent, 0, objective="returns").value == 5.0


def test_positions_before_their_transpositions_are_in_order() -> None:
    """Positions reached by ways of different length: no numbering by layers is an order of solution."""

    class Ladder(rf.PythonGame):
        """Climb one or two; who arrives at the top is paid."""

        num_actions, observation_shape = 2, (1,)

        def start(self, rng: Any) -> Any:
            return 0, 0

        def acting(self, position: Any) -> tuple[int, ...]:
            return () if position[0] >= 7 else (position[1],)

        def legal_actions(self, position: Any, player: int) -> range:
            return range(2)

        def apply(self, position: Any, action: int) -> Any:
            height, player = position[0] + 1 + action, position[0] % 2
            paid = (1.0 if position[1] == 0 else -1.0) if height >= 7 else 0.0
            return (height, player), (paid, -paid)

        def observation(self, position: Any, player: int) -> Any:
            return [position[0]]

    state = Ladder().initial_state()
    assert solve_game(state).value[0] == BackwardInduction().value(state)


# --- strategies ---


def brute_best_response(state: rf.State, strategy: Any, player: int) -> float:
    """The best of all plans of the player, by recursion without memory."""
    if state.is_over:
        return 0.0
    best = -np.inf
    policies = strategy(state)
    policies = policies if len(state.acting) == 2 else (policies, policies)
    mine = state.legal_actions(player).tolist() if player in state.acting else [None]
    theirs = state.legal_actions(1 - player).tolist() if 1 - player in state.acting else [None]
    for own in mine:
        earned = 0.0
        for other in theirs:
            chance = 1.0 if other is None else float(policies[1 - player][other])
            if chance:
                after = state.copy()
                joint = [own, other] if player == 0 else [other, own]
                rewards = after.apply(*(action for action in joint if action is not None))
                earned += chance * (float(rewards[player]) + brute_best_response(after, strategy, player))
        best = max(best, earned)
    return best


@pytest.mark.parametrize("order", ["alternating", "both"])
@pytest.mark.parametrize("player", [0, 1])
def test_best_responses_are_those_of_brute_force(order: str, player: int) -> None:
    state = Paths(order, turns=3, branching=2, zero_sum=False).initial_state()
    response = best_response(state, random_strategy, player, objective="returns")
    assert abs(response.value - brute_best_response(state, random_strategy, player)) < 1e-9
    # Playing the response earns what it promises.
    assert abs(strategy_value(state, response.strategy)[player] - response.value) < 1e-9


def test_nash_conv_is_the_sum_of_both_gains() -> None:
    state = rf.make("goofspiel", cards=3).initial_state()
    values = strategy_value(state, random_strategy)
    gains = [best_response(state, random_strategy, player).value - values[player] for player in (0, 1)]
    assert abs(nash_conv(state, random_strategy) - sum(gains)) < 1e-12
    table = {rf.make("goofspiel", cards=3).initial_state().key: random_strategy(state)}
    with pytest.raises(ValueError, match="no entry for the key"):
        nash_conv(state, table)


def test_a_strategy_is_asked_only_where_it_leads() -> None:
    """Against the first card, always: whatever the responder does, one line of the other's cards is played."""
    asked = []

    def first_card(state: rf.State) -> Any:
        asked.append(state.key)
        policies = np.zeros((2, state.game.num_actions))
        policies[0, state.legal_actions(0)[0]] = policies[1, state.legal_actions(1)[0]] = 1.0
        return tuple(policies)

    state = rf.make("goofspiel", cards=4).initial_state()
    graph = GameGraph(state)
    best_response(graph, first_card, 0)
    assert len(asked) == len(set(asked)) < graph.positions / 3


def test_outcomes_with_the_same_effect_count_together() -> None:
    """A player who stands still by walking into a wall stands still."""
    game = rf.make("pyrat", width=3, height=3, cheese=2, max_turns=5, wall_density=0.0, symmetric=False)
    state = game.initial_state(seed=2)
    walls = strategy_value(state, lambda state: [np.eye(5)[3], np.eye(5)[1]] if _corners(state) else uniform(state))
    stays = strategy_value(state, lambda state: [np.eye(5)[4], np.eye(5)[4]] if _corners(state) else uniform(state))
    np.testing.assert_allclose(walls, stays)


def _corners(state: Any) -> bool:
    fields = state.fields
    return bool(fields["p1"] == [0, 0] and fields["p2"] == [2, 2])


def test_an_agent_that_searches_in_every_position() -> None:
    """More simulations, less exploitable; a graph search with the solver is exact here."""
    game = rf.make("pyrat", width=3, height=3, cheese=3, max_turns=4, symmetric=False, reward="difference")
    graph = GameGraph(game.initial_state(seed=1))

    def agent(simulations: int) -> Any:
        def policy(state: rf.State) -> Any:
            result = rf.search(state, simulations=simulations, selection="regret", graph=True, solver=True)
            return result.policy(0, "nash"), result.policy(1, "nash")

        return policy

    few, many = nash_conv(graph, agent(4)), nash_conv(graph, agent(400))
    assert many < 0.05
    assert few > many + 0.05


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda state: 0.5, "pair of arrays"),
        (lambda state: ([0.5, 0.5], [1.0]), "2 probabilities, not shape"),
        (lambda state: ([0.5, 0.6], [0.5, 0.5]), "sum to 1"),
        (lambda state: ([1.5, -0.5], [0.5, 0.5]), "sum to 1"),
        (lambda state: ([np.nan, 1.0], [0.5, 0.5]), "sum to 1"),
        (lambda state: ("half", [0.5, 0.5]), "probabilities over actions"),
    ],
)
def test_bad_strategies_are_named(given: Any, message: str) -> None:
    with pytest.raises(rf.InvalidInput, match=message):
        nash_conv(matrix([[1, -1], [-1, 1]]), given)


# --- CFR ---


@pytest.mark.core
@pytest.mark.parametrize("seed", [0, 1])
def test_mccfr_comes_near_the_exact_value(seed: int) -> None:
    for state in (
        matrix([[3, -1], [-1, 1]]),
        rf.make("goofspiel", cards=4, returns="difference").initial_state(),
        rf.make("connect_four").state("d d f g a b f g b c g c b f b c e d a a g f f d f b c e a b"),
        rf.make("pyrat", width=3, height=3, cheese=3, max_turns=6, symmetric=False).initial_state(seed=seed),
    ):
        exact = solve_game(state)
        found = mccfr(state, 5000, seed)
        assert found.nash_conv < 0.1
        error = 0.5 * abs((found.value[0] - found.value[1]) - exact.difference)
        assert error <= found.nash_conv  # as must be: the value lies between what best responses can make of it


@pytest.mark.core
def test_mccfr_improves_and_is_deterministic() -> None:
    graph = GameGraph(rf.make("goofspiel", cards=4, points="ascending").initial_state())
    few, many = mccfr(graph, 100), mccfr(graph, 10_000)
    assert many.nash_conv < 0.3 * few.nash_conv
    again = mccfr(graph, 100)
    assert again.nash_conv == few.nash_conv
    assert mccfr(graph, 100, seed=1).nash_conv != few.nash_conv


# --- OpenSpiel as another program ---

OPEN_SPIEL = """
import json, sys
import pyspiel
from open_spiel.python import policy
from open_spiel.python.algorithms import exploitability
found = {}
for name in sys.argv[1:]:
    game = pyspiel.load_game(name)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    found[name] = exploitability.nash_conv(game, policy.UniformRandomPolicy(game))
print(json.dumps(found))
"""


def open_spiel(*names: str) -> dict[str, float]:
    """NashConv of uniform play, by OpenSpiel, in a process of its own."""
    pytest.importorskip("pyspiel")
    done = subprocess.run([sys.executable, "-c", OPEN_SPIEL, *names], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"OpenSpiel's algorithms cannot be loaded: {done.stderr.splitlines()[-1]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def test_nash_conv_of_uniform_play_is_that_of_open_spiel() -> None:
    goofspiel = "goofspiel(num_cards=3,imp_info=False,points_order=descending,returns_type=point_difference)"
    theirs = open_spiel(goofspiel, "matrix_sh")
    state = rf.make("goofspiel", cards=3, returns="difference").initial_state()
    assert abs(nash_conv(state, uniform) - theirs[goofspiel]) < 1e-9
    stag_hunt = rf.make("openspiel:matrix_sh").initial_state()
    assert abs(nash_conv(stag_hunt, uniform, objective="returns") - theirs["matrix_sh"]) < 1e-9


@pytest.mark.slow
def test_nash_conv_in_tic_tac_toe_is_that_of_open_spiel() -> None:
    theirs = open_spiel("tic_tac_toe")["tic_tac_toe"]
    for name in ("tictactoe", "openspiel:tic_tac_toe"):
        assert abs(nash_conv(rf.make(name).initial_state(), uniform) - theirs) < 1e-9


# --- limits ---


@pytest.mark.core
def test_large_games_are_refused() -> None:
    chess = rf.make("chess").initial_state()
    with pytest.raises(rf.InvalidInput, match=r"more than 1000 positions .* max_positions"):
        solve_game(chess, max_positions=1000)
    with pytest.raises(rf.InvalidInput, match="max_seconds"):
        solve_game(chess, max_positions=10**9, max_seconds=0.05)
    with pytest.raises(rf.InvalidInput, match="at least 1"):
        solve_game(chess, max_positions=0)
    with pytest.raises(rf.InvalidInput, match="more than 0"):
        solve_game(chess, max_seconds=0)


def test_what_cannot_be_solved_is_said() -> None:
    with pytest.raises(rf.InvalidInput, match="can come back"):
        solve_game(Carousel().initial_state())
    state = matrix(ROCK_PAPER_SCISSORS)
    state.apply(0, 0)
    with pytest.raises(rf.InvalidInput, match="over"):
        solve_game(state)
    with pytest.raises(TypeError, match="state of a game"):
        solve_game([[1, 2]])  # type: ignore[arg-type]
    pytest.importorskip("pyspiel")
    with pytest.raises(rf.InvalidInput, match="chance"):
        solve_game(rf.make("openspiel:pig", players=2).initial_state(seed=0))


def test_payoffs_and_states_are_told_apart() -> None:
    with pytest.raises(TypeError, match="one strategy of both players"):
        nash_conv(matrix(ROCK_PAPER_SCISSORS), uniform, uniform)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="payoffs, x and y, or a state and a strategy"):
        nash_conv(ROCK_PAPER_SCISSORS, uniform)  # type: ignore[call-overload]
    with pytest.raises(rf.InvalidInput, match="objective must be"):
        nash_conv(matrix(ROCK_PAPER_SCISSORS), uniform, objective="own")  # type: ignore[call-overload]


def test_strategies_know_their_positions_only() -> None:
    solution = solve_game(matrix(ROCK_PAPER_SCISSORS))
    with pytest.raises(rf.InvalidInput, match="does not follow"):
        solution.strategy(matrix([[1, -1], [-1, 1]]))


def test_graphs_are_used_by_threads_at_once() -> None:
    graph = GameGraph(rf.make("goofspiel", cards=4).initial_state())
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(mccfr(graph, 300).nash_conv)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


INTERRUPTED = """
import ramify as rf
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "rf.equilibria.solve_game(rf.make('chess').initial_state(), max_positions=10**9)",
        "rf.equilibria.mccfr(rf.make('goofspiel', cards=4).initial_state(), 10**12)",
    ],
)
def test_ctrl_c_ends_a_computation(call: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", LISTEN + INTERRUPTED.format(call=call)],  # a test run in the background ignores Ctrl-C
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        threading.Event().wait(0.3)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    finally:
        child.kill()
        child.communicate()  # closes the pipes
    assert out == "interrupted\n", err


def test_errors_of_a_game_in_python_pass() -> None:
    class Broken(Carousel):
        def apply(self, position: Any, action: int) -> Any:
            raise ZeroDivisionError("an author's error")

    with pytest.raises(Exception, match="an author's error"):
        solve_game(Broken().initial_state())
    assert list(itertools.islice(solve_game(matrix([[1]])).value, 2)) == [1.0, -1.0]  # and nothing is left behind
