"""What print(result) shows: it fits a screen, says the same as the arrays, and never fails."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine.result_text import proven_plies
from tests.engine.helpers import tictactoe

POSITIONS: dict[str, tuple[rf.State, dict[str, Any]]] = {
    "hex": (rf.make("hex").initial_state(), {"simulations": 500}),
    "chess": (rf.make("chess").initial_state(), {"simulations": 200}),
    "pyrat": (rf.make("pyrat", preset="tiny").initial_state(0), {"simulations": 300}),
    "wide matrix": (rf.make("matrix", payoffs=np.arange(900).reshape(30, 30).tolist()).initial_state(), {}),
    "one simulation": (rf.make("goofspiel", cards=13).initial_state(), {"simulations": 1}),
    "proven": (tictactoe(0, 3, 1, 4), {"solver": True}),
    "gumbel": (rf.make("connect_four").initial_state(), {"selection": "gumbel"}),
}


def found(name: str) -> rf.SearchResult:
    state, settings = POSITIONS[name]
    return rf.search(state, rf.evaluators.Rollout(), **{"simulations": 800, **settings})


@pytest.mark.parametrize("name", POSITIONS)
def test_a_result_fits_a_screen(name: str) -> None:
    result = found(name)
    lines = str(result).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert len(repr(result).splitlines()) == 1
    assert len(repr(result)) <= 80
    assert f"{result.stats['simulations']:,} simulation" in lines[1]
    assert f"value {result.value[0]:+.3f} {result.value[1]:+.3f}" in lines[1]


def test_the_table_says_what_was_found() -> None:
    result = found("hex")
    state = POSITIONS["hex"][0]
    rows = [line.split() for line in str(result).splitlines()[3:-1]]
    assert str(result).splitlines()[-1] == f"and {len(result.outcomes[0]) - len(rows)} more"
    assert rows[0][0] == state.action_name(result.best_action)
    for name, visits, share, value, prior, *way_on in rows:
        action = state.action(name)
        assert int(visits) == result.visit_counts[action]
        assert share == f"{result.visit_counts[action] / 499:.1%}"
        assert float(value) == pytest.approx(result.q_values[action], abs=6e-4)
        assert float(prior) == pytest.approx(result.prior[action], abs=6e-4)
        line = result.variation(action, length=6)
        assert way_on == [state.action_name(int(a)) for a in line[1:]]  # names in hex do not depend on the position


def test_where_both_act_both_have_a_table() -> None:
    result = found("pyrat")
    lines = str(result).splitlines()
    assert lines[0].startswith("pyrat, both players act; best actions ")
    heads = [i for i, line in enumerate(lines) if line.startswith("player ")]
    assert [lines[i].split()[:2] for i in heads] == [["player", "0"], ["player", "1"]]
    for player, head in enumerate(heads):
        best = result.best_action[player]
        name, visits = lines[head + 1].split()[:2]
        assert name == POSITIONS["pyrat"][0].action_name(best, player)
        assert int(visits.replace(",", "")) == result.visit_counts[player][best]


def test_what_is_proven_is_said() -> None:
    text = str(found("proven"))
    assert "proven: player 0 wins in at most 1 ply, returns +1 -1" in text
    assert re.search(r"^c1 .*\+1\.000", text, re.MULTILINE)
    assert ", proven," in repr(found("proven"))
    drawn = rf.search(rf.make("tictactoe").initial_state(), simulations=100_000, solver=True)
    assert "proven: a draw, returns +0 +0" in str(drawn)


def test_proven_games_end_in_as_many_plies_as_are_said() -> None:
    """Alpha-beta finds the quickest end, which a proof need not have seen: it says no less than that."""
    game, rng, exact = rf.make("hex", size=3), np.random.default_rng(0), 0
    for _ in range(30):
        state = game.initial_state()
        for _ in range(int(rng.integers(5))):
            state.apply(int(rng.choice(state.legal_actions())))
        result = rf.search(state, simulations=100_000, solver=True)
        plies, least = proven_plies(result), rf.alphabeta(state, depth=9).plies
        assert plies is not None
        assert least is not None
        assert plies >= least
        assert plies % 2 == least % 2
        assert f"wins in at most {plies} pl" in str(result)
        exact += plies == least
    assert exact > 15
    both = rf.search(rf.make("goofspiel", cards=3).initial_state(), simulations=10_000, solver=True)
    assert proven_plies(both) is None
    assert proven_plies(rf.search(game.initial_state(), simulations=10)) is None


@pytest.mark.parametrize("settings", [{"solver": True}, {"selection": "gumbel"}], ids=str)
def test_the_first_row_is_what_is_played(settings: dict[str, Any]) -> None:
    """Proofs and races choose by more than visits."""
    for seed in range(8):
        state = tictactoe(*(0, 4, 8)[: seed % 4])
        result = rf.search(state, rf.evaluators.Rollout(), simulations=40, seed=seed, **settings)
        rows = [line for line in str(result).splitlines() if re.match(r"[abc][123] ", line)]
        assert rows[0].split()[0] == state.action_name(result.action())


def test_a_result_without_its_graph_still_shows() -> None:
    state = rf.make("connect_four").initial_state()
    searcher = rf.Searcher(state.game, rf.evaluators.Rollout(), rf.SearchConfig(simulations=200))
    result = searcher.run(state)
    before = str(result).splitlines()
    searcher.advance(result.best_action)
    searcher.run(state.after(result.best_action))
    for later in (result, pickle.loads(pickle.dumps(result))):
        after = str(later).splitlines()
        assert after[:4] == before[:4]  # the best action keeps the principal variation
        assert [line.split()[:5] for line in after] == [line.split()[:5] for line in before]


def test_long_names_are_cut() -> None:
    class Wordy(rf.PythonGame):
        num_actions, observation_shape = 3, (1,)

        def start(self, rng: np.random.Generator) -> int:
            return 0

        def acting(self, position: int) -> tuple[int, ...]:
            return (0,) if position < 3 else ()

        def legal_actions(self, position: int, player: int) -> range:
            return range(3)

        def apply(self, position: int, action: int) -> tuple[int, tuple[float, float]]:
            return position + 1, (action, -action)

        def observation(self, position: int, player: int) -> list[int]:
            return [position]

        def action_name(self, position: int, player: int, action: int) -> str:
            return f"{action} and\na great deal more than that " + "x" * 200

    text = str(rf.search(Wordy().initial_state(), simulations=50))
    assert max(map(len, text.splitlines())) <= 80
    assert "\n2 and a gre..." in text
