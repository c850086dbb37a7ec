"""Small games written in Python, for tests: one where both act at once, one where either may begin."""

import ramify as rf
from ramify.games import PythonSymmetry


class Duel(rf.PythonGame):
    """Both players bid 0, 1 or 2 for a few rounds; the higher bid takes a point. At last 2 counts as 1."""

    num_actions = 3
    observation_shape = (3,)
    simultaneous = True
    symmetries = (
        PythonSymmetry("identity", [0, 1, 2], [0, 1, 2]),
        PythonSymmetry("exchange", [0, 1, 2], [0, 1, 2], swaps_players=True),
    )

    def __init__(self, rounds: int = 3, scale: float = 1.0) -> None:
        if rounds < 1:
            raise ValueError("rounds must be at least 1")
        self.rounds, self.scale = rounds, scale

    def start(self, rng):
        return (self.rounds, 0, 0)

    def acting(self, position):
        return (0, 1) if position[0] else ()

    def legal_actions(self, position, player):
        return {2, 0, 1}

    def apply(self, position, first, second):
        left, own, other = position
        if left == 1:
            first, second = min(first, 1), min(second, 1)
        won = ((first > second) - (first < second)) * self.scale
        return (left - 1, own + won, other - won), (won, -won)

    def observation(self, position, player):
        return position[0], position[1 + player], position[2 - player]

    def outcomes(self, position, player):
        return [[2, 1], [0]] if position[0] == 1 else [[0], [1], [2]]

    def transform(self, position, symmetry):
        return position if symmetry == 0 else (position[0], position[2], position[1])


class Pile(rf.PythonGame):
    """Take one or two from a pile, in turn; who takes the last wins. Either player may begin."""

    num_actions = 3
    observation_shape = (4,)
    symmetries = (
        PythonSymmetry("identity", [0, 1, 2], [0, 1, 2, 3]),
        PythonSymmetry("exchange", [0, 1, 2], [0, 1, 2, 3], swaps_players=True),
    )

    def start(self, rng):
        return 7, int(rng.integers(2)), (0, 0)  # left, to move, taken by each

    def acting(self, position):
        return (position[1],) if position[0] else ()

    def legal_actions(self, position, player):
        return range(1, min(position[0], 2) + 1)

    def apply(self, position, count):
        left, player, taken = position
        taken = (taken[0] + count, taken[1]) if player == 0 else (taken[0], taken[1] + count)
        win = 0 if left > count else 1 - 2 * player
        return (left - count, 1 - player, taken), (win, -win)

    def observation(self, position, player):
        left, turn, taken = position
        return left, turn == player, taken[player], taken[1 - player]

    def transform(self, position, symmetry):
        left, turn, taken = position
        return (left, 1 - turn, taken[::-1]) if symmetry else position
