"""Storage of finished games, so that none is played twice. Forfeited games are played again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ramify.arena.played import Played
from ramify.arena.player import PlayerConfig


class Results(Protocol):
    """Interface of the storage of games. ``ramify.store`` has a persistent one."""

    def find(self, keys: Sequence[str]) -> dict[str, Played]:
        """The stored games among these keys. Forfeited games are not included, so that they are played again."""
        ...

    def meet(self, players: Sequence[PlayerConfig]) -> None:
        """Register the players of the games to come."""
        ...

    def add(self, played: Played) -> None:
        """Store a game. A stored game is not replaced unless it was forfeited."""
        ...


class Memory:
    """Keeps games in memory."""

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
