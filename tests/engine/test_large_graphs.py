"""Graphs of more than 2^17 nodes, in which descents fetch from memory by hints where a child has its edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core

pytestmark = pytest.mark.core


def grown(simulations: int, **chosen: Any) -> _core.Search:
    """A tree of chess, of an evaluator that costs nothing."""
    state = rf.make("chess").initial_state()
    search = _core.make_search(state, rf.SearchConfig(**chosen).for_evaluator(None).model_dump())  # type: ignore[arg-type]
    grow(search, simulations)
    return search


def grow(search: _core.Search, simulations: int) -> None:
    search.begin(0)
    assert search.run_native(0, 0, simulations, math.inf) == simulations


def first_visits(search: _core.Search) -> list[int]:
    """Visits of all edges of the first levels, where every node has been visited as often as the edge to it says."""
    root, seen = search.report([]), []
    for i, action in enumerate(root["outcomes"][0]):
        report = search.report([(int(action), -1)])
        assert report["visits"] == root["edge_visits"][i, 0] == 1 + report["edge_visits"].sum()
        for j, reply in enumerate(report["outcomes"][1]):
            below = search.report([(int(action), -1), (-1, int(reply))])
            assert below["visits"] == report["edge_visits"][0, j] == 1 + below["edge_visits"].sum()
            seen += below["edge_visits"].ravel().tolist()
    return seen


def test_memory_that_threads_take_in_growing_pieces() -> None:
    """Pieces would get odd sizes once a thread has taken half a megabyte, and nodes have to begin at even places."""
    search = grown(250_000, threads=4)
    assert search.stats["bytes"] > 4 * 2**21
    assert sum(first_visits(search)) > 240_000


@pytest.mark.skipif(not _core.use_wide_vectors(True), reason="this processor has no AVX2, and hints are not used")
def test_hints_change_nothing() -> None:
    """Without wide vectors there are none. An advance moves what it keeps elsewhere, where old hints mean nothing."""
    kept: list[_core.Search] = []
    try:
        for wide in (True, False):
            _core.use_wide_vectors(wide)
            kept.append(grown(600_000))
    finally:
        _core.use_wide_vectors(True)
    with_hints, without = kept
    assert with_hints.stats["bytes"] > without.stats["bytes"]
    assert first_visits(with_hints) == first_visits(without)
    action = int(with_hints.report([])["outcomes"][0][0])
    for search in kept:
        assert search.advance(action, -1)
        grow(search, 300_000)
    for key in ("visits", "value", "edge_visits"):
        np.testing.assert_array_equal(with_hints.report([])[key], without.report([])[key])
