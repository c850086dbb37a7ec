"""What fails in the middle loses nothing: memory that ends, and games that raise."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.games.python_state import PythonState
from tests.engine.helpers import HashEvaluator, searcher_of
from tests.engine.positions import walk
from tests.engine.tiny_games import Paths
from tests.engine.walking import walk_searcher

pytestmark = pytest.mark.core

MIB = 1 << 20
MOST = 1 << 34  # bytes of a graph, unless a test says otherwise
limited = pytest.mark.skipif(
    not Path("/proc/self/statm").exists() or _core.build_info()["sanitizer"] != "none",
    reason="limits the process to its size, which /proc says; sanitizers do not live with that",
)


def in_child(check: Callable[..., None], *args: Any) -> None:
    """Run a function of this module in a process of its own, which it may crash or starve; with the core under test."""
    core = "import tools.load_core; " if os.environ.get("RAMIFY_CORE") else ""
    command = f"{core}from tests.engine import test_failures as t; t.{check.__name__}(*{args!r})"
    run = subprocess.run(
        [sys.executable, "-c", command], cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr


# ---------- memory ----------


@pytest.fixture
def limit_bytes() -> Iterator[Callable[[int], None]]:
    yield _core.limit_graph_bytes
    _core.limit_graph_bytes(MOST)


def test_a_graph_that_grows_says_nothing() -> None:
    assert rf.search(walk("hex", 0), simulations=50).stats["full_reason"] is None


@pytest.mark.parametrize("threads", [1, 2])
def test_max_nodes_says_so(threads: int) -> None:
    state = walk("hex", 0)
    searcher = searcher_of(state, simulations=500, max_nodes=40, threads=threads)
    stats = searcher.run(state).stats
    assert stats["full_reason"] == "max_nodes"
    assert stats["nodes"] == 40


CHUNK = 4 * MIB  # what a graph gets at a time


FULL: list[dict[str, Any]] = [
    {},
    {"graph": True, "canonical": True, "batch": 32},
    {"threads": 2},
    {"solver": True, "graph": True},
    {"selection": "gumbel", "batch": 8},
    {"normalize": "minmax", "threads": 2, "batch": 32},
]


@pytest.mark.parametrize(
    ("settings", "native"),
    [
        *((settings, True) for settings in FULL),
        *((settings, False) for settings in FULL[:2]),
        *(pytest.param(settings, False, marks=pytest.mark.slow) for settings in FULL[2:]),
    ],
)
def test_a_graph_without_room_is_searched_on(
    settings: dict[str, Any], native: bool, limit_bytes: Callable[[int], None]
) -> None:
    """As after 16 GiB, only sooner."""
    state = rf.make("hex", size=19).initial_state()
    small = native and "solver" not in settings  # leaves without words
    simulations = 3500 if not small else 20_000 if "selection" in settings else 70_000
    evaluator = rf.evaluators.Uniform() if native else HashEvaluator(0)
    searcher = searcher_of(state, evaluator, simulations=simulations, **settings)
    limit_bytes(CHUNK)
    result = searcher.run(state)
    assert result.stats["full_reason"] == "address space"
    assert result.stats["simulations"] == simulations
    assert result.stats["full"] > 0
    assert result.visits.sum() >= 0.97 * simulations  # in a batch, a leaf for which there was no room is lost
    assert CHUNK / 2 < result.stats["bytes"] < 1.25 * CHUNK  # with the table
    if small:
        look_at_leaves(searcher, state)
    elif native:
        walk_searcher(searcher, arrivals=False)
    limit_bytes(MOST)
    grown = searcher.run(state)
    assert grown.stats["full_reason"] is None
    assert grown.stats["nodes"] > result.stats["nodes"]
    assert grown.visits.sum() == result.visits.sum() + simulations


def look_at_leaves(searcher: rf.Searcher, state: rf.State) -> None:
    """Reports of leaves need no room in the graph, which has none."""
    assert searcher._search is not None
    seen = 0
    for action in range(0, 361, 20):
        after = state.copy()
        after.apply(action)
        children = searcher._search.report([(action, -1)])
        if not children["ready"]:  # an action that the root has not considered
            continue
        for place in np.argwhere(children["edge_visits"][0] > 0)[-3:, 0]:
            answer = int(children["outcomes"][1][place])
            leaf = searcher._search.report([(action, -1), (-1, answer)])
            last = after.copy()
            last.apply(answer)
            assert leaf["outcomes"][0].tolist() == last.legal_actions(0).tolist()
            seen += 1
    assert seen


def available_bytes() -> int:
    """Memory that the system could still give; 0 where it does not say."""
    info = Path("/proc/meminfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), 0)


def pass_eight_gib() -> None:
    """A tree of Hex 19x19 in one thread, whose nodes at the end lie beyond 8 GiB."""
    search = _core.make_search(
        rf.make("hex", size=19).initial_state(), rf.SearchConfig().for_evaluator(None).model_dump()
    )
    made = 0
    while search.stats["bytes"] < 9 << 30:
        search.begin(0)
        made += search.run_native(0, 0, 500_000, 600.0)
        assert search.stats["full_reason"] is None
    root = search.report([])
    assert root["edge_visits"].sum() == made - 1
    for i, action in enumerate(root["outcomes"][0][::60]):
        child = search.report([(int(action), -1)])
        assert child["visits"] == root["edge_visits"][60 * i, 0] == child["edge_visits"].sum() + 1
        for answer in child["outcomes"][1][::60]:
            below = search.report([(int(action), -1), (-1, int(answer))])
            assert below["visits"] == below["edge_visits"].sum() + 1
            assert sorted(below["outcomes"][0]) == sorted({*range(361)} - {int(action), int(answer)})


@pytest.mark.slow
@pytest.mark.skipif(available_bytes() < 14 << 30, reason="needs 14 GiB of memory")
def test_a_graph_passes_8_gib() -> None:
    in_child(pass_eight_gib)


@pytest.mark.parametrize("settings", [{"selection": "regret"}, {"selection": "exp3", "threads": 2}, {"solver": True}])
def test_room_for_pairs_of_outcomes_may_end_too(settings: dict[str, Any], limit_bytes: Callable[[int], None]) -> None:
    state = rf.make("goofspiel", cards=12).initial_state(seed=0)
    limit_bytes(CHUNK)
    result = searcher_of(state, simulations=40_000, **settings).run(state)
    assert result.stats["full_reason"] == "address space"
    assert result.stats["simulations"] == 40_000
    assert result.visits.sum() >= 39_900


def fill_memory(threads: int) -> None:
    """In a process that may not get any more memory."""
    state = rf.make("hex", size=19).initial_state()
    evaluator = rf.evaluators.Uniform()  # without random games the memory is full sooner
    searcher = searcher_of(state, evaluator, simulations=1000, threads=threads)
    searcher.run(state)  # libraries, threads and their stacks are there
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 40 * MIB,) * 2)
    result = rf.Searcher(state.game, evaluator, searcher.config.replace(simulations=1_000_000)).run(state)
    assert result.stats["full_reason"] == "memory", result.stats
    assert result.stats["simulations"] == 1_000_000
    assert result.visits.sum() >= 999_900


@pytest.mark.parametrize("threads", [1, 2])
@limited
def test_memory_that_ends_ends_the_growth(threads: int) -> None:
    in_child(fill_memory, threads)


def own_bytes() -> int:
    """The size of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def advance_without_memory(place: int, spare: int | None = None) -> tuple[int, int]:
    """Visits that the child had, which has this place among those visited, and that the root has after another run.

    While the search advances, the process may grow by ``spare`` bytes; None: it is too large already.
    """
    state = rf.make("hex", size=11).initial_state()
    searcher = searcher_of(state, simulations=10_000, c_puct=0.2)
    searcher.run(state)
    before = own_bytes()
    result = searcher.run(state)
    visits = result.visits[:, 0]
    best = sorted(np.flatnonzero(visits), key=lambda i: -visits[i])[place]
    action, inherited = int(result.outcomes[0][best]), int(visits[best])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (before if spare is None else own_bytes() + spare, hard))
    searcher.advance(action)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    state.apply(action)
    return inherited, int(searcher.run(state).visits.sum())


def advance_to_much_without_memory() -> None:
    inherited, visits = advance_without_memory(0, MIB // 2)  # for a list of nodes; a copy would take more than 3 MiB
    assert visits == inherited + 9_999


def advance_to_little_without_memory() -> None:
    inherited, visits = advance_without_memory(-1)
    assert inherited < 2_000
    assert visits == 9_999  # of a new graph


@limited
def test_advancing_without_memory_keeps_what_need_not_be_copied() -> None:
    in_child(advance_to_much_without_memory)


@limited
def test_advancing_without_memory_starts_afresh() -> None:
    in_child(advance_to_little_without_memory)


def test_a_graph_that_cannot_be_copied_starts_afresh(limit_bytes: Callable[[int], None]) -> None:
    state = walk("hex", 0)
    searcher = searcher_of(state, HashEvaluator(0), simulations=300, graph=True)
    action = searcher.run(state).action()
    limit_bytes(0)
    searcher.advance(action)
    limit_bytes(MOST)
    state.apply(action)
    assert searcher._search is not None
    assert not searcher._search.report([])["ready"]
    result = searcher.run(state)
    assert result.visits.sum() == 299
    walk_searcher(searcher, arrivals=False)


# ---------- games that raise ----------


def copy_raises(calls: int, batch: int) -> None:
    """The call number ``calls`` of copy() raises; the search goes on afterwards, with no visit left in flight."""
    plain, made = PythonState.copy, 0

    def copy(self: PythonState) -> PythonState:
        nonlocal made
        made += 1
        if made == calls:
            raise ArithmeticError("no copy")
        return plain(self)

    state = Paths("both", turns=4).initial_state()
    searcher = searcher_of(state, HashEvaluator(0, zero_sum=False), simulations=40, batch=batch, max_in_flight=1.0)
    searcher.run(state)
    PythonState.copy = copy  # type: ignore[method-assign]
    try:
        searcher.run(state)
        raise AssertionError("nothing was raised")
    except ArithmeticError:
        pass
    finally:
        PythonState.copy = plain  # type: ignore[method-assign]
    walk_searcher(searcher, arrivals=False)
    before = int(searcher._search.report([])["edge_visits"].sum()) if searcher._search else 0
    result = searcher.run(state)
    assert result.visits.sum() == before + 40
    walk_searcher(searcher, arrivals=False)


def all_copies_raise(batch: int) -> None:
    for calls in (*range(1, 12), 17, 24, 33, 38):
        copy_raises(calls, batch)


@pytest.mark.parametrize("batch", [1, 6])
def test_a_copy_that_raises_corrupts_nothing(batch: int) -> None:
    in_child(all_copies_raise, batch)


@pytest.mark.parametrize("method", ["returns", "apply", "copy"])
@pytest.mark.parametrize("simulations", [2, 60])
def test_advancing_is_done_or_not_done(method: str, simulations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine asks of the game while it advances may raise: then nothing has changed."""
    state = Paths(turns=4).initial_state()
    searcher = searcher_of(state, HashEvaluator(0), simulations=simulations, solver=True)
    found = searcher.run(state)
    search = searcher._search
    assert search is not None
    action = next(a for a in range(3) if (found.visits[a, 0] > 0) == (simulations > 2))

    def fail(*_: Any) -> Any:
        raise ArithmeticError(method)

    before, key = search.report([]), search.root_key
    with monkeypatch.context() as patch:
        patch.setattr(PythonState, method, property(fail) if method == "returns" else fail)
        with pytest.raises(ArithmeticError):
            search.advance(action, -1)
    after = search.report([])
    assert search.root_key == key
    for name in ("visits", "value", "edge_visits", "payoffs", "bounds"):
        np.testing.assert_array_equal(before[name], after[name])
    searcher.advance(action)
    state.apply(action)
    assert searcher.run(state).acting == (1,)
