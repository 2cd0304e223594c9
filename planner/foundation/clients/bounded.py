"""Answers of HTTP servers that come in time as a whole, not only each part of them."""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any

SLOWEST = 4096
"""bytes that have to come each second, once the timeout has passed"""


class BoundedResponse(http.client.HTTPResponse):
    """A response that may take the timeout of its connection, and a second more for each SLOWEST bytes. Raises
    TimeoutError while it is read."""

    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        timeout = sock.gettimeout()
        if timeout is not None:
            self.fp.close()
            self.fp = io.BufferedReader(_Bounded(sock, timeout))


class _Bounded(io.RawIOBase):
    """What comes from a socket, until its time is over."""

    def __init__(self, sock: socket.socket, timeout: float) -> None:
        self._socket, self._raw = sock, sock.makefile("rb", buffering=0)
        self._end = time.monotonic() + timeout

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer takes too long")
        self._socket.settimeout(left)
        count = self._raw.readinto(buffer)
        self._end += (count or 0) / SLOWEST
        return count

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()
