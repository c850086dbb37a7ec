"""Proofs: what the solver calls decided is decided, and it finds what the golden data says there is to find."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.chance_games import HiddenDie
from tests.engine.helpers import tictactoe
from tests.engine.random_games import RandomGame
from tests.engine.tiny_games import Loans

pytestmark = pytest.mark.core

GOLDEN = Path(__file__).parents[1] / "golden"
ROLLOUTS: dict[str, Any] = {"c_puct": 3.0, "fpu": "parent"}  # with random games as evaluator; priors stay uniform


def prove(state: rf.State, simulations: int, evaluator: Any = None, **settings: Any) -> rf.SearchResult:
    chosen = rf.evaluators.Uniform() if evaluator is None else evaluator
    return rf.search(state, chosen, simulations=simulations, solver=True, **{"graph": True, **settings})


def best_value(state: rf.State, known: dict[int, Any]) -> Any:
    """What perfect play brings both players of a zero-sum game from here, by brute force."""
    if state.is_over:
        return np.zeros(2)
    if state.key not in known:
        lists = [state.outcomes(player)[0].tolist() if player in state.acting else [None] for player in (0, 1)]
        table = np.zeros((len(lists[0]), len(lists[1])))
        for i, first in enumerate(lists[0]):
            for j, second in enumerate(lists[1]):
                after = state.copy()
                reward = after.apply(*(action for action in (first, second) if action is not None))
                table[i, j] = reward[0] + best_value(after, known)[0]
        value = rf.equilibria.values(table[None])[0] if min(table.shape) > 1 else pick(table, state.acting[0])
        known[state.key] = np.array([value, -value])
    return known[state.key]


def pick(table: Any, player: int) -> float:
    """The best of the entries for the only player who has a choice, if anybody has."""
    return float(table.max() if table.shape[1] == 1 and (player == 0 or table.shape[0] > 1) else table.min())


def all_positions(state: rf.State, seen: set[int], identity: str) -> Iterator[rf.State]:
    if state.is_over or getattr(state, identity) in seen:
        return
    seen.add(getattr(state, identity))
    yield state
    for action in state.legal_actions().tolist():
        after = state.copy()
        after.apply(action)
        yield from all_positions(after, seen, identity)


@pytest.mark.parametrize(
    ("identity", "positions"), [("canonical_key", 627), pytest.param("key", 4520, marks=pytest.mark.slow)]
)
def test_every_position_of_tictactoe(identity: str, positions: int) -> None:
    """Up to symmetry, or all of them."""
    known: dict[int, Any] = {}
    count = 0
    for state in all_positions(tictactoe(), set(), identity):
        result = prove(state, 100_000)
        assert result.proven is not None
        np.testing.assert_array_equal(result.proven, best_value(state, known))
        after = state.copy()
        paid = after.apply(result.action())
        np.testing.assert_array_equal(paid + best_value(after, known), result.proven)
        count += 1
    assert count == positions


@pytest.mark.parametrize("size", [3, 4])
def test_hex_openings(size: int) -> None:
    openings = json.loads((GOLDEN / "hex_openings.json").read_text())["sizes"]
    winning = set(openings[str(size)]["winning_first_moves"])
    game = rf.make("hex", size=size)
    for action in range(size * size):
        state = game.initial_state()
        name = state.action_name(action)
        state.apply(action)
        result = prove(state, 500_000)
        assert result.proven is not None
        assert (result.proven[0] == 1) == (name in winning), name


def solved_hex(size: int) -> list[tuple[rf.State, dict[str, Any]]]:
    rows = [json.loads(line) for line in (GOLDEN / "hex_solved.jsonl").read_text().splitlines()]
    game, found = rf.make("hex", size=size), []
    for row in rows:
        if row["size"] == size:
            state = game.initial_state()
            for name in row["moves"]:
                state.apply(state.action(name))
            found.append((state, row))
    return found


def check_hex(state: rf.State, row: dict[str, Any], result: rf.SearchResult) -> None:
    wins = row["winner"] == row["to_move"]
    assert result.proven is not None
    assert result.proven[state.acting[0]] == (1 if wins else -1)
    if wins:
        assert state.action_name(result.action()) in row["winning_moves"]


def test_every_solved_position_of_hex_4() -> None:
    positions = solved_hex(4)
    assert len(positions) == 40
    for state, row in positions:
        check_hex(state, row, prove(state, 500_000))


@pytest.mark.slow
def test_most_solved_positions_of_hex_5() -> None:
    positions, proven = solved_hex(5), 0
    for state, row in positions:
        result = prove(state, 500_000, rf.evaluators.Rollout(8), **ROLLOUTS)
        if result.proven is not None:
            check_hex(state, row, result)
            proven += 1
    assert proven >= 0.9 * len(positions)


@pytest.mark.parametrize(
    ("mate_in", "simulations"), [(1, 500), (2, 100_000), pytest.param(3, 1_000_000, marks=pytest.mark.slow)]
)
def test_mates(mate_in: int, simulations: int) -> None:
    rows = [json.loads(line) for line in (GOLDEN / "chess_mates.jsonl").read_text().splitlines()]
    game, shortest, found = rf.make("chess"), 0, 0
    for row in rows:
        if row["mate_in"] != mate_in:
            continue
        state = game.state(row["fen"])
        result = prove(state, simulations, graph=False)
        assert result.proven is not None, row["fen"]
        assert result.proven[state.acting[0]] == 1
        assert mates(state, result), row["fen"]
        found += 1
        shortest += state.action_name(result.action()) in row["winning_moves"]
    assert found >= 20
    assert shortest >= (0.6 if mate_in == 3 else 1.0) * found  # the others mate as surely, a little later


def mates(state: rf.State, result: rf.SearchResult) -> bool:
    """Whether the move chosen mates within the plies claimed, whatever the answers, by exhaustive search."""
    assert result.proof is not None
    player = state.acting[0]
    index = result.outcomes[player].tolist().index(result.action())
    after = state.copy()
    reward = after.apply(result.action())
    return reward[player] == 1 or loses(after, int(result.proof.plies.ravel()[index]) - 1)


def loses(state: rf.State, plies: int) -> bool:
    """Whether the player to move is mated within so many plies. Checks are tried first: they decide most."""
    player = state.acting[0] if state.acting else 0
    if state.is_over or plies <= 0:
        return False
    for action in state.legal_actions().tolist():
        after = state.copy()
        if (
            after.apply(action)[player] != 0
            or after.is_over
            or not any(wins_with(after, answer, plies - 1) for answer in after.legal_actions().tolist())
        ):
            return False
    return True


def wins_with(state: rf.State, action: int, plies: int) -> bool:
    player, after = state.acting[0], state.copy()
    reward = after.apply(action)
    return bool(reward[player] == 1) or (plies > 1 and not after.is_over and loses(after, plies - 1))


def endgame(seed: int, turns: int, **params: Any) -> rf.State:
    settings = {
        "width": 5,
        "height": 4,
        "symmetric": False,
        "wall_density": 0.5,
        "mud_density": 0.3,
        "starts": "random",
    }
    game = rf.make("pyrat", cheese=1 + seed % 3, max_turns=turns, reward="difference", **{**settings, **params})
    return game.initial_state(seed=seed)


def check_endgames(seeds: range) -> None:
    for seed in seeds:
        state = endgame(seed, turns=1 + seed % 8)
        result = prove(state, 1_000_000)
        assert result.proven is not None, seed
        np.testing.assert_allclose(result.proven, best_value(state, {}) + state.returns, atol=1e-5)


def test_pyrat_endgames() -> None:
    check_endgames(range(60))


@pytest.mark.slow
def test_more_pyrat_endgames() -> None:
    check_endgames(range(60, 300))


def small_positions(count: int, seed: int) -> Iterator[rf.State]:
    """Positions of native games that brute force solves at once."""
    rng = np.random.default_rng(seed)
    makers: list[tuple[Any, int]] = [
        (rf.make("tictactoe"), 9),
        (rf.make("hex", size=3), 9),
        (rf.make("hex", size=2, swap=True), 4),
        (rf.make("goofspiel", cards=4), 3),
        (rf.make("goofspiel", cards=4, returns="difference", points="ascending"), 3),
    ]
    for number in range(count):
        if number % 3 == 0:  # any table, with ties more often than not
            payoffs = rng.integers(-2, 3, (rng.integers(1, 5), rng.integers(1, 5))).astype(float)
            yield rf.make("matrix", payoffs=payoffs.tolist()).initial_state()
            continue
        game, longest = makers[int(rng.integers(len(makers)))]
        state = game.initial_state()
        for _ in range(rng.integers(longest)):
            before = state.copy()
            state.apply(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))
            if state.is_over:
                state = before
                break
        yield state


def check_small(count: int, seed: int) -> None:
    known: dict[Any, dict[int, Any]] = {}
    proven = 0
    for number, state in enumerate(small_positions(count, seed)):
        options = {"graph": number % 2 == 0, "canonical": number % 4 == 0, "batch": 1 + 3 * (number % 5 == 0)}
        evaluator = None if number % 7 else rf.evaluators.Rollout(1)
        result = prove(state, int(5 + number % 200), evaluator, **options)
        value = best_value(state, {} if state.game.name == "matrix" else known.setdefault(repr(state.game), {}))
        assert result.proof is not None
        low, high = result.proof.bounds
        assert (low <= value + 1e-5).all(), (state.game, str(state))
        assert (value <= high + 1e-5).all(), (state.game, str(state))
        assert (np.clip(result.value, low, high) == result.value).all()
        if result.proven is not None:
            np.testing.assert_allclose(result.proven, value + state.returns, atol=1e-5)
            proven += 1
    assert proven > count / 4


def test_no_false_proof() -> None:
    check_small(1500, seed=0)


@pytest.mark.slow
def test_no_false_proof_in_a_hundred_thousand_games() -> None:
    check_small(100_000, seed=1)


@pytest.mark.parametrize("games", [24, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["turns", "both", "mixed"])
def test_bounds_of_random_games_hold(kind: str, games: int) -> None:
    """Rewards on the way, transpositions, players who move twice; general-sum where it is not said otherwise."""
    proven = 0
    for seed in range(games):
        game = RandomGame(kind, seed, zero_sum=seed % 2 == 0)
        state = game.initial_state()
        result = prove(state, 300, graph=seed % 3 > 0, discount=1.0 if seed % 4 else 0.9)
        assert result.proof is not None
        low, high = result.proof.bounds
        value = game.solve(1.0 if seed % 4 else 0.9)
        assert (low <= value + 1e-5).all(), seed
        assert (value <= high + 1e-5).all(), seed
        proven += result.proven is not None
    assert proven > games / 6


def test_a_proven_root_stops_the_search_and_stays_proven() -> None:
    state = rf.make("hex", size=3).initial_state()
    searcher = rf.Searcher(state.game, None, rf.SearchConfig(simulations=100_000, solver=True, graph=True))
    result = searcher.run(state)
    assert result.stats["simulations"] < 5000
    assert result.proven is not None
    again = searcher.run(state)
    assert again.stats["simulations"] == 0
    np.testing.assert_array_equal(again.proven, result.proven)
    line, paid = state.copy(), np.zeros(2)
    for _ in range(9):
        action = searcher.run(line).action()
        paid = line.apply(action)
        if line.is_over:
            break
        searcher.advance(action)
    assert paid.tolist() == [1.0, -1.0]  # the first player wins, move by move, from what is kept


def test_wins_are_short_and_losses_long() -> None:
    # x has two ways to win: at once in the top row, or later.
    won = prove(tictactoe(0, 3, 1, 4), 2000)
    assert won.action() == 2
    assert won.policy().tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0]
    # o cannot stop both threats, but can make x show one: it takes a cell of a threat, and loses one move later.
    lost = prove(tictactoe(0, 1, 8, 2, 6), 5000)
    assert lost.proven is not None
    assert lost.proof is not None
    if lost.proven[1] == -1:
        allowed = lost.proof.plies.ravel()
        assert allowed[lost.outcomes[1].tolist().index(lost.action())] == allowed.max()


@pytest.mark.parametrize("settings", [{"threads": 2}, {"batch": 16}, {"graph": False}, {"selection": "gumbel"}])
def test_proofs_whatever_the_settings(settings: dict[str, Any]) -> None:
    result = prove(rf.make("hex", size=3).initial_state(), 50_000, **settings)
    assert result.proven is not None
    assert result.proven.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("selection", ["regret", "exp3"])
def test_proofs_beside_mixed_strategies(selection: str) -> None:
    state = endgame(5, turns=4)
    result = prove(state, 100_000, selection=selection)
    assert result.proven is not None
    np.testing.assert_allclose(result.proven, best_value(state, {}) + state.returns, atol=1e-5)


def test_refuted_outcomes_are_not_visited_nor_chosen() -> None:
    # After b, the reply a mates; the search may look once, not twice.
    state = rf.make("connect_four").state("d a d a d")  # o must answer in d
    result = prove(state, 2000)
    block = state.action("d")
    visits = dict(zip(result.outcomes[1].tolist(), result.visits[0].tolist(), strict=True))
    assert result.action() == block
    assert all(n <= 2 for action, n in visits.items() if action != block)
    assert result.policy()[block] == 1


def test_a_proof_found_on_one_way_is_good_for_all() -> None:
    """After the search every node of the graph knows as much as its children tell."""
    state = rf.make("hex", size=3).initial_state()
    state.apply(0)  # loses slowly: much is left to look at
    result = prove(state, 150)
    assert result._look is not None
    stack: list[list[tuple[int, int]]] = [[]]
    checked = 0
    while stack:
        path = stack.pop()
        report = result._look(path)
        if not report["ready"] or len(path) > 5:
            continue
        player = 0 if report["acting"] == 1 else 1
        low, high = (bound.ravel() for bound in report["edge_bounds"][:, player])
        assert report["bounds"][0, player] >= low.max()
        assert report["bounds"][1, player] <= max(high.max(), report["bounds"][0, player])
        checked += 1
        for i in np.flatnonzero(report["edge_visits"].ravel()):
            action = int(report["outcomes"][player][i])
            stack.append([*path, (action, -1) if player == 0 else (-1, action)])
    assert checked > 100


def test_without_stakes_only_whole_subtrees_prove_anything() -> None:
    """A game that does not say what its returns may be: infinite bounds are no proof, exhausted ones are."""
    game = RandomGame("turns", 1)
    game.returns_range = None
    assert prove(game.initial_state(), 3).proven is None
    result = prove(game.initial_state(), 2000)
    assert result.proven is not None
    np.testing.assert_allclose(result.proven, game.solve(1.0), atol=1e-5)


@pytest.mark.filterwarnings("error")
def test_without_stakes_who_gains_hurries_and_who_loses_does_not() -> None:
    """Nothing says what half of the possible is: then it is 0, and no number that is none."""

    class Tower(rf.PythonGame):
        """Player 0 adds one or two storeys; at four or more the tower falls, to the gain or loss of its builder."""

        name = "tower"
        num_actions, observation_shape, zero_sum = 2, (1,), True

        def __init__(self, gain: int) -> None:
            self.gain = gain

        def start(self, rng: Any) -> int:
            return 0

        def acting(self, position: int) -> tuple[int, ...]:
            return (0,) if position < 4 else ()

        def legal_actions(self, position: int, player: int) -> list[int]:
            return [0, 1]

        def apply(self, position: int, action: int) -> tuple[int, tuple[int, int]]:
            fallen = self.gain if position + action + 1 >= 4 else 0
            return position + action + 1, (fallen, -fallen)

        def observation(self, position: int, player: int) -> list[int]:
            return [position]

    for gain, action, plies in ((1, 1, 2), (-1, 0, 4)):
        result = prove(Tower(gain).initial_state(), 200)
        assert result.proven is not None
        assert result.proven[0] == gain
        assert result.action() == action
        assert result.proof is not None
        assert result.proof.plies.ravel()[action] == plies


def test_what_cannot_be_proven() -> None:
    with pytest.raises(rf.InvalidInput, match="chance"):
        prove(HiddenDie().initial_state(seed=0), 10)


# ---------- with a discount ----------


def loans(discount: float, turn: int = 0, owed: float = 0.0) -> float:
    """What player 0 gets of Loans, discounted, by minimax."""
    if turn == 4:
        return 0.0
    sign = 1 - 2 * (turn % 2)
    values = []
    for action in range(2 if turn < 3 else 1):
        loan = 3 * action * sign
        values.append(loan - owed + discount * loans(discount, turn + 1, loan))
    return max(values) if sign == 1 else min(values)


@pytest.mark.parametrize("discount", [1.0, 0.9, 0.5])
@pytest.mark.parametrize("settings", [{}, {"graph": False}])
def test_returns_of_a_game_do_not_bound_its_discounted_values(discount: float, settings: dict[str, Any]) -> None:
    """Every return is 0, and yet a loan is worth something: what comes later weighs less."""
    exact = loans(discount)
    assert (exact == 0) == (discount == 1.0)
    state = Loans().initial_state()
    for simulations in (1, 3, 10, 300):
        result = prove(state, simulations, discount=discount, **settings)
        assert result.proof is not None
        assert result.proof.bounds[0, 0] - 1e-5 <= exact <= result.proof.bounds[1, 0] + 1e-5
    assert result.proven == pytest.approx([exact, -exact], abs=1e-5)


class Unfair(Loans):
    """Zero-sum in the end only: player 0 is paid with the first turn, player 1 with the last one."""

    returns_range = (-1.0, 1.0)

    def apply(self, position: Any, action: int) -> tuple[Any, tuple[float, float]]:
        after, _ = super().apply(position, action)
        return after, (1.0 if after[0] == 1 else 0.0, -1.0 if after[0] == 4 else 0.0)


def test_turns_that_do_not_sum_to_nothing_are_refused_with_a_discount() -> None:
    state = Unfair().initial_state()
    assert prove(state, 100).proven is not None
    with pytest.raises(rf.InvalidInput, match=r"declares zero_sum, but the rewards of a turn are 1\.0+ and 0\.0+"):
        prove(state, 100, discount=0.9)
