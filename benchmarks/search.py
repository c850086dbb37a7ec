"""The search itself: simulations per second and bytes per node, with evaluators that cost nothing.

Trees are fresh and one thread searches unless a row says otherwise; a second is one of CPU time. Games use the
uniform evaluator of the core (value 0, equal priors), latent trees a constant network there. Making a search is part
of the time taken, freeing it is not.

Run: ``python -m benchmarks --only search``
"""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import ramify as rf
from benchmarks._measure import best_rate, best_rates, row
from ramify import _core
from ramify.engine import LatentOutput
from ramify.evaluators import Rollout

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
OPEN_7 = {"width": 7, "height": 7, "cheese": 10, "wall_density": 0.0, "mud_density": 0.0}
BOARDS = 12  # how deep a search goes, and so what it costs, differs from board to board by a factor of two
PYRAT = f"PyRat 7x7 open, {BOARDS} boards"
GAMES: dict[str, Callable[[], rf.State]] = {
    "connect four": lambda: rf.make("connect_four").initial_state(),
    "Hex 11x11": lambda: rf.make("hex", size=11).initial_state(),
    "chess, start": lambda: rf.make("chess").initial_state(),
    "chess, kiwipete": lambda: rf.make("chess").state(KIWIPETE),  # type: ignore[attr-defined]  # native games have it
}
# game, settings, simulations, target in simulations per second, target in bytes per node
SINGLE: tuple[tuple[str, dict[str, Any], int, float | None, float | None], ...] = (
    ("connect four", {}, 12_800, 2.0e6, None),
    ("Hex 11x11", {}, 12_800, 0.8e6, None),
    ("chess, start", {}, 12_800, 0.5e6, 200),
    ("chess, kiwipete", {}, 12_800, 0.35e6, None),
    (PYRAT, {}, 1_897, 0.7e6, None),
    (PYRAT, {"graph": True}, 1_897, 0.5e6, None),
    ("connect four", {"graph": True}, 12_800, None, None),
    ("Hex 11x11", {"graph": True}, 12_800, None, None),
    ("chess, start", {"graph": True}, 12_800, None, None),
)
# actions, trees, target
LATENT = ((7, 1, 0.6e6), (7, 16, 1.0e6), (4_672, 1, 50e3))
LATENT_SIMULATIONS = 200
SIZES = (200, 2_000, 20_000, 200_000)
LARGE = 2_000_000  # simulations of the one large tree
THREADED_SIMULATIONS, THREADED_ROUNDS = 50_000, 80
POOL, POOL_ROUNDS = 256, 40  # games searched together, and leaves of each
PEERS = (("connect four", "connect_four", 3_200), ("Hex 11x11", "hex(board_size=11)", 800))


def settings(**changes: Any) -> dict[str, Any]:
    return rf.SearchConfig(**changes).for_evaluator(None).model_dump()


Work = tuple[int, object]  # simulations (or leaves), and what made them


def run_native(search: _core.Search, simulations: int, rollouts: int = 0) -> Work:
    """A run inside the core."""
    search.begin(0)
    return search.run_native(rollouts, 0, simulations, math.inf), search


def bytes_per_node(searches: Sequence[_core.Search]) -> float:
    return sum(search.stats["bytes"] for search in searches) / sum(search.stats["nodes"] for search in searches)


def positions(name: str) -> list[Any]:
    if name == PYRAT:
        return [rf.make("pyrat", **OPEN_7).initial_state(seed) for seed in range(BOARDS)]
    return [GAMES[name]()]


def single_rows() -> list[dict[str, Any]]:
    """One tree of each position, in one thread."""
    table = []
    cases = [(positions(name), settings(**changes), n) for name, changes, n, _, _ in SINGLE]
    rates = best_rates([partial(search_all, *case) for case in cases])
    for rate, case, (name, changes, simulations, speed, memory) in zip(rates, cases, SINGLE, strict=True):
        label = f"{name}, {'graph' if changes else 'tree'}, {simulations:,} simulations"
        table.append(row(label, rate, "simulations/s", speed))
        _, kept = search_all(*case)
        table.append(row(label, bytes_per_node(kept), "bytes/node", memory, at_most=True))
    return table


def memory_rows() -> list[dict[str, Any]]:
    """A large tree: memory is what ends it."""
    search = _core.make_search(GAMES["Hex 11x11"](), settings())  # type: ignore[arg-type]
    run_native(search, LARGE)
    return [row(f"Hex 11x11, tree, {LARGE:,} simulations", bytes_per_node([search]), "bytes/node", 250, at_most=True)]


def search_all(states: list[Any], config: dict[str, Any], simulations: int) -> tuple[int, list[_core.Search]]:
    """So many simulations of each position."""
    searches = [_core.make_search(state, config) for state in states]
    return sum(run_native(one, simulations)[0] for one in searches), searches


def latent_search(actions: int) -> _core.Search:
    return _core.make_latent_search(actions, "alternating", 1, [], [], settings())


def latent_rows() -> list[dict[str, Any]]:
    """Trees over a learned model whose network is a constant: in the core, and as a Python model."""
    table = []
    for actions, trees, target in LATENT:
        label = f"latent, {actions:,} actions, {trees} tree{'s' * (trees > 1)}, {LATENT_SIMULATIONS} simulations"
        group = _core.Group(1)

        def search(actions: int = actions, trees: int = trees, group: _core.Group = group) -> Work:
            searches = [latent_search(actions) for _ in range(trees)]
            for one in searches:
                one.begin(0)
            return group.run_native(searches, 0, 0, [LATENT_SIMULATIONS] * trees, math.inf), searches

        table.append(row(label, best_rate(search), "simulations/s", target))
        kept = latent_search(actions)
        run_native(kept, LATENT_SIMULATIONS)
        table.append(row(label, bytes_per_node([kept]), "bytes/node"))
    return table + python_model_rows()


class ConstantModel:
    """A latent model that always says the same."""

    num_actions = 7
    acting = "alternating"

    def initial(self, observations: Any) -> LatentOutput:
        return self._answer(len(observations))

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        del latents
        return self._answer(len(actions))

    def _answer(self, rows: int) -> LatentOutput:
        return LatentOutput(
            latents=np.zeros((rows, 1), np.float32),
            logits=np.zeros((rows, self.num_actions), np.float32),
            values=np.zeros(rows, np.float32),
            rewards=np.zeros(rows, np.float32),
        )


def python_model_rows() -> list[dict[str, Any]]:
    table = []
    for trees in (1, 16, 256):
        searcher = rf.Searcher(ConstantModel(), config=rf.SearchConfig(simulations=LATENT_SIMULATIONS))
        states = [GAMES["connect four"]() for _ in range(trees)]

        def search(searcher: rf.Searcher = searcher, states: list[rf.State] = states) -> Work:
            results = searcher.run_many(states)
            return sum(result.stats["simulations"] for result in results), results

        label = f"latent, 7 actions, {trees} tree{'s' * (trees > 1)}, a model in Python"
        table.append(row(label, best_rate(search), "simulations/s"))
    return table


def mean_depth(search: _core.Search) -> float:
    """Edges per descent: in a tree, the visits of all edges together are the lengths of all descents."""
    edges, paths = 0, [[]]
    while paths:
        path = paths.pop()
        report = search.report(path)
        visits = report["edge_visits"]
        edges += int(visits.sum())
        for i, j in np.argwhere(visits > 1):  # a child with one visit has tried no edge
            paths.append([*path, (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))])
    return edges / search.stats["simulations"]


def scaling_rows() -> list[dict[str, Any]]:
    """The cost of a simulation as the tree grows: it may grow with the depth, and no faster."""
    state, table, per_level = GAMES["Hex 11x11"](), [], []
    for simulations in SIZES:
        searches: list[_core.Search] = []

        def search(count: int = simulations, searches: list[_core.Search] = searches) -> Work:
            before = list(searches)  # freed outside the time taken
            searches[:] = [_core.make_search(state, settings())]  # type: ignore[arg-type]
            return run_native(searches[0], count)[0], before

        nanoseconds = 1e9 / best_rate(search)
        depth = mean_depth(searches[0])
        per_level.append(nanoseconds / depth)
        label = f"Hex 11x11, {simulations:,} simulations, mean depth {depth:.2f}"
        table += [row(label, nanoseconds, "ns/simulation"), row(label, per_level[-1], "ns/level")]
    growth = per_level[-1] / per_level[0]
    label = f"cost per level, {SIZES[-1]:,} against {SIZES[0]:,} simulations"
    return [*table, row(label, growth, "times", 1.0, at_most=True)]


def thread_rows() -> list[dict[str, Any]]:
    """Two threads on one tree against one, and two trees of their own: more than those the machine does not give.

    The three take turns, many times over: what else the machine does changes faster than a measurement.
    """
    state = GAMES["Hex 11x11"]()

    def search(threads: int) -> Work:
        return run_native(_core.make_search(state, settings(threads=threads)), THREADED_SIMULATIONS)  # type: ignore[arg-type]

    def side_by_side() -> Work:
        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(search, (1, 1)))
        return sum(count for count, _ in made), made

    kinds: tuple[Callable[[], Work], ...] = (lambda: search(1), lambda: search(2), side_by_side)
    best = [0.0] * len(kinds)
    for _ in range(THREADED_ROUNDS):
        for i, work in enumerate(kinds):
            start = time.perf_counter()
            count, kept = work()
            best[i] = max(best[i], count / (time.perf_counter() - start))
            del kept
    one, two, apart = best
    label = f"Hex 11x11, {THREADED_SIMULATIONS:,} simulations, against one thread on one tree"
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
    return [
        row(f"{label}: 2 threads on one tree ({load})", two / one, "times", 1.7),
        row(f"{label}: 2 threads on two trees, what the machine gives", apart / one, "times"),
    ]


def pool_arrays(game: rf.Game, rows: int) -> dict[str, Any]:
    return {
        "observations": np.zeros((rows, *game.observation_shape), np.float32),
        "legal": np.zeros((rows, 2, game.num_actions), np.uint8),
        "acting": np.zeros((rows, 2), np.uint8),
        "keys": np.zeros(rows, np.uint64),
    }


def pool_rows() -> list[dict[str, Any]]:
    """Many games with an evaluator that does nothing: observations are written, logits and values are read."""
    state = GAMES["Hex 11x11"]()
    batch = pool_arrays(state.game, POOL)
    logits = np.zeros((POOL, 2, state.game.num_actions), np.float32)
    values = np.zeros((POOL, 2), np.float32)
    group = _core.Group(2)

    def search() -> Work:
        searches = [_core.make_search(state, settings()) for _ in range(POOL)]  # type: ignore[arg-type]
        for one in searches:
            one.begin(0)
        leaves = 0
        for _ in range(POOL_ROUNDS):
            rows = group.gather(searches, 0, 1, [1] * POOL, batch)
            rows.absorb(logits, values)
            leaves += len(rows)
        return leaves, searches

    label = f"Hex 11x11, {POOL} games together, 2 threads"
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
    alone = best_rate(search, time.perf_counter)
    with busy_processes(os.cpu_count() or 1):
        beside = best_rate(search, time.perf_counter)
    return [
        row(f"{label}, by the wall ({load})", alone, "leaves/s", 0.25e6),
        row(f"{label}, by CPU time (if each had its own)", 2 * best_rate(search), "leaves/s"),
        row(f"{label}, beside a busy process on every CPU, against alone", beside / alone, "times", 0.3),
    ]


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Processes that do nothing but use a CPU each."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(0.5)  # until they have started
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def peer_rows() -> list[dict[str, Any]]:
    """OpenSpiel's C++ search beside this one: one random game per simulation is the one evaluator it takes."""
    try:
        import pyspiel
    except ImportError:
        return []
    table = []
    for name, short_name, simulations in PEERS:
        game = pyspiel.load_game(short_name)
        evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
        policy = pyspiel.ChildSelectionPolicy.PUCT
        bot = pyspiel.MCTSBot(game, evaluator, 1.25, simulations, 4000, False, 0, False, policy)
        theirs, ours = game.new_initial_state(), GAMES[name]()
        config = settings(c_puct=1.25)

        def peer(bot: Any = bot, state: Any = theirs, count: int = simulations) -> Work:
            return count, bot.mcts_search(state)

        def search(state: Any = ours, config: dict[str, Any] = config, count: int = simulations) -> Work:
            return run_native(_core.make_search(state, config), count, Rollout(1).rollouts)

        peer_rate, rate = best_rate(peer), best_rate(search)
        label = f"{name}, {simulations:,} simulations, one random game each"
        table.append(row(label, rate, "simulations/s"))
        table.append(row(f"{label}, OpenSpiel", peer_rate, "simulations/s"))
        table.append(row(f"{label}, against OpenSpiel", rate / peer_rate, "times"))
    return table


def rows() -> list[dict[str, Any]]:
    """Every measurement of this file."""
    return [
        *single_rows(),
        *memory_rows(),
        *latent_rows(),
        *scaling_rows(),
        *thread_rows(),
        *pool_rows(),
        *peer_rows(),
    ]
