"""A PostgreSQL server of its own for the tests: in a temporary folder, on a Unix socket, gone at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

PATIENCE = 60  # seconds to start or to stop, on a busy machine
PLACES = (*os.environ.get("PATH", "").split(os.pathsep), *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin"))))
# Nothing here has to survive a loss of power.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=16MB", "max_wal_size=256MB")

# The server ends when the pipe from this process is closed, so that it does not outlive a killed test either.
GUARD = '"$@" </dev/null & cat >/dev/null; kill -QUIT $!; wait $!; cd /; rm -rf "$0"'


class Server:
    """A running server."""

    def __init__(self, folder: Path, user: str, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.user, self.process = folder, user, process
        self._places = 0

    def url(self, schema: str = "public", password: str = "") -> str:
        secret = f":{password}" if password else ""
        place = f"host={self.folder}&options=-csearch_path%3D{schema}"
        return f"postgresql://{self.user}{secret}@/postgres?{place}"

    def execute(self, url: str, *orders: str) -> list[tuple[object, ...]]:
        """Rows of the last statement, as another program sees them."""
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            for order in orders:
                cursor = connection.execute(order.encode())
            return cursor.fetchall() if cursor.description else []

    def new_place(self) -> str:
        """The URL of a place without tables: a schema, which is made sooner than a database."""
        self._places += 1
        name = f"test{self._places}"
        self.execute(self.url(), f"CREATE SCHEMA {name}")
        return self.url(name)


def why_not() -> str:
    """Why there can be no server here; empty if there can be one."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'ramify[postgres]'"
    if program("initdb") is None or program("postgres") is None:
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and server_user() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody"
    return ""


def program(name: str) -> str | None:
    """A program of PostgreSQL."""
    return shutil.which(name, path=os.pathsep.join(PLACES))


def server_user() -> pwd.struct_passwd | None:
    """Who runs the server: this user or, as it refuses root, another one."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


@contextmanager
def running_server() -> Iterator[Server]:
    """A server until the end of the block. Its folder is short: the path of a socket has at most 107 characters."""
    user, initdb, postgres = server_user(), program("initdb"), program("postgres")
    assert user is not None
    assert initdb is not None
    assert postgres is not None
    folder = Path(tempfile.mkdtemp(prefix="ramify-pg-", dir="/tmp"))
    process = None
    try:
        data = folder / "data"
        data.mkdir()
        other = {}
        if os.geteuid() == 0:
            for place in (folder, data):
                os.chown(place, user.pw_uid, user.pw_gid)
            other = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        folder.chmod(0o755)
        command = [initdb, "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=PATIENCE, **other)
        settings = [word for setting in FAST for word in ("-c", setting)]
        command = [postgres, "-D", data, "-k", folder, "-c", "listen_addresses=", *settings]
        with (folder / "log").open("wb") as log:
            streams = {"stdin": subprocess.PIPE, "stdout": log, "stderr": log}
            process = subprocess.Popen(["sh", "-c", GUARD, folder, *command], cwd=folder, **streams, **other)
        server = Server(folder, "tester", process)
        wait_for(server)
        yield server
    finally:
        if process is not None:
            stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(server: Server) -> None:
    """Wait until the server answers."""
    import psycopg

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            server.execute(server.url(), "SELECT 1")
            return
        except psycopg.OperationalError:
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((server.folder / "log").read_text()) from None
        time.sleep(0.05)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the server, and all of its processes with it."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
