"""Results survive pickle and copies with all that was found at the root; the graph stays behind."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of
from tests.engine.positions import walk

COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda result: pickle.loads(pickle.dumps(result)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def found(name: str, **settings: Any) -> rf.SearchResult:
    state = walk(name, 1)
    return searcher_of(state, HashEvaluator(0), simulations=300, **settings).run(state)


def without_lines(html: str) -> str:
    """What a notebook shows, without the last column of its tables: what follows an action is read in the graph."""
    assert html.count("</td></tr>") > 1
    return re.sub(r"<td[^>]*>[^<]*</td></tr>", "</tr>", html)


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", ["tictactoe", "chess", "pyrat"])
def test_a_copy_says_the_same(name: str, how: str) -> None:
    result = found(name)
    same = COPIES[how](result)
    assert_same_result(same, result)
    assert same.config == result.config
    assert same.stats == result.stats
    assert same.action() == result.action()
    assert same.action(1.0, 7) == result.action(1.0, 7)
    assert same.action(method="lcb") == result.action(method="lcb")
    for player in result.acting:
        for method in ("visits", "pruned", "improved"):
            np.testing.assert_array_equal(same.policy(player, method), result.policy(player, method))
        np.testing.assert_array_equal(same.lcb(player), result.lcb(player))
    assert without_lines(same._repr_html_()) == without_lines(result._repr_html_())


def test_what_needs_the_graph_says_so() -> None:
    same = pickle.loads(pickle.dumps(found("hex")))
    for look in (lambda: same.node([]), same.tree, same.variation):
        with pytest.raises(ValueError, match="has no search graph"):
            look()


def test_arrays_stay_frozen() -> None:
    result = found("tictactoe", solver=True)
    same = pickle.loads(pickle.dumps(result))
    for array in (same.visits, *same.priors, *same.q, same.payoffs, same.value, same.proof.edges, same.proof.plies):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@pytest.mark.parametrize("settings", [{"solver": True}, {"selection": "gumbel"}])
def test_proofs_and_races_come_along(settings: dict[str, Any]) -> None:
    result = found("connect_four", **settings)
    same = pickle.loads(pickle.dumps(result))
    assert same.winners == result.winners
    assert (same.proof is None) == (result.proof is None)
    if result.proof is not None:
        np.testing.assert_array_equal(same.proof.edges, result.proof.edges)
    np.testing.assert_array_equal(same.policy(method="improved"), result.policy(method="improved"))


@pytest.mark.parametrize("selection", ["regret", "exp3"])
def test_average_strategies_come_along(selection: str) -> None:
    result = found("pyrat", selection=selection)
    same = pickle.loads(pickle.dumps(result))
    for player in (0, 1):
        np.testing.assert_array_equal(same.policy(player, "average"), result.policy(player, "average"))
        np.testing.assert_array_equal(same.policy(player, "nash"), result.policy(player, "nash"))


def test_a_result_whose_searcher_has_moved_on() -> None:
    state = walk("hex", 1)
    searcher = searcher_of(state, HashEvaluator(0), simulations=50)
    result = searcher.run(state)
    searcher.run(state)
    same = pickle.loads(pickle.dumps(result))
    assert same.action() == result.action()
    with pytest.raises(ValueError, match="no search graph"):
        same.lcb()
