"""The board of HTP against a tiny model of its own rules, and against the game, whose swap mirrors the stone."""

from __future__ import annotations

import numpy as np
import pytest

import ramify as rf
from ramify.protocols.stones import BLACK, WHITE, ProtocolView, Stones, cell_name, read_cell


class Model:
    """HTP's Hex in a few lines: a dict of names, and paths found by brute force. Swapping changes nobody's stones."""

    def __init__(self, size: int) -> None:
        self.size, self.cells = size, {}

    def wins(self, colour: str) -> bool:
        """Whether some path of stones leads from the colour's first edge to its second."""
        axis = 1 if colour == "black" else 0  # of (column, row)
        own = {place for place, owner in self.cells.items() if owner == colour}
        reached = {place for place in own if place[axis] == 0}
        while True:
            near = {
                (column + right, row + down)
                for column, row in reached
                for right, down in ((0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1))
            }
            more = (near & own) - reached
            if not more:
                return any(place[axis] == self.size - 1 for place in reached)
            reached |= more


def test_cells_have_the_games_names() -> None:
    for size in (2, 11, 19):
        state = rf.make("hex", size=size).initial_state()
        for cell in range(size * size):
            assert cell_name(cell, size) == state.action_name(cell)
            assert read_cell(cell_name(cell, size).upper(), size) == cell
    for wrong in ("", "a", "1", "a0", "l1", "a12", "aa1", "a1x", "ä1", "a¹", "a01", "-a1", "a 1"):
        assert read_cell(wrong, 11) is None


@pytest.mark.parametrize("seed", range(12))
def test_stones_in_any_order_have_the_winner_of_the_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    stones, model = Stones(size), Model(size)
    for cell in rng.permutation(size * size):
        colour = int(rng.integers(2))  # nobody's turn in particular
        stones.play(colour, int(cell))
        model.cells[int(cell) % size, int(cell) // size] = ("black", "white")[colour]
        winners = [colour for colour in (BLACK, WHITE) if model.wins(("black", "white")[colour])]
        assert [stones.winner()] == (winners or [None])
    while stones.history:
        stones.undo()
    assert stones.stones == {}


@pytest.mark.parametrize("seed", range(30))
def test_games_with_swap_are_those_of_the_game(seed: int) -> None:
    """A random game with the mirrored-stone rule, told as HTP: the model reaches the same winner, with the colours
    exchanged after a swap, and every choice of a program comes back as the action that puts that stone."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    game = rf.make("hex", size=size, swap=True)
    state, model, swapped, colour = game.initial_state(), Model(size), False, "black"
    while not state.is_over:
        told = ProtocolView.of(state)
        assert told.swapped == swapped
        assert ("black", "white")[told.colour] == colour
        assert {cell: ("black", "white")[owner] for cell, owner in told.stones.stones.items()} == {
            row * size + column: owner for (column, row), owner in model.cells.items()
        }
        legal = state.legal_actions()
        may_swap = size * size in legal
        action = size * size if may_swap and seed % 2 else int(rng.choice(legal[legal < size * size]))
        if action == size * size:
            swapped = True  # the model's board stays, and white is to move again
        else:
            cell = next(cell for cell in range(size * size) if told.action(cell) == action)
            model.cells[cell % size, cell // size] = colour
            colour = {"black": "white", "white": "black"}[colour]
        state.apply(action)
    winner = "black" if model.wins("black") else "white"
    assert model.wins(winner)
    player = int(state.returns[1] > 0)
    assert winner == ("black", "white")[player ^ swapped]


def test_the_order_of_stones_is_a_possible_game() -> None:
    state = rf.make("hex", size=4, swap=True).state("a3 swap b1 d2 c4")
    told = ProtocolView.of(state)
    colours = [colour for colour, _ in told.stones.history]
    assert colours == [BLACK, WHITE, BLACK, WHITE]
    assert cell_name(told.stones.history[-1][1], 4) == "d3"  # c4, mirrored
    plain = ProtocolView.of(rf.make("hex", size=4).state("a3 b1 d2"))
    assert [cell_name(cell, 4) for _, cell in plain.stones.history] == ["a3", "b1", "d2"]


@pytest.mark.parametrize("seed", range(20))
def test_every_alternating_position_can_be_searched_for_whoever_is_to_move(seed: int) -> None:
    """Whoever started: the searched state has the same empty cells, and a win in one stays a win in one."""
    rng = np.random.default_rng(seed)
    size = 4
    stones, colour = Stones(size), seed % 2
    for cell in rng.permutation(size * size):
        if stones.winner() is not None:
            break
        view = stones.view(colour)
        assert {view.cell(int(action)) for action in view.state.legal_actions()} == set(range(16)) - set(stones.stones)
        for action in map(int, view.state.legal_actions()):
            child, after = view.state.copy(), Stones(size, dict(stones.stones))
            child.apply(action)
            after.play(colour, view.cell(action))
            assert child.is_over == (after.winner() is not None)
        stones.play(colour, int(cell))
        assert stones.to_move == 1 - colour
        colour = 1 - colour


def test_a_position_that_is_nobodys_turn_is_refused() -> None:
    stones = Stones(4)
    stones.play(BLACK, 0)
    stones.play(BLACK, 1)
    for colour in (BLACK, WHITE):
        with pytest.raises(ValueError, match="2 black and 0 white stones"):
            stones.view(colour)


def test_a_swap_leaves_the_turn_and_the_stones() -> None:
    stones = Stones(4)
    stones.play(BLACK, 5)
    assert stones.may_swap
    stones.swap(WHITE)
    assert (stones.to_move, stones.may_swap, stones.stones) == (WHITE, False, {5: BLACK})
    stones.undo()
    assert (stones.to_move, stones.may_swap) == (WHITE, True)
