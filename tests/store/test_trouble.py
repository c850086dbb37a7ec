"""Files that are damaged, locked, full or read-only: one sentence that names the file, and no finished game is lost."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import Played, Progress, match

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from ramify.store import Store, StoreError
from ramify.store import engines as engines_module
from ramify.store import results as results_module
from tests.arena.helpers import DiceConfig
from tests.store.helpers import saved

WEAK, STRONG = DiceConfig(skill=0.0), DiceConfig(skill=0.9)


def fill(path: Path, games: int = 60) -> None:
    with Store(path) as store:
        match(rf.make("tictactoe"), WEAK, STRONG, games, results=store.results())


def truncated(path: Path) -> None:
    fill(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scribbled(path: Path) -> None:
    fill(path)
    content = bytearray(path.read_bytes())
    content[4096:] = random.Random(1).randbytes(len(content) - 4096)
    path.write_bytes(content)


def half_scribbled(path: Path) -> None:
    """Its tables are listed as they should be; what is in them is not."""
    fill(path)
    content = bytearray(path.read_bytes())
    half = len(content) // 2
    content[half:] = random.Random(2).randbytes(len(content) - half)
    path.write_bytes(content)


def text_file(path: Path) -> None:
    path.write_text("no database at all, and more of it\n" * 40)


def other_tables(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        connection.execute("INSERT INTO alembic_version VALUES ('1975ea83b712')")
        connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()


def missing_table(path: Path) -> None:
    fill(path, 2)
    execute(path, "DROP TABLE games")


def missing_column(path: Path) -> None:
    fill(path, 2)
    execute(path, "ALTER TABLE games RENAME COLUMN actions TO moves")


def broken_row(path: Path) -> None:
    fill(path, 2)
    execute(path, "UPDATE games SET params = '{', limits = '[1'")


def newer(path: Path) -> None:
    fill(path, 2)
    execute(path, "UPDATE alembic_version SET version_num = '9999'")


def execute(path: Path, order: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(order)
    connection.close()


DAMAGES = [
    truncated,
    scribbled,
    half_scribbled,
    text_file,
    other_tables,
    missing_table,
    missing_column,
    broken_row,
    newer,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_no_good_is_one_sentence_and_left_alone(run, damage) -> None:
    path = Path("ramify.db")
    damage(path)
    for name in ("ramify.db-wal", "ramify.db-shm"):
        Path(name).unlink(missing_ok=True)
    before = path.read_bytes()
    commands = [
        ["ratings", "tictactoe"],
        ["match", "tictactoe", "test_dice", "test_dice:skill=0.9"],
    ]
    for command in commands:
        code, _, err = run(*command)
        assert code == 2, command
        assert err.count("\n") == 1
        assert "ramify.db" in err
        assert "sqlalche.me" not in err
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_not_changed(tmp_path: Path) -> None:
    other_tables(tmp_path / "x.db")
    before = (tmp_path / "x.db").read_bytes()
    with pytest.raises(StoreError, match="another program, with the tables alembic_version, cats"):
        Store(tmp_path / "x.db")
    assert (tmp_path / "x.db").read_bytes() == before


@pytest.mark.parametrize("folder", ["/proc/nowhere", "/dev/null"])
def test_a_place_that_cannot_be_written_is_one_sentence(run, folder: str) -> None:
    if not Path(folder).parent.exists():
        pytest.skip("no such system folders")
    code, _, err = run("match", "tictactoe", "random", "search", "--store", f"{folder}/x.db")
    assert (code, err.count("\n")) == (2, 1)
    assert f"{folder}/x.db" in err
    assert "choose another file" in err


def test_training_into_a_damaged_store_is_one_sentence(run) -> None:
    pytest.importorskip("torch")
    text_file(Path("x.db"))
    code, _, err = run("train", "hex-5", "loop.iterations=1", "--store", "x.db")
    assert (code, err.count("\n")) == (2, 1)
    assert "x.db cannot be opened as a store" in err


def test_a_locked_store_is_one_sentence(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines_module, "BUSY_SECONDS", 0.1)
    fill(Path("ramify.db"), 2)
    holder = sqlite3.connect("ramify.db", isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        code, _, err = run("match", "tictactoe", "random", "search:simulations=2", "--games", "2")
    finally:
        holder.close()
    assert (code, err.count("\n")) == (2, 1)
    assert "ramify.db is locked by another process" in err
    assert saved(Path("ramify.db")) == 2


def full(path: Path) -> sqlite3.Connection:
    """Another process that holds the lock."""
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    return holder


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for nothing."""
    monkeypatch.setattr(engines_module, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(results_module, "RETRY_SECONDS", 0.1, raising=False)
    monkeypatch.setattr(results_module, "PAUSE", 0.05, raising=False)
    monkeypatch.setattr(results_module, "TRY_EVERY", 0.0, raising=False)


@pytest.mark.usefixtures("hasty")
def test_games_are_put_aside_while_the_store_is_locked_and_written_afterwards(tmp_path: Path) -> None:
    path, holders = tmp_path / "x.db", []

    def watch(progress: Progress) -> None:
        if progress.done == 2:
            holders.append(full(path))
        if progress.done == 8:
            assert len(list(tmp_path.glob("x.db.unsaved-*"))) == 1
            assert saved(path) == 2
            holders.pop().close()

    with Store(path) as store:
        games = match(rf.make("tictactoe"), WEAK, STRONG, 10, results=store.results(), watch=watch)
        assert {played.key: played for played in store.games()} == {played.key: played for played in games}
    assert not list(tmp_path.glob("x.db.unsaved-*"))


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("PRAGMA max_page_count = 1", "the disk is full"),
        ("PRAGMA query_only = ON", "read-only"),
        ("DROP TABLE games", "tables"),
    ],
)
def test_finished_games_are_saved_elsewhere_if_the_store_stays_unwritable(
    tmp_path: Path, trouble: str, words: str
) -> None:
    path = tmp_path / "x.db"

    def watch(progress: Progress) -> None:
        if progress.done == 2:
            connection = store._database.engine.raw_connection()
            connection.cursor().execute(trouble)
            connection.close()

    store = Store(path)
    results = store.results()
    games = match(rf.make("tictactoe"), WEAK, STRONG, 40, results=results, watch=watch)
    assert len(games) == 40
    with pytest.raises(StoreError, match=rf"finished games are in .*x\.db\.unsaved-.*{words}"):
        store.close()
    (file,) = tmp_path.glob("x.db.unsaved-*.jsonl")
    kept = [json.loads(line)["game"]["key"] for line in file.read_text().splitlines()]
    assert set(kept) <= {played.key for played in games}
    assert len(kept) >= 1
    if trouble.startswith("DROP"):
        return
    # The next process that opens the store finds them.
    code = "import sys; from ramify.store import Store; print(len(Store(sys.argv[1]).games()))"
    file.rename(file.with_name("x.db.unsaved-99999999999-1.jsonl"))  # of a process that is no more
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["40"]
    assert not list(tmp_path.glob("x.db.unsaved-*"))


@pytest.mark.usefixtures("hasty")
def test_the_command_shows_the_standings_and_says_where_the_games_are(run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ramify.store.results import StoredResults

    holders, write = [], StoredResults.add

    def add(self: StoredResults, played: Played) -> None:
        if not holders:
            holders.append(full(Path("ramify.db")))
        write(self, played)

    monkeypatch.setattr(StoredResults, "add", add)
    code, out, err = run("match", "tictactoe", "random", "search:simulations=2", "--games", "6", "--json")
    holders.pop().close()
    assert code == 2
    assert json.loads(out)["played"] == 6
    assert err.count("\n") == 1
    assert "6 finished games are in" in err
    assert "locked" in err
