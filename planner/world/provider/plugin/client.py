"""Calls a plugin: connects to its process, and adds the failed call and the plugin's last output to errors."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Any

from planner.foundation.support.trace import span
from planner.world.provider.plugin.http2 import OK, UNIMPLEMENTED, CallReply, Connection, Open, Replies, request_headers
from planner.world.provider.plugin.messages import CALLS, messages, method
from planner.world.provider.plugin.process import (
    END_SECONDS,
    START_SECONDS,
    Attachment,
    PluginError,
    PluginProcess,
    UnknownCall,
)

# The default transport: planner's own HTTP/2, with one connection for each calling thread.


# a connection that was idle for longer is not reused, because the peer may have closed it
_IDLE_SECONDS = 60.0


class Connections:
    """Opens one connection for each thread that is calling the plugin. Later calls reuse connections.

    grpcio has one channel and passes each response between threads. Measured times, with a plugin of the tests (`python
    tests/provider/test_transport.py`): a call takes 335 us, and 497 us with grpcio; with ten threads, it takes 234 us
    and 302 us. Of this time, planner uses the CPU for 107 us, and for 240 us with grpcio; with ten threads, for 98 us
    and 170 us. Importing takes 8 ms, and 85 ms with grpcio."""

    def __init__(self, target: str, certificate: str, longest: int) -> None:
        self._target, self._certificate, self._longest = target, certificate, longest
        self._lock = Lock()
        self._resting: list[tuple[float, Connection]] = []
        self._busy: set[Connection] = set()

    def call(self, path: str, body: bytes, seconds: float | None) -> CallReply:
        connection = self._connection(seconds)
        try:
            return connection.call(request_headers(path, bool(self._certificate)), body, seconds)
        finally:
            self._release(connection)

    def stream(self, path: str, body: bytes, seconds: float | None) -> Replies:
        connection = self._connection(seconds)
        try:
            return (yield from connection.stream(request_headers(path, bool(self._certificate)), body, seconds))
        finally:
            self._release(connection)

    def _release(self, connection: Connection) -> None:
        """Make a connection available for another call, or close it if it is unusable."""
        with self._lock:
            self._busy.discard(connection)
            if connection.is_usable:
                self._resting.append((monotonic(), connection))
                return
        connection.close()

    def _connection(self, seconds: float | None) -> Connection:
        with self._lock:
            while self._resting:
                since, rested = self._resting.pop()
                if monotonic() - since < _IDLE_SECONDS:
                    self._busy.add(rested)
                    return rested
                rested.close()
        made = Connection(self._target, self._certificate, self._longest, seconds)
        with self._lock:
            self._busy.add(made)
        return made

    def close(self) -> None:
        with self._lock:
            for connection in self._busy:
                connection.abort()
            for _, connection in self._resting:
                connection.close()
            self._resting.clear()


QUICK_SECONDS = 300.0  # time limit of calls that only compute; calls that access real objects have none
_SHUTDOWN = "/plugin.GRPCController/Shutdown"
LONGEST_MESSAGE = 256 << 20
"""the maximum size of a message in bytes. Schemas of more than 4 MB, which is gRPC's usual limit, are common; larger
messages than this are mistakes"""


class ClientClosedError(Exception):
    """The plugin was closed before the call began. A caller that still needs it must start it again."""


class PluginClient:
    """A plugin that planner started, or one that already runs at the address of an attachment. `messages`: the classes
    of its protocol. May be used by several threads. Raises PluginError if the plugin cannot be started."""

    def __init__(
        self, command: list[str], name: str, attachment: Attachment | None = None, transport: Open = Connections
    ) -> None:
        self.name, limit = name, time_limit()
        self._attached = attachment is not None
        self._process: PluginProcess | Attachment = attachment or PluginProcess(command, name, limit or START_SECONDS)
        self.version = self._process.handshake.version
        self.messages = messages(self.version)
        shake = self._process.handshake
        self._transport = transport(shake.target, shake.certificate, message_limit())
        self._lock = Lock()
        self._calls = 0
        """the number of running calls"""
        self._closed = False
        self._paths = {call: method(self.version, call) for call in CALLS}
        self._readers = {call: getattr(self.messages, CALLS[call][2]).FromString for call in CALLS}

    def call(self, name: str, request: Any, quick: bool = False) -> Any:
        """The response to a call (a name in CALLS). `quick`: whether the call has a time limit even if the user set
        none. Raises PluginError, and ClientClosedError after `close`."""
        return self.read(name, self.call_bytes(name, request.SerializeToString(), quick))

    def read(self, name: str, data: bytes) -> Any:
        """Decode the response to a call. Raises PluginError."""
        from google.protobuf.message import DecodeError

        try:
            return self._readers[name](data)
        except DecodeError as problem:
            raise _unreadable(name, problem) from None

    def call_bytes(self, name: str, request: bytes, quick: bool = False) -> bytes:
        """Like `call`, but with an encoded request and response. Raises PluginError, and ClientClosedError after
        `close`."""
        with self._under_way(name):
            seconds = time_limit() or (QUICK_SECONDS if quick else None)
            with self._faults(name, seconds):
                reply = self._transport.call(self._paths[name], request, seconds)
            self._check(name, reply)
            return reply.body

    def stream(self, name: str, request: Any) -> Generator[Any, None, None]:
        """The responses to a call (a name in STREAMS) as they arrive. Raises PluginError, and ClientClosedError after
        `close`. Closing the generator cancels the call."""
        from google.protobuf.message import DecodeError

        with self._under_way(name):
            seconds = time_limit()
            replies = self._transport.stream(self._paths[name], request.SerializeToString(), seconds)
            with closing(replies), self._faults(name, seconds):
                while True:
                    try:
                        message = self._readers[name](next(replies))
                    except StopIteration as end:
                        self._check(name, end.value)
                        return
                    except DecodeError as problem:
                        raise _unreadable(name, problem) from None
                    yield message

    @contextmanager
    def _under_way(self, name: str) -> Iterator[None]:
        """A context during which `close` does not end the plugin. Raises ClientClosedError if `close` was called
        before."""
        with self._lock:
            if self._closed:
                raise ClientClosedError
            self._calls += 1
        try:
            with span(f"provider call {name}", "TRACE", provider=self.name):
                yield
        finally:
            with self._lock:
                self._calls -= 1
                is_last = self._closed and not self._calls
            if is_last:
                self._end()

    @contextmanager
    def _faults(self, name: str, seconds: float | None) -> Iterator[None]:
        """Convert errors of connections to PluginError. A timeout also ends the process of the plugin."""
        try:
            yield
        except TimeoutError:
            self._process.end()
            raise PluginError(
                f"It did not respond to the call {name} within {seconds:g} seconds.{self._process.last_output()}"
            ) from None
        except OSError as problem:
            what = f"It ended during the call {name}: {self._process.how_it_ended()}"
            if self._attached or self._process.is_running:
                how = problem.strerror or str(problem)
                what = f"The connection broke during the call {name}{f': {how}' if how else ''}"
            raise PluginError(f"{what}.{self._process.last_output()}") from None

    def _check(self, name: str, reply: CallReply) -> None:
        """Raises PluginError if a call failed."""
        if reply.code == UNIMPLEMENTED:
            raise UnknownCall(f"It does not support the call {name}.")
        if reply.code != OK:
            raise PluginError(f"The call {name} failed: {reply.message}.{self._process.last_output()}")

    def close(self) -> None:
        """End the plugin as soon as no thread is calling it; kill it if it does not end."""
        with self._lock:
            is_last = not (self._closed or self._calls)
            self._closed = True
        if is_last:
            self._end()

    def _end(self) -> None:
        if self._process.is_running and not self._attached:
            with suppress(OSError):  # most plugins end without a response
                self._transport.call(_SHUTDOWN, b"", END_SECONDS)
        self._transport.close()
        self._process.end(END_SECONDS)


def _unreadable(name: str, problem: Exception) -> PluginError:
    return PluginError(f"Its response to the call {name} cannot be read: {problem}.")


def message_limit() -> int:
    """The maximum size of a response in bytes: PLANNER_PROVIDER_MESSAGE_LIMIT or, if this is not a positive number,
    LONGEST_MESSAGE."""
    try:
        limit = int(os.environ.get("PLANNER_PROVIDER_MESSAGE_LIMIT", ""))
    except ValueError:
        return LONGEST_MESSAGE
    return limit if limit > 0 else LONGEST_MESSAGE


def time_limit() -> float | None:
    """The time limit for the start of a plugin and for any call: PLANNER_PROVIDER_TIMEOUT, in seconds; None if it is
    not a positive number."""
    try:
        seconds = float(os.environ.get("PLANNER_PROVIDER_TIMEOUT", ""))
    except ValueError:
        return None
    return seconds if seconds > 0 else None
