"""A store on a PostgreSQL server: the same commands and ratings, one sentence on errors, and no password in any."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import Progress, match

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from sqlalchemy import text

from ramify.store import Store, StoreError, engines
from ramify.store import results as results_module
from ramify.store.location import read_location
from tests.arena.helpers import DiceConfig
from tests.children import forking_context
from tests.store.server import Server

WEAK, STRONG = DiceConfig(skill=0.0), DiceConfig(skill=0.9)
SECRET = "s3cr3t"
PLAYERS = ("random", "search:simulations=2")


def rated(document: str) -> list[tuple[str, float, int]]:
    return [(row["player"], row["elo"], row["games"]) for row in json.loads(document)["players"]]


def test_commands_take_a_url_and_rate_as_with_a_file(run, postgres: Server) -> None:
    url = postgres.new_place()
    for scheme in ("postgresql://", "postgresql+psycopg://"):
        place = url.replace("postgresql://", scheme)
        code, out, err = run("match", "tictactoe", *PLAYERS, "--games", "6", "--store", place, "--json")
        assert code == 0, err
    assert (json.loads(out)["found"], json.loads(out)["played"]) == (6, 0)
    run("match", "tictactoe", *PLAYERS, "--games", "6")
    _, of_file, _ = run("ratings", "--json")
    code, of_server, err = run("ratings", "--json", "--store", url)
    assert code == 0, err
    assert rated(of_server) == rated(of_file)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/games",  # nobody listens
        f"postgresql://me:{SECRET}@h@127.0.0.1/games",  # an @ that should be %40
        f"postgresql://me:{SECRET}@host:port/games",
        f"postgresql://me@127.0.0.1:1/games?password={SECRET}",
        f"postgresql://me:{SECRET}@127.0.0.1:1",
        f"mysql://me:{SECRET}@host/games",
    ],
)
def test_no_error_shows_a_password(run, url: str) -> None:
    pytest.importorskip("psycopg")
    for command in (["ratings"], ["match", "tictactoe", *PLAYERS]):
        code, out, err = run(*command, "--store", url)
        assert (code, err.count("\n")) == (2, 1), err
        assert SECRET not in out + err
    _, _, err = run("ratings", "--store", url, "--debug")
    assert "Traceback" in err
    assert SECRET not in err


def test_a_refused_user_is_one_sentence_without_the_password(run, postgres: Server) -> None:
    url = postgres.url(password=SECRET).replace("tester", "stranger")
    code, _, err = run("ratings", "--store", url)
    assert (code, err.count("\n")) == (2, 1)
    assert 'role "stranger" does not exist' in err
    assert SECRET not in err
    with Store(postgres.url(postgres.new_place().rpartition("%3D")[2], SECRET)) as store:
        assert SECRET not in f"{store!r} {store.location} {store._database.location}"


def test_a_url_as_a_path_is_explained() -> None:
    with pytest.raises(StoreError, match="give it as a text"):
        Store(Path("postgresql://me@host/games"))


def test_without_the_driver_the_message_says_what_to_install(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    code, _, err = run("match", "tictactoe", *PLAYERS, "--store", f"postgresql://me:{SECRET}@host/games")
    assert (code, err.count("\n")) == (2, 1)
    assert "pip install 'ramify[postgres]'" in err
    assert SECRET not in err


def test_tables_of_another_program_are_left_alone(postgres: Server) -> None:
    url = postgres.new_place()
    postgres.execute(url, "CREATE TABLE cats (name text)")
    with pytest.raises(StoreError, match=r"another program, with the tables cats; choose another database"):
        Store(url)
    assert postgres.execute(url, "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()") == [
        ("cats",)
    ]


def open_store(place: str) -> None:
    Store(place).close()


def test_processes_that_open_an_empty_store_at_once_make_its_tables_once(place: str) -> None:
    context = forking_context()
    processes = [context.Process(target=open_store, args=(place,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    with Store(place) as store:
        assert store.games() == []


def test_a_match_goes_on_after_its_connections_were_closed(postgres: Server, tmp_path: Path) -> None:
    url = postgres.new_place()

    def watch(progress: Progress) -> None:
        if progress.done in (4, 9):
            postgres.execute(
                url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ramify'"
            )

    with Store(url) as store:
        games = match(rf.make("tictactoe"), WEAK, STRONG, 20, results=store.results(), watch=watch)
        assert {played.key for played in store.games()} == {played.key for played in games}
        assert len(games) == 20


def test_games_are_put_aside_while_the_tables_are_locked(
    run, postgres: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They are in a file of the current folder, and the next one who opens the store there writes them."""
    import psycopg

    monkeypatch.chdir(tmp_path)
    for name, value in (("RETRY_SECONDS", 0.1), ("PAUSE", 0.05), ("TRY_EVERY", 0.0)):
        monkeypatch.setattr(results_module, name, value)
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)
    url, holders = postgres.new_place(), []

    def watch(progress: Progress) -> None:
        if progress.done == 2:
            holders.append(psycopg.connect(url))
            holders[0].execute("LOCK TABLE games IN EXCLUSIVE MODE")  # others may read

    store = Store(url)
    match(rf.make("tictactoe"), WEAK, STRONG, 10, results=store.results(), watch=watch)
    with pytest.raises(StoreError, match=r"8 finished games are in .*locked by another process"):
        store.close()
    (file,) = tmp_path.glob("*.unsaved-*")
    holders[0].close()
    file.rename(str(file).replace(f".unsaved-{file.name.split('-')[-2]}-", ".unsaved-99999999999-"))
    with Store(url) as store:
        assert len(store.games()) == 10
    assert not list(tmp_path.glob("*.unsaved-*"))


def test_transactions_that_wait_for_each_other_are_repeated(postgres: Server) -> None:
    url = postgres.new_place()
    with Store(url) as store:
        for name in ("a", "b"):
            store.start_run(name, {})
        both, calls = threading.Barrier(2), list[str]()

        def rename(names: str) -> None:
            def action(session) -> None:  # type: ignore[no-untyped-def]
                calls.append(names)
                for number, name in enumerate(names):
                    session.execute(
                        text("UPDATE runs SET status = :by WHERE name = :name"), {"by": names, "name": name}
                    )
                    if number == 0 and calls.count(names) == 1:
                        both.wait(30)

            store._database.write(action)

        threads = [threading.Thread(target=rename, args=(names,)) for names in ("ab", "ba")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(calls) >= 3  # PostgreSQL ended one of the first two
        assert len({run.status for run in store.runs()}) == 1


def test_a_server_without_a_free_connection_is_waited_for(postgres: Server) -> None:
    import psycopg

    url = postgres.new_place()
    Store(url).close()
    schema = url.rpartition("%3D")[2]
    postgres.execute(
        url, "CREATE ROLE limited LOGIN CONNECTION LIMIT 1", f"GRANT ALL ON SCHEMA {schema} TO limited",
        f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO limited",
    )  # fmt: skip
    limited = url.replace("tester", "limited")
    holder = psycopg.connect(limited)
    threading.Timer(0.5, holder.close).start()
    start = time.monotonic()
    with Store(limited) as store:
        assert store.games() == []
    assert time.monotonic() - start >= 0.3


def test_the_web_interface_reads_a_server(run, postgres: Server, tmp_path: Path) -> None:
    pytest.importorskip("nicegui")
    from ramify.dashboard.library import STORE, Library
    from ramify.dashboard.runs import RunFolder

    url = postgres.new_place()
    with Store(url) as store:
        match(rf.make("tictactoe"), WEAK, STRONG, 4, results=store.results())
    secret = url.replace("tester@", f"tester:{SECRET}@")
    library = Library(secret, RunFolder(tmp_path))
    assert library.sources() == {STORE: "Store postgres"}
    assert len(library.store(STORE).games()) == 4
    library.store(STORE).close()
    code, _, err = run("web", "--no-open", "--store", f"postgresql://me:{SECRET}@127.0.0.1:1/games")
    assert (code, err.count("\n")) == (2, 1)
    assert SECRET not in err


def test_the_name_of_a_store_has_the_place_and_no_options() -> None:
    location = read_location("postgresql://me:pw@db.example:5433/games?sslmode=require")
    assert location.name == "postgresql://me@db.example:5433/games"
    assert location.url.query["sslmode"] == "require"
    assert read_location("games.db").path == Path("games.db")
