"""Small games with chance events, and their exact values by expectimax: no code of any search is used."""

from collections.abc import Callable
from functools import cache
from typing import Any

import ramify as rf


class Pig(rf.PythonGame):
    """Roll a die as often as you dare and hold to keep the sum; a 1 loses it. Who first has ``target`` points wins.

    After ``turns`` turns the game is a draw. A position is (points of both, sum, player, turns left, rolling).
    """

    num_actions = 2  # hold, roll
    observation_shape = (5,)
    zero_sum, returns_range = True, (-1, 1)

    def __init__(self, target: int = 10, turns: int = 8, faces: int = 6) -> None:
        self.target, self.turns, self.faces = target, turns, faces

    def start(self, rng):
        return (0, 0), 0, 0, self.turns, False

    def acting(self, position):
        points, _, player, left, _ = position
        return (player,) if left and max(points) < self.target else ()

    def legal_actions(self, position, player):
        points, total, *_ = position
        return (1,) if not total else (0,) if points[player] + total >= self.target else (0, 1)

    def chance_outcomes(self, position):
        return [(face, 1 / self.faces) for face in range(1, self.faces + 1)] if position[4] else []

    def apply(self, position, action):
        points, total, player, left, rolling = position
        if rolling:
            kept = (points, total + action, player, left, False)
            return (kept if action > 1 else (points, 0, 1 - player, left - 1, False)), (0, 0)
        if action == 1:
            return (points, total, player, left, True), (0, 0)
        points = tuple(have + total * (owner == player) for owner, have in enumerate(points))
        win = (1 - 2 * player) * (points[player] >= self.target)
        return (points, 0, 1 - player, left - 1, False), (win, -win)

    def observation(self, position, player):
        points, total, mover, left, _ = position
        return points[player], points[1 - player], total, mover == player, left


class HiddenDie(Pig):
    """Pig whose die is drawn inside apply, as the game says."""

    chance = True
    has_chance_events = False

    def apply(self, position, action):
        after, rewards = super().apply(position, action)
        return (super().apply(after, 1 + sum(after[0]) % self.faces)[0], rewards) if after[4] else (after, rewards)


class Race(rf.PythonGame):
    """Two dice are thrown, then the player to move goes on by their sum or sets the other back by half of it.

    The first at ``goal`` wins; without one, after ``turns`` turns, the one ahead. A throw of 6 but
    the first pays a quarter: a reward of chance. A position is (places of both, player, turns left, throw or 0).
    """

    num_actions = 2
    observation_shape = (5,)
    zero_sum, returns_range = True, (-4, 4)
    throws = ((2, 1 / 9), (3, 2 / 9), (4, 3 / 9), (5, 2 / 9), (6, 1 / 9))

    def __init__(self, goal: int = 9, turns: int = 4) -> None:
        self.goal, self.turns = goal, turns

    def start(self, rng):
        return (0, 0), 0, self.turns, 0

    def acting(self, position):
        places, player, left, _ = position
        return (player,) if left and max(places) < self.goal else ()

    def legal_actions(self, position, player):
        return (0, 1)

    def chance_outcomes(self, position):
        places, _, left, throw = position
        return self.throws if left and not throw and max(places) < self.goal else ()

    def apply(self, position, action):
        places, player, left, throw = position
        if not throw:
            bonus = 0.25 * (1 - 2 * player) * (action == 6 and left < self.turns)
            return (places, player, left, action), (bonus, -bonus)
        moved = list(places)
        if action == 0:
            moved[player] += throw
        else:
            moved[1 - player] = max(0, moved[1 - player] - throw // 2)
        left -= 1
        over = not left or max(moved) >= self.goal
        win = ((moved[0] > moved[1]) - (moved[0] < moved[1])) * over
        return (tuple(moved), 1 - player, left, 0), (win, -win)

    def observation(self, position, player):
        places, mover, left, throw = position
        return places[player], places[1 - player], mover == player, left, throw


class Bluff(rf.PythonGame):
    """Both choose at once, a coin decides which of two matrices pays, ``rounds`` times: chance where both act."""

    num_actions = 2
    observation_shape = (2,)
    simultaneous = True
    zero_sum, returns_range = True, (-8, 8)
    matrices = (((2, -1), (-1, 1)), ((0, 1), (1, -2)))

    def __init__(self, rounds: int = 2) -> None:
        self.rounds = rounds

    def start(self, rng):
        return self.rounds, None

    def acting(self, position):
        return (0, 1) if position[0] else ()

    def legal_actions(self, position, player):
        return (0, 1)

    def chance_outcomes(self, position):
        return ((0, 0.75), (1, 0.25)) if position[1] is not None else ()

    def apply(self, position, *actions):
        left, pair = position
        if pair is None:
            return (left, actions), (0, 0)
        paid = self.matrices[actions[0]][pair[0]][pair[1]]
        return (left - 1, None), (paid, -paid)

    def observation(self, position, player):
        return position[0], player


def expectimax(game: Any, discount: float = 1.0) -> Callable[[Any], float]:
    """The value of positions of a game in turn for player 0, both being perfect; a discount counts players' turns."""

    @cache
    def value(position: Any) -> float:
        if event := game.chance_outcomes(position):
            return sum(share * follow(position, outcome) for outcome, share in event)
        acting = game.acting(position)
        if not acting:
            return 0.0
        best = max if acting == (0,) else min
        return best(follow(position, action) for action in game.legal_actions(position, acting[0]))

    def follow(position: Any, action: int) -> float:
        after, rewards = game.apply(position, action)
        later = discount if not game.chance_outcomes(after) else 1.0
        return rewards[0] + later * value(after)

    return value


def action_values(game: Any, position: Any) -> dict[int, float]:
    """What each action is worth to player 0."""
    value = expectimax(game)
    found = {}
    for action in game.legal_actions(position, game.acting(position)[0]):
        after, rewards = game.apply(position, action)
        found[action] = rewards[0] + value(after)
    return found


class Draft(rf.PythonGame):
    """A card is turned up before every turn but the first; the player to move takes what it pays, or passes for a fee.

    There are ``cards`` cards, each as likely as the others, unless ``skewed`` gives half of the probability to a tenth
    of them. Every card that was taken makes the next ones pay less. A position is (turns left, card or -1, cards
    taken).
    """

    num_actions = 2  # take, pass
    observation_shape = (3,)
    zero_sum, returns_range = True, (-5, 5)

    def __init__(self, cards: int = 1000, turns: int = 3, skewed: bool = False) -> None:
        self.cards, self.turns, self.skewed = cards, turns, skewed
        likely = max(1, cards // 10)
        shares = [0.5 / likely] * likely + [0.5 / (cards - likely)] * (cards - likely)
        self.event = tuple(enumerate(shares if skewed else [1 / cards] * cards))

    def start(self, rng):
        return self.turns, -1, 0

    def acting(self, position):
        return ((self.turns - position[0]) % 2,) if position[0] else ()

    def legal_actions(self, position, player):
        return (0, 1)

    def chance_outcomes(self, position):
        left, card, _ = position
        return self.event if 0 < left < self.turns and card < 0 else ()

    def apply(self, position, action):
        left, card, taken = position
        if self.chance_outcomes(position):
            return (left, action, taken), (0, 0)
        worth = 0.8 * ((card * 7919 + 13) % 2003) / 2003 if card >= 0 else 0.25
        paid = (-1) ** (self.turns - left) * (-0.1 if action else 0.8**taken * worth)
        return (left - 1, -1, taken + (action == 0)), (paid, -paid)

    def observation(self, position, player):
        return position
