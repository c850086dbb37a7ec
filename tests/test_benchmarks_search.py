"""The benchmarks of the search measure what they say: on small sizes, and against something computed otherwise."""

from __future__ import annotations

import heapq
import math
import re
from typing import Any

import numpy as np
import pytest

import ramify as rf
from benchmarks import _evaluators, _measure, batching, search, simultaneous, transpositions
from benchmarks._positions import random_positions
from ramify import _core


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_measure, "SECONDS", 0.0)
    monkeypatch.setattr(_measure, "REPETITIONS", 2)


def test_the_best_repetition_counts_and_freeing_is_not_timed() -> None:
    ticks = iter([0.0, 4.0, 10.0, 11.0])  # two repetitions: four seconds, one second
    assert _measure.best_rate(lambda: (8, None), lambda: next(ticks)) == 8.0
    events: list[str] = []

    class Kept:
        def __del__(self) -> None:
            events.append("freed")

    def clock() -> float:
        events.append("clock")
        return float(len(events))

    _measure.best_rate(lambda: (1, Kept()), clock)
    assert events == ["clock", "clock", "freed", "clock", "clock", "freed"]


def test_rows_know_which_way_is_better() -> None:
    assert _measure.row("x", 2.0, "s", 1.0)["ok"]
    assert not _measure.row("x", 2.0, "s", 1.0, at_most=True)["ok"]
    assert _measure.row("x", 2.0, "s")["ok"]


def test_search_measures_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    small = tuple((name, changes, 100, speed, memory) for name, changes, _, speed, memory in search.SINGLE)
    monkeypatch.setattr(search, "SINGLE", small)
    monkeypatch.setattr(search, "LATENT_SIMULATIONS", 10)
    monkeypatch.setattr(search, "SIZES", (50, 400))
    monkeypatch.setattr(search, "THREADED_SIMULATIONS", 500)
    monkeypatch.setattr(search, "POOL", 8)
    monkeypatch.setattr(search, "POOL_ROUNDS", 3)
    monkeypatch.setattr(search, "PEERS", tuple((name, peer, 30) for name, peer, _ in search.PEERS))
    table = search.rows()
    assert all(math.isfinite(row["value"]) and row["value"] > 0 for row in table)
    targets = {(row["unit"], row["target"]) for row in table if row["target"] is not None}
    speeds = {2.0e6, 0.8e6, 0.5e6, 0.35e6, 0.7e6, 0.6e6, 1.0e6, 50e3}
    assert targets == {("simulations/s", speed) for speed in speeds} | {
        ("bytes/node", 200),
        ("bytes/node", 250),
        ("times", 1.0),
        ("times", 1.7),
        ("times", 0.3),
        ("leaves/s", 0.25e6),
    }
    names = [(row["name"], row["unit"]) for row in table]
    assert len(set(names)) == len(names)


def test_the_mean_depth_is_that_of_the_descents() -> None:
    """Counted the other way: the length of each descent's path, one simulation at a time."""
    state = rf.make("connect_four").initial_state()
    made = _core.make_search(state, search.settings())
    made.begin(0)
    total = 0
    for _ in range(300):
        made.run_native(0, 0, 1, math.inf)
        total += len(made.last_path)
    assert search.mean_depth(made) == total / 300


def test_evaluations_saved_are_those_of_known_curves() -> None:
    """Errors that fall as N ** -0.5, of a search that needs a quarter fewer evaluations for the same."""
    budgets = np.array(transpositions.BUDGETS, np.float64)
    scales = np.linspace(0.5, 2.0, 9)[:, None]  # positions differ in how hard they are
    tree, graph = scales * budgets**-0.5, scales * (budgets / 0.75) ** -0.5
    share, low, high = transpositions.saved(graph, tree)
    assert share == pytest.approx(0.25)
    assert low == pytest.approx(0.25)
    assert high == pytest.approx(0.25)
    assert transpositions.saved(tree, tree)[0] == pytest.approx(0.0)
    assert transpositions.saved(tree, graph)[0] == pytest.approx(-1 / 3)


def test_transpositions_measures_every_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transpositions, "POSITIONS", 3)
    monkeypatch.setattr(transpositions, "BUDGETS", (50, 100, 200))
    monkeypatch.setattr(transpositions, "AT", 100)
    monkeypatch.setattr(transpositions, "LONG", 1_000)
    monkeypatch.setattr(transpositions, "DECIDED", 2.0)
    table = transpositions.rows()
    for case in transpositions.cases():
        mine = [row for row in table if row["name"].startswith(case.name)]
        assert len([row for row in mine if row["name"].endswith("]")]) == len(transpositions.MODES) - 1
        assert all(math.isfinite(row["value"]) for row in mine)


def test_the_hand_written_evaluators_are_symmetric() -> None:
    """Then sharing symmetric positions changes no evaluation."""
    for case in transpositions.cases()[:2]:
        assert len(case.game.symmetries) == 2
        for state in random_positions(case.game, 20, 9, seed=5):
            judge = case.evaluator.function
            assert evaluate(judge, state) == evaluate(judge, state.transform(1))


def shortest(own: Any, blocked: Any) -> float:
    """Dijkstra's algorithm, for comparison."""
    size, known = len(own), set()
    heap = [(1.0 - own[0, c], 0, c) for c in range(size) if not blocked[0, c]]
    heapq.heapify(heap)
    while heap:
        distance, r, c = heapq.heappop(heap)
        if r == size - 1:
            return distance
        if (r, c) in known:
            continue
        known.add((r, c))
        for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
            y, x = r + down, c + right
            if 0 <= y < size and 0 <= x < size and not blocked[y, x]:
                heapq.heappush(heap, (distance + 1.0 - own[y, x], y, x))
    return _evaluators.FAR


def test_hex_distances_are_shortest_paths() -> None:
    cells = np.random.default_rng(0).integers(0, 3, (200, 7, 7))
    own, blocked = (cells == 1).astype(np.float32), (cells == 2).astype(np.float32)
    found = _evaluators.distances(own, blocked)
    wanted = [shortest(a, b) for a, b in zip(own, blocked, strict=True)]
    assert np.minimum(found, _evaluators.FAR).tolist() == wanted
    assert 0 < wanted.count(_evaluators.FAR) < 200


def evaluate(judge: Any, state: rf.State) -> float:
    seen: list[float] = []

    def keep(batch: rf.Batch) -> Any:
        logits, values = judge(batch)
        seen.extend(np.ravel(values).tolist())
        return logits, values

    rf.search(state, rf.evaluators.Function(keep), simulations=1)
    return seen[0]


def test_the_hand_written_evaluators_know_who_is_ahead() -> None:
    hexes = rf.make("hex", size=7)
    ahead = hexes.state("d1 a7 d2 g1 d3 a6 d4")  # four stones of a column against scattered ones
    assert evaluate(_evaluators.judge_distances, ahead) < -0.5  # the other player is to act
    ahead.apply(ahead.action("b7"))
    assert evaluate(_evaluators.judge_distances, ahead) > 0.5
    assert evaluate(_evaluators.judge_distances, hexes.initial_state()) == 0.0
    four = rf.make("connect_four")
    assert evaluate(_evaluators.judge_lines, four.state("d a d a d")) < -0.3
    assert evaluate(_evaluators.judge_lines, four.state("d a d a d g")) > 0.3
    assert len(_evaluators.WINDOWS) == 69


def test_batching_measures_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "POSITIONS", 4)
    monkeypatch.setattr(batching, "SIMULATIONS", 40)
    monkeypatch.setattr(batching, "LONG", 40)
    table = {row["name"]: row["value"] for row in batching.rows()}
    assert len(table) == 2 * 5 * 3
    for game in ("connect four", "Hex 7x7"):  # here the reference is the same search: nothing may differ
        for what in ("value error", "value lost by its best actions", "best action changed"):
            assert table[f"{game}, batch 1: {what}"] == 0.0
        assert table[f"{game}, batch 64, max_in_flight=1: value error"] > 0.0


def test_simultaneous_draws_what_it_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """NashConv of regret matching falls, the rows say so, and the figure is a picture of it."""
    games = list(simultaneous.golden_matrices())
    assert all(payoffs.min() == -1 and payoffs.max() == 1 for _, payoffs in games if np.ptp(payoffs))
    monkeypatch.setattr(simultaneous, "golden_matrices", lambda: [("pennies", np.array([[1.0, -1.0], [-1.0, 0.2]]))])
    monkeypatch.setattr(simultaneous, "SIMULATIONS", (100, 1000, 3000))
    table = {row["name"]: row for row in simultaneous.rows()}
    assert len(table) == 18
    means = [table[f"regret matching+, {n} simulations, mean"]["value"] for n in ("100", "1,000", "3,000")]
    assert means[0] > means[1] > means[2]
    assert [row["name"] for row in table.values() if row["target"]] == ["regret matching+, 3,000 simulations, mean"]
    picture = simultaneous.draw(simultaneous.measure())
    points = [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', picture)]
    assert len(points) == 9
    assert points[0] < points[1] < points[2]  # lower on the page: a smaller NashConv
    assert all(label in picture.replace("&#160;", " ") for label in simultaneous.RULES.values())


def test_latent_trees_are_measured_against_their_network() -> None:
    pytest.importorskip("torch")
    from benchmarks import latent
    from benchmarks._latent_network import BoardModel

    played, alone, ratio = latent.measure("cpu", size=3, trees=4, simulations=5, seconds=0.05)
    assert ratio["value"] == played["value"] / alone["value"]
    assert "batches of 2" in alone["name"]
    model = BoardModel(rf.make("hex", size=3), "cpu", blocks=1, channels=8)
    searcher = rf.Searcher(model, config=rf.SearchConfig(simulations=20))
    result = searcher.run(rf.make("hex", size=3).initial_state())
    assert result.visits.sum() == 19
    assert result.q[0].std() > 0  # what an action leads to depends on the action
    with pytest.raises(ValueError, match="one action per cell"):
        BoardModel(rf.make("connect_four"), "cpu")
