"""Groups of comparable players: those connected by a chain of games."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

from ramify.arena.bradley_terry import Counts

Group = tuple[Hashable, ...]


def named(counts: Counts) -> list[Hashable]:
    """All players, in the order in which they occur."""
    return list(dict.fromkeys(player for pair in counts for player in pair))


def anchor_of(counts: Counts, anchor: Hashable | None) -> Hashable:
    """The anchor: the first player unless another one is given."""
    players = named(counts)
    if not players:
        raise ValueError("no games to rate")
    if anchor is None:
        return players[0]
    if anchor not in players:
        raise ValueError(f"the anchor {anchor!r} has no games; the players are {', '.join(map(str, players))}")
    return anchor


def groups_of(counts: Counts, anchor: Hashable) -> tuple[Group, ...]:
    """Groups of players connected by games: the anchor's first (with the anchor first), then by decreasing size."""
    players = sorted(named(counts), key=str)
    met: dict[Hashable, set[Hashable]] = {player: set() for player in players}
    for (first, second), tally in counts.items():
        if sum(tally) > 0:
            met[first].add(second)
            met[second].add(first)
    found: list[Group] = []
    for player in [anchor, *players]:
        if not any(player in group for group in found):
            here = reachable(player, met)
            found.append((player, *(other for other in players if other in here and other != player)))
    return (found[0], *sorted(found[1:], key=lambda group: -len(group)))


def check_counts(counts: Counts, prior: float) -> None:
    """Raise a ValueError unless these counts can be rated with this prior."""
    for (first, second), tally in counts.items():
        if len(tally) != 3 or not all(number >= 0 and math.isfinite(number) for number in tally):
            raise ValueError(
                f"counts of {first} and {second} must be wins, draws and losses, each at least 0, not {tally}"
            )
    if not (prior >= 0 and math.isfinite(prior)):
        raise ValueError(f"prior must be a number of virtual draws, at least 0, not {prior}")
    if prior or not counts:
        return
    groups = groups_of(counts, named(counts)[0])
    if lost := [player for group in groups for player in unreachable(sorted(group, key=str), counts)]:
        raise ValueError(
            f"without a prior {', '.join(map(str, lost))} cannot be rated: all who are connected by games "
            "must be connected by points won, and by points lost"
        )


def unreachable(players: Sequence[Hashable], counts: Counts) -> list[Hashable]:
    """Players without a chain of points from, or to, the first."""
    took: dict[Hashable, set[Hashable]] = {player: set() for player in players}
    for (first, second), (wins, draws, losses) in counts.items():
        if first not in took:
            continue
        if wins or draws:
            took[first].add(second)
        if losses or draws:
            took[second].add(first)
    gave = {player: {other for other in players if player in took[other]} for player in players}
    reached = [reachable(players[0], links) for links in (took, gave)]
    return [player for player in players if not all(player in found for found in reached)]


def reachable(start: Hashable, links: Mapping[Hashable, set[Hashable]]) -> set[Hashable]:
    """Everything reachable through the links."""
    found, ahead = {start}, [start]
    while ahead:
        new = links[ahead.pop()] - found
        found |= new
        ahead += new
    return found
