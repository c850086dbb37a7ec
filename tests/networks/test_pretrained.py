"""Networks that come with the package."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.networks.pretrained import find, for_game, shipped
from tools.chess_strength import best_positions
from tools.hex_solved import choices, solved_share
from tools.learned_results import Chooser, best_share, solved_connect_four

MEGABYTE = 1_000_000


@pytest.mark.parametrize("entry", shipped(), ids=lambda entry: entry.name)
def test_each_is_whole_small_and_said_to_be_what_it_is(entry):
    assert entry.file.stat().st_size <= 8 * MEGABYTE
    module = entry.module()
    assert module.spec.game == entry.game
    if entry.sizes:
        assert module.spec.params["size"] == entry.sizes[0]
    assert entry.learned == isinstance(module, rf.networks.LearnedModel)
    assert entry.recipe
    assert entry.training
    assert entry.rating


def test_names():
    assert [entry.name for entry in rf.pretrained()] == [entry.name for entry in shipped()]
    with pytest.raises(ValueError, match="did you mean 'hex-7'"):
        rf.pretrained("hex-77")
    assert for_game(rf.make("hex", size=7)) == find("hex-7")
    assert for_game(rf.make("hex", size=9)) == find("hex-11")
    assert for_game(rf.make("hex", size=13)) is None
    assert for_game(rf.make("hex", size=7, swap=True)) is None
    assert for_game(rf.make("chess")) == find("chess")
    assert for_game(rf.make("tictactoe")) is None
    assert for_game(rf.make("connect_four")) == find("connect-four")  # before the learned model
    board = rf.make("pyrat", reward="difference")
    assert for_game(board) is None  # greedy rollouts are as good on large boards, and need no network
    assert find("pyrat").fits(board)
    assert not find("pyrat").fits(rf.make("pyrat", reward="cheese"))


def test_the_network_of_connect_four_finds_the_best_moves_alone():
    positions = solved_connect_four()
    assert best_share(Chooser(find("connect-four").module(), "cpu", 1, rules=True), positions) >= 0.9


def test_the_learned_model_of_connect_four_finds_the_best_moves_without_the_rules():
    positions = solved_connect_four()[:40]
    assert best_share(Chooser(find("muzero-connect-four").module(), "cpu", 50), positions) >= 0.9


def test_the_learned_model_of_chess_knows_what_is_legal():
    """In positions of other people's games; nobody has told it the rules."""
    states = [state for state, _ in best_positions()[:60]]
    module = find("muzero-chess").module().eval()
    observations = torch.from_numpy(np.stack([state.observation(state.acting[0]) for state in states]))
    with torch.no_grad():
        logits = module.prediction(module.representation(observations))["logits"]
    policies = logits.reshape(len(states), -1).softmax(dim=1).numpy()
    assert np.mean([one[state.legal_actions()].sum() for one, state in zip(policies, states, strict=True)]) > 0.98


@pytest.mark.parametrize("size", [9, 11])
def test_one_network_plays_several_sizes(size):
    """By its policy alone it beats random moves, as either player."""
    game, evaluator, rng = rf.make("hex", size=size), rf.pretrained("hex-11", device="cpu"), np.random.default_rng(size)
    for player in (0, 1):
        state = game.initial_state()
        while not state.is_over:
            if state.acting == (player,):
                state.apply(choices([state], evaluator, 1)[0])
            else:
                state.apply(int(rng.choice(state.legal_actions())))
        assert state.returns[player] == 1


def test_the_small_one_plays_solved_positions_well():
    evaluator = rf.pretrained("hex-7", device="cpu")
    right, count = solved_share(evaluator, 7, 1)
    assert count == 40
    assert right / count >= 0.8


@pytest.mark.slow
def test_the_small_one_with_search_nearly_solves_them():
    right, count = solved_share(rf.pretrained("hex-7", device="cpu"), 7, 400)
    assert right / count >= 0.95
