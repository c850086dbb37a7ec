"""``ramify tournament``: a round robin, or a gauntlet of one player against all others."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ramify.cli import arena, options
from ramify.cli.common import fail

if TYPE_CHECKING:
    from ramify.arena import PlayerConfig, Progress, Tournament
    from ramify.arena.tournament import Pairing


def tournament(
    game: options.GameName,
    players: Annotated[list[str] | None, typer.Argument(help=f"The players. {options.PLAYER}")] = None,
    param: options.Params = None,
    network: options.Network = None,
    set_: options.SearchSettings = None,
    games: Annotated[int, typer.Option(min=2, help="Number of games per pair of players; an even number.")] = 20,
    gauntlet: Annotated[bool, typer.Option(help="Play the first player against each of the others only.")] = False,
    pool: Annotated[bool, typer.Option(help="Add the reference players for this game.")] = False,
    opening: options.Opening = "random:2",
    seed: options.Seed = 0,
    max_moves: options.MaxMoves = None,
    adjudicate_above: options.AdjudicateAbove = None,
    store: options.StorePlace = options.DEFAULT_STORE,
    concurrency: options.Concurrency = 16,
    workers: options.Workers = 0,
    replay: options.Replay = False,
    count_forfeits: options.CountForfeits = False,
    cluster: options.ClusterAddress = None,
    anchor: options.Anchor = None,
    json: options.AsJson = False,
) -> None:
    """Play a tournament and print ratings with 95 % intervals and a cross table.

    Games that are in the store already are not played again, unless a player
    forfeited or --replay is given: adding a player plays its games only.
    --network and --set are defaults for the players that search. Ctrl-C keeps
    finished games; run the same command again to resume. Processes that run
    the same command at once divide the games; with --cluster, processes on all
    nodes take part, and the store is one that they reach. The anchor is the
    player that has been in the store longest; --anchor chooses another.

    \b
    ramify tournament hex random search:simulations=50 search:simulations=200 -p size=5
    ramify tournament hex search -p size=7 --network hex-7 --pool --gauntlet --anchor random
    ramify tournament hex random search -p size=5 --cluster auto --store postgresql://user@host/games
    """
    from ramify.arena import gauntlet as one_against_all
    from ramify.arena import reference_pool, round_robin

    given = arena.GivenOptions(param, set_, network)
    setup = arena.read_setup(game, given, players or [], opening, seed, max_moves, adjudicate_above)
    known = {config.identity: config for config in [*setup.players, *(reference_pool(setup.game) if pool else [])]}
    everybody = list(known.values())
    if len(everybody) < 2:
        fail("a tournament needs at least two players; --pool adds reference players")
    pairings = one_against_all(everybody[0], everybody[1:]) if gauntlet else round_robin(everybody)
    labels = arena.different({config.identity: config.label for config in everybody})
    how = arena.How(store, concurrency, workers, replay, count_forfeits, cluster)
    play(setup, pairings, games, how, arena.find_anchor(labels, anchor, everybody), as_json=json)


def play(
    setup: arena.Setup,
    pairings: Sequence[Pairing],
    games: int,
    how: arena.How,
    anchor: str | None,
    *,
    baseline: PlayerConfig | None = None,
    save: Path | None = None,
    as_json: bool,
) -> None:
    """Play the games that are not in the store and print the standings.

    Without ``anchor``, the player that has been in the store longest is the anchor, as in ``ramify ratings``; of new
    players the ``baseline`` enters it first.
    """
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
            if baseline is not None:
                results.meet([baseline])
            with on_cluster(plan, how):
                standings = plan.run(results=results, parallel=parallel, watch=watch, on_interrupt="return")
            standings = replace(standings, count_forfeits=how.count_forfeits)
        except arena.MISTAKES as error:
            fail(error)
        for sentence in (unsaved := kept.finish()):
            print(f"ramify: {sentence}", file=sys.stderr)
        anchors = arena.by_age(kept, standings.players) if anchor is None else [anchor]
    labels = arena.different({config.identity: config.label for config in standings.players})
    if save is not None:
        arena.save_games(save, setup.game, standings.games, labels)
    more = {
        "game": setup.game.name,
        "params": dict(setup.game.params),
        **counts,
        "replay": how.replay,
        "seconds": time.perf_counter() - start,
    }
    arena.report(standings, labels, anchors, as_json=as_json, cross=True, more=more)
    if unsaved:
        raise typer.Exit(2)


def on_cluster(plan: Tournament, how: arena.How) -> AbstractContextManager[None]:
    """Help from the nodes of a cluster, if one is given."""
    cluster = options.read_cluster(how.cluster)
    if cluster is None:
        return nullcontext()
    from ramify.store.remote import played_on_cluster

    return played_on_cluster(plan, how.store, cluster, how.concurrency)
