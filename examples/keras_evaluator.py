"""A Keras model as an evaluator: one function from a batch to logits and values.

Run it: ``KERAS_BACKEND=torch python examples/keras_evaluator.py`` searches Connect Four with it. Needs
``pip install keras`` and a backend: torch, jax, or tensorflow, which Keras uses if ``KERAS_BACKEND`` is not set.
"""

import numpy as np

import ramify as rf


def make_model(game):
    """A small network, untrained, with two outputs: logits and the value of the acting player."""
    import keras

    observation = keras.Input(game.observation_shape)
    x = keras.layers.Flatten()(observation)
    x = keras.layers.Dense(64, activation="relu")(x)
    logits = keras.layers.Dense(game.num_actions, name="logits")(x)
    value = keras.layers.Dense(1, activation="tanh", name="value")(x)
    return keras.Model(observation, [logits, value])


def make_evaluator(model):
    """An evaluator; outputs are the acting player's: [B, num_actions] and [B]."""

    def evaluate(batch):
        logits, values = model.predict_on_batch(batch.observations)
        return np.asarray(logits), np.asarray(values)[:, 0]

    return rf.evaluators.Function(evaluate)


def main():
    try:
        import keras  # noqa: F401
    except (ImportError, ValueError):  # ValueError: KERAS_BACKEND names no backend
        print("this example needs Keras and a backend: pip install keras, and set KERAS_BACKEND to torch or jax")
        return
    game = rf.make("connect_four")
    result = rf.search(game.initial_state(), make_evaluator(make_model(game)), simulations=100, batch=8)
    print("visits:", result.visits.ravel().tolist())


if __name__ == "__main__":
    main()
