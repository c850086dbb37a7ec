"""Self-play and matches in games with chance events: the dice follow the game's number, and records give them back."""

from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import match
from ramify.selfplay import PlayConfig, SelfPlay, decode
from tests.chance_games import Pig, Race


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
@pytest.mark.parametrize("game", [Pig(target=10, turns=6), Race(goal=12, turns=6)], ids=repr)
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
    assert len({tuple(state.position for state in record.states(game)) for record in records}) > 4


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


def test_a_match_is_what_its_actions_say():
    game = Race(goal=12, turns=6)
    found = [match(game, "search:simulations=20", "random", 4) for _ in range(2)]
    assert [one.actions for one in found[0]] == [one.actions for one in found[1]]
    for one in found[0]:
        state = game.initial_state(one.fixture.opening.start)
        for turn in one.actions:
            state.apply(*turn)
        assert state.is_over
        assert tuple(state.returns) == one.returns
