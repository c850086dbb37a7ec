"""Keras models as evaluators of chess positions.

A model takes observations as ``state.observation()`` gives them, [22, 8, 8], or with the planes last, [8, 8, 22]. Its
outputs are the policy, [4672], and the value for the player to move, [1] or a scalar, in any order or by any name. The
policy may be logits or probabilities.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.engine.batch import Batch, Evaluation
from ramify.games import make

LEAST = 1e-30  # probability whose logarithm is taken for 0


class KerasEvaluator:
    """Evaluates positions with a Keras model."""

    needs_legal = False

    def __init__(self, model: Any) -> None:
        game = make("chess")
        self.model, self._actions = model, game.num_actions
        planes, rows, columns = game.observation_shape
        shapes = {(planes, rows, columns): False, (rows, columns, planes): True}
        takes = tuple(model.input_shape[1:])
        if takes not in shapes:
            raise ValueError(f"the model takes observations of shape {list(takes)}, but chess has {next(iter(shapes))}")
        self._planes_last = shapes[takes]

    def evaluate(self, batch: Batch) -> Evaluation:
        observations = batch.observations
        if self._planes_last:
            observations = np.ascontiguousarray(observations.transpose(0, 2, 3, 1))
        found = self.model.predict_on_batch(observations)
        outputs = [np.asarray(output, np.float32) for output in (found.values() if isinstance(found, dict) else found)]
        rows = len(observations)
        policies = [output for output in outputs if output.shape == (rows, self._actions)]
        values = [output for output in outputs if output.shape in ((rows,), (rows, 1))]
        if len(policies) != 1 or len(values) != 1:
            shapes = ", ".join(str(list(output.shape)) for output in outputs)
            raise ValueError(
                f"the model must give a policy [{rows}, {self._actions}] and a value [{rows}, 1], not {shapes}"
            )
        return Evaluation(as_logits(policies[0]), values[0].reshape(rows))


def as_logits(policy: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits of a policy, of which every row may also be probabilities: none negative, and their sum 1."""
    probabilities = (policy >= 0).all() and np.allclose(policy.sum(axis=1), 1.0, atol=1e-3)
    return np.log(np.maximum(policy, np.float32(LEAST))) if probabilities else policy


def load_keras(path: Path) -> KerasEvaluator:
    """The evaluator of a ``.keras`` file."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        import keras
    except (ImportError, ValueError) as error:  # ValueError: KERAS_BACKEND names no backend
        raise ImportError(
            f"{path} needs Keras and a backend ({error}): pip install keras, and set KERAS_BACKEND to torch or jax if "
            "TensorFlow is not installed; or save the network as .safetensors or .onnx"
        ) from error
    return KerasEvaluator(keras.saving.load_model(path, compile=False))
