"""``ramify web``: the web interface."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ramify.base.files import is_url
from ramify.cli import arena, options
from ramify.cli.common import fail, print_json


def web(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 8080,
    runs: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of training runs.")] = Path("runs"),
    store: Annotated[
        str, typer.Option(metavar="FILE|URL", help="The database with games and runs: a file, or postgresql://…")
    ] = options.DEFAULT_STORE,
    player: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND:SETTINGS", help="A further opponent, such as uci:command=stockfish. Repeatable."),
    ] = None,
    network: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="A further network to choose. Repeatable.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Other machines reach it only with a password.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A further host name of this server, such as a proxy's.")
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file whose first line is the password.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play, analyse, and look at games, runs and ratings in the browser.

    The server listens on this machine only, and the printed link has a token
    without which it answers nobody. Ctrl-C ends it.

    \b
    ramify web
    ramify web --runs runs --store ramify.db --port 9000
    ramify web --player uci:command=stockfish,depth=8
    ramify web --host 0.0.0.0 --password-file secret.txt
    """
    try:
        from ramify.dashboard.config import WebConfig
        from ramify.dashboard.server import serve
    except ImportError as error:
        fail(f"the web interface needs {error.name or error}: pip install 'ramify[web]'")

    def announce(link: str) -> None:
        if json:
            print_json({"link": link})
        else:
            print(f"ramify web is at {link}\nCtrl-C ends it.")
        sys.stdout.flush()
        if open_ and sys.stdout.isatty():
            webbrowser.open(link)

    if is_url(store):
        with arena.open_store(store):  # a mistake is reported now rather than in the browser
            pass
    try:
        config = WebConfig(
            host=host,
            port=port,
            names=tuple(one.lower() for one in name or []),
            password=None if password_file is None else read_password(password_file),
            runs=runs,
            store=store,
            players=tuple(checked_players(player or [])),
            networks=tuple(network or []),
        )
        serve(config, announce)
    except (ValueError, TypeError, ImportError, OSError) as error:
        fail(error)


def read_password(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").splitlines()[0].strip()
    except (OSError, IndexError) as error:
        raise ValueError(f"cannot read a password from {file}: {error}") from None


def checked_players(texts: list[str]) -> list[str]:
    """Players as they were given; a mistake in one is reported now rather than in the browser."""
    import ramify.protocols  # noqa: F401 - registers its kinds
    from ramify.arena import read_player

    for text in texts:
        read_player(text)
    return texts
