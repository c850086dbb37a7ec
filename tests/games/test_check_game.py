"""check_game against tic-tac-toe with one thing broken at a time: it must name that promise and no other."""

import contextlib
import itertools
import pickle
import time

import numpy as np
import pytest
from table import NATIVE, label, load_example
from test_python_game import Duel

import ramify as rf
from ramify import _core
from ramify.games import PythonState, PythonSymmetry
from ramify.games.report import PROMISES

TicTacToe = load_example().TicTacToe
COUNTER = itertools.count()


class Mutant(TicTacToe):
    """Tic-tac-toe whose states are of a class that a mutant may replace."""

    state_class = PythonState

    def initial_state(self, seed=None):
        return self.state_class(self, self.start(np.random.default_rng(seed)))

    def state(self, position):
        return self.state_class(self, position)


MUTANTS: list[tuple[str, type]] = []


def breaks(promise):
    """Class decorator: a mutant that breaks this promise and no other. A state class gets its game here."""

    def add(cls):
        if issubclass(cls, PythonState):
            name = f"GameOf{cls.__name__}"
            cls.game_class = type(name, (Mutant,), {"state_class": cls, "__module__": __name__})
            globals()[name] = cls.game_class  # where pickle looks for it
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
    def state(self, position):
        return self.initial_state()


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


# The tests.


def found(game, **options):
    report = rf.check_game(game, **{"games": 20, "raises": False, "max_turns": 100, "max_seconds": 30} | options)
    return report, {problem.promise for problem in report.problems}


@pytest.mark.parametrize(("promise", "mutant"), MUTANTS, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_a_mutant_is_found_out_for_what_it_breaks(promise, mutant):
    report, promises = found(mutant())
    assert promises == {promise}
    for problem in report.problems:
        assert PROMISES[promise] in str(problem)
        assert str(problem) in str(report)


def test_every_promise_has_a_mutant():
    assert {promise for promise, _ in MUTANTS} == set(PROMISES)


def test_the_unbroken_mutant_is_in_order():
    assert found(Mutant())[1] == set()
    assert found(Duel())[1] == set()
    assert found(Pile())[1] == set()
    assert found(HistoryGame())[1] == set()


def test_the_table_has_every_native_game():
    assert {name for name, _ in NATIVE} == set(_core.game_names())


@pytest.mark.parametrize("entry", NATIVE, ids=label)
def test_native_games_are_in_order(entry):
    name, params = entry
    report = rf.check_game(rf.make(name, **params), games=3)
    assert report.games == 3
    assert report.positions >= 6


def test_a_problem_can_be_reproduced():
    """The history leads to the position that the problem shows, and there the promise is broken."""
    report, _ = found(KeyWithoutTheLastCell())
    for problem in report.problems:
        state = KeyWithoutTheLastCell().initial_state(problem.seed)
        for turn in problem.history:
            state.apply(*turn)
        assert str(state) == problem.text
        assert f"seed={problem.seed}" in str(problem)
        assert str(list(problem.history)) in str(problem)


def test_check_game_raises_what_it_found():
    with pytest.raises(rf.BrokenGame, match="legal actions") as caught:
        rf.check_game(LegalOutOfRange(), games=2)
    assert isinstance(caught.value, AssertionError)
    assert not caught.value.report.ok
    with pytest.raises(rf.BrokenGame, match=r"playing: apply\(3\) raised KeyError") as caught:
        rf.check_game(ApplyRaises())
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.report.problems[0].error is caught.value.__cause__
    assert f"in apply, {__file__}" in str(caught.value)


def test_a_report_can_be_pickled():
    report, _ = found(OneKeyForAll())
    assert str(pickle.loads(pickle.dumps(report))) == str(report)


def test_it_is_the_same_each_time():
    assert found(OneKeyForAll())[0] == found(OneKeyForAll())[0]
    reports = [found(Mutant(), games=2, seed=seed)[0] for seed in (1, 1, 2)]
    assert reports[0] == reports[1] != reports[2]


def test_warnings():
    text = "\n".join(found(TicTacToe(), games=5)[0].warnings)
    assert "key(position) is the default" in text
    assert "symmetries" not in text
    text = "\n".join(found(NoTranspositions(), games=5)[0].warnings)
    assert "no symmetries but the identity" in text
    assert "no two paths to one key" in text
    assert "default" not in text


class NoTranspositions(Mutant):
    """A position with its past: no two paths lead to one key."""

    symmetries = TicTacToe.symmetries[:1]

    def start(self, rng):
        return ()

    def board(self, past):
        return "".join("." if cell not in past else "xo"[past.index(cell) % 2] for cell in range(9))

    def acting(self, past):
        return super().acting(self.board(past))

    def legal_actions(self, past, player):
        return super().legal_actions(self.board(past), player)

    def apply(self, past, cell):
        return (*past, cell), super().apply(self.board(past), cell)[1]

    def observation(self, past, player):
        return super().observation(self.board(past), player)

    def text(self, past):
        return super().text(self.board(past))

    def transform(self, past, symmetry):
        return past

    def key(self, past):
        return super().key(past)


# It never hangs.


class Stuck(Mutant):
    def legal_actions(self, cells, player):
        while cells.count(".") == 6:
            with contextlib.suppress(Exception):  # must not keep the interruption away
                time.sleep(0.001)
        return super().legal_actions(cells, player)


class Slow(Mutant):
    def legal_actions(self, cells, player):
        time.sleep(0.02)
        return super().legal_actions(cells, player)


def test_a_call_that_never_returns_is_interrupted():
    start = time.monotonic()
    report, promises = found(Stuck(), max_seconds=0.3)
    assert time.monotonic() - start < 5
    assert promises == {"ending"}
    assert "a call had not returned after 0.6 seconds (in legal_actions" in str(report)
    assert len(report.problems[0].history) == 3


def test_a_slow_game_gets_fewer_games():
    report, promises = found(Slow(), games=1000, max_seconds=4)
    assert promises == set()
    assert 1 <= report.games < 1000
    assert f"only {report.games} of 1000 games fitted into 4 seconds" in report.warnings


def test_not_one_game_in_time_is_a_problem():
    report, promises = found(Slow(), max_seconds=0.1)
    assert promises == {"ending"}
    assert "no game was over after 0.1 seconds" in str(report)


def test_an_endless_game_says_where_it_stopped():
    report, _ = found(Endless(), max_turns=40)
    assert "the game is not over after 40 turns" in str(report)
    assert len(report.problems[0].history) == 40


def test_errors_of_the_checker_itself_are_not_swallowed():
    class Exits(Mutant):
        def start(self, rng):
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        rf.check_game(Exits())


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="games must be at least 1"):
        rf.check_game(TicTacToe(), games=0)
