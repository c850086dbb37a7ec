"""How well payoffs of PyRat positions are predicted: correlation with exact ones, and their explained variance.

    python -m tools.pyrat_payoffs --positions 500
    python -m tools.pyrat_payoffs --positions 500 --network FILE

The positions are those of ``ramify.pyrat.oracle_positions``. Compared are, for every pair of outcomes, the payoffs that
a search finds and, with a network, those of its head ``payoffs`` (if it has one) and those by one step: the reward of
the pair plus the value after it. Pairs are also grouped by the visits that the search gave them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import ramify as rf
from ramify.arena.network_files import network_facts, network_file
from ramify.evaluators.payoffs import agreement, agreement_by_visits, predicted_payoffs
from ramify.pyrat import OraclePosition
from tools.oracle_set import (
    REWARD,
    common_game,
    in_common_game,
    light_positions,
    network_evaluator,
    search_all,
    size_of,
)

ROWS = 256  # positions per batch

Floats = NDArray[np.float64]
Module = Callable[[torch.Tensor], dict[str, torch.Tensor]]


@torch.no_grad()
def head_payoffs(module: Module, states: Sequence[rf.State], reward: str = REWARD) -> list[Floats]:
    """The payoffs of a network's head, [n0, n1] each: of the first player, for the difference of cheese.

    ``reward`` is that of the network. Actions with the same effect are averaged.
    """
    found: list[Floats] = []
    for start in range(0, len(states), ROWS):
        part = states[start : start + ROWS]
        observations = torch.from_numpy(np.stack([state.observation(0) for state in part]).astype(np.float32))
        tables = module(observations)["payoffs"].double().numpy()
        leads = tables[:, 0] - tables[:, 1]
        for state, lead in zip(part, leads / 2 if reward == REWARD else leads, strict=True):
            of = [shares(state, player) for player in (0, 1)]
            found.append(of[0] @ lead @ of[1].T)
    return found


def shares(state: rf.State, player: int) -> Floats:
    """[outcomes, actions]: the share of each action in the mean over its outcome."""
    actions, index = state.outcomes(player)
    of = (index[None, :] == np.arange(len(actions))[:, None]).astype(np.float64)
    return np.asarray(of / of.sum(axis=1, keepdims=True))


def by_step(evaluator: Any, states: Sequence[rf.State]) -> list[Floats]:
    """Payoffs by one step; the evaluator's values are for the difference of cheese."""
    found: dict[int, Floats] = {}
    for size in sorted({size_of(state) for state in states}):
        places = [place for place, state in enumerate(states) if size_of(state) == size]
        tables = predicted_payoffs(evaluator, [in_common_game(states[place]) for place in places])
        found.update({place: (table[0] - table[1]) / 2 for place, table in zip(places, tables, strict=True)})
    return [found[place] for place in range(len(states))]


def head_by_size(network: str, states: Sequence[rf.State]) -> list[Floats] | None:
    """``head_payoffs`` of a network file; None if it has no such head."""
    path = network_file(network)
    reward = str(network_facts(path)["params"].get("reward", "cheese"))
    found: dict[int, Floats] = {}
    for size in sorted({size_of(state) for state in states}):
        module = rf.networks.load(path, common_game(*size))
        if "payoffs" not in module.config.heads:
            return None
        places = [place for place, state in enumerate(states) if size_of(state) == size]
        found.update(zip(places, head_payoffs(module, [states[place] for place in places], reward), strict=True))
    return [found[place] for place in range(len(states))]


def flat(tables: Sequence[Any]) -> Floats:
    return np.concatenate([np.asarray(table, np.float64).ravel() for table in tables])


def rows(name: str, predicted: Floats, exact: Floats, visits: Floats) -> Iterator[str]:
    """Lines of the table: all pairs, then by visits."""
    groups = {"all": agreement(predicted, exact)} | agreement_by_visits(predicted, exact, visits, (0, 1, 5, 20, 100))
    for group, found in groups.items():
        shown = ["–" if number is None else f"{number:.3f}" for number in (found.correlation, found.explained)]
        yield f"| {name} | {group} | {found.pairs:,} | {found.error:.3f} | {' | '.join(shown)} |"


def compare(
    positions: Sequence[OraclePosition], network: str | None, simulations: int, device: str | None = None
) -> Iterator[str]:
    """The lines of the table."""
    states, exact = [position.state for position in positions], flat([position.payoffs for position in positions])
    settings: Any = {"simulations": simulations, "graph": True}
    if network is None:
        searched = [rf.search(state, rf.evaluators.Uniform(), **settings) for state in states]
    else:
        evaluator = network_evaluator(network, device)
        searched = search_all(states, evaluator, settings)
    visits = flat([result.visits for result in searched])
    yield "| payoffs | visits of the pair | pairs | mean error | correlation | explained |"
    yield "|---" * 6 + "|"
    found = flat([(result.payoffs[0] - result.payoffs[1]) / 2 for result in searched])
    yield from rows(f"search, {simulations:,} simulations", found, exact, visits)
    if network is None:
        return
    yield from rows("network, one step", flat(by_step(evaluator, states)), exact, visits)
    head = head_by_size(network, states)
    if head is not None:
        yield from rows("network, head payoffs", flat(head), exact, visits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--network", metavar="FILE")
    parser.add_argument("--device", help="of the network, in searches")
    given = parser.parse_args()
    for line in compare(
        list(light_positions(given.positions, given.seed)), given.network, given.simulations, given.device
    ):
        print(line, flush=True)


if __name__ == "__main__":
    main()
