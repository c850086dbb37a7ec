"""Storage of finished games, so that none is played twice. Forfeited games are played again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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


@dataclass(frozen=True)
class Claim:
    """The answer to a claim on games, by their keys. Games in none of these are free."""

    granted: Sequence[str]  # to be played by the one who asked
    finished: Mapping[str, Played]  # others have finished them
    taken: Collection[str]  # others play them


@runtime_checkable
class SharedResults(Results, Protocol):
    """Storage that several processes play into: games are claimed before they are played, and none is played twice."""

    def claim(self, keys: Sequence[str], number: int) -> Claim:
        """Claim at most ``number`` of these games, the first that are free."""
        ...

    def release(self) -> None:
        """Give back all claims."""
        ...


class Memory:
    """Keeps games in memory."""

    def __init__(self) -> None:
        self.games: dict[str, Played] = {}
        self.players: dict[str, PlayerConfig] = {}

    def find(self, keys: Sequence[str]) -> dict[str, Played]:
        """The known games with these keys, without forfeits."""
        return {key: self.games[key] for key in keys if key in self.games and not self.games[key].forfeited}

    def meet(self, players: Sequence[PlayerConfig]) -> None:
        """Remember players."""
        for config in players:
            self.players.setdefault(config.identity, config)

    def add(self, played: Played) -> None:
        """Remember a game."""
        if played.key not in self.games or self.games[played.key].forfeited:
            self.games[played.key] = played
