"""Who wins a small Hex position: a depth-first search that learns who has won from the public interface only.

It keeps the carrier of every win it finds: the empty cells that the winner's answers use. A move of the other
player outside the carrier changes nothing, so only moves inside every carrier found so far need a look
(must-play), and a win holds in every other position where the winner has the same stones and the carrier is
still empty. Moves are tried in the order of the distances they leave between edges, the central ones first
among equals; the order decides how long it takes, nothing else.
"""

from __future__ import annotations


class Solver:
    def __init__(self, size: int) -> None:
        self.wins: dict[tuple[int, int, int], list[int]] = {}  # (mover, winner, winner's stones) -> carriers
        self.openings: dict[int, int] = {}  # canonical key -> winner
        self.full = (1 << size * size) - 1
        row, column = (1 << size) - 1, sum(1 << i * size for i in range(size))
        self.edges = [(row, row << size * (size - 1)), (column, column << size - 1)]  # per player
        self.centre_first = sorted(range(size * size), key=lambda cell: self._off_centre(cell, size))
        self.around = [self._neighbours(cell, size) for cell in range(size * size)]

    def winning_actions(self, state) -> set[str]:
        """Names of the actions that win for the player to move."""
        winning = set()
        for action in state.legal_actions().tolist():
            child = state.copy()
            child.apply(action)
            key = child.canonical_key
            if key not in self.openings:
                self.openings[key] = state.acting[0] if child.is_over else self.solve(child, *stones_of(child))[0]
            if self.openings[key] == state.acting[0]:
                winning.add(state.action_name(action))
        return winning

    def solve(self, state, first: int, second: int) -> tuple[int, int]:
        """(winner, carrier) of a position that is not over; the stones of both players come as bit sets."""
        mover = state.acting[0]
        for winner, stones in enumerate((first, second)):
            for carrier in self.wins.get((mover, winner, stones), ()):
                if not carrier & (first | second):
                    return winner, carrier
        winner, carrier = self._expand(state, first, second)
        self.wins.setdefault((mover, winner, (first, second)[winner]), []).append(carrier)
        return winner, carrier

    def _expand(self, state, first: int, second: int) -> tuple[int, int]:
        mover = state.acting[0]
        children = {}
        for action in self.centre_first:
            if (first | second) >> action & 1:
                continue
            child = state.copy()
            child.apply(action)
            if child.is_over:
                return mover, 1 << action
            children[action] = child
        must_play, union = self.full, 0
        for action in sorted(children, key=lambda a: self._rank(1 << a, mover, (first, second))):
            if must_play >> action & 1:
                bit = 1 << action
                after = (first | bit, second) if mover == 0 else (first, second | bit)
                winner, carrier = self.solve(children[action], *after)
                if winner == mover:
                    return mover, carrier | bit
                must_play &= carrier
                union |= carrier
        return 1 - mover, union

    def _rank(self, bit: int, mover: int, stones: tuple[int, int]) -> int:
        """How far the mover will be from joining its edges, less how far the other player will be."""
        own, other = stones[mover], stones[1 - mover]
        empty = self.full & ~own & ~other & ~bit
        return self._distance(mover, own | bit, empty) - self._distance(1 - mover, other, empty)

    def _distance(self, player: int, own: int, empty: int) -> int:
        """Stones the player still needs at least; more than there are cells if it is cut off."""
        start, end = self.edges[player]
        reached = self._spread(start, own)
        seen = count = 0
        while not reached & own & end:
            layer = reached & empty & ~seen
            if not layer:
                return len(self.around) + 1
            count += 1
            if layer & end:
                break
            seen |= layer
            reached |= self._spread(self._union_around(layer), own)
        return count

    def _spread(self, cells: int, own: int) -> int:
        """The cells, and everything that own stones among them lead to."""
        done, todo = 0, cells & own
        while todo:
            done |= todo
            cells |= self._union_around(todo)
            todo = cells & own & ~done
        return cells

    def _union_around(self, cells: int) -> int:
        union = 0
        while cells:
            lowest = cells & -cells
            union |= self.around[lowest.bit_length() - 1]
            cells ^= lowest
        return union

    @staticmethod
    def _off_centre(cell: int, size: int) -> int:
        row, column = (2 * place - size + 1 for place in divmod(cell, size))
        return row * row + row * column + column * column

    @staticmethod
    def _neighbours(cell: int, size: int) -> int:
        row, column = divmod(cell, size)
        steps = ((-1, 0), (1, 0), (0, -1), (0, 1), (1, -1), (-1, 1))
        near = [(row + down, column + right) for down, right in steps]
        return sum(1 << r * size + c for r, c in near if 0 <= r < size and 0 <= c < size)


def stones_of(state) -> tuple[int, int]:
    """The players' stones as bit sets."""
    cells = "".join(state.board)
    first, second = (sum(1 << i for i, found in enumerate(cells) if found == symbol) for symbol in "xo")
    return first, second
