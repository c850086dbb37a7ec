"""``ramify tournament``: everybody against everybody, or one against all."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ramify.cli import arena
from ramify.cli.common import fail

if TYPE_CHECKING:
    from ramify.arena import Progress
    from ramify.arena.tournament import Pairing


def tournament(
    players: Annotated[list[str] | None, typer.Argument(help="Players, such as alphabeta:depth=3.")] = None,
    game: arena.GameName = "hex",
    set_: arena.Parameters = None,
    games: Annotated[int, typer.Option(min=2, help="Of every two players; an even number.")] = 20,
    gauntlet: Annotated[bool, typer.Option(help="Only the first player against the others.")] = False,
    pool: Annotated[bool, typer.Option(help="With the reference players of this game.")] = False,
    opening: arena.Opening = "random:2",
    seed: arena.Seed = 0,
    max_moves: arena.MaxMoves = None,
    adjudicate_above: arena.AdjudicateAbove = None,
    store: arena.StorePath = Path("ramify.db"),
    concurrency: arena.Concurrency = 16,
    workers: arena.Workers = 0,
    replay: arena.Replay = False,
    count_forfeits: arena.CountForfeits = False,
    anchor: arena.Anchor = None,
    json: arena.AsJson = False,
) -> None:
    """Play a tournament: a rating list with intervals, and a table of who beat whom.

    Games that are in the store are not played again: with one more player, only
    its games are, and those that were forfeited; with --replay, all are. Ctrl-C
    keeps the finished games; run the same command again to resume.

    \b
    ramify tournament random search:simulations=50 search:simulations=200 --set size=5
    ramify tournament search:network=net.safetensors --pool --gauntlet --anchor random
    """
    from ramify.arena import gauntlet as one_against_all
    from ramify.arena import reference_pool, round_robin

    setup = arena.read_setup(game, set_, players or [], opening, seed, max_moves, adjudicate_above)
    known = {config.identity: config for config in [*setup.players, *(reference_pool(setup.game) if pool else [])]}
    everybody = list(known.values())
    if len(everybody) < 2:
        fail("a tournament needs two players at least; --pool adds reference players")
    pairings = one_against_all(everybody[0], everybody[1:]) if gauntlet else round_robin(everybody)
    labels = arena.different({config.identity: config.label for config in everybody})
    how = arena.How(store, concurrency, workers, replay, count_forfeits)
    play(setup, pairings, games, how, arena.find_anchor(labels, anchor, everybody), as_json=json)


def play(
    setup: arena.Setup,
    pairings: Sequence[Pairing],
    games: int,
    how: arena.How,
    anchor: str | None,
    *,
    as_json: bool,
) -> None:
    """Play what is missing and print the standings."""
    from ramify.arena import ParallelSettings, Tournament

    plan = Tournament(setup.game, tuple(pairings), games, setup.config)
    start = time.perf_counter()
    counts = {"found": 0, "played": 0}
    with arena.open_store(how.store) as kept, arena.progress_bar(as_json) as shown:

        def watch(progress: Progress) -> None:
            counts.update(found=progress.found, played=progress.done - progress.found)
            if shown is not None:
                shown(progress)

        try:
            results, parallel = kept.results(replay=how.replay), ParallelSettings(how.concurrency, how.workers)
            standings = plan.run(results=results, parallel=parallel, watch=watch, on_interrupt="return")
            standings = replace(standings, count_forfeits=how.count_forfeits)
        except arena.MISTAKES as error:
            fail(error)
        for sentence in (unsaved := kept.finish()):
            print(f"ramify: {sentence}", file=sys.stderr)
    labels = arena.different({config.identity: config.label for config in standings.players})
    more = {
        "game": setup.game.name,
        "params": dict(setup.game.params),
        **counts,
        "replay": how.replay,
        "seconds": time.perf_counter() - start,
    }
    arena.report(standings, labels, anchor, as_json=as_json, cross=True, more=more)
    if unsaved:
        raise typer.Exit(2)
