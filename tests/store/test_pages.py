"""Lists of stored games, without their moves."""

from __future__ import annotations

from ramify.arena import Fixture, Opening, Played, Standings
from ramify.store import GameFilter, Store
from ramify.store.results import values_of


def filled(file: str, count: int) -> Store:
    labels = {"a" * 16: "random", "b" * 16: "search", "c" * 16: "greedy"}
    players = [
        {"identity": one, "kind": "random", "label": label, "content": {}, "versions": {}}
        for one, label in labels.items()
    ]
    pairs = [(one, two) for one in labels for two in labels if one != two]
    records = []
    for number in range(count):
        game = "tictactoe" if number % 3 else "connect_four"
        fixture = Fixture(game, {"size": number % 2}, pairs[number % 6], Opening((), 0), number)
        played = Played(fixture, ((0,), (1,)), (1.0, -1.0), 0, "forfeit" if number == 5 else "end")
        records.append({"players": players if number == 0 else [], "game": values_of(played)})
    store = Store(file)
    store._take(records)
    return store


def test_pages_follow_each_other_and_have_every_game_once(place: str) -> None:
    with filled(place, 60) as store:
        everything = GameFilter()
        total = store.count_games(everything)
        seen: list[int] = []
        before = None
        while page := store.page_of_games(everything, before, 7):
            seen += [game.id for game in page]
            before = page[-1].id
        assert seen == sorted(seen, reverse=True)
        assert len(set(seen)) == len(seen) == total
        assert store.page_of_games(everything)[0].turns == 2
        assert store.game(seen[0]).actions == ((0,), (1,))  # type: ignore[union-attr]
        assert store.game(10**9) is None


def test_filters_agree_with_a_look_at_every_game(place: str) -> None:
    a, b = "a" * 16, "b" * 16
    with filled(place, 60) as store:
        games = store.games(forfeits=True)
        for chosen, fits in (
            (GameFilter("tictactoe"), lambda game: game.fixture.game == "tictactoe"),
            (
                GameFilter("tictactoe", {"size": 1}),
                lambda g: g.fixture.game == "tictactoe" and g.fixture.params["size"] == 1,
            ),
            (GameFilter(player=a), lambda game: a in game.fixture.players),
            (GameFilter(player=a, other=b), lambda game: {a, b} == set(game.fixture.players)),
        ):
            assert store.count_games(chosen) == len([game for game in games if fits(game)]) > 0
        assert store.labels([a, "unknown"]) == {a: "random"}


def test_ratings_without_moves_are_those_with_moves(place: str) -> None:
    with filled(place, 120) as store:
        short = Standings((), tuple(store.results_only("tictactoe", {"size": 1})))
        whole = Standings((), tuple(store.games("tictactoe", {"size": 1}, forfeits=True)))
        assert short.ratings().table == whole.ratings().table
        assert short.crosstable() == whole.crosstable()
        assert len(short.forfeits) == len(whole.forfeits) == 1
