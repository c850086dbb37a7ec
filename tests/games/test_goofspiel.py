"""Goofspiel: rules against a plain replay of the bids, rewards, positions from outside, the picture."""

from __future__ import annotations

import random
from itertools import permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from board_checks import apply_random, assert_same, check_promises, random_states
from hypothesis import given, settings
from hypothesis import strategies as st

import ramify as rf

pytestmark = pytest.mark.core
KINDS = [(points, returns) for points in ("descending", "ascending") for returns in ("win", "difference")]


def points_of(bids0, bids1, prizes) -> list[int]:
    """What each player has won: the higher bid takes the prize, equal bids leave it."""
    turns = list(zip(bids0, bids1, prizes, strict=True))
    return [sum(z for x, y, z in turns if x > y), sum(z for x, y, z in turns if y > x)]


@pytest.mark.parametrize(("points", "returns"), KINDS)
def test_every_game_of_four_cards_pays_what_the_bids_won(points: str, returns: str) -> None:
    game = rf.make("goofspiel", cards=4, points=points, returns=returns)
    prizes = [4, 3, 2, 1] if points == "descending" else [1, 2, 3, 4]
    for bids0 in permutations(range(1, 5)):
        for bids1 in permutations(range(1, 5)):
            state = game.initial_state()
            for x, y in zip(bids0[:3], bids1[:3], strict=True):  # the last turn plays itself
                assert not state.is_over
                state.apply(x - 1, y - 1)
            won = points_of(bids0, bids1, prizes)
            assert state.is_over
            assert state.fields == {"hands": [[], []], "points": won}
            lead = won[0] - won[1]
            expected = np.sign(lead) if returns == "win" else lead / 2
            assert state.returns.tolist() == [expected, -expected]


@pytest.mark.parametrize(("points", "returns"), KINDS)
@pytest.mark.parametrize("cards", [1, 2, 3, 5, 13, 16])
def test_rewards_come_turn_by_turn_or_at_the_end(points: str, returns: str, cards: int) -> None:
    game = rf.make("goofspiel", cards=cards, points=points, returns=returns)
    rng = random.Random(cards)
    for _ in range(20):
        state = game.initial_state()
        turns = 0
        while not state.is_over:
            before = state.fields["points"]
            _, rewards = apply_random(state, rng)
            turns += 1
            gains = [now - then for now, then in zip(state.fields["points"], before, strict=True)]
            assert rewards.sum() == 0
            if returns == "difference":
                assert rewards[0] == (gains[0] - gains[1]) / 2
            elif not state.is_over:
                assert rewards[0] == 0
        assert turns == max(cards - 1, 1)


def test_observations() -> None:
    state = rf.make("goofspiel", cards=4).initial_state()
    state.apply(3, 0)  # player 0 wins the prize 4
    state.apply(0, 3)  # player 1 wins the prize 3
    planes = np.float32([[0, 1, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0.1] * 4])[:, None]
    assert np.array_equal(state.observation(0), planes)
    planes[4] *= -1
    assert np.array_equal(state.observation(1), planes)
    rising = rf.make("goofspiel", cards=4, points="ascending", returns="difference").initial_state()
    rising.apply(3, 0)
    planes = np.float32([[1, 1, 1, 0], [0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 0, 0]])[:, None]
    assert np.array_equal(rising.observation(0), planes)


@pytest.mark.parametrize(("points", "returns"), KINDS)
def test_keys_know_the_lead_only_where_it_matters(points: str, returns: str) -> None:
    """Positions share a key exactly where hands agree and, when the end pays, the lead too."""
    game = rf.make("goofspiel", cards=4, points=points, returns=returns)
    parts_of: dict[int, tuple] = {}
    key_of: dict[tuple, int] = {}
    for state in random_states(game, games=600):
        hands, won = state.fields["hands"], state.fields["points"]
        lead = won[0] - won[1] if returns == "win" else None
        parts = (tuple(hands[0]), tuple(hands[1]), lead)
        assert parts_of.setdefault(state.key, parts) == parts
        assert key_of.setdefault(parts, state.key) == state.key
    pairs_of_hands = 1 + 4**2 + 6**2 + 1  # with four, three, two and no cards
    assert len({parts[:2] for parts in key_of}) == pairs_of_hands
    assert len(key_of) == pairs_of_hands if returns == "difference" else len(key_of) > pairs_of_hands


@pytest.mark.parametrize(("points", "returns"), KINDS)
@pytest.mark.parametrize("cards", [1, 2, 4, 7])
def test_promises_hold_on_random_positions(points: str, returns: str, cards: int) -> None:
    rng = random.Random(2)
    for state in random_states(rf.make("goofspiel", cards=cards, points=points, returns=returns), games=6):
        check_promises(state, rng, canonical=False)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 16), st.sampled_from(KINDS), st.randoms(use_true_random=False))
def test_promises_hold_in_any_game(cards: int, kind: tuple[str, str], rng: random.Random) -> None:
    state = rf.make("goofspiel", cards=cards, points=kind[0], returns=kind[1]).initial_state()
    for _ in range(rng.randrange(cards)):
        if not state.is_over:
            apply_random(state, rng)
    check_promises(state, rng, canonical=False)


def test_explicit_positions_have_paid_their_difference() -> None:
    game = rf.make("goofspiel", cards=4, returns="difference")
    state = game.state(hands=[[1, 2], [3, 4]], points=[4, 3])
    assert state.returns.tolist() == [0.5, -0.5]
    assert_same(game.state(hands=[[2, 1], [4, 3]], points=(4, 3)), state)
    assert game.state(hands=[[1, 2], [1, 2]]).fields["points"] == [0, 0]  # two ties


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({}, "hands must be two lists of cards"),
        ({"hands": [[1], [1], [1]]}, "hands must be two lists of cards"),
        ({"hands": [[1, 2], 3]}, "a hand must be a list of different cards from 1 to 4, not 3"),
        ({"hands": [[1, 5], [1, 2]]}, r"from 1 to 4, not \[1, 5\]"),
        ({"hands": [[1, 1], [1, 2]]}, "different cards"),
        ({"hands": [[0, 1], [1, 2]]}, "from 1 to 4"),
        ({"hands": [[1, True], [1, 2]]}, "from 1 to 4"),
        ({"hands": [[1, 2], [1, 2, 3]]}, "the same number of cards"),
        ({"hands": [[1], [2]]}, "cannot have one card"),
        ({"hands": [[1, 2], [1, 2]], "points": [4]}, "points must be two whole numbers"),
        ({"hands": [[1, 2], [1, 2]], "points": [4, -3]}, "whole numbers of at least 0, not -3"),
        ({"hands": [[1, 2], [1, 2]], "points": [4, 2.5]}, "whole numbers of at least 0, not 2.5"),
        ({"hands": [[1, 2], [1, 2]], "points": [4, 10**9]}, "whole numbers of at least 0"),
        ({"hands": [[1, 2], [1, 2]], "points": [2, 0]}, "the 2 prizes so far cannot make 2 and 0 points"),
        ({"hands": [[1, 2], [1, 2]], "points": [4, 4]}, "cannot make 4 and 4"),
        ({"hands": [[1, 2], [1, 2]], "turn": 2}, "no part 'turn'"),
    ],
)
def test_wrong_positions_are_refused(parts: dict, complaint: str) -> None:
    with pytest.raises(rf.InvalidInput, match=complaint):
        rf.make("goofspiel", cards=4).state(**parts)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"cards": 0}, "from 1 to 16, not 0"),
        ({"cards": 17}, "from 1 to 16, not 17"),
        ({"points": "random"}, "one of 'descending' 'ascending', not 'random'"),
        ({"returns": "total"}, "one of 'win' 'difference'"),
        ({"card": 4}, "did you mean 'cards'"),
    ],
)
def test_wrong_parameters_are_refused(params: dict, complaint: str) -> None:
    with pytest.raises(rf.InvalidInput, match=complaint):
        rf.make("goofspiel", **params)


def test_the_text_and_the_picture_show_hands_prizes_and_points() -> None:
    state = rf.make("goofspiel", cards=4).initial_state()
    state.apply(3, 0)
    assert str(state).splitlines() == [
        "player 0: 4 points, cards 1 2 3",
        "player 1: 0 points, cards 2 3 4",
        "prize 3, then 2 1",
    ]
    shapes = list(ElementTree.fromstring(state.svg()))
    cards = [shape.attrib for shape in shapes if shape.attrib.get("rx") == "6"]
    assert sum(card["fill"] == "#ffffff" for card in cards) == 9  # three each, and three prizes
    assert sum(card["stroke"] == "#f5c518" for card in cards) == 1
    texts = [shape.text for shape in shapes if shape.tag.endswith("text")]
    assert "4\N{NO-BREAK SPACE}points" in texts


def test_a_finished_game_says_who_won() -> None:
    game = rf.make("goofspiel", cards=2)
    ends = {
        (0, 1): ["player 0: 1 point, cards none", "player 1: 2 points, cards none", "player 1 has won"],
        (1, 0): ["player 0: 2 points, cards none", "player 1: 1 point, cards none", "player 0 has won"],
        (0, 0): ["player 0: 0 points, cards none", "player 1: 0 points, cards none", "draw"],
    }
    for first, lines in ends.items():
        state = game.initial_state()
        state.apply(*first)  # the last card plays itself
        assert str(state).splitlines() == lines


def test_stakes_of_a_position() -> None:
    """What the rest of a game can bring."""
    state = rf.make("goofspiel", cards=3, returns="difference").initial_state()
    assert state.stakes == ((-3.0, -3.0), (3.0, 3.0), True)
    state.apply(2, 1)
    (least, _), (most, _), zero_sum = state.stakes
    assert zero_sum
    assert -3.0 < least < 0.0 < most < 3.0
