"""The pages, and what they share."""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicegui import app, ui
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response

from ramify.dashboard.catalog import Catalog
from ramify.dashboard.config import WebConfig
from ramify.dashboard.desk import Desk
from ramify.dashboard.layout import LONGEST_NUMBER, frame, whole
from ramify.dashboard.library import STORE, Library
from ramify.dashboard.ratings_page import RatingLists
from ramify.dashboard.runs import RunFolder, RunSummary, summary_of
from ramify.dashboard.trainer import Trainer

if TYPE_CHECKING:
    from ramify.store import Run

PATIENCE = 30.0  # seconds to make a page, on a busy machine


class Site:
    """What all pages of a server share."""

    def __init__(self, config: WebConfig) -> None:
        self.config = config
        self.runs = RunFolder(config.runs)
        self.catalog = Catalog(config, self.runs)
        self.library = Library(config.store, self.runs)
        self.ratings = RatingLists(self.library)
        self.trainer = Trainer(self.runs)
        self.desk = Desk(config.workers, config.budget.analyses)
        self._warm = False

    def new_seed(self) -> int:
        """A seed that no client knows beforehand."""
        return secrets.randbits(31)

    def stored_runs(self) -> list[Run]:
        """The runs that the store knows."""
        return self.library.store(STORE).runs() if self.library.has_store() else []

    def stored_run(self, key: str) -> tuple[RunSummary, list[dict[str, Any]]]:
        """A run of the store and its metrics by iteration; ``key`` is store: and its number."""
        number = key.partition(":")[2]
        if not number.isdecimal() or len(number) > LONGEST_NUMBER:
            raise ValueError(f"there is no run {key[:60]!r}")
        store, lines = self.library.store(STORE), dict[int, dict[str, Any]]()
        try:
            run = store.run(int(number))
        except KeyError:
            raise ValueError(f"there is no run {key[:60]!r}") from None
        for one in store.metrics(run.id):
            lines.setdefault(one.step, {"iteration": one.step})[one.name] = one.value
        found, place = list(lines.values()), Path(run.name)
        name = f"{place.name} (store {run.id})"
        now = run.status == "running", run.started.timestamp()
        return summary_of(name, place, dict(run.config), found[-1] if found else {}, now, run.id), found

    def warm_up(self) -> None:
        """Load in the background what most pages need; once, when somebody comes."""
        if self._warm:
            return
        self._warm = True
        game = self.catalog.make_game(self.catalog.games()[0].key)

        def load() -> None:
            self.catalog.evaluator(game, self.catalog.default(game))
            with suppress(ImportError, ValueError):
                self.library.store(STORE)

        threading.Thread(target=load, daemon=True).start()


def add_pages(config: WebConfig) -> Site:
    """Register every page."""
    from ramify.dashboard.analyse_page import analyse_page
    from ramify.dashboard.games_page import games_page, replay_page
    from ramify.dashboard.play_page import play_page
    from ramify.dashboard.ratings_page import ratings_page
    from ramify.dashboard.runs_page import run_page, runs_page

    site = Site(config)
    app.on_connect(site.warm_up)
    app.on_shutdown(site.desk.close)

    @ui.page("/", response_timeout=PATIENCE)
    def root() -> RedirectResponse:
        return RedirectResponse("/play")

    @ui.page("/play", response_timeout=PATIENCE)
    async def play(request: Request, game: str = "hex size=7", network: str = "", simulations: str = "") -> None:
        with frame("Play", request):
            await play_page(site, game, network, whole(simulations))

    @ui.page("/analyse", response_timeout=PATIENCE)
    def analyse(request: Request, game: str = "hex size=7", position: str = "", moves: str = "") -> None:
        with frame("Analyse", request):
            analyse_page(site, game, position, moves)

    @ui.page("/games", response_timeout=PATIENCE)
    async def games(request: Request) -> None:
        with frame("Games", request):
            await games_page(site, dict(request.query_params))

    @ui.page("/game", response_timeout=PATIENCE)
    async def game(request: Request) -> None:
        with frame("Games", request):
            await replay_page(site, dict(request.query_params))

    @ui.page("/runs", response_timeout=PATIENCE)
    async def runs(request: Request, page: str = "") -> None:
        with frame("Runs", request):
            await runs_page(site, whole(page))

    @ui.page("/run", response_timeout=PATIENCE)
    async def run(request: Request) -> None:
        with frame("Runs", request):
            await run_page(site, request.query_params.getlist("name"))

    @ui.page("/ratings", response_timeout=PATIENCE)
    async def ratings(request: Request) -> None:
        with frame("Ratings", request):
            await ratings_page(site, dict(request.query_params))

    @app.get("/download/network")
    def network(run: str, number: str) -> Response:
        try:
            return FileResponse(site.runs.network(run, number), filename=f"{run}-{number}.safetensors")
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 404)

    return site
