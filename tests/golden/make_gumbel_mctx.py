"""Makes gumbel_mctx.json: what mctx's gumbel_muzero_policy does on the tables of tests/engine/gumbel_tables.py.

Needs jax and mctx beside this package, which the tests do not:  python -m tests.golden.make_gumbel_mctx
The Gumbel numbers are those of this engine, put in place of mctx's own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import mctx

from tests.engine.gumbel_tables import CASES, GAMES, STATES, run, tables


def answer(case: dict[str, Any], gumbel: list[float]) -> dict[str, Any]:
    """Visits, weights and action of mctx."""
    actions = GAMES[case["game"]]
    table = {name: jnp.asarray(array) for name, array in tables(case["seed"], actions, case["spread"]).items()}

    def recurrent(_: Any, __: Any, action: Any, state: Any) -> Any:
        state = (state * actions + action + 1) % STATES
        output = mctx.RecurrentFnOutput(
            reward=table["rewards"][state],
            discount=jnp.full(state.shape, case["discount"]),
            prior_logits=table["logits"][state],
            value=table["values"][state],
        )
        return output, state

    zero = jnp.zeros(1, jnp.int32)
    root = mctx.RootFnOutput(prior_logits=table["logits"][zero], value=table["values"][zero], embedding=zero)
    with mock.patch.object(jax.random, "gumbel", return_value=jnp.asarray(gumbel)[None]):
        output = mctx.gumbel_muzero_policy(
            None,
            jax.random.PRNGKey(0),
            root,
            recurrent,
            num_simulations=case["simulations"],
            max_num_considered_actions=case["considered"],
        )
    summary = output.search_tree.summary()
    return {
        **case,
        "gumbel": gumbel,
        "visits": [int(n) for n in summary.visit_counts[0]],
        "weights": [float(w) for w in output.action_weights[0]],
        "action": int(output.action[0]),
        "value": float(summary.value[0]),
    }


if __name__ == "__main__":
    rows = [answer(case, [float(g) for g in run(case).gumbel[0][0]]) for case in CASES]
    Path(__file__).with_name("gumbel_mctx.json").write_text(json.dumps(rows, indent=1) + "\n")
