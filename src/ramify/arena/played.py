"""A game of the arena: what is to be played, and what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from ramify.arena.openings import Opening
from ramify.base.settings import Settings
from ramify.games import Game

Reason = Literal["end", "cut", "adjudicated", "forfeit"]
Winner = Literal[0, 1] | None  # None: a draw


class Limits(Settings):
    """What ends a game before its rules do; by default nothing."""

    what = "match"

    max_moves: int | None = Field(None, ge=1, description="a game of so many turns is a draw, and marked as cut")
    adjudicate_above: float | None = Field(
        None, gt=0, description="a game is won when both players' values agree on it at least so far; None: never"
    )
    adjudicate_moves: int = Field(4, ge=2, description="turns in a row in which they have to agree")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.adjudicate_above is None and self.adjudicate_moves != Limits.model_fields["adjudicate_moves"].default:
            raise ValueError("adjudicate_moves needs adjudicate_above")
        return self

    def content(self) -> dict[str, Any]:
        """What is limited, as plain data."""
        return self.model_dump(mode="json") if self.adjudicate_above is not None else cut_only(self.max_moves)


def cut_only(max_moves: int | None) -> dict[str, Any]:
    return {} if max_moves is None else {"max_moves": max_moves}


@dataclass(frozen=True)
class Fixture:
    """A game to be played. Equal fixtures are the same game, wherever and whenever they are played."""

    game: str
    params: Mapping[str, Any]
    players: tuple[str, str]  # identities, by seat
    opening: Opening
    seed: int  # of all chance after the opening
    limits: Limits = field(default_factory=Limits)

    @cached_property
    def key(self) -> str:
        """Checksum of everything the game depends on."""
        opening = [list(self.opening.actions), self.opening.start]
        content = [self.game, self.params, self.players, opening, self.seed, self.limits.content()]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Played:
    """A finished game. Two are equal if everything but the time they took is."""

    fixture: Fixture
    actions: tuple[tuple[int, ...], ...]  # turn by turn, one or two, the opening's included
    returns: tuple[float, float]  # rewards of the game up to where it ended
    winner: Winner
    reason: Reason = "end"
    detail: str = ""  # who forfeited the game and how, or what else there is to say
    seconds: tuple[float, float] = field(default=(0.0, 0.0), compare=False)  # of thought, by seat

    @property
    def key(self) -> str:
        return self.fixture.key

    @property
    def forfeited(self) -> tuple[int, ...]:
        """Seats whose players failed: one, or both at once; nobody in a game that was played to its end."""
        if self.reason != "forfeit":
            return ()
        return (0, 1) if self.winner is None else (1 - self.winner,)

    @property
    def points(self) -> tuple[float, float]:
        """1, ½ or 0, by seat."""
        if self.winner is None:
            return 0.5, 0.5
        return (1.0, 0.0) if self.winner == 0 else (0.0, 1.0)


def plain_params(game: Game) -> dict[str, Any]:
    """A game's parameters as plain data, the same text in every process."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(game.params, sort_keys=True, default=_plain))
    except TypeError as error:
        raise ValueError(f"the parameters of {game.name} cannot be kept: {error}") from None
    return plain


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is no plain data")
