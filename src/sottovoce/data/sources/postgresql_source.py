"""A SQL query on a PostgreSQL server, through ADBC: streamed, read-only, one snapshot a pass.

The password comes from the environment or from a file that only its owner can read, is looked up when a connection is
made, and kept nowhere. What the driver says of an error may contain it, or cells, and is not passed on.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ...errors import InvalidFile, InvalidInput
from ..schema import Column
from .source import Source, library

T = TypeVar("T")

SECONDS = 10  # to connect
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
REASONS = {  # by SQLSTATE, or by how it begins
    "42601": "it is not one valid SELECT",
    "42P01": "it names a table that is not there",
    "42703": "it names a column that is not there",
    "42501": "the user may not read what it names",
    "57014": "it took longer than the server allows",
    "57P": "the server went away",
    "22": "it makes a number or a date of a cell that is none, or divides by 0",
    "08": "the server went away",
}


class PostgreSQLSource(Source):
    """The rows of one SELECT on a server.

    Parameters
    ----------
    query : str
        One SELECT. Rows come in the order that it asks for.
    host, port, database, user : str, int, str, str
        The server and who asks; ``host`` may be a folder with a socket.
    password_env : str, optional
        The environment variable that holds the password.
    password_file : str or Path, optional
        The file that holds the password, of mode 600. Without both libpq looks where it always does.
    sslmode : str
        As libpq has it; ``"verify-full"`` where the server is not on this machine.

    Examples
    --------
    >>> source = PostgreSQLSource("SELECT age FROM visits", host="db", database="ward", user="ada", password_env="WARD")
    >>> source.describe()
    "the query on PostgreSQL at db:5432, database 'ward'"
    """

    def __init__(
        self,
        query: str,
        host: str = "localhost",
        port: int = 5432,
        database: str = "postgres",
        user: str | None = None,
        password_env: str | None = None,
        password_file: str | Path | None = None,
        sslmode: str = "prefer",
    ) -> None:
        if not isinstance(query, str) or not query.strip():
            raise InvalidInput(f"query must be a SELECT; got {query!r}.")
        for key, value in {"host": host, "database": database, "user": user, "password_env": password_env}.items():
            if value is not None and (not isinstance(value, str) or not value or "\0" in value):
                raise InvalidInput(f"{key} must be text; got {value!r}.")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
            raise InvalidInput(f"port must be a whole number from 1 to 65535; got {port!r}.")
        if sslmode not in MODES:
            raise InvalidInput(f"sslmode must be one of {', '.join(MODES)}; got {sslmode!r}.")
        if password_env is not None and password_file is not None:
            raise InvalidInput("password_env and password_file are both given. Keep one.")
        self.query, self.host, self.port, self.database, self.user = query, host, port, database, user
        self.password_env, self.sslmode = password_env, sslmode
        self.password_file = None if password_file is None else Path(password_file)
        self._schema: Any | None = None

    def describe(self) -> str:
        return f"the query on PostgreSQL at {self.host}:{self.port}, database {self.database!r}"

    def names(self) -> list[str]:
        if self._schema is None:
            with self._connection() as connection, connection.cursor() as cursor:
                # Prepared by the server, which takes one statement then.
                self._schema = self._guarded(lambda: cursor.adbc_execute_schema(self.query))
        return self._different(self._schema.names)

    def _read(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        assert self._schema is not None  # names() is asked first, and refuses what is no query
        columns = ", ".join(_selected(self._schema.field(name), wanted[name]) for name in wanted)
        query = f"SELECT {columns} FROM (\n{self.query.rstrip().rstrip(';')}\n) AS source_rows"
        with self._connection() as connection, connection.cursor() as cursor:
            self._guarded(lambda: cursor.execute(query))
            reader = self._guarded(cursor.fetch_record_batch)
            while (batch := self._guarded(lambda: next(reader, None), cursor)) is not None:
                yield batch

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        dbapi = library("adbc_driver_postgresql.dbapi", "a query on PostgreSQL")
        library("pyarrow", "a query on PostgreSQL")
        asked = self._asked()
        try:
            connection = dbapi.connect(asked, autocommit=False)
        except Exception as error:
            connection, text = None, str(error)
        if connection is None:
            raise InvalidFile(f"{self._place()}: {_no_connection(text)}")
        try:
            with connection.cursor() as cursor:
                self._guarded(lambda: cursor.execute(SNAPSHOT))
            yield connection
        finally:
            _quietly(connection.rollback)
            _quietly(connection.close)

    def _place(self) -> str:
        return self.describe().removeprefix("the query on ")

    def _asked(self) -> str:
        """For libpq. It contains the password."""
        given = {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user,
            "password": self._password(),
            "sslmode": self.sslmode,
            "connect_timeout": SECONDS,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
            "application_name": "sottovoce",
        }
        return " ".join(f"{key}={_quoted(str(value))}" for key, value in given.items() if value is not None)

    def _password(self) -> str | None:
        if self.password_env is not None:
            if self.password_env not in os.environ:
                raise InvalidInput(
                    f"password_env names the environment variable {self.password_env}, which is not set. Set it to the "
                    "password."
                )
            return os.environ[self.password_env]
        if self.password_file is None:
            return None
        return _secret(self.password_file)

    def _guarded(self, do: Callable[[], T], cursor: Any | None = None) -> T:
        """What ``do`` gives; or a sentence that has nothing of the driver's words in it."""
        try:
            return do()
        except Exception as error:
            state = str(getattr(error, "sqlstate", None) or "")
        reason = next((why for begin, why in REASONS.items() if state.startswith(begin)), None)
        if reason is None and cursor is not None:
            reason = "it failed while it ran" if _alive(cursor) else "the server went away while it was read"
        more = "" if reason and "went away" in reason else " Try it in psql first."
        raise InvalidFile(f"{self.describe()}: {reason or 'it failed'}{f' (SQLSTATE {state})' if state else ''}.{more}")


def _no_connection(text: str) -> str:
    """What the driver's words mean; they may quote what was asked, with the password in it."""
    if "authentication failed" in text or "no password supplied" in text:
        return "the server refuses user or password."
    if "does not exist" in text:
        return "the server has no such database or user."
    if "translate host name" in text:
        return "no such host."
    if "timeout expired" in text:
        return f"no answer within {SECONDS} s. Is there a firewall between?"
    if "refused" in text or "No such file" in text:
        return "no server answers there. Is it running?"
    return "cannot be connected to. Look at the server's log, and try it in psql."


def _secret(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_IMODE(mode) & 0o077 or not stat.S_ISREG(mode):
                raise InvalidFile(
                    f"{path} holds a password and can be read by others: its mode is {stat.S_IMODE(mode):o}. "
                    f"Use: chmod 600 {path}"
                )
            raw = file.read(10_000)
    except OSError as error:
        raise InvalidFile(f"{path}, which password_file names, cannot be read: {error.strerror or error}.") from None
    try:
        password = raw.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        password = ""
    if not password or "\0" in password or "\n" in password:
        raise InvalidFile(f"{path}, which password_file names, must hold one line, the password.")
    return password


def _selected(field: Any, column: Column) -> str:
    """A column for SELECT: exact decimals as double precision, levels as text; the driver has no other form of them."""
    import pyarrow as pa

    name = '"' + str(field.name).replace('"', '""') + '"'
    if isinstance(field.type, pa.BaseExtensionType):
        kind = "text" if column.type == "category" else "double precision"
        return f"{name}::{kind} AS {name}"
    return name


def _alive(cursor: Any) -> bool:
    try:
        cursor.connection.rollback()
        cursor.execute("SELECT 1")
        return True
    except Exception:
        return False


def _quietly(do: Callable[[], object]) -> None:
    try:
        do()
    except Exception:  # the connection is gone, and so is what it held
        return


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
