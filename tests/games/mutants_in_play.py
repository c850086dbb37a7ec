"""Tic-tac-toe and small games with one thing broken at a time, seen only when one plays with their states."""

import itertools

import numpy as np
from mutants import Mutant, breaks
from small_games import Duel, Pile
from table import load_example

import ramify as rf
from ramify.games import PythonState, PythonSymmetry

TicTacToe = load_example().TicTacToe
COUNTER = itertools.count()


# Repeatable.


@breaks("determinism")
class RandomReply(Mutant):
    def apply(self, cells, cell):
        cells, rewards = super().apply(cells, cell)
        empty = [c for c in range(9) if cells[c] == "."]
        if len(empty) > 6 and not self.has_line(cells):
            cells, rewards = super().apply(cells, empty[next(COUNTER) % len(empty)])
        return cells, rewards


@breaks("determinism")
class RandomStart(Mutant):
    def start(self, rng):
        cell = next(COUNTER) % 9
        return "." * cell + "x" + "." * (8 - cell)


@breaks("determinism")
class KeyOfTheMoment(Mutant):
    def key(self, cells):
        return next(COUNTER)


# Handling.


@breaks("copies")
class ChangedInPlace(Mutant):
    def start(self, rng):
        return list(super().start(rng))

    def apply(self, cells, cell):
        after, rewards = super().apply("".join(cells), cell)
        cells[:] = after
        return cells, rewards

    def transform(self, cells, symmetry):
        return list(super().transform(cells, symmetry))


@breaks("copies")
class CopyIsItself(PythonState):
    def copy(self):
        return self


@breaks("copies")
class CopyLosesReturns(PythonState):
    def copy(self):
        return type(self)(self.game, self.position)


@breaks("copies")
class GivesOutItsReturns(PythonState):
    returns = property(lambda self: self._returns)


@breaks("copies")
class GivesOutItsLegalActions(PythonState):
    def legal_actions(self, player=None):
        return self._legal_actions(self._player(player))


@breaks("copies")
class AfterInPlace(PythonState):
    def after(self, *actions):
        self.apply(*actions)
        return self


@breaks("copies")
class AfterChangesNothing(PythonState):
    def after(self, *actions):
        super().after(*actions)
        return self.copy()


@breaks("illegal actions")
class AfterIgnoresTheIllegal(PythonState):
    def after(self, *actions):
        try:
            return super().after(*actions)
        except rf.IllegalAction:
            return self.copy()


@breaks("illegal actions")
class IllegalIgnored(PythonState):
    def apply(self, *actions):
        try:
            return super().apply(*actions)
        except rf.IllegalAction:
            return np.zeros(2, np.float32)


@breaks("illegal actions")
class IllegalKeyError(PythonState):
    def apply(self, *actions):
        try:
            return super().apply(*actions)
        except rf.IllegalAction as error:
            raise KeyError(actions) from error


@breaks("illegal actions")
class IllegalPunished(PythonState):
    def apply(self, *actions):
        try:
            return super().apply(*actions)
        except rf.IllegalAction:
            self._returns = self._returns - 1
            raise


@breaks("illegal actions")
class PlaysOnAfterTheEnd(PythonState):
    def apply(self, *actions):
        return super().apply(*actions) if self.acting else np.zeros(2, np.float32)


@breaks("illegal actions")
class TooManyActionsIgnored(PythonState):
    def apply(self, *actions):
        return super().apply(*actions[:1])


@breaks("pickling")
class PickleLosesThePosition(PythonState):
    def __reduce__(self):
        return type(self), (self.game, "." * 9, tuple(map(float, self.returns)))


@breaks("pickling")
class PickleLosesReturns(PythonState):
    def __reduce__(self):
        return type(self), (self.game, self.position)


@breaks("pickling")
class CannotBePickled(PythonState):
    def __reduce__(self):
        raise TypeError("no pickle")


@breaks("pickling")
class GamePickledAsAnother(Mutant):
    def __init__(self, size=3):
        self.size = size

    def __reduce__(self):
        return type(self), (self.size + 1,)

    def key(self, cells):
        return TicTacToe().key(cells)


@breaks("fields")
class FieldsAreTheStart(Mutant):
    def state(self, position, returns):
        return self.initial_state()


@breaks("fields")
class FieldsForgetReturns(Mutant):
    def state(self, position, returns):
        return super().state(position, (0.0, 0.0))


# Meaning.


@breaks("names")
class OneNameForTwo(Mutant):
    def action_name(self, cells, player, cell):
        return "corner" if cell in (0, 2) else str(cell)


@breaks("names")
class NamesNotInverted(PythonState):
    def action(self, name, player=None):
        super().action(name, player)
        return int(self.legal_actions(player)[0])


@breaks("names")
class EveryNameIsGood(PythonState):
    def action(self, name, player=None):
        return super().action(name, player) if len(name) == 2 else 0


@breaks("names")
class NamesPlayTheFirst(PythonState):
    def apply(self, *actions):
        if len(actions) == 1 and isinstance(actions[0], str):
            self.action(actions[0])
            actions = (self.legal_actions()[0],)
        return super().apply(*actions)


@breaks("outcomes")
class OutcomesDiffer(Mutant):
    def outcomes(self, cells, player):
        legal = self.legal_actions(cells, player)
        return [legal[:2], *([cell] for cell in legal[2:])]


@breaks("outcomes")
class OutcomesIncomplete(Mutant):
    def outcomes(self, cells, player):
        return [[cell] for cell in self.legal_actions(cells, player)[1:]]


@breaks("outcomes")
class RepresentativeOfAnother(PythonState):
    def outcomes(self, player=None):
        actions, index = super().outcomes(player)
        return actions, np.where(index >= 0, len(actions) - 1 - index, -1).astype(np.int32)


@breaks("outcomes")
class OutcomesOfTheIllegal(PythonState):
    def outcomes(self, player=None):
        actions, index = super().outcomes(player)
        return actions, np.maximum(index, 0)


@breaks("keys")
class OneKeyForAll(Mutant):
    def key(self, cells):
        return 7


@breaks("keys")
class KeyWithoutTheLastCell(Mutant):
    def key(self, cells):
        return super().key(cells[:8])


@breaks("keys")
class KeyWithoutThePast(Mutant):
    """Who takes the centre first wins more in the end; neither the key nor the observation tells."""

    def start(self, rng):
        return super().start(rng) + "."

    def apply(self, cells, cell):
        first = cell if cells.count(".") == 10 else int(cells[9]) if cells[9] != "." else 0
        board, rewards = super().apply(cells[:9], cell)
        return board + str(first), tuple(reward * (2 if first == 4 else 1) for reward in rewards)

    def acting(self, cells):
        return super().acting(cells[:9])

    def observation(self, cells, player):
        return super().observation(cells[:9], player)

    def text(self, cells):
        return super().text(cells[:9])

    def key(self, cells):
        return super().key(cells[:9])

    def transform(self, cells, symmetry):
        first = cells[9] if cells[9] == "." else str(self.symmetries[symmetry].actions[int(cells[9])])
        return super().transform(cells[:9], symmetry) + first


class PastInTheHistoryKey(PythonState):
    """As chess does: the key leaves out what only a rule on the past needs, and the history key holds it."""

    history_key = property(lambda self: TicTacToe().key(self.position))


class HistoryGame(KeyWithoutThePast):
    state_class = PastInTheHistoryKey


@breaks("symmetries")
class NoIdentityFirst(Mutant):
    symmetries = TicTacToe.symmetries[::-1]


@breaks("symmetries")
class NoPermutation(Mutant):
    symmetries = (TicTacToe.symmetries[0], PythonSymmetry("fold", [0] * 9, range(18)))


@breaks("symmetries")
class NoSymmetries(Mutant):
    symmetries = ()


@breaks("symmetries")
class ObservationNotPermuted(Mutant):
    symmetries = tuple(PythonSymmetry(s.name, s.actions, range(18)) for s in TicTacToe.symmetries)

    def transform(self, cells, symmetry):
        return "".join(cells[cell] for cell in TicTacToe.symmetries[symmetry].observation[:9])


@breaks("symmetries")
class TransformDoesNothing(Mutant):
    def transform(self, cells, symmetry):
        return cells


@breaks("symmetries")
class TurnedTheOtherWay(Mutant):
    symmetries = tuple(PythonSymmetry(s.name, np.argsort(s.actions), s.observation) for s in TicTacToe.symmetries)


@breaks("symmetries")
class RuleIsNotSymmetric(Mutant):
    """A win along the top row pays double, which no rotation keeps."""

    def apply(self, cells, cell):
        cells, rewards = super().apply(cells, cell)
        factor = 2 if cells[0] == cells[1] == cells[2] else 1
        return cells, tuple(reward * factor for reward in rewards)


@breaks("symmetries")
class PlayersNotSwapped(Duel):
    def transform(self, position, symmetry):
        return position


@breaks("symmetries")
class SwapKeepsRewards(Duel):
    symmetries = (Duel.symmetries[0], PythonSymmetry("exchange", [0, 1, 2], [0, 2, 1], swaps_players=False))


@breaks("symmetries")
class SwapShowsTheOtherView(Duel):
    """Own and other exchanged in the view of a player who stays; it is the viewer that changes places."""

    symmetries = (Duel.symmetries[0], PythonSymmetry("exchange", [0, 1, 2], [0, 2, 1], swaps_players=True))


@breaks("symmetries")
class TurnSwapShowsTheOtherView(Pile):
    """The same where one player acts."""

    symmetries = (
        Pile.symmetries[0],
        PythonSymmetry("exchange", [0, 1, 2], [0, 1, 3, 2], swaps_players=True),
    )


@breaks("symmetries")
class WithoutTransform(Duel):
    transform = rf.PythonGame.transform
