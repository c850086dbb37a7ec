"""``ramify records``: games from files become training records, and records become files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.common import fail, print_json, print_warning

if TYPE_CHECKING:
    from ramify.games import Game

FILES = (".pgn", ".sgf", ".json")
SHARD = 256  # games per shard
REASONS = 3  # of games left out, that are shown


def records(
    sources: Annotated[list[Path], typer.Argument(help="Files of games (.pgn, .sgf, .json), or a folder of records.")],
    target: Annotated[Path, typer.Argument(help="A folder for records, or a file (.pgn, .sgf) to write.")],
    games: Annotated[int | None, typer.Option(min=1, help="Convert at most this many games.")] = None,
    json: options.AsJson = False,
) -> None:
    """Convert between files of games and training records.

    Files become records whose policy target is the move that was played and
    whose value target is the result: 'ramify train' learns from them with
    records=[FOLDER]. Games without a result are left out. A folder of records,
    from self-play or 'ramify teach', becomes a PGN or SGF file, with the values
    of the searches as comments.

    \b
    ramify records games.pgn more.pgn imported/
    ramify records *.sgf hex-games/
    ramify train chess-taught records=["imported"] targets.root_share=0
    ramify records labels/ labels.pgn --games 100
    """
    try:
        if target.suffix.lower() in FILES:
            data = export_records(sources, target, games)
        else:
            data = import_files(sources, target, games)
    except (ValueError, TypeError, ImportError, OSError) as error:
        fail(error)
    if json:
        return print_json(data)
    print(f"Wrote {data['games']:,} games with {data['positions']:,} positions to {target}.")
    return None


def import_files(sources: list[Path], folder: Path, most: int | None) -> dict[str, Any]:
    """Write the games of files into a folder of records, behind those that it has."""
    from ramify.selfplay.encoding import count_recorded
    from ramify.selfplay.game_files import Skipped, game_of_file, import_games, import_header
    from ramify.selfplay.journal import held, recover_held
    from ramify.selfplay.run import ShardWriter, games_to_play, refuse_other_game

    for source in sources:
        if source.is_dir() or source.suffix.lower() not in FILES:
            raise ValueError(f"{source} is not a file of games ({', '.join(FILES)}); to write one, give its name last")
    game: Game = game_of_file(sources[0])
    left_out, count, positions = Counter[str](), 0, 0
    with held(folder, wait=1.0) as sure:
        recover_held(folder, sure)
        refuse_other_game(folder, game)
        writer = ShardWriter(folder, import_header(game), SHARD)
        try:
            first = games_to_play(folder, 0)[1]
            for source in sources:
                for found in import_games(game, source, first + count):
                    if isinstance(found, Skipped):
                        left_out[found.reason] += 1
                    elif most is None or count < most:
                        writer.add([found], 60.0)
                        count, positions = count + 1, positions + count_recorded(found)
        finally:
            writer.close()
    for reason, times in left_out.most_common(REASONS):
        print_warning(f"{times} games left out: {reason}")
    if not count:
        raise ValueError("none of the games could be converted")
    return {"games": count, "positions": positions, "left_out": left_out.total(), "folder": str(folder)}


def export_records(sources: list[Path], file: Path, most: int | None) -> dict[str, Any]:
    """Write the games of folders of records into one file."""
    from ramify.games import make
    from ramify.games.files import dumps, extensions
    from ramify.selfplay.game_files import played_game
    from ramify.selfplay.records import read_folder

    texts, positions = list[str](), 0
    for folder in sources:
        for header, found in read_folder(folder):
            game = make(header["game"], **header["params"])
            if file.suffix.lower() not in extensions(game) or file.suffix.lower() == ".json":
                written = [name for name in extensions(game) if name != ".json"]
                raise ValueError(
                    f"games of {game.name} cannot be written as {file.suffix}, only as {written or 'records'}"
                )
            for record in found[: None if most is None else most - len(texts)]:
                texts.append(dumps(file.suffix.lower(), played_game(game, header, record)))
                positions += sum(move.found is not None for move in record.moves)
    if not texts:
        raise ValueError(f"there are no games in {', '.join(map(str, sources))}")
    file.write_text("\n".join(texts), encoding="utf-8")
    return {"games": len(texts), "positions": positions, "file": str(file)}
