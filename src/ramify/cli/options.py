"""The options and arguments that commands share, each declared once, and how their values are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from ramify.base.settings import Settings, settable
from ramify.cli.common import fail, parse_settings, print_warning, table_console

if TYPE_CHECKING:
    from ramify.cluster import ClusterConfig
    from ramify.engine import NativeEvaluator
    from ramify.games import Game

Words = list[str] | None

GameName = Annotated[
    str,
    typer.Argument(help="The game: a name from 'ramify games', openspiel:NAME, gym:NAME, pettingzoo:NAME or pgx:NAME."),
]
OptionalGameName = Annotated[
    str | None,
    typer.Argument(
        help="The game: a name from 'ramify games', openspiel:NAME, gym:NAME, pettingzoo:NAME or pgx:NAME.",
        show_default="hex",
    ),
]
Params = Annotated[
    Words, typer.Option("--param", "-p", metavar="KEY=VALUE", help="Set a parameter of the game. Repeatable.")
]


def list_search_settings(words: Words) -> Words:
    """``-s help``: print every setting of a search and end the command."""
    from ramify.engine import SearchConfig

    return list_settings(words, SearchConfig)


def list_play_settings(words: Words) -> Words:
    """``--play help``: the same for self-play."""
    from ramify.selfplay import PlayConfig

    return list_settings(words, PlayConfig)


def list_settings(words: Words, config: type[Settings]) -> Words:
    if "help" not in (words or []):
        return words
    print_settings(config)
    raise typer.Exit


def print_settings(config: type[Settings]) -> None:
    """Print every setting of a group, with its default and its meaning."""
    from rich.table import Table
    from rich.text import Text

    table = Table("setting", "default", "meaning", box=None, pad_edge=False)
    for name, default, meaning in setting_rows(config):
        table.add_row(name, default, Text(meaning))
    table_console().print(table)


def setting_rows(config: type[Settings], within: str = "") -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of every setting; those of a group within have dotted names, as they are given."""
    for name in settable(config.model_fields):
        field = config.model_fields[name]
        default: Any = "(required)" if field.is_required() else field.get_default(call_default_factory=True)
        meaning = field.description or ""
        if get_origin(field.annotation) is Literal:
            meaning += f" One of {', '.join(map(str, get_args(field.annotation)))}."
        if isinstance(default, Settings):
            yield within + name, "(group)", meaning
            yield from setting_rows(type(default), f"{within}{name}.")
        else:
            yield within + name, str(default), meaning


SearchSettings = Annotated[
    Words,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        callback=list_search_settings,
        is_eager=True,  # also where the game is missing
        help="Set a setting of the search, such as c_puct=2; '-s help' lists all. Repeatable.",
    ),
]
PlaySettings = Annotated[
    Words,
    typer.Option(
        "--play",
        metavar="KEY=VALUE",
        callback=list_play_settings,
        is_eager=True,
        help="Set a setting of self-play, such as temperature=0.5; '--play help' lists all. Repeatable.",
    ),
]
Network = Annotated[
    str | None,
    typer.Option(
        metavar="NETWORK",
        help="The network: a .safetensors or .onnx file, the folder of a training run (its best-rated checkpoint, or "
        "the newest) or of a checkpoint, or a shipped network such as hex-7.",
    ),
]
NetworkOrSize = Annotated[
    str | None,
    typer.Option(metavar="NETWORK", help="A network as for 'ramify analyze', or a size such as 6x64 for a new one."),
]
EVALUATOR = "The evaluator without a network: uniform, rollout, rollout:N, greedy or planner (PyRat)."
Evaluator = Annotated[str | None, typer.Option(metavar="NAME", help=EVALUATOR, show_default="rollout")]
BestEvaluator = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=EVALUATOR,
        show_default="planner in PyRat, in chess the shipped network, otherwise rollouts",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="The random seed.")]
Device = Annotated[
    str | None, typer.Option(help="Where the network runs: cpu or cuda. Default: cuda if there is a GPU.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
StateText = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The position: its short form (such as a FEN), or JSON fields {...}.")
]
Actions = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Actions to play first, by name or number (#NUMBER where names are numbers); two per turn if both players "
        "act at once.",
    ),
]

# Of the arena.
PLAYER = (
    "A player: search, muzero (a search of a learned model), network, alphabeta, random or greedy, or a program (uci, "
    "htp, pyrat-bot), with settings as in search:simulations=200 or alphabeta:depth=3; KIND:help lists the settings of "
    "a kind."
)
Opening = Annotated[
    str,
    typer.Option(
        help="Openings: none, random:K, every:K (K turns), or a file: one opening per line, .epd, or .pgn "
        "(games.pgn:16 takes the first 16 moves of each game)."
    ),
]
MaxMoves = Annotated[int | None, typer.Option(min=1, help="Score a game as a draw after this many turns.")]
AdjudicateAbove = Annotated[
    float | None, typer.Option(help="End a game once both players' values exceed this and agree for 4 turns.")
]
StorePlace = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="FILE|URL",
        help="Where the games are kept: a database file, or postgresql://USER@HOST/DATABASE.",
    ),
]
DEFAULT_STORE = "ramify.db"
Concurrency = Annotated[int, typer.Option(min=1, help="Number of games played at once in each process.")]
Workers = Annotated[int, typer.Option(min=0, help="Number of worker processes; 0 plays in this process.")]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS", help="Also play on the nodes of this Ray cluster: local, auto or HOST:PORT."
    ),
]
Anchor = Annotated[
    str | None, typer.Option(help="The player whose rating is fixed at 0: its text, identity, or name in the table.")
]
Replay = Annotated[bool, typer.Option("--replay", help="Play all games again, even those in the store.")]
CountForfeits = Annotated[
    bool, typer.Option("--count-forfeits", help="Count forfeited games as losses instead of leaving them out.")
]


def read_options(game: str, params: Words, settings: Words) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters of the game and settings of the search, each under the right option.

    A parameter given to ``--set`` was right in earlier versions: it is used, with a warning. A setting given to
    ``--param`` ends the command.
    """
    given, changes = parse_settings(params or []), parse_settings(settings or [])
    if not given and not changes:
        return {}, {}
    fields, known = search_fields(), parameter_names(game)
    texts = {word.partition("=")[0]: word for word in [*(params or []), *(settings or [])]}
    for key in [key for key in changes if key not in fields and key in known]:
        print_warning(f"{key} is a parameter of {game}: use -p {texts[key]}")
        given.setdefault(key, changes.pop(key))
    for key in given:
        if key in fields and known and key not in known:
            fail(f"{key} is a setting of the search: use -s {texts[key]}")
    return given, changes


def with_reward(game: str, params: dict[str, Any], *networks: str | None) -> dict[str, Any]:
    """Parameters of the game with the reward that a network was trained for (the first that says so), unless one is
    given."""
    from ramify.arena.network_files import network_file, trained_reward

    if "reward" in params:
        return params
    for network in filter(None, networks):
        with suppress(ValueError, OSError):  # no network: whoever needs it says why
            if (reward := trained_reward(network_file(network), game)) is not None:
                return {**params, "reward": reward}
    return params


def network_of(player: str | None) -> str | None:
    """The network that the text of a player names, if it names one."""
    from ramify.arena.text import parse_player

    if player is None:
        return None
    with suppress(ValueError):  # no player: whoever makes it says why
        return str(found) if (found := parse_player(player)[1].get("network")) is not None else None
    return None


def search_fields() -> frozenset[str]:
    from ramify.engine import SearchConfig

    return frozenset(SearchConfig.model_fields)


def parameter_names(game: str) -> frozenset[str]:
    """The parameters of a game, as far as that can be told without any."""
    from ramify import _core
    from ramify.games import make, presets

    if game in _core.game_names():
        names = [name for name, _, _ in _core.game_params(game)]
        return frozenset([*names, *(["preset"] if presets(game) else [])])
    with suppress(Exception):  # a game of the user's own: make() says what is wrong, to whoever needs the game
        return frozenset(make(game).params)
    return frozenset()


def read_cluster(address: str | None) -> ClusterConfig | None:
    """The cluster of ``--cluster``; None: none."""
    from ramify.cluster import ClusterConfig

    return None if address is None else ClusterConfig(address=address)


def read_evaluator(text: str | None) -> NativeEvaluator:
    """The evaluator named uniform, rollout, rollout:N, greedy or planner; None: what a search uses without one."""
    from ramify.engine.native import named_evaluator

    return named_evaluator() if text is None else named_evaluator(text)


def choose_evaluator(game: Game, network: str | None, evaluator: str | None) -> tuple[Any, str]:
    """The network if one is given, otherwise the evaluator, and what it goes by; a ValueError if both are given.

    Without either, chess gets what ``ramify play`` uses, because random games say nothing there; other games get the
    best that they have without a network: PyRat plans, most games what a search uses in Python.
    """
    from ramify.engine.batch import NativeEvaluator
    from ramify.engine.native import DEFAULT_EVALUATOR
    from ramify.evaluators.simple import best_native
    from ramify.presentation.opponents import find_evaluator

    if network is not None and evaluator not in (None, DEFAULT_EVALUATOR):
        raise ValueError("give --network or --evaluator, not both")
    if network is not None or (evaluator is None and game.name == "chess"):
        found, name = find_evaluator(game, network)
        known = isinstance(found, NativeEvaluator) or name == "material"
        return found, name if known else f"the network {name}"
    chosen = best_native(game) if evaluator is None else read_evaluator(evaluator)
    return chosen, getattr(chosen, "knowledge", evaluator or DEFAULT_EVALUATOR)


def with_defaults(players: Sequence[str], network: str | None, settings: dict[str, Any]) -> list[Any]:
    """Players as typed. Those that search, or play a network, get what they do not say themselves."""
    from ramify.arena import player_config
    from ramify.arena.text import parse_player
    from ramify.engine import SearchConfig

    SearchConfig(**settings)  # raises on a wrong one, also where no player searches
    found = []
    for text in players:
        kind, own = parse_player(text)
        if kind in ("search", "muzero"):
            own = {**settings, **own}
        if (
            kind in ("search", "muzero", "network")
            and network is not None
            and not {"network", "evaluator"} & own.keys()
        ):
            own["network"] = network
        found.append(player_config(kind, **own))
    return found
