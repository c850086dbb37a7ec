"""How well a learned network (MuZero) plays, against something exact.

    python -m tools.learned_results tictactoe NETWORK       losses against perfect play, from all openings
    python -m tools.learned_results cartpole NETWORK        mean return of 100 episodes of gym:CartPole-v1
    python -m tools.learned_results connect_four NETWORK    share of best moves in connect_four_solved.jsonl
    python -m tools.learned_results hex NETWORK             share of winning moves in hex_solved.jsonl
    python -m tools.learned_results goofspiel NETWORK       NashConv, and that of the same network untrained

Solved positions are those of tests/golden. NETWORK is a file, or the folder of a training run. The network is searched
in place of the rules; --rules searches the rules instead, with any network as the evaluator.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import ramify as rf
from ramify.arena.network_files import network_file
from ramify.evaluators import LatentNetwork, Network
from ramify.networks import load, make
from tools.hex_solved import won_positions

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"


class Chooser:
    """Searches positions with one network, all of them in common batches."""

    def __init__(self, module: Any, device: str | None, simulations: int, rules: bool = False, **settings: Any) -> None:
        game = rf.make(module.spec.game, **module.spec.params)
        config = rf.SearchConfig(**{"simulations": simulations, "c_puct": 1.25, **settings})
        if rules:
            self.searcher = rf.Searcher(game, Network(module, device), config)
        else:
            config = config.replace(c_base=19652.0, normalize="minmax")
            self.searcher = rf.Searcher(LatentNetwork(module, device), config=config)

    def results(self, states: list[Any]) -> list[rf.SearchResult]:
        return self.searcher.run_many(states)

    def actions(self, states: list[Any]) -> list[Any]:
        return [result.action() for result in self.results(states)]


_values: dict[int, float] = {}  # of tic-tac-toe positions by key, for the player to move


def perfect_value(state: Any) -> float:
    """What the player to move in tic-tac-toe gets with perfect play; at the end, what who would move now has got."""
    if state.is_over:
        marks = sum(symbol in "xo" for row in state.fields["board"] for symbol in row)
        return float(state.returns[marks % 2])
    if state.key not in _values:
        _values[state.key] = max(-perfect_value(state.after(int(action))) for action in state.legal_actions())
    return _values[state.key]


def tictactoe_openings() -> list[tuple[Any, int]]:
    """Every position after up to two actions, with each player who has not lost by it."""
    start = rf.make("tictactoe").initial_state()
    found = [start]
    found += [start.after(a) for a in range(9)]
    found += [start.after(a).after(b) for a in range(9) for b in range(9) if a != b]
    value = [perfect_value(state) for state in found]
    return [
        (state, player)
        for state, mine in zip(found, value, strict=True)
        for player in (0, 1)
        if (mine if player in state.acting else -mine) >= 0
    ]


def tictactoe_losses(chooser: Chooser, games: int, seed: int = 0) -> dict[str, int]:
    """Games against an opponent who chooses at random among the best actions, from all openings in turn."""
    rng, openings = np.random.default_rng(seed), tictactoe_openings()
    playing = [(openings[n % len(openings)][0].copy(), openings[n % len(openings)][1]) for n in range(games)]
    finished = list[float]()
    while playing:
        ours = [state for state, player in playing if player in state.acting]
        for state, action in zip(ours, chooser.actions(ours) if ours else [], strict=True):
            state.apply(int(action))
        theirs = [state for state, player in playing if not state.is_over and player not in state.acting]
        for state in theirs:
            values = {int(action): -perfect_value(state.after(int(action))) for action in state.legal_actions()}
            best = [action for action, value in values.items() if value == max(values.values())]
            state.apply(int(rng.choice(best)))
        finished += [float(state.returns[player]) for state, player in playing if state.is_over]
        playing = [(state, player) for state, player in playing if not state.is_over]
    signs = np.sign(finished)
    return {
        "games": games,
        "wins": int((signs > 0).sum()),
        "draws": int((signs == 0).sum()),
        "losses": int((signs < 0).sum()),
    }


def cartpole_returns(chooser: Chooser, episodes: int, seed: int = 1_000_000) -> list[float]:
    """Returns of episodes from seeds that training does not use."""
    game = rf.make("gym:CartPole-v1")
    states = [game.initial_state(seed + number) for number in range(episodes)]
    while going_on := [state for state in states if not state.is_over]:
        for state, action in zip(going_on, chooser.actions(going_on), strict=True):
            state.apply(int(action))
    return [float(state.returns[0]) for state in states]


def solved_connect_four() -> list[tuple[Any, set[int]]]:
    """(state, best actions) of solved positions."""
    game, found = rf.make("connect_four"), list[tuple[Any, set[int]]]()
    for line in (GOLDEN / "connect_four_solved.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        state = game.initial_state()
        for column in entry["moves"]:
            state.apply(int(column) - 1)
        found.append((state, {column - 1 for column in entry["best_moves"]}))
    return found


def best_share(chooser: Chooser, positions: list[tuple[Any, set[int]]]) -> float:
    """Share of positions in which one of the best actions is chosen."""
    chosen = chooser.actions([state for state, _ in positions])
    return float(np.mean([int(action) in best for action, (_, best) in zip(chosen, positions, strict=True)]))


def all_positions(start: Any) -> list[Any]:
    """Every position of a game before its end that can be reached."""
    found, todo = dict[int, Any](), [start]
    while todo:
        state = todo.pop()
        if state.is_over or state.key in found:
            continue
        found[state.key] = state
        todo += [state.after(int(a), int(b)) for a in state.legal_actions(0) for b in state.legal_actions(1)]
    return list(found.values())


def nash_conv(chooser: Any, start: Any) -> float:
    """NashConv of the average strategies that searches find in every position of a simultaneous game."""
    states = all_positions(start)
    policies = {
        state.key: (result.policy(0, "average"), result.policy(1, "average"))
        for state, result in zip(states, chooser.results(states), strict=True)
    }
    return float(rf.equilibria.nash_conv(start, policies))


def measure(task: str, module: Any, given: argparse.Namespace) -> dict[str, Any]:
    """The numbers of one task."""
    if task == "goofspiel":
        game = rf.make(module.spec.game, **module.spec.params)
        start, untrained = game.initial_state(), make(game, module.config, seed=1)
        both = [
            nash_conv(Chooser(one, given.device, given.simulations, given.rules, selection="regret"), start)
            for one in (module, untrained)
        ]
        return {"nash_conv": both[0], "untrained": both[1]}
    discount = 0.99 if task == "cartpole" else 1.0  # as in the presets
    chooser = Chooser(module, given.device, given.simulations, given.rules, discount=discount)
    if task == "tictactoe":
        return tictactoe_losses(chooser, given.games or 1000)
    if task == "cartpole":
        returns = cartpole_returns(chooser, given.games or 100)
        return {"episodes": len(returns), "mean": float(np.mean(returns)), "least": min(returns)}
    positions = solved_connect_four() if task == "connect_four" else won_positions(module.spec.params["size"])
    return {"positions": len(positions), "share": best_share(chooser, positions)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["tictactoe", "cartpole", "connect_four", "hex", "goofspiel"])
    parser.add_argument("network", nargs="+", help="saved networks, or folders of training runs")
    parser.add_argument("--simulations", type=int, default=50)
    parser.add_argument("--games", type=int, default=0, help="games or episodes; 0: 1,000 games, 100 episodes")
    parser.add_argument("--device", default=None)
    parser.add_argument("--rules", action="store_true", help="search the rules, with the network as the evaluator")
    given = parser.parse_args()
    for name in given.network:
        print(name, json.dumps(measure(given.task, load(network_file(name)), given)), flush=True)


if __name__ == "__main__":
    main()
