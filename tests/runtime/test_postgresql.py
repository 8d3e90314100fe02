"""A real PostgreSQL server, started and stopped here: rows as they are, and a sentence for all that goes wrong."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as dbapi
import pytest

from sottovoce.data.schema import Schema
from sottovoce.data.sources import PostgreSQLSource, open_source
from sottovoce.errors import InvalidInput, SottovoceError

SECRET = "SECRET77 it's \\ this"  # with all that must be quoted for libpq
SCHEMA = Schema(
    {
        "age": "number",
        "cost": "number",
        "sex": {"type": "category", "levels": ["f", "m"]},
        "kind": {"type": "category", "levels": ["a", "b"]},
        "smoker": "boolean",
        "seen": "date",
    }
)
TABLES = """
CREATE TYPE kinds AS ENUM ('a', 'b');
CREATE TABLE visits (id int, age float8, cost numeric(10, 2), sex text, kind kinds, smoker bool, seen date, note text);
INSERT INTO visits VALUES
  (1, 61.5, 10.25, 'f', 'a', true, '2024-01-31', 'SECRET77'), (2, NULL, NULL, NULL, NULL, NULL, NULL, 'SECRET77'),
  (3, 40, 0.10, 'm', 'b', false, '2020-02-29', 'SECRET77');
CREATE TABLE large AS SELECT k AS id, k::float8 AS age, repeat('x', 100) AS note FROM generate_series(1, 300000) AS k;
"""


@dataclass
class Server:
    """One server with its data in a folder of its own."""

    data: Path
    port: int
    process: subprocess.Popen[bytes]

    def settings(self, query: str, **more: Any) -> dict[str, Any]:
        return {
            "source": "postgresql", "query": query, "host": "127.0.0.1", "port": self.port, "user": "ada",
            "password_env": "SOTTOVOCE_TEST_PASSWORD", **more,
        }  # fmt: skip

    def do(self, *statements: str) -> None:
        words = {"host": "127.0.0.1", "port": self.port, "dbname": "postgres", "user": "ada", "password": SECRET}
        quoted = {k: str(v).replace("\\", "\\\\").replace("'", "\\'") for k, v in words.items()}
        with dbapi.connect(" ".join(f"{k}='{v}'" for k, v in quoted.items()), autocommit=True) as connection:
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.execute(statement)


def program(name: str) -> str | None:
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    return shutil.which(name) or next((str(place / name) for place in places if (place / name).exists()), None)


def unprivileged() -> list[str]:
    """PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return []
    user = next((name for name in ("postgres", "nobody") if any(entry.pw_name == name for entry in pwd.getpwall())), "")
    entry = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]


def start(folder: Path) -> Server:
    initdb, postgres = program("initdb"), program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("NO POSTGRESQL SERVER HERE: sources on PostgreSQL are not tested. Install Debian's postgresql.")
    as_user = unprivileged()
    password, data = folder / "password", folder / "data"
    password.write_text(SECRET + "\n")
    folder.chmod(0o755)
    if as_user:
        uid = int(as_user[1].partition("=")[2])
        os.chown(folder, uid, -1)
        os.chown(password, uid, -1)
    how = ["-U", "ada", "-A", "scram-sha-256", f"--pwfile={password}", "-N", "--no-locale", "-E", "UTF8"]
    subprocess.run([*as_user, initdb, "-D", data, *how], check=True, capture_output=True, cwd="/")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": folder, "fsync": "off", "port": port}
    settings = [word for key, value in options.items() for word in ("-c", f"{key}={value}")]
    process = subprocess.Popen([*as_user, postgres, "-D", data, *settings], stderr=(folder / "log").open("wb"), cwd="/")
    server = Server(data, port, process)
    for _ in range(200):
        with suppress(Exception):
            server.do("SELECT 1")
            return server
        time.sleep(0.05)
    process.kill()
    raise RuntimeError((folder / "log").read_text())


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="sottovoce-postgresql-", dir="/tmp"))  # another user must get there
    try:
        running = start(folder)
        try:
            running.do(*TABLES.strip().rstrip(";").split(";\n"))
            yield running
        finally:
            if running.process.poll() is None:
                running.process.send_signal(signal.SIGQUIT)
            running.process.wait(10)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_TEST_PASSWORD", SECRET)


def read(what: Any, schema: Schema = SCHEMA, base: Path = Path()) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in open_source(what, base).batches(schema) for row in batch.to_pylist()]


def refused(do: Callable[[], object]) -> str:
    """The sentence; neither the password nor a cell in it, nor in what it was raised from or in the middle of."""
    with pytest.raises(SottovoceError) as caught:
        do()
    left: list[BaseException | None] = [caught.value]
    while left:
        if (error := left.pop()) is not None:
            assert "SECRET77" not in f"{error} {error.args!r} {getattr(error, '__notes__', '')}"
            left += [error.__cause__, error.__context__]
    return str(caught.value)


AGE = Schema({"age": "number"})


def test_rows_as_they_are(server: Server, tmp_path: Path) -> None:
    settings = server.settings("SELECT * FROM visits ORDER BY id;")
    source = open_source(settings)
    assert source.names() == ["id", "age", "cost", "sex", "kind", "smoker", "seen", "note"]
    expected = [
        (61.5, 10.25, "f", "a", True, date(2024, 1, 31)),
        (None,) * 6,
        (40.0, 0.1, "m", "b", False, date(2020, 2, 29)),
    ]
    assert read(source) == read(source) == expected
    assert "SECRET77" not in f"{source!r} {source.describe()} {vars(source)}"
    secret = tmp_path / "secret"
    secret.write_text(SECRET + "\n")
    secret.chmod(0o600)
    of_file = {**settings, "password_file": "secret"}
    del of_file["password_env"]
    assert read(of_file, base=tmp_path) == expected
    assert read(server.settings("SELECT 1.5 AS age WHERE false -- none"), AGE) == []


def test_batches_are_streamed_and_bounded(server: Server) -> None:
    batches = open_source(server.settings("SELECT * FROM large ORDER BY id")).batches(AGE)
    sizes, total = [], 0.0
    for batch in batches:
        sizes.append(batch.num_rows)
        total += sum(batch.column(0).to_numpy())
    assert max(sizes) <= 32_768
    assert sum(sizes) == 300_000
    assert total == 300_000 * 300_001 / 2


def test_nothing_is_written_and_one_snapshot_is_read(server: Server) -> None:
    asked = "SELECT 1.0::float8 AS age WHERE current_setting('transaction_read_only') = 'on'"
    assert read(server.settings(f"{asked} AND current_setting('transaction_isolation') = 'repeatable read'"), AGE) == [
        (1.0,)
    ]
    server.do("CREATE SEQUENCE counter")
    assert "it failed while it ran" in refused(lambda: read(server.settings("SELECT nextval('counter') AS age"), AGE))


def test_rows_that_change_between_passes(server: Server) -> None:
    source = open_source(server.settings("SELECT age, sex FROM visits"))
    read(source, AGE)
    server.do("UPDATE visits SET age = 41 WHERE id = 3")
    try:
        assert "changed since it was read first" in refused(lambda: read(source, AGE))
    finally:
        server.do("UPDATE visits SET age = 40 WHERE id = 3")
    assert len(read(source, AGE)) == 3


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT 1 AS age; DROP TABLE visits", "it is not one valid SELECT (SQLSTATE 42601)"),
        ("SELECT 1 AS age) TO STDOUT; --", "it is not one valid SELECT"),
        ("DELETE FROM visits RETURNING age", "it is not one valid SELECT"),
        ("DROP TABLE visits", "has no column 'age'"),
        ("SELCT 'SECRET77'", "it is not one valid SELECT"),
        ("SELECT age FROM nowhere", "it names a table that is not there (SQLSTATE 42P01)"),
        ("SELECT nothing AS age FROM visits", "it names a column that is not there"),
        ("SELECT age, cost AS age FROM visits", "two columns are named 'age'"),
        ("SELECT 'SECRET77'::int AS age", "it makes a number or a date of a cell that is none"),
        ("SELECT note::int AS age FROM visits", "it failed while it ran. Try it in psql first."),
        ("SELECT sex FROM visits", "has no column 'age'"),
    ],
)
def test_queries_that_are_refused(server: Server, query: str, sentence: str) -> None:
    assert sentence in refused(lambda: read(server.settings(query), AGE))
    assert len(read(server.settings("SELECT age FROM visits"), AGE)) == 3  # they are still there


def test_who_may_not_connect(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = server.settings("SELECT age FROM visits")
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o644)
    of_file = {key: value for key, value in asked.items() if key != "password_env"} | {"password_file": str(secret)}
    sentence = refused(lambda: read(of_file, AGE))
    assert sentence.startswith(f"{secret} holds a password and can be read by others: its mode is 644. Use: chmod 600")
    secret.write_text("")
    secret.chmod(0o600)
    assert "must hold one line, the password" in refused(lambda: read(of_file, AGE))
    secret.unlink()
    assert "which password_file names, cannot be read: No such file" in refused(lambda: read(of_file, AGE))
    assert "no such database or user" in refused(lambda: read({**asked, "database": "nowhere"}, AGE))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # and does not listen
        assert "no server answers there" in refused(lambda: read({**asked, "port": probe.getsockname()[1]}, AGE))
    monkeypatch.setenv("SOTTOVOCE_TEST_PASSWORD", SECRET + "x")
    assert refused(lambda: read(asked, AGE)).endswith("database 'postgres': the server refuses user or password.")
    monkeypatch.delenv("SOTTOVOCE_TEST_PASSWORD")
    assert "variable SOTTOVOCE_TEST_PASSWORD, which is not set" in refused(lambda: read(asked, AGE))


@pytest.mark.parametrize(
    "options",
    [{"port": 0}, {"port": 70_000}, {"host": ""}, {"sslmode": "maybe"}, {"password_env": "A", "password_file": "b"}],
)
def test_settings_that_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        PostgreSQLSource("SELECT 1", **options)


def test_a_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.data.sources.postgresql_source.SECONDS", 2)  # the least that libpq waits
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = {
            "source": "postgresql",
            "query": "SELECT 1 AS age",
            "host": "127.0.0.1",
            "port": silent.getsockname()[1],
        }
        assert "no answer within 2 s" in refused(lambda: read(settings, AGE))


def test_a_server_that_goes_away_in_the_middle(server: Server) -> None:
    """The last one: it is killed while rows are on their way, and nobody is left to answer."""
    batches = open_source(server.settings("SELECT * FROM large ORDER BY id")).batches(SCHEMA_OF_LARGE)
    next(batches)
    server.process.send_signal(signal.SIGQUIT)  # ends all connections at once, as a crash does
    server.process.wait(10)
    done: list[str] = []
    thread = threading.Thread(target=lambda: done.append(refused(lambda: list(batches))), daemon=True)
    thread.start()
    thread.join(10)
    assert done
    assert "the server went away while it was read" in done[0]


SCHEMA_OF_LARGE = Schema({"id": "integer", "age": "number", "note": {"type": "category", "levels": ["x", "y"]}})
