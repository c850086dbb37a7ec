"""A perfect latent model: its latent states are states of the real game.

Nothing is known of legal actions, outcomes and ends inside a learned model. This one says so in its answers: an action
that is illegal, or that another one stands for, has no prior, and nothing is won after the end. With MuZero's
normalisation an action without prior is never tried, so that its search is that of the rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ramify as rf
from ramify.engine import LatentOutput
from ramify.engine.batch import batch_of
from ramify.pyrat.predict import game_of
from tests.reference.evaluators import HashEvaluator

NO_PRIOR = -1e9
GAMES: dict[str, dict[str, Any]] = {
    "tictactoe": {},
    "connect_four": {},
    "hex": {"size": 4},
    "pyrat": {"width": 5, "height": 4, "cheese": 4, "max_turns": 12, "symmetric": False, "mud_density": 0.4},
}


def decoded(game: Any, observation: Any, start: Any = None) -> rf.State:
    """The state that its acting player (player 0 where both act) sees like this."""
    if game.name == "pyrat":
        return game_of(observation, game, start).state
    if game.name == "hex":
        first = bool(observation[2].all())
        marks, fields = ("x", "o") if first else ("o", "x"), {"to_move": "x" if first else "o"}
    else:
        first = observation[0].sum() == observation[1].sum()
        marks, fields = ("x", "o") if first else ("o", "x"), {}
    symbols = np.where(observation[0] > 0, marks[0], np.where(observation[1] > 0, marks[1], "."))
    state: rf.State = game.state(board=["".join(row) for row in symbols], **fields)
    return state


class Perfect:
    """The rules as a latent model and, with ``evaluate``, as an evaluator: both give the same numbers.

    ``start``: the fields of a state of the same maze, in PyRat.
    """

    def __init__(self, game: Any, seed: int = 0, start: Any = None) -> None:
        self.game, self.num_actions, self.start = game, game.num_actions, start
        self.acting = "both" if game.simultaneous else "alternating"
        self.hashed = HashEvaluator(seed, not game.simultaneous)
        self.after_end = 0

    def evaluate(self, batch: Any) -> rf.Evaluation:
        logits, values = self._answers([decoded(self.game, row, self.start) for row in batch.observations])
        return rf.Evaluation(logits, values)

    def initial(self, observations: Any) -> LatentOutput:
        return self._output([decoded(self.game, row, self.start) for row in observations], None)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        states, rewards = [state.copy() for state in latents], np.zeros((len(actions), 2), np.float32)
        for i, state in enumerate(states):
            if state.is_over:
                self.after_end += 1
            else:
                rewards[i] = state.apply(*np.atleast_1d(actions[i]).tolist())
        return self._output(states, rewards)

    def _output(self, states: list[rf.State], rewards: Any) -> LatentOutput:
        logits = np.zeros((len(states), 2, self.num_actions), np.float32)
        values = np.zeros((len(states), 2), np.float32)
        going_on = [i for i, state in enumerate(states) if not state.is_over]
        if going_on:
            logits[going_on], values[going_on] = self._answers([states[i] for i in going_on])
        return LatentOutput(states, logits, values, rewards)

    def _answers(self, states: list[rf.State]) -> tuple[Any, Any]:
        batch = batch_of(states)
        stands = np.zeros_like(batch.legal)
        for row, state in enumerate(states):
            for player in state.acting:
                stands[row, player, state.outcomes(player)[0]] = True
        found = self.hashed.evaluate(batch)
        # Cheese is never negative. Otherwise an action without prior may look better before there is a range of values.
        values = np.abs(found.values) if self.game.simultaneous else found.values
        return np.where(stands, found.logits, np.float32(NO_PRIOR)), values
