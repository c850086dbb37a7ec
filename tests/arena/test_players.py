"""Players as text and as content, and that what they choose depends on the turn alone."""

from __future__ import annotations

import numpy as np
import pytest

import ramify as rf
from ramify.arena import SearchPlayerConfig, Turn, player_kinds, read_player
from ramify.arena.search_player import SearchPlayer
from ramify.engine import SearchConfig
from tests.arena.helpers import turns_of

TEXTS = [
    "search",
    "search:simulations=50",
    "search:simulations=20,c_puct=1.4,selection=gumbel,solver=true,temperature_moves=3,evaluator=rollout:5",
    "search:evaluator=uniform,max_nodes=1000,acting=lcb",
    "search:acting=nash",
    "search:acting=nash,nash.choose=entropy,nash.min_visits=2.5,nash.pruned=true",
    "test_dice:skill=0.5",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_label_reads_back_as_the_same_player(text: str) -> None:
    player = read_player(text)
    assert read_player(player.label) == player
    assert read_player(player.label).identity == player.identity


def test_texts_are_read_as_written() -> None:
    player = read_player(" search: simulations = 30 , c_base=None, graph=True,stop_early=true ")
    assert isinstance(player, SearchPlayerConfig)
    assert (player.simulations, player.c_base, player.graph, player.stop_early) == (30, None, True, True)
    assert player.search_config() == SearchConfig(simulations=30, graph=True, stop_early=True, cache=20_000)
    assert set(SearchConfig.model_fields) <= set(SearchPlayerConfig.model_fields)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["kind:setting=value"]),
        ("serch", ["serch", "did you mean 'search'?"]),
        ("search:simulatoins=3", ["simulatoins", "did you mean 'simulations'?"]),
        ("search:simulations", ["name=value", "'simulations'"]),
        ("search:simulations=0", ["simulations=0"]),
        ("search:simulations=3,simulations=4", ["simulations twice"]),
        ("search:kind=network", ["before the colon"]),
        ("search:evaluator=oracle", ["evaluator='oracle'", "uniform, rollout, rollout:N, greedy, greedy:N or planner"]),
        ("search:evaluator=plannr", ["evaluator='plannr'", "did you mean 'planner'?"]),
        ("search:evaluator=rollout:007", ["evaluator='rollout:007'"]),
        ("search:acting=foo", ["player setting acting='foo': must be 'visits', 'pruned', ", " or 'lcb'"]),
        ("search:acting=vists", ["acting='vists'", "did you mean 'visits'?"]),
        ("search:acting=average", ["acting=average needs selection=regret"]),
        ("search:nash=any", ["nash='any'", "set nash.NAME instead"]),
        ("search:nash.chose=any", ["no nash setting 'chose'", "did you mean 'choose'?"]),
        ("search:nash.choose=any,nash.choose=entropy", ["nash.choose twice"]),
        ("search:nash=any,nash.choose=any", ["player setting nash is 'any'", "no setting 'choose' within"]),
        ("search:nash.=any", ["name=value"]),
        ("search:network=a,evaluator=uniform", ["network and evaluator"]),
        ("network", ["network", "missing"]),
        ("runs/x.safetensors", ["did you mean 'search:network=runs/x.safetensors'?"]),
    ],
)
def test_mistakes_are_named(text: str, words: list[str]) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        read_player(text)
    assert [word for word in words if word not in str(error.value)] == []


def test_identities_tell_players_apart_and_nothing_else() -> None:
    identities = {read_player(text).identity for text in TEXTS}
    assert len(identities) == len(TEXTS)
    assert read_player("search:simulations=800").identity == read_player("search").identity
    assert read_player("search:cache=5,device=cuda").identity == read_player("search").identity


def test_what_has_its_default_is_no_part_of_the_identity_as_in_stored_results() -> None:
    for acting in ("visits", "nash"):
        plain = read_player(f"search:acting={acting}")
        assert plain.identity == read_player(f"search:acting={acting},nash.choose=centroid,nash.pruned=false").identity
        assert "nash" not in plain.content()
    assert read_player("search:nash.choose=any").identity == read_player("search").identity  # it has no effect there
    assert read_player("search:acting=nash,nash.choose=any").content()["nash"]["choose"] == "any"


def test_a_player_acts_by_the_equilibrium_that_its_settings_choose() -> None:
    game = rf.make("matrix", payoffs=[[0, 0, 0]] * 3)  # everything is an equilibrium
    turns = [Turn(game.initial_state(), 0, seed) for seed in range(30)]

    def chosen(settings: str) -> set[int]:
        return set(
            read_player(f"search:evaluator=uniform,simulations=60,acting=nash{settings}").open(game).choose(turns)
        )

    assert chosen("") == chosen(",nash.choose=entropy") == {0, 1, 2}
    assert len(chosen(",nash.choose=any")) == 1


@pytest.mark.parametrize("text", ["search:simulations=30", "search:simulations=16,selection=gumbel,evaluator=uniform"])
@pytest.mark.parametrize(("name", "params"), [("hex", {"size": 4}), ("goofspiel", {})])
def test_a_choice_depends_on_its_turn_alone(text: str, name: str, params: dict[str, int]) -> None:
    game = rf.make(name, **params)
    player, turns = read_player(text).open(game), turns_of(game, 12)
    keys = [turn.state.key for turn in turns]
    together = player.choose(turns)
    assert together == [read_player(text).open(game).choose([turn])[0] for turn in turns]
    assert together == player.choose(turns[::-1])[::-1]
    assert keys == [turn.state.key for turn in turns]
    assert all(action in turn.state.legal_actions(turn.player) for action, turn in zip(together, turns, strict=True))


def test_chance_follows_the_seed_of_the_turn() -> None:
    game = rf.make("hex", size=5)
    player = read_player("search:simulations=10,temperature_moves=1").open(game)
    start = game.initial_state()
    first = player.choose([Turn(start, 0, seed) for seed in range(30)])
    assert len(set(first)) > 2
    assert (
        player.choose([Turn(start, 0, 7, ply=1) for _ in range(3)])
        == [player.choose([Turn(start, 0, 7, ply=9)])[0]] * 3
    )


def test_a_search_player_plays_what_the_search_finds() -> None:
    game = rf.make("connect_four")
    turn = turns_of(game, 1)[0]
    result = rf.search(turn.state, rf.evaluators.Rollout(2), simulations=60, seed=turn.seed, c_puct=2.0)
    choice = read_player("search:evaluator=rollout:2,simulations=60,c_puct=2").open(game).consider([turn])[0]
    assert choice.action == result.action()
    assert choice.value == pytest.approx(float(result.value[turn.player]))


def test_ctrl_c_in_a_search_is_no_choice() -> None:
    game = rf.make("hex", size=5)
    player = read_player("search:simulations=64").open(game)
    assert isinstance(player, SearchPlayer)

    class Interrupting:
        batches = 0

        def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
            self.batches += 1
            if self.batches == 20:
                raise KeyboardInterrupt
            return rf.Evaluation(np.zeros(batch.legal.shape, np.float32), np.zeros((len(batch), 2), np.float32))

    player.evaluator, player._alone = Interrupting(), False
    player._shared = player._searcher(0)
    with pytest.raises(KeyboardInterrupt):
        player.choose([Turn(game.initial_state(), 0, 0)])


def test_kinds_are_listed() -> None:
    assert {"search", "network"} <= set(player_kinds())
