"""PyRat against a second implementation, written plainly from the rules: sets, dictionaries and fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest

import ramify as rf

pytestmark = pytest.mark.core

OFFSETS = {0: (0, 1), 1: (1, 0), 2: (0, -1), 3: (-1, 0)}
HALF = Fraction(1, 2)


class Reference:
    """One game; every rule in the words of the rules."""

    def __init__(self, width, height, walls, mud, cheese, starts, max_turns):
        self.size = (width, height)
        self.walls = {frozenset(map(tuple, wall)) for wall in walls}
        self.mud = {frozenset((tuple(a), tuple(b))): turns for a, b, turns in mud}
        self.cheese = set(map(tuple, cheese))
        self.total = len(self.cheese)
        self.where = [tuple(cell) for cell in starts]
        self.stuck = [0, 0]
        self.score = [Fraction(0), Fraction(0)]
        self.misses = [0, 0]
        self.turn = 0
        self.max_turns = max_turns

    def target(self, player, action):
        """The cell an action leads to; the player's own if it leads nowhere."""
        x, y = self.where[player]
        if action not in OFFSETS:
            return x, y
        cell = (x + OFFSETS[action][0], y + OFFSETS[action][1])
        inside = all(0 <= at < size for at, size in zip(cell, self.size, strict=True))
        return cell if inside and frozenset(((x, y), cell)) not in self.walls else (x, y)

    def play(self, *actions):
        """One turn; the points each player gains."""
        for player, action in enumerate(actions):
            old = self.where[player]
            if self.stuck[player]:
                self.stuck[player] -= 1
            else:
                self.where[player] = self.target(player, action)
                if self.where[player] != old:
                    self.stuck[player] = self.mud.get(frozenset((old, self.where[player])), 0)
            self.misses[player] += self.where[player] == old
        takers = {}
        for player in (0, 1):
            if not self.stuck[player] and self.where[player] in self.cheese:
                takers.setdefault(self.where[player], []).append(player)
        gained = [Fraction(0), Fraction(0)]
        for cell, players in takers.items():
            self.cheese.remove(cell)
            for player in players:
                gained[player] += Fraction(1, len(players))
        self.score = [score + gain for score, gain in zip(self.score, gained, strict=True)]
        self.turn += 1
        return gained

    @property
    def over(self):
        majority = max(self.score) > self.total * HALF
        return majority or (self.total > 0 and not self.cheese) or self.turn >= self.max_turns

    def agrees(self, state):
        fields = state.fields
        assert [tuple(fields["p1"]), tuple(fields["p2"])] == self.where
        assert [fields["mud1"], fields["mud2"]] == self.stuck
        assert [fields["score1"], fields["score2"]] == self.score
        assert [fields["misses1"], fields["misses2"]] == self.misses
        assert (fields["turn"], fields["total"]) == (self.turn, self.total)
        assert {tuple(cell) for cell in fields["cheese"]} == self.cheese
        assert state.is_over == self.over
        assert state.acting == (() if self.over else (0, 1))
        for player in (0, 1):
            self.agrees_on_outcomes(state, player)

    def agrees_on_outcomes(self, state, player):
        """Actions are one outcome exactly when they lead to the same cell, or when the player is stuck."""
        actions, index = state.outcomes(player)
        if self.over:
            assert actions.size == 0
            assert state.legal_actions(player).size == 0
            return
        assert state.legal_actions(player).tolist() == [0, 1, 2, 3, 4]
        targets = [self.where[player] if self.stuck[player] else self.target(player, a) for a in range(5)]
        for a in range(5):
            for b in range(5):
                assert (index[a] == index[b]) == (targets[a] == targets[b])
            represents = a == max(b for b in range(5) if targets[b] == targets[a])
            assert (a in actions) == represents


def random_parts(rng, width, height):
    """A position with a good deal of everything, unreachable cells and mud on walls included."""
    cells = [(x, y) for x in range(width) for y in range(height)]
    edges = [(a, b) for a in cells for b in cells if (b[0] - a[0], b[1] - a[1]) in ((0, 1), (1, 0))]
    turn_round = lambda edge: rng.choice([edge, edge[::-1]])  # noqa: E731
    return {
        "walls": [turn_round(edge) for edge in edges if rng.random() < 0.25],
        "mud": [(*turn_round(edge), rng.choice([2, 2, 3, 5, 9])) for edge in edges if rng.random() < 0.3],
        "cheese": rng.sample(cells, rng.randrange(len(cells) + 1)),
        "p1": rng.choice(cells),
        "p2": rng.choice(cells),
        "max_turns": rng.choice([1, 5, 40, 200]),
    }


def expected_rewards(reward, gained, reference):
    if reward == "cheese":
        return gained
    if reward == "difference":
        return [gained[0] - gained[1], gained[1] - gained[0]]
    first, second = reference.score
    sign = ((first > second) - (first < second)) if reference.over else 0
    return [sign, -sign]


@pytest.mark.parametrize("games", [12, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("reward", ["cheese", "difference", "win"])
@pytest.mark.parametrize("size", [(2, 2), (2, 6), (3, 3), (5, 4), (9, 7)])
def test_random_games(size, reward, games):
    rng = random.Random(f"{size} {reward}")
    game = rf.make("pyrat", width=size[0], height=size[1], reward=reward)
    for _ in range(games):
        parts = random_parts(rng, *size)
        state = game.state(**parts)
        starts = (parts["p1"], parts["p2"])
        reference = Reference(*size, parts["walls"], parts["mud"], parts["cheese"], starts, parts["max_turns"])
        reference.agrees(state)
        paid = np.zeros(2)
        while not reference.over:
            actions = rng.randrange(5), rng.randrange(5)
            wanted = expected_rewards(reward, reference.play(*actions), reference)
            rewards = state.apply(*actions)
            assert rewards.tolist() == wanted
            paid += rewards
            reference.agrees(state)
        assert state.returns.tolist() == paid.tolist()
        assert game.state(**state.fields).returns.tolist() == paid.tolist()


@pytest.mark.parametrize("params", [{}, {"symmetric": False, "starts": "random"}, {"mud_density": 0.8, "mud_max": 9}])
def test_random_games_of_the_generator(params):
    rng = random.Random(7)
    game = rf.make("pyrat", preset="tiny", **params)
    for seed in range(6):
        state = game.initial_state(seed)
        fields = state.fields
        starts = (fields["p1"], fields["p2"])
        reference = Reference(11, 9, fields["walls"], fields["mud"], fields["cheese"], starts, 150)
        while not reference.over:
            actions = rng.randrange(5), rng.randrange(5)
            reference.play(*actions)
            state.apply(*actions)
            reference.agrees(state)
        assert state.is_over


def test_every_end_is_reached():
    """The comparison above would prove little if random games ended in one way only."""
    rng = random.Random(3)
    game = rf.make("pyrat", width=3, height=3)
    ends = set()
    for _ in range(100):
        state = game.state(**random_parts(rng, 3, 3))
        while not state.is_over:
            state.apply(rng.randrange(5), rng.randrange(5))
        ends.add(state.end)
    assert ends == {"majority", "no_cheese", "max_turns"}
