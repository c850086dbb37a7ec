"""Who may talk to the server: every request and every socket passes here before anything else sees it.

A request must address the server by a name of its own (a page of another site that has its name point here does not),
come from no other site, and carry the cookie that the printed link or the password gives.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ramify.dashboard.config import LOCAL_NAMES, WebConfig, is_address, is_loopback

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

FAILURES = 4  # wrong passwords that are answered at once; afterwards each costs a second
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",  # Vue compiles templates in the browser
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
LOGIN = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>ramify</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
body {{ font: 16px/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 90vh }}
:root {{ color-scheme: light dark }}
form {{ display: grid; gap: .8rem; width: 18rem }} input, button {{ font: inherit; padding: .5rem }}</style></head>
<body><form method="post" action="/login"><h1>ramify</h1><label for="password">Password</label>
<input id="password" name="password" type="password" autofocus autocomplete="current-password"><button>Open</button>
<p role="alert">{said}</p></form></body></html>"""


class TooLarge(Exception):  # noqa: N818 - what happened, as the standard library names it
    """A request body beyond the limit."""


class Guard:
    """An ASGI application that lets through to another one what may pass."""

    def __init__(self, app: App, config: WebConfig) -> None:
        self.app, self.config = app, config
        self.token = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(32)
        self.port = config.port  # the real one once the server has its socket
        self.sockets = 0  # open web sockets
        self._failures = 0
        self.crowded: Callable[[], bool] = lambda: False  # whether no further page can be opened

    @property
    def cookie(self) -> str:
        """The cookie's name: servers on other ports of the same host have others."""
        return f"ramify-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if (problem := self._foreign(headers)) is not None:
            return await self._refuse(scope, receive, send, 403, problem)
        if scope["type"] == "websocket":
            return await self._socket(scope, receive, send, headers)
        return await self._request(scope, receive, send, headers)

    def _foreign(self, headers: dict[bytes, str]) -> str | None:
        """What is wrong with the addressed host or the origin of a request."""
        host = headers.get(b"host", "")
        if not self._is_own(host):
            return "This server is not known under that name."
        origin = headers.get(b"origin")
        if origin is not None:
            scheme, _, place = origin.partition("://")
            if scheme not in ("http", "https") or place != host:
                return "Requests from other sites are refused."
        if headers.get(b"sec-fetch-site") in ("cross-site", "same-site") and (
            headers.get(b"sec-fetch-mode") != "navigate" or headers.get(b"sec-fetch-dest") != "document"
        ):
            return "Requests from other sites are refused."
        return None

    def _is_own(self, host: str) -> bool:
        """Whether a Host header names this server. A name that an attacker controls is never an IP address."""
        name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
        name, port = (name, port) if colon else (host, "80")
        if port != str(self.port):
            # Behind a proxy on another port the operator names the host.
            return name.lower() in self.config.names
        known = name.lower() in (*LOCAL_NAMES, *self.config.names)
        return known or (not is_loopback(self.config.host) and is_address(name))

    def _knows(self, headers: dict[bytes, str]) -> bool:
        """Whether a request carries this server's cookie."""
        for part in headers.get(b"cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie and hmac.compare_digest(value.encode(), self._session.encode()):
                return True
        return False

    async def _socket(self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, str]) -> None:
        if not self._knows(headers) or b"origin" not in headers:
            return await self._refuse(scope, receive, send, 403, "no cookie")
        if self.sockets >= self.config.budget.clients:
            return await self._refuse(scope, receive, send, 503, "too many open pages")
        self.sockets += 1
        try:
            return await self.app(scope, receive, send)
        finally:
            self.sockets -= 1

    async def _request(self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, str]) -> None:
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        if scope["path"] == "/login" and self.config.password is not None:
            return await self._login(scope, receive, send)
        if "token" in query:
            if hmac.compare_digest(query.pop("token").encode(), self.token.encode()):
                rest = f"?{urlencode(query)}" if query else ""
                path = scope["path"] if not scope["path"].startswith("//") else "/"
                return await self._welcome(send, f"{path}{rest}")
            return await self._refuse(scope, receive, send, 403, "This link is not valid any more.")
        if not self._knows(headers):
            if self.config.password is not None and scope["method"] == "GET" and scope["path"] == "/":
                return await self._answer(send, 303, b"", [(b"location", b"/login")])
            return await self._refuse(
                scope, receive, send, 403, "Open the link that 'ramify web' has printed: it has the token."
            )
        length = headers.get(b"content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 12 or int(length) > self.config.budget.message:
            return await self._refuse(scope, receive, send, 413, "The request is too large.")
        if headers.get(b"sec-fetch-dest") == "document" and self.crowded():
            return await self._refuse(scope, receive, send, 503, "Too many pages are open.")
        try:
            return await self.app(scope, self._limited(receive), self._marked(send))
        except TooLarge:
            return None
        except RuntimeError as error:
            if str(error) == "No response returned.":  # the client has gone before the page was made
                return None
            raise

    def _limited(self, receive: Receive) -> Receive:
        """Receives no more of a body than the budget allows."""
        left = self.config.budget.message

        async def next_message() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise TooLarge
            return message

        return next_message

    def _marked(self, send: Send) -> Send:
        """Sends responses with the headers that all of them have."""

        async def next_message(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        return next_message

    async def _login(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The form for the password, and the answer to it."""
        if scope["method"] != "POST":
            return await self._answer(send, 200, LOGIN.format(said="").encode(), [(b"content-type", b"text/html")])
        body = b""
        while len(body) < 4096:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        given = dict(parse_qsl(body.decode("utf-8", "replace"))).get("password", "")
        assert self.config.password is not None
        if hmac.compare_digest(given.encode(), self.config.password.encode()):
            self._failures = 0
            return await self._welcome(send, "/")
        self._failures += 1
        if self._failures > FAILURES:
            await asyncio.sleep(1.0)
        page = LOGIN.format(said=escape("That is not the password."))
        return await self._answer(send, 403, page.encode(), [(b"content-type", b"text/html")])

    async def _welcome(self, send: Send, place: str) -> None:
        """Give the cookie, and go on without the token in the address."""
        kept = f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        await self._answer(
            send, 303, b"", [(b"set-cookie", kept.encode()), (b"location", place.encode("ascii", "ignore"))]
        )

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, status: int, why: str) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        await self._answer(send, status, f"{why}\n".encode(), [(b"content-type", b"text/plain; charset=utf-8")])

    async def _answer(self, send: Send, status: int, body: bytes, more: list[tuple[bytes, bytes]]) -> None:
        fixed = [(b"cache-control", b"no-store"), (b"connection", b"close"), *HEADERS]
        sizes = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": [*more, *sizes, *fixed]})
        await send({"type": "http.response.body", "body": body})
