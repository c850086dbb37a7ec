"""A chess network that Keras itself saved. `make test` does not install Keras: these tests run where it is."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.children import run_program

LOADS_A_MODEL = """
import os

os.environ.update(KERAS_BACKEND="torch", KERAS_HOME=os.getcwd())
import keras
import numpy as np

from ramify.chess import MCTS, ChessGame, ChessNN

planes_last = PLANES_LAST
board = keras.Input((8, 8, 22) if planes_last else (22, 8, 8))
x = keras.layers.Dense(16, activation="relu")(keras.layers.Flatten()(board))
value = keras.layers.Dense(1, activation="tanh", name="v")(x)
policy = keras.layers.Dense(4672, activation="softmax" if planes_last else None, name="p")(x)
model = keras.Model(board, {"v": value, "p": policy} if planes_last else [value, policy])
model.save("net.keras")

network, game = ChessNN(), ChessGame()
network.load_model("net.keras")
found, worth = network.predict(game)
seen = game.state.observation()[None]
outputs = model.predict_on_batch(np.moveaxis(seen, 1, 3) if planes_last else seen)
v, p = (outputs["v"], outputs["p"]) if planes_last else outputs
legal = game.state.legal_actions()
own = p[0, legal] if planes_last else np.exp(p[0, legal])
np.testing.assert_allclose(found[legal], own / own.sum(), rtol=1e-4)
np.testing.assert_allclose(worth, v[0, 0], rtol=1e-5)
print(MCTS(network, 20).search(game, temperature=0).uci() in [move.uci() for move in game.get_legal_moves()])
"""


@pytest.mark.slow
@pytest.mark.skipif(not (find_spec("keras") and find_spec("torch")), reason="needs Keras and torch")
@pytest.mark.parametrize("planes_last", [True, False])
def test_a_model_that_keras_saved(planes_last: bool, tmp_path: Path) -> None:
    """Planes first or last, probabilities or logits, a list or a dict of outputs: what the model says of the board."""
    ended = run_program(LOADS_A_MODEL.replace("PLANES_LAST", str(planes_last)), folder=tmp_path)
    assert (ended.code, ended.out) == (0, "True\n"), ended.err
