"""The pages, and what they share."""

from __future__ import annotations

import secrets
import threading

from nicegui import app, ui
from starlette.requests import Request
from starlette.responses import RedirectResponse

from ramify.dashboard.catalog import Catalog
from ramify.dashboard.config import WebConfig
from ramify.dashboard.desk import Desk
from ramify.dashboard.layout import frame
from ramify.dashboard.library import Library
from ramify.dashboard.runs import RunFolder


class Site:
    """What all pages of a server share."""

    def __init__(self, config: WebConfig) -> None:
        self.config = config
        self.runs = RunFolder(config.runs)
        self.catalog = Catalog(config, self.runs)
        self.library = Library(config.store, self.runs)
        self.desk = Desk(config.workers, config.budget.analyses)

    def new_seed(self) -> int:
        """A seed that no client knows beforehand."""
        return secrets.randbits(31)

    def warm_up(self) -> None:
        """Load in the background what the first page would wait for."""
        game = self.catalog.make_game(self.catalog.games()[0].key)
        threading.Thread(
            target=lambda: self.catalog.evaluator(game, self.catalog.networks(game)[0].key), daemon=True
        ).start()


def add_pages(config: WebConfig) -> Site:
    """Register every page."""
    from ramify.dashboard.analyse_page import analyse_page
    from ramify.dashboard.games_page import games_page, replay_page
    from ramify.dashboard.play_page import play_page

    site = Site(config)
    app.on_startup(site.warm_up)
    app.on_shutdown(site.desk.close)

    @ui.page("/")
    def root() -> RedirectResponse:
        return RedirectResponse("/play")

    @ui.page("/play")
    async def play(request: Request, game: str = "hex size=7") -> None:
        with frame("Play", request):
            await play_page(site, game)

    @ui.page("/analyse")
    def analyse(request: Request, game: str = "hex size=7", position: str = "", moves: str = "") -> None:
        with frame("Analyse", request):
            analyse_page(site, game, position, moves)

    @ui.page("/games")
    async def games(request: Request) -> None:
        with frame("Games", request):
            await games_page(site, dict(request.query_params))

    @ui.page("/game")
    async def game(request: Request) -> None:
        with frame("Games", request):
            await replay_page(site, dict(request.query_params))

    return site
