"""A model of random tables, the same for this engine and for mctx: states are numbers, and their logits, values and
rewards are drawn once."""

from __future__ import annotations

from typing import Any

import numpy as np

import ramify as rf
from ramify.engine import LatentOutput

STATES = 4096
GAMES = {"connect_four": 7, "tictactoe": 9, "hex": 16}  # actions; only the root's legal actions matter
CASES = [
    {"game": game, "simulations": n, "considered": m, "seed": seed, "discount": discount, "spread": spread}
    for seed, (game, n, m, discount, spread) in enumerate(
        [
            ("connect_four", 8, 16, 1.0, 1.0),
            ("connect_four", 16, 4, 0.9, 2.0),
            ("connect_four", 50, 7, 0.997, 0.3),
            ("tictactoe", 4, 16, 0.9, 1.0),
            ("tictactoe", 32, 16, 0.9, 3.0),
            ("tictactoe", 200, 8, 0.95, 1.0),
            ("hex", 16, 16, 0.9, 1.0),
            ("hex", 50, 16, 1.0, 2.0),
            ("hex", 64, 3, 0.9, 1.0),
            ("hex", 200, 16, 0.9, 0.5),
            ("hex", 400, 5, 0.8, 2.0),
            ("connect_four", 400, 16, 0.9, 1.0),
        ]
    )
]


def tables(seed: int, actions: int, spread: float) -> dict[str, Any]:
    """Logits [STATES, actions], values and rewards [STATES] as float32."""
    rng = np.random.default_rng(seed)
    return {
        "logits": (spread * rng.normal(size=(STATES, actions))).astype(np.float32),
        "values": rng.uniform(-1, 1, STATES).astype(np.float32),
        "rewards": rng.uniform(-0.5, 0.5, STATES).astype(np.float32),
    }


class TableModel:
    """The tables as a latent model of one player."""

    acting = "single"

    def __init__(self, case: dict[str, Any]) -> None:
        self.num_actions = GAMES[case["game"]]
        self.tables = tables(case["seed"], self.num_actions, case["spread"])

    def _output(self, states: Any, rewards: Any) -> LatentOutput:
        n = len(states)
        logits = np.repeat(self.tables["logits"][states][:, None], 2, axis=1)
        values = np.zeros((n, 2), np.float32)
        values[:, 0] = self.tables["values"][states]
        return LatentOutput(states, logits, values, rewards)

    def initial(self, observations: Any) -> LatentOutput:
        return self._output(np.zeros(len(observations), np.int64), None)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        states = (np.asarray(latents) * self.num_actions + np.asarray(actions) + 1) % STATES
        rewards = np.zeros((len(states), 2), np.float32)
        rewards[:, 0] = self.tables["rewards"][states]
        return self._output(states, rewards)


def run(case: dict[str, Any]) -> rf.SearchResult:
    """This engine on one case: one more simulation than mctx counts, for the root."""
    game = rf.make(case["game"], size=4) if case["game"] == "hex" else rf.make(case["game"])
    config = rf.SearchConfig(
        simulations=case["simulations"] + 1,
        selection="gumbel",
        gumbel_considered=case["considered"],
        discount=case["discount"],
    )
    return rf.Searcher(TableModel(case), config=config, seed=case["seed"]).run(game.initial_state())
