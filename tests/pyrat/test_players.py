"""Players at PyRat: every kind finishes matches, and the greedy one is as quick as the rules allow."""

from __future__ import annotations

import numpy as np
import pytest

import ramify as rf
from ramify.arena import Tournament, Turn, match, player_config, round_robin
from ramify.games import State

TOO_FAR = 99


def muddy_position(seed: int) -> State:
    """A random maze with much mud; the second player stands where it takes nothing."""
    rng = np.random.default_rng(seed)
    game = rf.make(
        "pyrat",
        width=int(rng.integers(3, 6)),
        height=int(rng.integers(3, 6)),
        cheese=int(rng.integers(1, 4)),
        max_turns=60,
        wall_density=0.4,
        mud_density=0.6,
        mud_max=5,
        symmetric=False,
        starts="random",
    )
    return game.initial_state(seed=seed)


def turns_to_cheese(state: State) -> int:
    """Fewest turns in which player 0 gains cheese while the other stays, by trying everything in the real rules."""
    layer, seen, turns = [state], {state.key}, 0
    while layer and turns < TOO_FAR:
        turns += 1
        following = []
        for position in layer:
            for action in map(int, position.outcomes(0)[0]):
                after = position.copy()
                if after.apply(action, 4)[0] > 0:
                    return turns
                if not after.is_over and after.key not in seen:
                    seen.add(after.key)
                    following.append(after)
        layer = following
    return TOO_FAR


def best_first_actions(state: State) -> set[int]:
    turns = {}
    for action in map(int, state.outcomes(0)[0]):
        after = state.copy()
        turns[action] = 1 if after.apply(action, 4)[0] > 0 else 1 + turns_to_cheese(after)
    return {action for action, needed in turns.items() if needed == min(turns.values())}


@pytest.mark.parametrize("seed", range(12))
def test_greedy_reaches_cheese_as_soon_as_the_rules_allow(seed: int) -> None:
    state = muddy_position(seed)
    fewest = turns_to_cheese(state)
    player = player_config("greedy").open(state.game)
    for number in range(1, fewest + 1):
        rewards = state.apply(player.choose([Turn(state, 0, 0)])[0], 4)
        assert (rewards[0] > 0) == (number == fewest)


@pytest.mark.parametrize("seed", range(12, 20))
def test_greedy_knows_all_quickest_ways(seed: int) -> None:
    state = muddy_position(seed)
    player = player_config("greedy", ties=True).open(state.game)
    chosen = set(player.choose([Turn(state, 0, number) for number in range(80)]))
    assert chosen == best_first_actions(state)


@pytest.fixture(scope="module")
def players(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    pytest.importorskip("torch")
    game = rf.make("pyrat", width=5, height=3, cheese=3, max_turns=12)
    file = rf.networks.save(tmp_path_factory.mktemp("networks") / "net", rf.networks.make(game, "1x8", seed=0))
    quick = ",exact=false,backend=torch"  # starts at once
    return {
        "random": "random",
        "greedy": "greedy",
        "search": "search:simulations=20,acting=nash",
        "network": f"network:network={file}{quick}",
        "search with a network": f"search:network={file},simulations=8{quick}",
    }


def small_game() -> rf.Game:
    return rf.make("pyrat", width=5, height=3, cheese=3, max_turns=12)


@pytest.mark.parametrize("kind", ["greedy", "search", "network", "search with a network"])
def test_every_kind_of_player_finishes_a_match(players: dict[str, str], kind: str) -> None:
    played = match(small_game(), players[kind], players["random"], games=4)
    assert played.wins + played.draws + played.losses == len(played) == 4
    assert not any(game.forfeited for game in played)


def test_all_kinds_meet_in_a_tournament(players: dict[str, str]) -> None:
    standings = Tournament(small_game(), tuple(round_robin(list(players.values()))), games=2).run()
    assert standings.complete
    assert len(standings.games) == 20
    assert not standings.forfeits
