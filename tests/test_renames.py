"""Old names keep working for one version, and say the new one."""

from __future__ import annotations

import pytest

import ramify as rf
from ramify.base.settings import SettingsError
from ramify.selfplay import SelfPlay


def test_rf_games_can_still_be_called() -> None:
    with pytest.warns(DeprecationWarning, match=r"ramify\.games\(\) is now ramify\.list_games\(\)"):
        assert rf.games() == rf.list_games()  # type: ignore[operator]
    assert rf.games.__name__ == "ramify.games"
    assert rf.search.__name__ == "search"


def test_arena() -> None:
    arena = rf.arena
    with pytest.warns(DeprecationWarning, match="Pace is now ramify.arena.ParallelSettings"):
        pace = arena.Pace
    with pytest.warns(DeprecationWarning, match="together is now concurrency"):
        assert pace(together=3) == arena.ParallelSettings(concurrency=3)
    with pytest.warns(DeprecationWarning, match="Conditions is now ramify.arena.MatchConfig"):
        config = arena.Conditions(seed=5)
    game = rf.make("tictactoe")
    new = arena.match(game, "random", "search:simulations=5", 4, config=config)
    with pytest.warns(DeprecationWarning, match="conditions is now config"):
        assert list(arena.match(game, "random", "search:simulations=5", 4, conditions=config)) == list(new)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="old name"):
        arena.ParallelSettings(together=1, concurrency=2)  # type: ignore[call-arg]


def test_self_play_and_training() -> None:
    with pytest.warns(DeprecationWarning, match="places is now parallel_games"):
        SelfPlay(rf.make("tictactoe"), games=1, places=1)  # type: ignore[call-arg]
    pytest.importorskip("torch")
    from ramify.training import load_config

    with pytest.warns(DeprecationWarning, match="reuse is now replay_ratio"):
        assert load_config("hex-5", {"loop": {"reuse": 3}}).loop.replay_ratio == 3
    with pytest.warns(DeprecationWarning, match=r"loop\.reuse is now loop\.replay_ratio"):
        assert load_config("hex-5", {"loop.reuse": 3}).loop.replay_ratio == 3  # though the preset sets the new name
    with pytest.raises(SettingsError, match="reuse is the old name of replay_ratio"):
        load_config("hex-5", {"loop": {"reuse": 3, "replay_ratio": 3}})


def test_results() -> None:
    result = rf.search(rf.make("tictactoe").initial_state(), simulations=10)
    with pytest.warns(DeprecationWarning, match="look is now SearchResult.node"):
        assert result.look([])["visits"] == result.node([])["visits"]


def test_evaluators_that_were_in_networks() -> None:
    pytest.importorskip("torch")
    with pytest.warns(DeprecationWarning, match="is now ramify.evaluators.Network"):
        assert rf.networks.Network is rf.evaluators.Network
    with pytest.warns(DeprecationWarning, match="is now ramify.evaluators.network_evaluator"):
        assert rf.networks.evaluator is rf.evaluators.network_evaluator
