"""Tic-tac-toe as a game written in Python: one class of pure functions over a position.

Run it: ``python examples/tictactoe_python.py`` checks the rules and plays a random game.
"""

import numpy as np

import ramify as rf
from ramify.games import square_symmetries

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@rf.register("tictactoe_python")
class TicTacToe(rf.PythonGame):
    """Three in a row. A position is a text of nine cells: "x" and "o" are stones, "." is empty."""

    num_actions = 9  # row * 3 + column
    observation_shape = (2, 3, 3)
    symmetries = square_symmetries(3, planes=2)

    def start(self, rng):
        return "." * 9

    def acting(self, cells):
        return () if self.has_line(cells) or "." not in cells else (cells.count(".") % 2 ^ 1,)

    def legal_actions(self, cells, player):
        return [cell for cell in range(9) if cells[cell] == "."]

    def apply(self, cells, cell):
        player = cells.count(".") % 2 ^ 1
        cells = cells[:cell] + "xo"[player] + cells[cell + 1 :]
        return cells, ((1, -1), (-1, 1))[player] if self.has_line(cells) else (0, 0)

    def observation(self, cells, player):
        stones = np.array(list(cells)).reshape(3, 3)
        return stones == "xo"[player], stones == "xo"[1 - player]

    def has_line(self, cells):
        return any(cells[a] != "." and cells[a] == cells[b] == cells[c] for a, b, c in LINES)

    def transform(self, cells, symmetry):
        return "".join(cells[cell] for cell in self.symmetries[symmetry].observation[:9])

    def action_name(self, cells, player, cell):
        return "abc"[cell % 3] + "123"[cell // 3]

    def text(self, cells):
        return "\n".join(" ".join(cells[row : row + 3]) for row in (0, 3, 6))


if __name__ == "__main__":
    game = rf.make("tictactoe_python")
    print(rf.check_game(game))
    state = game.initial_state()
    rng = np.random.default_rng()
    while not state.is_over:
        state.apply(rng.choice(state.legal_actions()))
        print(f"\n{state}")
    print("returns:", state.returns)
