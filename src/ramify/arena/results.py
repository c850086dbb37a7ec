"""Where games are kept, so that none is played twice. A forfeit is no game yet: it is played again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ramify.arena.played import Played
from ramify.arena.player import PlayerConfig


class Results(Protocol):
    """What an arena needs of a place that keeps its games. ``ramify.store`` has one that outlives the process."""

    def find(self, keys: Sequence[str]) -> dict[str, Played]:
        """Those of these games that are there, by key. Forfeits are not: a player that failed gets another chance."""
        ...

    def meet(self, players: Sequence[PlayerConfig]) -> None:
        """Who the players of coming games are."""
        ...

    def add(self, played: Played) -> None:
        """Keep a game. One that is there already stays as it is, unless it was forfeited."""
        ...


class Memory:
    """Keeps games as long as it lives."""

    def __init__(self) -> None:
        self.games: dict[str, Played] = {}
        self.players: dict[str, PlayerConfig] = {}

    def find(self, keys: Sequence[str]) -> dict[str, Played]:
        return {key: self.games[key] for key in keys if key in self.games and not self.games[key].forfeited}

    def meet(self, players: Sequence[PlayerConfig]) -> None:
        for config in players:
            self.players.setdefault(config.identity, config)

    def add(self, played: Played) -> None:
        if played.key not in self.games or self.games[played.key].forfeited:
            self.games[played.key] = played
