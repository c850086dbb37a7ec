"""Slow, plain versions of the searches that the engine contains, for it to be compared with.

Each module has a class ``Search(state, evaluate, config)`` with

- ``simulate()``: one simulation; the first evaluates the root, so n of them make n - 1 edge visits;
- ``visits``: int64[n0, n1], edge visits of the root over outcomes; a passive player has one outcome;
- ``value``: float32[2], the root's value per player;
- ``q``: (float32[n0], float32[n1]), each player's value of its outcomes, first-play urgency where unvisited;
  never normalised;
- ``nodes``: positions that have been evaluated or found terminal, the root included.

``evaluate(state)`` gives (logits [2, num_actions], values [2]), both float32; in ``muzero`` a latent model
takes its place. ``batched`` has ``run(simulations)``, up to that many in all, in place of ``simulate()``.
``mcgs`` is over a PyRat game and has ``search(game, simulations)``.
"""
