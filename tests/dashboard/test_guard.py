"""Who may talk to the server: with the token, by its own name, from its own pages, and within the limits."""

from __future__ import annotations

import http.client
import socket
from typing import Any

import pytest

from ramify.dashboard.config import Budget, WebConfig
from ramify.dashboard.guard import Guard
from tests.dashboard.conftest import Server, run_async


async def inner(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads what it is sent and answers."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def ask(guard: Guard, path: str = "/", *, kind: str = "http", body: tuple[bytes, ...] = (b"",), **headers: str) -> Any:
    """(status, headers) of the guard's answer; of a socket ("accept" or "close", {})."""
    given = {"host": f"127.0.0.1:{guard.port}", **{key.replace("_", "-"): value for key, value in headers.items()}}
    place, _, query = path.partition("?")
    scope = {
        "type": kind,
        "method": "POST" if body != (b"",) else "GET",
        "path": place,
        "query_string": query.encode(),
        "headers": [(key.encode(), value.encode("latin-1")) for key, value in given.items()],
    }
    parts = [{"type": "http.request", "body": part, "more_body": i + 1 < len(body)} for i, part in enumerate(body)]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    run_async(guard(scope, receive, send))
    if not sent:
        return None, {}
    if kind == "websocket":
        return sent[0]["type"].partition(".")[2], {}
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.fixture
def guard() -> Guard:
    return Guard(inner, WebConfig(budget=Budget(message=1000)))


def cookie(guard: Guard) -> str:
    status, headers = ask(guard, f"/?token={guard.token}")
    assert status == 303
    return headers["set-cookie"].partition(";")[0]


def test_the_token_gives_a_cookie_that_scripts_and_other_sites_cannot_use(guard: Guard) -> None:
    status, headers = ask(guard, f"/play?game=hex&token={guard.token}")
    assert (status, headers["location"]) == (303, "/play?game=hex")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]
    assert guard.token not in headers["set-cookie"]
    assert ask(guard, cookie=cookie(guard))[0] == 200


@pytest.mark.parametrize(
    "path", ["/", "/play", "/static/style.css", "/_nicegui_ws/socket.io/", "/?token=wrong", "/login"]
)
def test_without_the_token_nothing_is_served(guard: Guard, path: str) -> None:
    assert ask(guard, path)[0] == 403
    assert ask(guard, path, cookie="ramify-8080=guess")[0] == 403
    assert ask(guard, path, kind="websocket", origin="http://127.0.0.1:8080")[0] == "close"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8080",
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1.evil.example:8080",
        "",
        "[::2]:8080",
        f"127.0.0.1:{'8' * 5000}",
    ],
)
def test_another_host_is_refused(guard: Guard, host: str) -> None:
    """A name that points to this machine makes a page of another site look like one of this server."""
    known = cookie(guard)
    assert ask(guard, cookie=known, host=host)[0] == 403
    assert ask(guard, f"/?token={guard.token}", host=host)[0] == 403
    assert ask(guard, kind="websocket", cookie=known, host=host, origin=f"http://{host}")[0] == "close"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1", "file://", "http://["]
)
def test_another_origin_is_refused(guard: Guard, origin: str) -> None:
    known = cookie(guard)
    assert ask(guard, cookie=known, origin=origin)[0] == 403
    assert ask(guard, kind="websocket", cookie=known, origin=origin)[0] == "close"
    assert ask(guard, cookie=known, sec_fetch_site="cross-site", sec_fetch_mode="no-cors")[0] == 403


def test_a_socket_needs_the_cookie_and_an_origin_of_its_own(guard: Guard) -> None:
    known, own = cookie(guard), f"http://127.0.0.1:{guard.port}"
    assert ask(guard, kind="websocket", cookie=known, origin=own)[0] == "accept"
    assert ask(guard, kind="websocket", cookie=known)[0] == "close"
    guard.sockets = guard.config.budget.clients
    assert ask(guard, kind="websocket", cookie=known, origin=own)[0] == "close"


def test_large_requests_are_refused_with_and_without_a_length(guard: Guard) -> None:
    known = cookie(guard)
    assert ask(guard, cookie=known, body=(b"x" * 900,))[0] == 200
    for length in ("1100", "9" * 5000, "²"):
        assert ask(guard, cookie=known, body=(b"x" * 1100,), content_length=length)[0] == 413
    assert ask(guard, cookie=known, body=(b"x" * 600, b"x" * 600))[0] is None  # nothing was answered


def test_beyond_loopback_only_with_a_password() -> None:
    with pytest.raises(ValueError, match="password"):
        WebConfig(host="0.0.0.0")
    with pytest.raises(ValueError, match="8 characters"):
        WebConfig(host="0.0.0.0", password="short")
    guard = Guard(inner, WebConfig(host="0.0.0.0", password="correct horse"))
    assert ask(guard, "/", host="192.168.1.5:8080")[1]["location"] == "/login"
    assert ask(guard, "/login", host="evil.example:8080")[0] == 403
    assert ask(guard, "/login", body=(b"password=wrong",))[0] == 403
    status, headers = ask(guard, "/login", body=(b"password=correct+horse",))
    assert status == 303
    assert ask(guard, cookie=headers["set-cookie"].partition(";")[0], host="192.168.1.5:8080")[0] == 200


# The same against the real server.


def fetch(server: Server, path: str, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def entered(server: Server) -> dict[str, str]:
    """The headers of somebody who has opened the link."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", f"/?token={server.token}")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return {"Cookie": str(answer.headers["Set-Cookie"]).partition(";")[0]}


def test_the_server_answers_nobody_without_the_token(server: Server) -> None:
    for path in ("/", "/play", "/static/style.css", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"):
        assert fetch(server, path)[0] == 403
    assert fetch(server, "/play", Host="evil.example")[0] == 403
    status, page = fetch(server, "/play", **entered(server))
    assert status == 200
    assert b"ramify" in page


@pytest.mark.parametrize(
    "path",
    [
        "/static/../config.py",
        "/static/..%2fconfig.py",
        "/static/%2e%2e/%2e%2e/__init__.py",
        "/static//etc/passwd",
        "/download/network/..%2f..%2fetc/0",
        "/runs/..%2f..%2fetc",
        "/games/run/..%2F..%2Fetc/0/0",
        "/download/game/store/../../etc/passwd/json",
    ],
)
def test_no_path_leads_out_of_the_folders(server: Server, path: str) -> None:
    status, body = fetch(server, path, **entered(server))
    assert b"root:" not in body
    assert b"import annotations" not in body
    assert status in (200, 404, 403)


def test_many_connections_that_say_nothing_leave_it_alive(server: Server) -> None:
    """1,000 connections at once, of which nobody knows the token."""
    idle = []
    try:
        for number in range(1000):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            idle.append(one)
            if number % 3 == 0:
                one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert fetch(server, "/play", **entered(server))[0] == 200
    finally:
        for one in idle:
            one.close()
    assert fetch(server, "/play", **entered(server))[0] == 200


def flood(client: Any) -> None:
    """Send a message of 10 MB, and listen until the connection ends."""
    client.send("4" + "x" * 10_000_000)
    for _ in range(50):
        client.recv(timeout=20)


def test_messages_of_10_megabytes_end_their_connection_only(server: Server) -> None:
    """By a request and over a web socket, of somebody who has the cookie."""
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    known = entered(server)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request("POST", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", b"x" * 10_000_000, headers=known)
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server has closed the connection before everything was sent
    finally:
        connection.close()
    address = f"ws://127.0.0.1:{server.port}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    with connect(address, additional_headers=known, origin=server.base, max_size=None) as client:  # type: ignore[arg-type]
        assert str(client.recv(timeout=20)).startswith("0")
        with pytest.raises(ConnectionClosed):
            flood(client)
    assert fetch(server, "/play", **known)[0] == 200


def test_a_socket_without_the_cookie_or_from_another_site_is_refused(server: Server) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    address = f"ws://127.0.0.1:{server.port}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    for headers, origin in (({}, server.base), (entered(server), "http://evil.example"), (entered(server), None)):
        with pytest.raises(InvalidStatus):
            connect(address, additional_headers=headers, origin=origin).close()  # type: ignore[arg-type]
