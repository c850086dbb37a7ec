"""Self-play and matches in games with chance events: the dice follow the game's number, and records give them back."""

from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import match
from ramify.selfplay import PlayConfig, SelfPlay, decode
from tests.chance_games import Pig, Race

NATIVE = rf.make("pig", target=12, max_turns=9)


def played(game, seed=5, parallel_games=3, games=8, reuse=False, **play):
    """Records by number."""
    search = rf.SearchConfig(simulations=12)
    player = SelfPlay(
        game,
        rf.evaluators.Uniform(),
        search,
        PlayConfig(reuse=reuse, **play),
        games=games,
        parallel_games=parallel_games,
        seed=seed,
    )
    return sorted((decode(data) for found in player for data in found), key=lambda record: record.number)


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("game", [Pig(target=10, turns=6), Race(goal=12, turns=6), NATIVE], ids=repr)
def test_records_replay_with_the_same_dice(game, reuse):
    records = played(game, reuse=reuse)
    assert len(records) == 8
    for record in records:
        *before, last = record.states(game)
        assert last.is_over
        assert last.returns.tolist() == record.returns.tolist()
        assert [state.acting for state in before] == [move.acting for move in record.moves]
    assert [repr(record) for record in records] == [
        repr(record) for record in played(game, parallel_games=1, reuse=reuse)
    ]
    assert len({tuple(state.key for state in record.states(game)) for record in records}) > 4


def test_games_from_one_opening_have_dice_of_their_own(tmp_path: Path):
    game = Race(goal=30, turns=10)
    file = tmp_path / "openings.txt"
    file.write_text("0 1\n")
    records = played(game, openings=str(file), opening_moves=0)
    throws = set()
    for record in records:
        states = list(record.states(game))
        assert states[-1].is_over
        assert states[0].position[2] == 8
        paid = states[-1].returns - states[0].returns
        assert paid.tolist() == pytest.approx(record.returns.tolist())
        throws.add(tuple(state.position[3] for state in states[1:]))
    assert len(throws) > 4


def test_native_games_from_one_opening_have_dice_of_their_own(tmp_path: Path):
    game = rf.make("pig", target=40)
    file = tmp_path / "openings.txt"
    file.write_text("roll roll\n")
    records = played(game, openings=str(file), opening_moves=0)
    ways = set()
    for record in records:
        states = list(record.states(game))
        assert states[-1].is_over
        assert states[-1].returns.tolist() == record.returns.tolist()
        ways.add(tuple(state.key for state in states[1:6]))
    assert len(ways) > 4


@pytest.mark.parametrize("game", [Race(goal=12, turns=6), NATIVE], ids=repr)
def test_a_match_is_what_its_actions_say(game):
    found = [match(game, "search:simulations=20", "random", 4) for _ in range(2)]
    assert [one.actions for one in found[0]] == [one.actions for one in found[1]]
    for one in found[0]:
        state = game.initial_state(one.fixture.opening.start)
        for turn in one.actions:
            state.apply(*turn)
        assert state.is_over
        assert tuple(state.returns) == one.returns


def replayed(state):
    """OpenSpiel's own state after the same actions and throws, each of which it allows."""
    pyspiel = pytest.importorskip("pyspiel")
    ours = state.fields
    spiel = pyspiel.load_game("backgammon").new_initial_state()
    dice = iter(ours["chance"])
    actions = iter(ours["actions"])
    while not spiel.is_terminal():
        if spiel.is_chance_node():
            outcome = next(dice, None)
            if outcome is None:
                break
            assert outcome in [choice for choice, _ in spiel.chance_outcomes()]
            spiel.apply_action(outcome)
        else:
            action = next(actions, None)
            if action is None:
                break
            assert action in spiel.legal_actions()
            spiel.apply_action(action)
    assert next(actions, None) is None
    assert next(dice, None) is None
    return spiel


def test_backgammon_is_played_legally_in_self_play_and_matches():
    """OpenSpiel itself judges every action and every throw of whole games."""
    pytest.importorskip("pyspiel")
    game = rf.make("openspiel:backgammon")
    search = rf.SearchConfig(simulations=4)
    player = SelfPlay(game, rf.evaluators.Uniform(), search, PlayConfig(), games=2, parallel_games=2, seed=1)
    for record in [decode(data) for found in player for data in found]:
        *_, last = record.states(game)
        spiel = replayed(last)
        assert spiel.is_terminal()
        assert spiel.returns() == record.returns.tolist()
    for one in match(game, "search:simulations=4,evaluator=uniform", "random", 2):
        state = game.initial_state(one.fixture.opening.start)
        for turn in one.actions:
            state.apply(*turn)
        spiel = replayed(state)
        assert spiel.is_terminal()
        assert tuple(spiel.returns()) == one.returns


@pytest.mark.parametrize("settings", [{}, {"graph": True}, {"solver": True}], ids=str)
def test_a_search_of_backgammon_sees_what_openspiel_allows(settings):
    pytest.importorskip("pyspiel")
    state = rf.make("openspiel:backgammon").initial_state(3)
    for _ in range(6):
        result = rf.search(state, rf.evaluators.Uniform(), simulations=40, **settings)
        spiel, best = replayed(state), result.best_action
        assert result.outcomes[state.acting[0]].tolist() == spiel.legal_actions()
        after = spiel.child(best)
        if after.is_chance_node():  # doubles may leave a second half of the turn
            event = result.node([(best, -1) if state.acting == (0,) else (-1, best)])
            outcomes, shares = zip(*after.chance_outcomes(), strict=True)
            assert event["outcomes"][0].tolist() == list(outcomes)
            assert event["priors"][0] == pytest.approx(shares)
        state.apply(best)
