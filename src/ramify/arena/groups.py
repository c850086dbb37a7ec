"""Who can be compared with whom: players that have met, or met somebody who met, and so on."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

from ramify.arena.bradley_terry import Counts

Group = tuple[Hashable, ...]


def named(counts: Counts) -> list[Hashable]:
    """All players, in the order in which they are named."""
    return list(dict.fromkeys(player for pair in counts for player in pair))


def anchor_of(counts: Counts, anchor: Hashable | None) -> Hashable:
    """The anchor: the first player named, unless another is asked for."""
    players = named(counts)
    if not players:
        raise ValueError("there are no games to rate")
    if anchor is None:
        return players[0]
    if anchor not in players:
        raise ValueError(f"the anchor {anchor!r} has played no games; there are {', '.join(map(str, players))}")
    return anchor


def groups_of(counts: Counts, anchor: Hashable) -> tuple[Group, ...]:
    """Players connected by games: the anchor's group first and the anchor first in it, then larger before smaller."""
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
    """Raise a ValueError unless these are counts that can be rated with this prior."""
    for (first, second), tally in counts.items():
        if len(tally) != 3 or not all(number >= 0 and math.isfinite(number) for number in tally):
            raise ValueError(f"games of {first} and {second} are wins, draws and losses, 0 or more each, not {tally}")
    if not (prior >= 0 and math.isfinite(prior)):
        raise ValueError(f"a prior is a number of virtual draws, 0 or more, not {prior}")
    if prior or not counts:
        return
    groups = groups_of(counts, named(counts)[0])
    if lost := [player for group in groups for player in unreachable(sorted(group, key=str), counts)]:
        raise ValueError(
            f"without a prior {', '.join(map(str, lost))} cannot be rated: all who are connected by games "
            "must be connected by points won, and by points lost"
        )


def unreachable(players: Sequence[Hashable], counts: Counts) -> list[Hashable]:
    """Players who have no chain of points from, or to, the first."""
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
    """Everything that links lead to."""
    found, ahead = {start}, [start]
    while ahead:
        new = links[ahead.pop()] - found
        found |= new
        ahead += new
    return found
