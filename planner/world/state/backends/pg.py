"""`backend "pg"`: states in rows of a PostgreSQL table, locked by advisory locks of the session.

A lock exists as long as its connection, so the lock of a killed process is released. If a connection breaks, the lock
is taken again, unless the state was written in between."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import md5
from socket import SHUT_RDWR, socket
from threading import RLock, Timer
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from planner.foundation.support.signals import current_stop, is_reading
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import evolve, frozen
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.lock import LockInfo
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateClient, VersionConflict
from planner.world.state.settings import SettingsReading, flag, text

SCHEMA = BlockSchema(
    {
        "conn_str": text("Postgres connection string; a `postgres://` URL"),
        "schema_name": text("Name of the automatically managed Postgres schema to store state"),
        "table_name": text("Name of the automatically managed Postgres table to store state"),
        "index_name": text("Name of the automatically managed Postgres index used for stored state"),
        "skip_schema_creation": flag("If set to `true`, OpenTofu won't try to create the Postgres schema"),
        "skip_table_creation": flag("If set to `true`, OpenTofu won't try to create the Postgres table"),
        "skip_index_creation": flag("If set to `true`, OpenTofu won't try to create the Postgres index"),
    }
)
T = TypeVar("T")
CONNECTING = 30
LONGEST = 300.0  # time limits for connecting and for one transaction, in seconds


@frozen(repr=False)
class StateTable:
    """A table of states. `makes_*`: whether to create the schema, table and index if they are missing."""

    connection: str
    schema: str
    name: str
    index: str
    makes_schema: bool
    makes_table: bool
    makes_index: bool

    @property
    def quoted(self) -> str:
        return f"{quote(self.schema)}.{quote(self.name)}"

    @property
    def beside(self) -> str:
        """The table of documents next to states, created on first use."""
        return f"{quote(self.schema)}.{quote(f'planner_{self.name}')}"

    @property
    def creation_lock(self) -> int:
        """The number of the advisory lock for creating rows, as in OpenTofu."""
        return -fnv1(f"{self.schema}\0{self.name}".encode())


def quote(name: str) -> str:
    return '"' + name.partition("\0")[0].replace('"', '""') + '"'


def fnv1(data: bytes) -> int:
    """The 32-bit FNV-1 hash of the data. http://www.isthe.com/chongo/tech/comp/fnv/"""
    result = 0x811C9DC5
    for byte in data:
        result = (result * 0x01000193) & 0xFFFFFFFF ^ byte
    return result


class PgConnection:
    """A connection that is opened on first use, and again after it breaks. May be used by several threads, one at a
    time."""

    def __init__(self, table: StateTable) -> None:
        self.table = table
        self.number = 0
        """the number of connections opened so far. It identifies the connection that took a lock, because the lock ends
        with this connection"""
        self._connection: Any = None
        self._mutex = RLock()

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises ServiceError."""
        return self.do(lambda cursor: list(cursor.execute(query, values).fetchall()))

    def run(self, query: str, *values: Any) -> None:
        """Run a statement. Raises ServiceError."""
        self.do(lambda cursor: cursor.execute(query, values))

    def make(self, query: str) -> None:
        """Run a CREATE statement, and ignore the error if the object already exists. Such errors occur even with `IF
        NOT EXISTS`, if two commands create the object at the same time. Raises ServiceError."""
        errors = _psycopg().errors

        def create(cursor: Any) -> None:
            try:
                with suppress(errors.DuplicateSchema, errors.DuplicateTable, errors.DuplicateObject):
                    cursor.execute(query)
            except errors.UniqueViolation as problem:
                # in pg_catalog, this means that another command created the object
                if problem.diag.schema_name != "pg_catalog":
                    raise

        self.do(create)

    def do(self, work: Callable[[Any], T]) -> T:
        """Call `work` with a cursor, and return its result. The connection is in autocommit mode, but `work` may begin
        a transaction. Raises ServiceError."""
        psycopg = _psycopg()
        with self._mutex:
            connection = self._open(psycopg)
            try:
                with _in_time(connection), connection.cursor() as cursor:
                    return work(cursor)
            except psycopg.Error as problem:
                lost = connection.closed or connection.broken
                if lost:
                    self._drop()
                raise ServiceError(_message(problem), may_pass=bool(lost)) from None

    def transaction(self, work: Callable[[Any], T]) -> T:
        def within(cursor: Any) -> T:
            with cursor.connection.transaction():
                return work(cursor)

        return self.do(within)

    def close(self) -> None:
        with self._mutex:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _open(self, psycopg: Any) -> Any:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        try:
            self._connection = psycopg.connect(self.table.connection, autocommit=True, **_patience(psycopg, self.table))
        except psycopg.Error as problem:
            if not isinstance(problem, psycopg.OperationalError):
                raise ServiceError(f"the connection string cannot be read: {_without_password(problem)}") from None
            raise ServiceError(_without_password(problem), may_pass=True) from None
        self.number += 1
        return self._connection


@contextmanager
def _in_time(connection: Any) -> Iterator[None]:
    """A context that shuts the connection down after LONGEST seconds or, while this thread reads a state, at a stop
    request."""

    def end() -> None:
        # the connection may already be closed
        with suppress(Exception), socket(fileno=os.dup(connection.fileno())) as one:
            one.shutdown(SHUT_RDWR)

    timer = Timer(LONGEST, end)
    timer.daemon = True
    timer.start()
    if is_reading():
        current_stop().listen(end)
    try:
        yield
    finally:
        timer.cancel()
        if is_reading():
            current_stop().forget(end)


def _patience(psycopg: Any, table: StateTable) -> dict[str, int]:
    """The time limit for connecting, as arguments of `connect`; no arguments if the connection string or the
    environment sets a limit."""
    given = psycopg.conninfo.conninfo_to_dict(table.connection)
    return {} if "connect_timeout" in given or "PGCONNECT_TIMEOUT" in os.environ else {"connect_timeout": CONNECTING}


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        detail = 'the backend "pg" needs psycopg: install it with the extra "pg" (pip install "planner-iac[pg]")'
        raise ServiceError(detail) from None
    return psycopg


_TOLD = re.compile(r"""(?s)(?: after| in|:) "(?![a-z_]+"$).*|(?<=['"])[^'"\s]*@""")
"""parts of a message that may contain a password from the connection string, or a part of the password"""


def _without_password(problem: Exception) -> str:
    """The message without parts of a malformed connection string, because these parts may contain the password."""
    return _TOLD.sub("", _message(problem))


def _message(problem: Exception) -> str:
    diag = getattr(problem, "diag", None)
    primary = getattr(diag, "message_primary", None)
    return f"pq: {primary}" if primary else str(problem).strip()


class PgClient(StateClient):
    """The state in a row. Its version is the checksum of the content."""

    def __init__(self, session: PgConnection, workspace: str) -> None:
        self._session, self._table, self._name = session, session.table, workspace
        self._lock: LockInfo | None = None
        self._locked_in = 0
        self._seen = ""
        """the version of the state that was last read or written"""
        self._has_beside: bool | None = None

    @property
    def place(self) -> str:
        return f"pg:{self._table.schema}.{self._table.name}/{self._name}"

    @property
    def locks(self) -> bool:
        return True

    @property
    def lock_path(self) -> str:
        return ""

    def get(self) -> Payload | None:
        rows = self._session.rows(f"SELECT data FROM {self._table.quoted} WHERE name = %s", self._name)
        data = rows[0][0].encode() if rows and rows[0][0] else b""
        self._seen = _sum(data)
        return Payload(data, self._seen) if data else None

    def put(self, data: bytes, before: str | None) -> str:
        table = self._table

        def write(cursor: Any) -> None:
            if before is not None:
                cursor.execute(
                    f"SELECT md5(data) FROM {table.quoted} WHERE name = %s AND data != '' FOR UPDATE", [self._name]
                )
                result = cursor.fetchone()
                now = result[0] if result is not None else ""
                if now != before:
                    raise VersionConflict(f"the content of {self.place} has changed since it was read")
            cursor.execute(
                f"INSERT INTO {table.quoted} (name, data) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET data = %s "
                f"WHERE {quote(table.name)}.name = %s",
                [self._name, data.decode(), data.decode(), self._name],
            )

        self._session.transaction(write)
        self._seen = _sum(data)
        return self._seen

    def delete(self) -> None:
        self._session.run(f"DELETE FROM {self._table.quoted} WHERE name = %s", self._name)

    # ------------------------------------------------------------ lock

    def lock(self, info: LockInfo) -> LockInfo:
        table, creation = self._table, self._table.creation_lock
        rows = self._session.rows(
            f"SELECT id, pg_try_advisory_lock(id), pg_try_advisory_lock(%s) FROM {table.quoted} WHERE name = %s",
            creation,
            self._name,
        )
        if not rows:
            if not self._session.rows("SELECT pg_try_advisory_lock(%s)", creation)[0][0]:
                raise LockHeld(f"Already locked for workspace creation: {self._name}", info)
            number = creation
        else:
            number, has_row, has_creation = rows[0]
            if not has_row:
                if has_creation:
                    self._give_back(creation)
                raise LockHeld(f"Workspace is already locked: {self._name}", info)
            if not has_creation:
                self._give_back(number)
                raise LockHeld(f"Cannot lock workspace; already locked for workspace creation: {self._name}", info)
            self._give_back(creation)
        self._lock = evolve(info, path=str(number))
        self._locked_in = self._session.number
        return self._lock

    def _give_back(self, number: int) -> None:
        self._session.rows("SELECT pg_advisory_unlock(%s)", number)

    def unlock(self, lock_id: str) -> None:
        lock, self._lock = self._lock, None
        if lock is not None and self._session.number == self._locked_in:
            self._give_back(int(lock.path))

    def force_unlock(self, lock_id: str) -> None:
        """Does nothing, because a lock ends with its holder's connection."""

    def has_lock(self, lock_id: str) -> bool:
        """Whether this process has the lock. If the connection of the lock broke, the lock is taken again. False if
        another process has it, or if the state was written in between."""
        if self._lock is None:
            return False
        self._session.rows("SELECT 1")
        if self._session.number == self._locked_in:
            return True
        seen = self._seen
        try:
            self.lock(self._lock)
        except LockHeld:
            return False
        rows = self._session.rows(
            f"SELECT md5(data) FROM {self._table.quoted} WHERE name = %s AND data != ''", self._name
        )
        return (rows[0][0] if rows else "") == seen

    def holder(self) -> LockInfo | None:
        """A process that has the lock of the row; None if there is none. PostgreSQL provides no other information about
        the lock."""
        rows = self._session.rows(
            "SELECT a.pid, coalesce(host(a.client_addr), ''), coalesce(to_char(a.backend_start AT TIME ZONE 'UTC', "
            "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), '') FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
            "WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND a.pid != pg_backend_pid() "
            "AND ((l.classid::bigint << 32) | l.objid::bigint) = "
            f"coalesce((SELECT id FROM {self._table.quoted} WHERE name = %s), %s) LIMIT 1",
            self._name,
            self._table.creation_lock,
        )
        if not rows:
            return None
        pid, address, since = rows[0]
        return LockInfo("", "", f"connection {pid} of the server", address, "", since, "")

    # ------------------------------------------------------------ documents next to the state

    @property
    def has_place_beside(self) -> bool:
        return True

    def _is_there(self) -> bool:
        if self._has_beside is None:
            self._has_beside = self._session.rows("SELECT to_regclass(%s)", self._table.beside)[0][0] is not None
        return self._has_beside

    def get_beside(self, name: str) -> bytes | None:
        if not self._is_there():
            return None
        query = f"SELECT data FROM {self._table.beside} WHERE name = %s AND document = %s"
        rows = self._session.rows(query, self._name, name)
        return bytes(rows[0][0]) if rows else None

    def put_beside(self, name: str, data: bytes) -> None:
        table = self._table.beside
        if not self._is_there():
            self._session.make(
                f"CREATE TABLE IF NOT EXISTS {table} "
                "(name text, document text, data bytea, PRIMARY KEY (name, document))"
            )
            self._has_beside = True
        self._session.run(
            f"INSERT INTO {table} (name, document, data) VALUES (%s, %s, %s) "
            "ON CONFLICT (name, document) DO UPDATE SET data = excluded.data",
            self._name,
            name,
            data,
        )

    def delete_beside(self, name: str) -> None:
        if self._is_there():
            query = f"DELETE FROM {self._table.beside} WHERE name = %s AND document = %s"
            self._session.run(query, self._name, name)


def _sum(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest() if data else ""


class PgBackend(RemoteBackend):
    """The `pg` backend: states in a table."""

    type = "pg"

    def __init__(self, settings: Mapping[str, Any], seal: Seal, table: StateTable) -> None:
        super().__init__(settings, seal)
        self.table = table
        self._session: PgConnection | None = None

    def session(self) -> PgConnection:
        """The connection to the database. The table is created first if it is missing and the settings permit this.
        Raises ServiceError."""
        if self._session is None:
            session = PgConnection(self.table)
            _prepare(session, self.table)
            self._session = session
        return self._session

    def client(self, workspace: str) -> PgClient:
        return PgClient(self.session(), workspace)

    def names(self) -> list[str]:
        query = f"SELECT name FROM {self.table.quoted} WHERE name != %s ORDER BY name"
        return [name for (name,) in self.session().rows(query, DEFAULT_WORKSPACE)]


def _prepare(session: PgConnection, table: StateTable) -> None:
    """Create the missing schema, table and index, if the settings allow it. They are looked up first, because that
    requires fewer permissions than CREATE ... IF NOT EXISTS."""
    if table.makes_schema:
        query = "SELECT count(1) FROM information_schema.schemata WHERE schema_name = %s"
        if not session.rows(query, table.schema)[0][0]:
            session.make(f"CREATE SCHEMA IF NOT EXISTS {quote(table.schema)}")
    if table.makes_table and session.rows("SELECT to_regclass(%s)", table.quoted)[0][0] is None:
        session.make("CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint")
        session.make(
            f"CREATE TABLE IF NOT EXISTS {table.quoted} (id bigint NOT NULL DEFAULT "
            "nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text)"
        )
    index = f"{quote(table.schema)}.{quote(table.index)}"
    if table.makes_index and session.rows("SELECT to_regclass(%s)", index)[0][0] is None:
        session.make(f"CREATE UNIQUE INDEX IF NOT EXISTS {quote(table.index)} ON {table.quoted} (name)")


def open(read: SettingsReading, seal: Seal) -> PgBackend:
    """Open the backend. Settings that are not set come from the environment variables PG_*."""
    table = StateTable(
        connection=read.text("conn_str", "PG_CONN_STR"),
        schema=read.text("schema_name", "PG_SCHEMA_NAME", default="terraform_remote_state"),
        name=read.text("table_name", "PG_TABLE_NAME", default="states"),
        index=read.text("index_name", "PG_INDEX_NAME", default="states_by_name"),
        makes_schema=not read.flag("skip_schema_creation", "PG_SKIP_SCHEMA_CREATION"),
        makes_table=not read.flag("skip_table_creation", "PG_SKIP_TABLE_CREATION"),
        makes_index=not read.flag("skip_index_creation", "PG_SKIP_INDEX_CREATION"),
    )
    read.finish_check()
    return PgBackend(read.settings, seal, table)


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """The identity of the state: the row in a database, without credentials."""

    def setting(name: str, variable: str, default: str) -> str:
        return str(settings.get(name) or os.environ.get(variable) or default)

    _, is_url, text = setting("conn_str", "PG_CONN_STR", "").rpartition("://")
    if is_url:
        place, _, query = text.partition("?")
        hosts, slash, database = place.rpartition("@")[2].partition("/")
        where = (hosts if ":" in hosts else f"{hosts}:5432") + slash + database
        words = parse_qsl(query)
    else:
        where, words = "", _WORD.findall(text)
    where = " ".join(filter(None, (where, *sorted(f"{name}={value}" for name, value in words if name in _PLACE))))
    schema = setting("schema_name", "PG_SCHEMA_NAME", "terraform_remote_state")
    return f"pg:{where}/{schema}.{setting('table_name', 'PG_TABLE_NAME', 'states')}#{workspace}"


_WORD = re.compile(r"""(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S*)""")
_PLACE = frozenset(("host", "hostaddr", "port", "dbname", "service"))
"""keywords of a connection string that identify the host and the database"""
