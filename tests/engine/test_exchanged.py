"""Canonical keys that exchange the players: PyRat positions that differ in who is who share a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.engine.stepping import Stepper
from tests.reference.evaluators import HashEvaluator

pytestmark = pytest.mark.core

GAMES: dict[str, dict[str, Any]] = {
    "open": {"width": 3, "height": 3, "cheese": 3, "max_turns": 6, "wall_density": 0.0, "mud_density": 0.0},
    "mud": {"width": 4, "height": 3, "cheese": 4, "max_turns": 6, "wall_density": 0.2, "mud_density": 0.5},
    "asymmetric": {"width": 3, "height": 4, "cheese": 4, "max_turns": 6, "symmetric": False, "starts": "random"},
}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"discount": 0.9, "normalize": "minmax"},
    {"selection": "regret"},
    {"solver": True},
    {"short_circuit": True, "opponent_weights": "prior"},
]
Path = list[tuple[int, int]]


def start(name: str, seed: int = 1, **more: Any) -> rf.State:
    return rf.make("pyrat", **{**GAMES[name], **more}).initial_state(seed=seed)


def searched(state: rf.State, simulations: int, **settings: Any) -> Stepper:
    config = rf.SearchConfig(graph=True, canonical=True, c_puct=1.0, **settings)
    stepper = Stepper(state, HashEvaluator(3), config)
    for _ in range(simulations):
        stepper.simulate()
    return stepper


def visited(report: dict[str, Any]) -> list[tuple[int, int]]:
    """The actions of the edges with visits."""
    first, second = report["outcomes"]
    return [(int(first[i]), int(second[j])) for i, j in np.argwhere(report["edge_visits"] > 0)]


def nodes(stepper: Stepper, state: rf.State, depth: int) -> Iterator[tuple[Path, rf.State, dict[str, Any]]]:
    """Every node that visits have led to, down to a depth, with its position."""
    stack: list[tuple[Path, rf.State]] = [([], state)]
    while stack:
        path, here = stack.pop()
        report = stepper.search.report(path)
        if here.is_over or not report["ready"]:
            continue
        yield path, here, report
        if len(path) == depth:
            continue
        for joint in visited(report):
            below = here.copy()
            below.apply(*joint)
            stack.append(([*path, joint], below))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", GAMES)
def test_every_node_is_read_as_its_own_position(name: str, settings: dict[str, Any]) -> None:
    """Outcomes are those of the position, and a payoff is the reward and the child's value of the same player."""
    state = start(name)
    stepper = searched(state, 200, **settings)
    discount, seen, turned = settings.get("discount", 1.0), 0, 0
    for path, here, report in nodes(stepper, state, 3):
        for player in (0, 1):
            np.testing.assert_array_equal(report["outcomes"][player], here.outcomes(player)[0])
        symmetry = least_image(here)
        turned += int(here.game.symmetries[symmetry].swaps_players and bool(path))
        if path and not is_its_own_exchange(here):
            values = HashEvaluator(3)(here.transform(symmetry)).values
            values = values[::-1] if here.game.symmetries[symmetry].swaps_players else values
            np.testing.assert_allclose(report["evaluation"], values, atol=1e-6)
        for i, j in np.argwhere(report["edge_visits"] > 0):
            joint = int(report["outcomes"][0][i]), int(report["outcomes"][1][j])
            below = here.copy()
            rewards = below.apply(*joint)
            child = stepper.search.report([*path, joint])
            value = np.zeros(2) if below.is_over else child["value"]
            if is_its_own_exchange(below):
                continue
            np.testing.assert_allclose(report["payoffs"][:, i, j], rewards + discount * value, atol=1e-5)
            seen += 1
    assert seen > 20
    assert turned > 0


def least_image(state: rf.State) -> int:
    """The symmetry of the maze that leads to the least key; 0 for the position itself."""
    setup = {name: state.fields[name] for name in ("walls", "mud")}
    best, found = state.key, 0
    for k in range(1, len(state.game.symmetries)):
        image = state.transform(k)
        same = all(as_sets(image.fields[name]) == as_sets(value) for name, value in setup.items())
        if same and image.key < best:
            best, found = image.key, k
    assert best == state.canonical_key
    return found


def is_its_own_exchange(state: rf.State) -> bool:
    """Whether the position is the same with the players exchanged: then nothing says who is who in its node."""
    ways = [
        s.swaps_players for k, s in enumerate(state.game.symmetries) if state.transform(k).key == state.canonical_key
    ]
    return len(set(ways)) == 2


def as_sets(edges: Any) -> set[Any]:
    return {(frozenset(map(tuple, edge[:2])), *edge[2:]) for edge in edges}


@pytest.mark.parametrize("settings", [{}, {"selection": "regret"}, {"solver": True}], ids=str)
@pytest.mark.parametrize("name", GAMES)
def test_the_root_moves_on_to_a_node_that_is_stored_the_other_way_round(name: str, settings: dict[str, Any]) -> None:
    assert sum(moved_on(start(name, seed), settings) for seed in range(1, 5)) > 0


def moved_on(state: rf.State, settings: dict[str, Any]) -> int:
    """Compares the nodes before and after the root moves on; counts those that were stored with players exchanged."""
    turned = 0
    for joint in visited(searched(state, 150, **settings).report())[:4]:
        after = state.copy()
        after.apply(*joint)
        if after.is_over:
            continue
        stepper = searched(state, 150, **settings)
        before = stepper.search.report([joint])
        if not before["ready"]:
            continue
        deeper = {step: stepper.search.report([joint, step]) for step in visited(before)}
        assert stepper.search.advance(*joint)
        turned += int(after.game.symmetries[least_image(after)].swaps_players)
        assert_moved(stepper.report(), before)
        for step, report in deeper.items():
            assert_equal(stepper.search.report([step]), report)
        stepper.search.begin(0)
        for _ in range(20):
            stepper.simulate()
        assert stepper.search.proven or stepper.report()["edge_visits"].sum() > before["edge_visits"].sum()
    return turned


def assert_moved(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Equal, but that a root does not claim what its players can secure before its edges prove it."""
    if "bounds" in wanted:
        assert (found["bounds"][0] <= wanted["bounds"][0]).all()
        assert (found["bounds"][1] >= wanted["bounds"][1]).all()
    looser = {"bounds", "proven"}
    assert_equal(*({name: value for name, value in one.items() if name not in looser} for one in (found, wanted)))


def assert_equal(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        pairs = zip(found[name], value, strict=True) if isinstance(value, tuple) else [(found[name], value)]
        for mine, other in pairs:
            np.testing.assert_array_equal(mine, other, err_msg=name)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", GAMES)
def test_fewer_nodes_and_the_same_values(name: str, seed: int) -> None:
    """As in a graph without symmetries; on symmetric boards from about half the positions."""
    state = start(name, seed, reward="difference")
    settings = {"simulations": 20_000, "graph": True}
    plain, merged = (rf.search(state, rf.evaluators.Uniform(), canonical=on, **settings) for on in (False, True))
    np.testing.assert_allclose(merged.value, plain.value, atol=0.01)
    if name != "asymmetric":
        assert merged.stats["nodes"] < 0.7 * plain.stats["nodes"]


@pytest.mark.parametrize("settings", [{"selection": "regret"}, {"solver": True}], ids=str)
@pytest.mark.parametrize("name", GAMES)
def test_strategies_and_proofs_of_merged_nodes(name: str, settings: dict[str, Any]) -> None:
    state = start(name, max_turns=4, reward="difference")
    every = {"simulations": 20_000, "graph": True, **settings}
    plain, merged = (rf.search(state, rf.evaluators.Uniform(), canonical=on, **every) for on in (False, True))
    if "solver" in settings:
        assert plain.proven is not None
        np.testing.assert_allclose(merged.proven, plain.proven, atol=1e-6)
    else:
        np.testing.assert_allclose(merged.value, plain.value, atol=0.02)


def test_images_share_a_canonical_key() -> None:
    """Every symmetry of the open board, and the exchange of the players on any board."""
    state = start("open")
    state.apply(0, 3)
    assert {state.transform(k).canonical_key for k in range(16)} == {min(state.transform(k).key for k in range(16))}
    for seed in range(5):
        state = start("asymmetric", seed)
        exchanged = next(k for k, s in enumerate(state.game.symmetries) if s.name == "swap players")
        assert state.canonical_key == state.transform(exchanged).canonical_key
        assert state.canonical_key == min(state.key, state.transform(exchanged).key)
