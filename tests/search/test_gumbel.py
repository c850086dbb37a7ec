"""Gumbel search: as mctx does it, and better than the prior wherever values are exact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.search.gumbel_tables import run

TABLE = json.loads((Path(__file__).parents[1] / "golden" / "gumbel_mctx.json").read_text())


@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case['game']}-{case['simulations']}-{case['considered']}")
def test_visits_weights_and_action_are_those_of_mctx(case: dict[str, Any]) -> None:
    result = run(case)
    assert result.gumbel is not None
    np.testing.assert_allclose(result.gumbel[0][0], case["gumbel"], rtol=1e-6)
    assert result.visits[:, 0].tolist() == case["visits"]
    assert result.action() == case["action"]
    np.testing.assert_allclose(result.policy(0, "improved"), case["weights"], atol=2e-3)
    # Below the root priors are kept in 16 bits: a near-tie may go the other way there, and values follow.
    assert abs(result.value[0] - case["value"]) < 0.02
