"""check_game against games with one thing broken at a time: it must name that promise and no other."""

import contextlib
import pickle
import time

import pytest
from mutants import MUTANTS, ApplyRaises, Endless, LegalOutOfRange, Mutant
from mutants_in_play import HistoryGame, KeyWithoutTheLastCell, OneKeyForAll
from small_games import Duel, Pile
from table import NATIVE, label, load_example

import ramify as rf
from ramify import _core
from ramify.games.report import PROMISES

TicTacToe = load_example().TicTacToe


def found(game, **options):
    report = rf.check_game(game, **{"games": 8, "raises": False, "max_turns": 100, "max_seconds": 30} | options)
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
    assert "in apply, " in str(caught.value)
    assert "mutants.py:" in str(caught.value)


def test_the_same_problem_is_told_once():
    report, _ = found(LegalOutOfRange())
    assert len({problem.seen for problem in report.problems}) == len(report.problems) == 1


def test_a_name_is_no_game():
    with pytest.raises(TypeError, match=r"game must be a game \(see ramify.make\), not 'hex'"):
        rf.check_game("hex")


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


class NameRaises(Pile):
    def action_name(self, position, player, action):
        return "abc"[action + 2]


class NameIsANumber(Pile):
    def action_name(self, position, player, action):
        return action


class NameWithFewerParameters(Pile):
    def action_name(self, action):
        return str(action)


@pytest.mark.parametrize("game", [NameRaises, NameIsANumber, NameWithFewerParameters])
def test_a_name_that_cannot_be_had_is_a_problem_of_names(game):
    report, promises = found(game())
    assert promises == {"names"}
    assert "action_name" in report.problems[0].seen


def test_one_endless_game_is_enough_and_its_report_is_short():
    report, promises = found(Endless(), max_turns=2000)
    assert promises == {"ending"}
    assert (len(report.problems), report.turns) == (1, 2000)
    assert len(report.problems[0].history) == 2000
    assert len(str(report)) < 2000


def test_errors_of_the_checker_itself_are_not_swallowed():
    class Exits(Mutant):
        def start(self, rng):
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        rf.check_game(Exits())


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="games must be at least 1"):
        rf.check_game(TicTacToe(), games=0)
