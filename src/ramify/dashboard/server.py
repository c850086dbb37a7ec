"""The server: NiceGUI's pages behind the guard, on a socket of its own."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from nicegui import Client, app, core, ui

from ramify.dashboard import site
from ramify.dashboard.config import WebConfig
from ramify.dashboard.guard import Guard

BACKLOG = 512  # connections that wait to be accepted
FILES = 8192  # open files and connections, where the system allows as many


def serve(config: WebConfig, announce: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. ``announce`` gets the link once the server answers."""
    raise_limits()
    listener = listen(config)
    guard = Guard(make_app(config), config)
    guard.port = listener.getsockname()[1]
    guard.crowded = lambda: len(Client.instances) >= 2 * config.budget.clients
    settings = uvicorn.Config(
        guard,
        log_level="error",
        access_log=False,  # links have the token
        ws="websockets-sansio",
        ws_max_size=config.budget.message,
        ws_per_message_deflate=False,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=32 << 10,
        server_header=False,
        lifespan="on",
    )
    server = uvicorn.Server(settings)
    asyncio.run(_run(server, listener, lambda: announce(link(config, guard))))


async def _run(server: uvicorn.Server, listener: socket.socket, started: Callable[[], None]) -> None:
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not task.done():
        await asyncio.sleep(0.02)
    if server.started:
        started()
    await task


def link(config: WebConfig, guard: Guard) -> str:
    """The address to open, with the token."""
    host = "127.0.0.1" if config.host in ("0.0.0.0", "localhost") else config.host
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{guard.port}/?token={guard.token}"


def listen(config: WebConfig) -> socket.socket:
    """The socket of the server. An OSError says why there is none."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((config.host.strip("[]"), config.port))
        found.listen(BACKLOG)
        found.setblocking(False)
    except OSError as error:
        found.close()
        raise OSError(
            f"cannot listen on {config.host}:{config.port}: {error.strerror}; --port chooses another"
        ) from None
    return found


def raise_limits() -> None:
    """Allow as many open connections as the system permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def make_app(config: WebConfig) -> FastAPI:
    """The pages as an application, not yet guarded."""
    logging.getLogger("nicegui").setLevel(logging.ERROR)
    outer = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    core.sio.eio.max_http_buffer_size = config.budget.message
    app.add_static_files("/static", str(Path(__file__).with_name("static")), max_cache_age=3600)
    site.add_pages(config)
    ui.run_with(
        outer,
        title="ramify",
        favicon=Path(__file__).with_name("static") / "icon.svg",
        dark=None,
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=5.0,
        message_history_length=200,
        show_welcome_message=False,
    )
    return outer
