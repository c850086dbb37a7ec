"""What does not fit into a node is refused, not cut off."""

from __future__ import annotations

import math

import pytest

import ramify as rf
from ramify import _core

pytestmark = pytest.mark.core

SETTINGS = rf.SearchConfig().for_evaluator(None).model_dump()


def test_actions_are_counted_in_sixteen_bits() -> None:
    most = 2**16 - 1
    search = _core.make_latent_search(most, "alternating", 1, [], [], SETTINGS)
    search.begin(0)
    search.run_native(0, 0, 5, math.inf)
    assert search.report([])["outcomes"][0].tolist() == list(range(most))
    for actions in (most + 1, most + 4465):
        with pytest.raises(rf.InvalidInput, match=f"65535 actions apart, not {actions}"):
            _core.make_latent_search(actions, "alternating", 1, [], [], SETTINGS)
