"""A JAX network as an evaluator: one function from a batch to logits and values.

Run it: ``python examples/jax_evaluator.py`` searches tic-tac-toe with it. Needs ``pip install jax``.
"""

import numpy as np

import ramify as rf


def random_weights(inputs, hidden, actions, seed=0):
    """Two layers, untrained; the last column of the second is the value."""
    rng = np.random.default_rng(seed)
    draw = lambda *shape: rng.normal(size=shape, scale=shape[0] ** -0.5).astype(np.float32)  # noqa: E731
    return {"first": draw(inputs, hidden), "second": draw(hidden, actions + 1)}


def make_evaluator(weights):
    """An evaluator; outputs are the acting player's: [B, num_actions] and [B]."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def forward(weights, observations):
        x = observations.reshape(observations.shape[0], -1)
        x = jnp.maximum(x @ weights["first"], 0) @ weights["second"]
        return x[:, :-1], jnp.tanh(x[:, -1])

    def evaluate(batch):
        rows = len(batch)
        size = 1 << (rows - 1).bit_length()  # XLA compiles once for every shape: few shapes, padded up
        padded = np.zeros((size, *batch.observations.shape[1:]), np.float32)
        padded[:rows] = batch.observations
        logits, values = forward(weights, padded)
        return np.asarray(logits)[:rows], np.asarray(values)[:rows]

    return rf.evaluators.Function(evaluate)


def main():
    try:
        import jax  # noqa: F401
    except ImportError:
        print("this example needs JAX: pip install jax")
        return
    state = rf.make("tictactoe").initial_state()
    evaluator = rf.evaluators.Cached(make_evaluator(random_weights(18, 32, 9)))
    result = rf.search(state, evaluator, simulations=200, batch=8)
    print("visits:", result.visits.ravel().tolist())


if __name__ == "__main__":
    main()
