"""What recorded searches look like: equilibria of known matrices, spreads of known visits, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.evaluators.payoffs import agreement, agreement_by_visits, predicted_payoffs
from ramify.pyrat import oracle_positions, played_out_payoffs
from ramify.selfplay.inspection import equilibria_of, inspect_games, inspect_position
from ramify.selfplay.records import FoundBySearch, read_folder
from tests.engine.helpers import HashEvaluator


def found_of(table: Any, visits: Any = None) -> FoundBySearch:
    """A recorded search of a zero-sum game with this table."""
    payoffs = np.array([table, np.negative(table)], np.float32)
    counts = np.full(payoffs.shape[1:], 100) if visits is None else np.array(visits)
    priors = [np.full(n, 1 / n, np.float32) for n in counts.shape]
    outcomes = [np.arange(n, dtype=np.int32) for n in counts.shape]
    zeros = np.zeros(2, np.float32)
    return FoundBySearch(
        zeros, zeros, (outcomes[0], outcomes[1]), (priors[0], priors[1]), (zeros, zeros), counts, payoffs, None
    )


@pytest.mark.parametrize(
    ("table", "kind", "indifferent", "pure"),
    [
        ([[0, 0], [0, 0]], "constant", 0, True),
        ([[2, 3], [0, 1]], "unique", 0, True),
        ([[1, -1], [-1, 1]], "unique", 0, False),
        ([[1, 2], [1, 2]], "several", 1, True),  # the first player may do either
        ([[0, 0, 1], [0, 0, 1], [-1, -1, 0]], "several", 2, True),
        ([[1, -1, 1, -1], [-1, 1, -1, 1]], "several", 1, False),
    ],
)
def test_equilibria_of_known_games(table: Any, kind: str, indifferent: int, pure: bool) -> None:
    found = equilibria_of(found_of(table))
    assert (found.kind, found.indifferent, found.pure) == (kind, indifferent, pure)


def test_large_matrices_and_missing_visits_are_unknown() -> None:
    assert equilibria_of(found_of(np.eye(9))).kind == "unknown"
    assert equilibria_of(found_of([[0, 1]], [[0, 0]])).kind == "unknown"


def test_the_spread_of_visits() -> None:
    position = inspect_position(found_of([[0, 1], [1, 0]], [[6, 2], [0, 0]]), 3, 5)
    assert (position.game, position.stage, position.shape) == (3, 5, (2, 2))
    assert (position.visited, position.reliable, position.largest) == (0.5, 0.25, 0.75)
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert position.effective == pytest.approx(np.exp(entropy))
    assert position.entropy == pytest.approx(entropy / 2)  # the first player's visits are all on one outcome
    assert position.prior_entropy == pytest.approx(np.log(2))


def test_agreement_is_what_numpy_says() -> None:
    rng = np.random.default_rng(0)
    better = rng.normal(size=50)
    predicted = 0.5 * better + rng.normal(size=50)
    found = agreement([*predicted, 1.0, np.nan], [*better, np.nan, 1.0])
    assert found.pairs == 50
    assert found.error == pytest.approx(np.abs(predicted - better).mean())
    assert found.correlation == pytest.approx(np.corrcoef(predicted, better)[0, 1])
    assert found.explained == pytest.approx(1 - (better - predicted).var() / better.var())
    assert agreement([1.0, 1.0], [2.0, 2.0]).correlation is None
    assert agreement([], []).pairs == 0
    groups = agreement_by_visits(predicted, better, np.arange(50), bounds=(1, 10))
    assert {name: one.pairs for name, one in groups.items()} == {"1 to 9": 9, "10 or more": 40}


def test_predicted_payoffs_are_those_of_each_pair() -> None:
    """The reward of the pair, and what the evaluator says of the position after it."""
    state = next(iter(oracle_positions(1))).state
    evaluator = HashEvaluator(1, zero_sum=False)
    [payoffs] = predicted_payoffs(evaluator, [state])
    outcomes = [state.outcomes(player)[0] for player in (0, 1)]
    for i, first in enumerate(outcomes[0]):
        for j, second in enumerate(outcomes[1]):
            child = state.copy()
            wanted = child.apply(int(first), int(second)).astype(np.float64)
            if not child.is_over:
                wanted += rf.search(child, evaluator, simulations=1).value
            np.testing.assert_allclose(payoffs[:, i, j], wanted, atol=1e-5)


def test_pairs_played_out_agree_with_the_solution_where_nothing_is_left_to_choose() -> None:
    """One turn before the end, the rewards of a pair are its payoffs; two turns before it, they lie within bounds."""
    game = rf.make("pyrat", width=3, height=3, cheese=2, max_turns=1, wall_density=0.0, mud_density=0.0)
    state = game.state(**{**game.initial_state().fields, "p1": [0, 0], "p2": [2, 0], "cheese": [[0, 1], [1, 0]]})
    played = played_out_payoffs(state, rf.evaluators.Uniform(), games=2, simulations=4)
    np.testing.assert_allclose(played.payoffs, rf.equilibria.solve_game(state).payoffs)
    assert (played.errors == 0).all()
    assert played.games == 2 * played.payoffs[0].size
    assert played.searches == 0
    longer = state.game.state(**{**state.fields, "max_turns": 3})
    played = played_out_payoffs(longer, rf.evaluators.Uniform(), games=4, simulations=8)
    assert played.searches > 0
    assert (played.payoffs.sum(axis=0) <= 2).all()


def test_the_command(run: Any, tmp_path: Path) -> None:
    board = ("-p", "width=5", "-p", "height=5", "-p", "cheese=5")
    played = run("selfplay", "pyrat", "games", *board, "--games", "12", "--evaluator", "uniform", "--simulations", "60")
    assert played[0] == 0
    code, out, _ = run("inspect", "games", "--json")
    assert code == 0
    sections = json.loads(out)
    assert list(sections) == ["Payoff matrices", "Equilibria", "Over the run", "Results", "Cheese"]
    [(header, records)] = read_folder(tmp_path / "games")
    found = inspect_games(rf.make("pyrat", **header["params"]), records)
    assert sections["Equilibria"][-1]["positions"] == len(found.positions)
    assert sum(found.kinds().values()) == pytest.approx(1)
    assert sections["Results"][-1]["draws"] == np.mean([r.returns[0] == r.returns[1] for r in records])
    code, out, _ = run("inspect", "games", "--games", "5", "--out", "page.html")
    assert code == 0
    assert "of 5 games" in out
    assert "<h2>Equilibria</h2>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_difference_is_counted_once(run: Any, tmp_path: Path) -> None:
    board = ("-p", "width=5", "-p", "height=5", "-p", "cheese=5", "-p", "reward=difference")
    assert (
        run("selfplay", "pyrat", "games", *board, "--games", "6", "--evaluator", "uniform", "--simulations", "20")[0]
        == 0
    )
    [(header, records)] = read_folder(tmp_path / "games")
    found = inspect_games(rf.make("pyrat", **header["params"]), records)
    assert sorted(game.margin for game in found.games) == sorted(float(record.returns[0]) for record in records)
    assert any(game.margin for game in found.games)


def test_a_networks_errors_by_visits(run: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    game = rf.make("pyrat", width=3, height=3, cheese=3)
    rf.networks.save(tmp_path / "net", rf.networks.make(game, "1x8"))
    board = ("-p", "width=3", "-p", "height=3", "-p", "cheese=3")
    assert run("selfplay", "pyrat", "games", *board, "--games", "2", "--simulations", "40")[0] == 0
    code, out, _ = run("inspect", "games", "--network", "net.safetensors", "--json")
    assert code == 0
    assert sum(row["payoffs"] for row in json.loads(out)["Prediction"]) > 100


@pytest.mark.parametrize(
    ("game", "words"), [("tictactoe", "games of tictactoe, in which players act in turn"), (None, "no recorded games")]
)
def test_what_cannot_be_inspected_is_said(run: Any, tmp_path: Path, game: str | None, words: str) -> None:
    (tmp_path / "games").mkdir()
    if game is not None:
        assert run("selfplay", game, "games", "--games", "2", "--simulations", "10")[0] == 0
    code, _, err = run("inspect", "games")
    assert code == 2
    assert words in err
    assert run("inspect", "nowhere")[0] == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hex-5", ["hex-5 is a network that is not a learned model"]),
        ("hex5", ["neither a folder nor a network 'hex5'", "did you mean 'hex-5'?"]),
    ],
)
def test_what_is_no_folder_is_told_from_what_does_not_exist(run: Any, name: str, words: list[str]) -> None:
    pytest.importorskip("torch")
    code, _, err = run("inspect", name)
    assert code == 2
    assert [word for word in words if word not in err] == []
