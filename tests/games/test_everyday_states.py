"""What users ask of a state every day: masks, next states, who is to act, who won, and actions by name."""

import itertools

import numpy as np
import pytest
from small_games import Duel, Pile
from table import NATIVE, label, load_example

import ramify as rf

GAMES = [
    *(pytest.param(rf.make(name, **params), id=label((name, params))) for name, params in NATIVE),
    pytest.param(load_example().TicTacToe(), id="python"),
    pytest.param(Duel(), id="duel"),
    pytest.param(Pile(), id="pile"),
]


def positions(game, seed=0, turns=200):
    """The positions of a random game, the last one included."""
    rng = np.random.default_rng(seed)
    state = game.initial_state(seed)
    for _ in range(turns):
        yield state
        if state.is_over:
            return
        state = state.after(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))


def seen(state):
    """All that a state shows."""
    views = [state.observation(player).tobytes() for player in (0, 1)]
    return state.key, state.acting, state.returns.tolist(), str(state), views


@pytest.mark.parametrize("game", GAMES)
def test_masks_and_next_states_agree_with_actions(game):
    for state in positions(game):
        before = seen(state)
        for player in (0, 1):
            mask = state.legal_mask(player)
            assert mask.dtype == np.bool_
            assert mask.shape == (game.num_actions,)
            assert np.flatnonzero(mask).tolist() == state.legal_actions(player).tolist()
        if state.current_player is not None:
            assert state.acting == (state.current_player,)
            assert state.legal_mask().tolist() == state.legal_mask(state.current_player).tolist()
        else:
            assert state.acting in ((0, 1), ())
        for turn in itertools.islice(itertools.product(*map(state.legal_actions, state.acting)), 4):
            if turn:
                copy = state.copy()
                copy.apply(*turn)
                assert seen(state.after(*turn)) == seen(copy)
        assert seen(state) == before


@pytest.mark.parametrize("game", GAMES)
def test_a_turn_may_be_given_by_names_and_as_a_tuple(game):
    for state in itertools.islice(positions(game), 12):
        if not state.is_over:
            turn = tuple(int(state.legal_actions(player)[-1]) for player in state.acting)
            names = [state.action_name(action, player) for action, player in zip(turn, state.acting, strict=True)]
            wanted = seen(state.after(*turn))
            assert seen(state.after(*names)) == seen(state.after(turn)) == seen(state.after(tuple(names))) == wanted
            assert seen(state.after(turn[0], *names[1:])) == wanted
            rewards = state.copy().apply(*turn)
            assert state.copy().apply(*names).tolist() == rewards.tolist()


@pytest.mark.parametrize("game", GAMES)
def test_what_cannot_be_played_changes_nothing(game):
    for state in itertools.islice(positions(game), 0, 8, 3):
        before = seen(state)
        wrong = [("no such name",) * max(1, len(state.acting)), (), ("a1",) * 3, (((),) * 2), (b"c3",), ((0.5, None),)]
        for actions, call in itertools.product(wrong, (state.apply, state.after)):
            with pytest.raises(rf.IllegalAction):
                call(*actions)
            assert seen(state) == before


@pytest.mark.core
def test_names_as_people_write_them():
    board = rf.make("hex", size=5).initial_state()
    board.apply("c3")
    assert board.key == rf.make("hex", size=5).state("c3").key
    game = rf.make("chess").initial_state().after("e2e4").after(np.str_("e7e5"))
    assert game.fen.startswith("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w")
    maze = rf.make("pyrat", preset="tiny").initial_state(0)
    assert maze.after("UP", "DOWN").key == maze.after(0, 2).key


@pytest.mark.parametrize("name", ["hex", "tictactoe in Python"])
def test_a_name_that_is_none_comes_with_a_hint(name):
    state = rf.make("hex", size=3).initial_state() if name == "hex" else load_example().TicTacToe().initial_state()
    right = state.action_name(int(state.legal_actions()[3]))
    wrong = right + "x"
    with pytest.raises(rf.IllegalAction, match=rf"'{wrong}' names no legal action of player 0; did you mean '\w+'\?"):
        state.apply(wrong)
    with pytest.raises(rf.IllegalAction, match=r"names no legal action of player 0 \(legal: "):
        state.apply("something else entirely")


@pytest.mark.core
def test_who_won_in_games_in_turn():
    state = rf.make("tictactoe").initial_state()
    assert (state.current_player, state.winner) == (0, None)
    won = state
    for action in (0, 3, 1, 4):
        won = won.after(action)
        assert won.winner is None
    assert won.current_player == 0
    won = won.after(2)
    assert (won.current_player, won.winner) == (None, 0)
    drawn = state
    for action in (0, 1, 2, 4, 3, 5, 7, 6, 8):
        drawn = drawn.after(action)
    assert drawn.is_over
    assert (drawn.current_player, drawn.winner) == (None, None)


@pytest.mark.parametrize(
    ("pair", "winner"),
    [((3.0, 1.0), 0), ((1.0, 3.0), 1), ((-2.0, -1.0), 1), ((2.0, 2.0), None), ((0.1 + 0.2, 0.3), None)],
)
def test_who_has_more_wins_a_general_sum_game(pair, winner):
    first, second = pair
    state = rf.make("matrix", payoffs=[[[first]], [[second]]]).initial_state()
    assert (state.current_player, state.winner) == (None, None)
    assert state.after(0, 0).winner == winner

    class Gift(rf.PythonGame):
        num_actions, observation_shape = 1, (1,)

        def start(self, rng):
            return 0

        def acting(self, position):
            return () if position else (1,)

        def legal_actions(self, position, player):
            return [0]

        def apply(self, position, action):
            return 1, pair

        def observation(self, position, player):
            return [position]

    gift = Gift().initial_state()
    assert (gift.current_player, gift.winner) == (1, None)
    assert gift.after(0).winner == winner


def test_openspiel_games_have_the_same():
    pytest.importorskip("pyspiel")
    state = rf.make("openspiel:tic_tac_toe").initial_state()
    names = [state.action_name(action) for action in state.legal_actions()]
    next_state = state.after(names[4])
    assert next_state.key == state.after(4).key
    assert (state.current_player, next_state.current_player) == (0, 1)
    assert np.flatnonzero(~next_state.legal_mask()).tolist() == [4]
    for action in (0, 4, 1, 5, 2):
        state.apply(action)
    assert (state.is_over, state.winner) == (True, 0)
