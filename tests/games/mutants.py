"""Tic-tac-toe with one thing broken at a time: here its form; ``mutants_in_play.py`` has the rest."""

import itertools
import sys

import numpy as np
from table import load_example

from ramify.games import PythonState

TicTacToe = load_example().TicTacToe


class Mutant(TicTacToe):
    """Tic-tac-toe whose states are of a class that a mutant may replace."""

    state_class = PythonState

    def initial_state(self, seed=None):
        return self.state_class(self, self.start(np.random.default_rng(seed)))

    def state(self, position, returns):
        return self.state_class(self, position, returns)


MUTANTS: list[tuple[str, type]] = []


def breaks(promise):
    """Class decorator: a mutant that breaks this promise and no other. A state class gets its game here."""

    def add(cls):
        if issubclass(cls, PythonState):
            name = f"GameOf{cls.__name__}"
            cls.game_class = type(name, (Mutant,), {"state_class": cls, "__module__": cls.__module__})
            setattr(sys.modules[cls.__module__], name, cls.game_class)  # where pickle looks for it
            MUTANTS.append((promise, cls.game_class))
        else:
            MUTANTS.append((promise, cls))
        return cls

    return add


# Form.


@breaks("declaration")
class NamelessGame(Mutant):
    name = ""


@breaks("declaration")
class NumberForBool(Mutant):
    simultaneous = 0


@breaks("declaration")
class WordForBool(Mutant):
    zero_sum = "yes"


@breaks("declaration")
class RangeUpsideDown(Mutant):
    returns_range = (1, -1)


@breaks("rewards")
class WinsThatNobodyLoses(Mutant):
    zero_sum = True

    def apply(self, cells, cell):
        return super().apply(cells, cell)[0], (1, 1)


@breaks("rewards")
class MoreThanTheRange(Mutant):
    zero_sum, returns_range = True, (-1, 1)

    def apply(self, cells, cell):
        after, (first, second) = super().apply(cells, cell)
        return after, (2 * first, 2 * second)


@breaks("text")
class NumberForText(Mutant):
    def text(self, cells):
        return 3


@breaks("declaration")
class StateOfAnotherGame(PythonState):
    game = property(lambda self: TicTacToe())


@breaks("acting")
class ActingOutOfRange(Mutant):
    def acting(self, cells):
        return (2,) if cells.count(".") == 5 else super().acting(cells)


@breaks("acting")
class ActingRaises(Mutant):
    def acting(self, cells):
        return {}[cells] if cells.count(".") == 5 else super().acting(cells)


@breaks("acting")
class ActingList(PythonState):
    acting = property(lambda self: list(PythonState.acting.fget(self)))


@breaks("acting")
class BothActInATurnGame(PythonState):
    acting = property(lambda self: PythonState.acting.fget(self) and (0, 1))


@breaks("acting")
class OverTooEarly(PythonState):
    is_over = property(lambda self: self.position.count(".") < 4)


@breaks("acting")
class CurrentPlayerAfterTheEnd(PythonState):
    current_player = property(lambda self: self.acting[0] if self.acting else 0)


@breaks("legal actions")
class LegalOutOfRange(Mutant):
    def legal_actions(self, cells, player):
        return [*super().legal_actions(cells, player), 9]


@breaks("legal actions")
class NothingLegal(Mutant):
    def legal_actions(self, cells, player):
        return super().legal_actions(cells, player) if cells.count(".") > 4 else []


@breaks("legal actions")
class EndlesslyManyLegal(Mutant):
    def legal_actions(self, cells, player):
        return itertools.count()


@breaks("legal actions")
class LegalDescending(PythonState):
    def legal_actions(self, player=None):
        return super().legal_actions(player)[::-1]


@breaks("legal actions")
class LegalOfAnotherType(PythonState):
    def legal_actions(self, player=None):
        return super().legal_actions(player).astype(np.int64)


@breaks("legal actions")
class LegalTwice(PythonState):
    def legal_actions(self, player=None):
        return np.repeat(super().legal_actions(player), 2)


@breaks("legal actions")
class LegalForThePassive(PythonState):
    def legal_actions(self, player=None):
        return np.array([c for c in range(9) if self.position[c] == "." and self.acting], dtype=np.int32)


@breaks("legal actions")
class LegalDefaultIsPlayerZero(PythonState):
    def legal_actions(self, player=None):
        return super().legal_actions(player or 0)


@breaks("legal actions")
class MaskOfOccupiedCells(PythonState):
    def legal_mask(self, player=None):
        return ~super().legal_mask(player)


@breaks("legal actions")
class MaskOfNumbers(PythonState):
    def legal_mask(self, player=None):
        return super().legal_mask(player).astype(np.int8)


@breaks("observation")
class ObservationOfAnotherShape(Mutant):
    def observation(self, cells, player):
        return np.array(super().observation(cells, player)).reshape(2, 9)


@breaks("observation")
class ObservationNotFinite(Mutant):
    def observation(self, cells, player):
        return np.divide(super().observation(cells, player), "." in cells)


@breaks("observation")
class ObservationOfAnotherType(PythonState):
    def observation(self, player=None):
        return super().observation(player).astype(np.float64)


@breaks("observation")
class ObservationOnlyForTheActing(Mutant):
    def observation(self, cells, player):
        if self.acting(cells) and player not in self.acting(cells):
            raise ValueError("not your turn")
        return super().observation(cells, player)


@breaks("rewards")
class OneReward(Mutant):
    def apply(self, cells, cell):
        cells, rewards = super().apply(cells, cell)
        return cells, rewards[0]


@breaks("rewards")
class EndlessReward(Mutant):
    def apply(self, cells, cell):
        cells, rewards = super().apply(cells, cell)
        return cells, (float("inf"), 0) if rewards[0] else rewards


@breaks("rewards")
class ReturnsForgotten(PythonState):
    returns = property(lambda self: np.zeros(2, np.float32))


@breaks("rewards")
class ReturnsAtTheStart(PythonState):
    returns = property(lambda self: PythonState.returns.fget(self) + np.float32(1))


@breaks("rewards")
class WinnerWhoLost(PythonState):
    winner = property(lambda self: {0: 1, 1: 0, None: None}[PythonState.winner.fget(self)])


@breaks("rewards")
class WinnerFromTheStart(PythonState):
    winner = property(lambda self: 0 if self.acting else PythonState.winner.fget(self))


@breaks("rewards")
class RewardsAsList(PythonState):
    def apply(self, *actions):
        return super().apply(*actions).tolist()


@breaks("playing")
class ApplyRaises(Mutant):
    def apply(self, cells, cell):
        return {}[cell] if cells[4] == "x" and cell == 3 else super().apply(cells, cell)


@breaks("playing")
class StartRaises(Mutant):
    def start(self, rng):
        raise RuntimeError("no start")


@breaks("ending")
class Endless(Mutant):
    def apply(self, cells, cell):
        cells, rewards = super().apply(cells, cell)
        return ("." * 9, (0, 0)) if self.has_line(cells) or "." not in cells else (cells, rewards)


@breaks("text")
class NoText(Mutant):
    def text(self, cells):
        return super().text(cells) if "." in cells else ""


@breaks("text")
class TextRaises(Mutant):
    def text(self, cells):
        return super().text(cells) if cells[0] == "." else cells[9]


@breaks("text")
class NoPicture(Mutant):
    def svg(self, cells):
        return "picture"


@breaks("keys")
class NegativeKey(Mutant):
    def key(self, cells):
        return -len(cells)


@breaks("chance")
class UnfairCoin(Mutant):
    """A coin is thrown after the first action, with probabilities that sum to more than 1."""

    def chance_outcomes(self, cells):
        return [(0, 0.5), (1, 0.6)] if cells.endswith("?") else []

    def apply(self, cells, cell):
        if cells.endswith("?"):
            return cells[:9], (0, 0)
        after, rewards = super().apply(cells, cell)
        return (after + "?" if after.count(".") == 8 else after), rewards
