"""A game of the arena: its specification (``Fixture``) and its result (``Played``)."""

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
    """Limits that end a game before its rules do; by default none."""

    what = "match"

    max_moves: int | None = Field(
        None, ge=1, description="Maximum number of turns; a game that reaches it is scored as a draw and marked as cut."
    )
    adjudicate_above: float | None = Field(
        None,
        gt=0,
        description=(
            "Adjudicate a win when both players' value estimates agree that its size is at least "
            "this; None: never adjudicate."
        ),
    )
    adjudicate_moves: int = Field(
        4,
        ge=2,
        description=(
            "Number of consecutive turns for which the value estimates must agree before a game is adjudicated."
        ),
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.adjudicate_above is None and self.adjudicate_moves != Limits.model_fields["adjudicate_moves"].default:
            raise ValueError("adjudicate_moves has no effect without adjudicate_above: set both")
        return self

    def content(self) -> dict[str, Any]:
        """The limits as plain data."""
        return self.model_dump(mode="json") if self.adjudicate_above is not None else cut_only(self.max_moves)


def cut_only(max_moves: int | None) -> dict[str, Any]:
    return {} if max_moves is None else {"max_moves": max_moves}


@dataclass(frozen=True)
class Fixture:
    """The specification of a game. Equal fixtures give the same game, wherever and whenever they are played."""

    game: str
    params: Mapping[str, Any]
    players: tuple[str, str]  # identities, by seat
    opening: Opening
    seed: int  # of all randomness after the opening
    limits: Limits = field(default_factory=Limits)

    @cached_property
    def key(self) -> str:
        """Checksum of everything that determines the game."""
        opening = [list(self.opening.actions), self.opening.start]
        content = [self.game, self.params, self.players, opening, self.seed, self.limits.content()]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Played:
    """A finished game. The time it took is ignored in comparisons."""

    fixture: Fixture
    actions: tuple[tuple[int, ...], ...]  # one or two per turn, including the opening
    returns: tuple[float, float]  # sums of the rewards up to the end
    winner: Winner
    reason: Reason = "end"
    detail: str = ""  # who forfeited the game and how, or another remark
    seconds: tuple[float, float] = field(default=(0.0, 0.0), compare=False)  # thinking time, by seat
    # What the players expected at their turns, for player 0, where only one acts; not stored.
    values: tuple[float | None, ...] = field(default=(), compare=False)

    @property
    def key(self) -> str:
        """What identifies the game among those of its match."""
        return self.fixture.key

    @property
    def forfeited(self) -> tuple[int, ...]:
        """Seats of players that forfeited the game; empty for a game that was played to its end."""
        if self.reason != "forfeit":
            return ()
        return (0, 1) if self.winner is None else (1 - self.winner,)

    @property
    def points(self) -> tuple[float, float]:
        """Points by seat: 1, ½ or 0."""
        if self.winner is None:
            return 0.5, 0.5
        return (1.0, 0.0) if self.winner == 0 else (0.0, 1.0)


def plain_params(game: Game) -> dict[str, Any]:
    """A game's parameters as plain data, with the same text in every process."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(game.params, sort_keys=True, default=_plain))
    except TypeError as error:
        raise ValueError(f"the parameters of {game.name} cannot be stored as JSON: {error}") from None
    return plain


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON data")
