"""Connections to a plugin's gRPC server that make one call at a time (RFC 9113, and gRPC over HTTP/2).

Each calling thread has its own connection, so that sending a request and waiting for the response takes two system
calls. A client shared by all threads would pass every response from one thread to another, which takes longer than
everything else in a call. HTTP/2's frames for sharing a connection are handled only because a peer may send them."""

from __future__ import annotations

import socket
from base64 import b64decode
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from struct import pack, unpack_from
from typing import NamedTuple, Protocol
from urllib.parse import unquote

_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM = _ACK = 1
_END_HEADERS, _PADDED, _PRIORITY = 4, 8, 32
_CANCEL = 8
_HEADER_TABLE, _PUSH, _INITIAL_WINDOW = 1, 2, 4
_FRAME = 9  # the size of a frame header, in bytes
_MOST = (1 << 31) - 1
_LEAST_WINDOW = 65_535
_LONGEST_FRAME = 16_384  # every peer accepts frames of this size
_LONGEST_HEADERS = 1 << 20  # bytes
_MAX_FIELDS = 10_000
_RECEIVE = 1 << 18
_REFILL = 1 << 30


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return pack(">I", len(payload) << 8 | kind) + pack(">BI", flags, stream) + payload


_GREETING = b"".join(
    (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        _frame(_SETTINGS, 0, 0, pack(">HIHIHI", _HEADER_TABLE, 0, _PUSH, 0, _INITIAL_WINDOW, _MOST)),
        _frame(_WINDOW, 0, 0, pack(">I", _MOST - _LEAST_WINDOW)),
    )
)


@cache
def request_headers(path: str, secure: bool) -> bytes:
    return encode_headers(
        (
            (":method", "POST"),
            (":scheme", "https" if secure else "http"),
            (":path", path),
            (":authority", "localhost"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
        )
    )


def encode_headers(headers: tuple[tuple[str, str], ...]) -> bytes:
    """Encode headers without the shared header table, so that blocks do not depend on each other, and all calls of a
    method begin with the same bytes."""
    from hpack import Encoder, NeverIndexedHeaderTuple

    return bytes(Encoder().encode([NeverIndexedHeaderTuple(*pair) for pair in headers], huffman=False))


def decode_headers(data: bytes) -> dict[str, str]:
    """Decode headers from a peer that must not use the shared header table. Raises ValueError."""
    from hpack import Decoder
    from hpack.exceptions import HPACKError, OversizedHeaderListError

    decoder = Decoder(max_header_list_size=_LONGEST_HEADERS)
    decoder.max_allowed_table_size = decoder.header_table_size = 0
    try:
        pairs = decoder.decode(data, raw=True)
    except OversizedHeaderListError:
        raise ValueError("its headers are longer than allowed") from None
    except HPACKError:  # the text of the exception may contain any bytes
        raise ValueError("its headers cannot be read") from None
    return {bytes(name).decode("latin-1"): bytes(value).decode("latin-1") for name, value in pairs}


class Connection:
    """A connection to a plugin (`unix:PATH` or `HOST:PORT`), with TLS if there is a certificate (Base64 DER).
    `longest`: the maximum size of a response in bytes. Raises OSError."""

    def __init__(self, target: str, certificate: str = "", longest: int = _MOST, seconds: float | None = None) -> None:
        self._longest = longest
        self._socket = _connect(target, seconds)
        if certificate:
            try:
                self._socket = _with_tls(self._socket, certificate)
            except BaseException:
                self._socket.close()
                raise
        self._seconds = seconds
        self._unsent = _GREETING
        self._buffer, self._at = b"", 0
        self._stream = -1
        # numbers of bytes that the peer accepts: now on the connection, and at the beginning of each call
        self._window = self._first_window = _LEAST_WINDOW
        self._stream_window = 0
        self._received = 0
        self._body = b""  # the unsent part of the request
        self._is_leaving = False
        self.is_usable = True
        """whether another call can be made"""

    def abort(self) -> None:
        """Close the connection, even while another thread waits for it."""
        self.is_usable = False
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.is_usable = False
        self._socket.close()

    # ---------------------------------------------------------------- a call

    def call(self, headers: bytes, body: bytes, seconds: float | None = None) -> CallReply:
        """The response to a call. Raises TimeoutError if the peer is silent for `seconds`, ConnectionError if it ends
        the connection or violates the protocol, and other OSErrors. After an error, the connection is unusable."""
        with _faults():
            self._begin(headers, body, seconds)
            return self._answer()

    def stream(self, headers: bytes, body: bytes, seconds: float | None = None) -> Replies:
        """The messages of a streamed response as they arrive. Raises the errors of `call`. Closing the generator
        cancels the call."""
        with _faults():
            self._begin(headers, body, seconds)
            try:
                return (yield from self._messages())
            except GeneratorExit:
                with suppress(OSError):
                    self._socket.sendall(_frame(_RESET, 0, self._stream, pack(">I", _CANCEL)))
                raise

    def _begin(self, headers: bytes, body: bytes, seconds: float | None) -> None:
        """Send as much of a request as the peer accepts now. Raises OSError."""
        usable, self.is_usable = self.is_usable, False
        if not usable:
            raise ConnectionError("the connection is closed")
        if seconds != self._seconds:
            self._seconds = seconds
            _limit(self._socket, seconds)
        self._stream += 2
        self._stream_window = self._first_window
        size = len(body) + 5
        start = self._unsent + _frame(_HEADERS, _END_HEADERS, self._stream, headers)
        self._unsent = b""
        if size <= _LONGEST_FRAME and size <= self._window and size <= self._stream_window:
            self._window -= size
            data = pack(">I", size << 8 | _DATA) + pack(">BIBI", _END_STREAM, self._stream, 0, len(body))
            start += data + body
            self._body = b""
        else:
            self._body = pack(">BI", 0, len(body)) + body
        self._socket.sendall(start)

    def _answer(self) -> CallReply:
        chunks: list[bytes] = []
        size = 0
        fields: dict[str, str] = {}
        while True:
            kind, flags, payload = self._part()
            if kind == _HEADERS:
                self._add_headers(fields, flags, payload)
            else:
                size += len(payload)
                chunks.append(payload)
                if size > self._longest + 5:
                    return CallReply(UNKNOWN, f"the response is longer than {self._longest} bytes", b"")
            if flags & _END_STREAM:
                self.is_usable = not (self._is_leaving or self._body)
                return _complete(fields, chunks)

    def _messages(self) -> Replies:
        received = bytearray()
        fields: dict[str, str] = {}
        while True:
            kind, flags, payload = self._part()
            if kind == _HEADERS:
                self._add_headers(fields, flags, payload)
            else:
                received += payload
            while len(received) >= 5:
                is_packed, size = unpack_from(">BI", received)
                if is_packed:
                    return CallReply(UNKNOWN, "it responded with something other than uncompressed messages", b"")
                if size > self._longest:
                    return CallReply(UNKNOWN, f"a message of the response is longer than {self._longest} bytes", b"")
                if len(received) < size + 5:
                    break
                message = bytes(received[5 : size + 5])
                del received[: size + 5]
                yield message
            if flags & _END_STREAM:
                self.is_usable = not (self._is_leaving or self._body)
                reply = _status(fields)
                return (
                    reply if reply.code or not received else CallReply(UNKNOWN, "its last message is incomplete", b"")
                )

    def _part(self) -> tuple[int, int, bytes]:
        """Kind (headers or data), flags and payload of the response's next frame. The rest of the request is sent as
        soon as the peer accepts it. Raises OSError and ValueError."""
        while True:
            if self._body:
                self._send_some()
            kind, flags, stream, payload = self._read_frame()
            if kind == _GOAWAY:
                self._is_leaving = True
                if _read_number(payload) & _MOST < self._stream:
                    raise ConnectionError("the plugin accepts no more calls")
            elif stream != self._stream:
                self._control(kind, flags, stream, payload)
            elif kind == _DATA:
                self._refill(len(payload))
                return kind, flags, _without_padding(flags, payload)
            elif kind == _HEADERS:
                return kind, flags, payload
            elif kind == _RESET:
                raise ConnectionError(f"the plugin reset the call (HTTP/2 error {_read_number(payload)})")
            elif kind == _WINDOW:
                self._stream_window = _widen(self._stream_window, payload)

    def _send_some(self) -> None:
        """Send as much of the request as the peer accepts now."""
        while self._body:
            size = min(len(self._body), _LONGEST_FRAME, self._window, self._stream_window)
            if size <= 0:
                return
            self._window -= size
            self._stream_window -= size
            part, self._body = self._body[:size], self._body[size:]
            self._socket.sendall(_frame(_DATA, 0 if self._body else _END_STREAM, self._stream, part))

    # ---------------------------------------------------------------- frames

    def _read_frame(self) -> tuple[int, int, int, bytes]:
        """Kind, flags, stream and payload of the next frame. Raises OSError and ValueError."""
        self._read_at_least(_FRAME)
        word, flags, stream = unpack_from(">IBI", self._buffer, self._at)
        size = word >> 8
        if size > _LONGEST_FRAME:
            raise ValueError("a frame that is longer than allowed")
        self._read_at_least(_FRAME + size)
        start = self._at + _FRAME
        self._at = start + size
        return word & 255, flags, stream & _MOST, self._buffer[start : self._at]

    def _read_at_least(self, size: int) -> None:
        """Read until there are this many unread bytes in the buffer. Raises OSError."""
        while len(self._buffer) - self._at < size:
            more = self._socket.recv(_RECEIVE)
            if not more:
                raise ConnectionError("the plugin closed the connection")
            self._buffer, self._at = self._buffer[self._at :] + more, 0

    def _control(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        """Handle a frame that concerns the connection or an earlier call. Raises OSError and ValueError."""
        if kind == _SETTINGS and not flags & _ACK:
            if len(payload) % 6:
                raise ValueError("settings that end too early")
            for at in range(0, len(payload), 6):
                name, value = unpack_from(">HI", payload, at)
                if name == _INITIAL_WINDOW:
                    if value > _MOST:
                        raise ValueError("a window that is wider than allowed")
                    self._stream_window += value - self._first_window
                    self._first_window = value
            self._socket.sendall(_frame(_SETTINGS, _ACK, 0))
        elif kind == _PING and not flags & _ACK:
            self._socket.sendall(_frame(_PING, _ACK, 0, payload))
        elif kind == _WINDOW and not stream:
            self._window = _widen(self._window, payload)
        elif kind == _DATA:
            self._refill(len(payload))

    def _refill(self, size: int) -> None:
        """Count received bytes, and enlarge the window (the number of bytes that the peer may send) by the same number.
        The window is larger than any response, so one increase per gigabyte is enough."""
        self._received += size
        if self._received >= _REFILL:
            self._socket.sendall(_frame(_WINDOW, 0, 0, pack(">I", self._received)))
            self._received = 0

    def _add_headers(self, fields: dict[str, str], flags: int, payload: bytes) -> None:
        fields.update(self._headers(flags, payload))
        if len(fields) > _MAX_FIELDS:
            raise ValueError("more headers than any response has")

    def _headers(self, flags: int, payload: bytes) -> dict[str, str]:
        payload = _without_padding(flags, payload)
        if flags & _PRIORITY:
            if len(payload) < 5:
                raise ValueError("headers that end too early")
            payload = payload[5:]
        parts, size = [payload], len(payload)
        while not flags & _END_HEADERS:
            kind, flags, stream, more = self._read_frame()
            parts.append(more)
            size += len(more)
            if kind != _CONTINUATION or stream != self._stream or size > _LONGEST_HEADERS or len(parts) > _MAX_FIELDS:
                raise ValueError("headers with an invalid continuation")
        payload = payload if len(parts) == 1 else b"".join(parts)
        return _decode_headers(payload) if len(payload) < 64 else decode_headers(payload)


def _without_padding(flags: int, payload: bytes) -> bytes:
    if not flags & _PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise ValueError("a frame with more padding than it has room for")
    return payload[1 : len(payload) - payload[0]]


def _read_number(payload: bytes) -> int:
    if len(payload) < 4:
        raise ValueError("a frame that ends too early")
    return int.from_bytes(payload[:4], "big")


def _widen(window: int, payload: bytes) -> int:
    window += _read_number(payload) & _MOST
    if window > _MOST:
        raise ValueError("a window that is wider than allowed")
    return window


@lru_cache(100)
def _decode_headers(payload: bytes) -> dict[str, str]:
    """The headers in a payload; cached if they are short, because nearly all responses have the same headers."""
    return decode_headers(payload)


@contextmanager
def _faults() -> Iterator[None]:
    """Convert invalid responses to ConnectionError, and expired time limits to TimeoutError."""
    try:
        yield
    except ValueError as problem:
        raise ConnectionError(f"the response is not gRPC: {problem}") from None
    except BlockingIOError:
        raise TimeoutError from None


def _status(fields: dict[str, str]) -> CallReply:
    """The gRPC status in the headers at the end of a response."""
    code = fields.get("grpc-status")
    if code is None or not code.isdecimal() or len(code) > 9:
        status = fields.get(":status", "none")
        return CallReply(UNKNOWN, f"it returned the HTTP status {status} without a gRPC status", b"")
    return CallReply(int(code), unquote(fields.get("grpc-message", ""), errors="replace") if int(code) else "", b"")


def _complete(fields: dict[str, str], chunks: list[bytes]) -> CallReply:
    reply = _status(fields)
    if reply.code:
        return reply
    data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    if len(data) < 5 or data[0] or unpack_from(">I", data, 1)[0] != len(data) - 5:
        return CallReply(UNKNOWN, "it responded with something other than one uncompressed message", b"")
    return CallReply(OK, "", data[5:])


# ---------------------------------------------------------------- sockets


def _connect(target: str, seconds: float | None) -> socket.socket:
    if target.startswith("unix:"):
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connected.settimeout(seconds)
            connected.connect(target.removeprefix("unix:"))
        except BaseException:
            connected.close()
            raise
    else:
        host, _, port = target.rpartition(":")
        connected = socket.create_connection((host.strip("[]"), int(port)), timeout=seconds)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _limit(connected, seconds)
    return connected


def _limit(connected: socket.socket, seconds: float | None) -> None:
    """Limit the time for which the socket waits for the peer. If possible, the operating system enforces the limit,
    because Python would poll before each send or receive, and let other threads run first."""
    if connected.__class__ is not socket.socket:
        connected.settimeout(seconds)
        return
    connected.settimeout(None)
    whole, part = divmod(round((seconds or 0.0) * 1e6), 1_000_000)
    for which in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connected.setsockopt(socket.SOL_SOCKET, which, pack("@ll", whole, part))


def _with_tls(plain: socket.socket, certificate: str) -> socket.socket:
    """The connection with TLS. The peer must present exactly this certificate in the handshake, so its issuer, validity
    and key length (some plugins use 1024 bits) do not matter. There is no client certificate, see PluginProcess. Raises
    OSError."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # the comparison with the announced certificate below is stricter than these checks
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.set_alpn_protocols(["h2"])
    secured = context.wrap_socket(plain, server_hostname="localhost")
    bare = certificate.rstrip("=")
    if secured.getpeercert(binary_form=True) != b64decode(bare + "=" * (-len(bare) % 4)):
        secured.close()
        raise ssl.SSLError("the certificate of the plugin differs from the announced one")
    return secured


# The interface of transports. The tests have a second transport, based on grpcio, and compare it with this one.


OK, UNKNOWN, UNIMPLEMENTED = 0, 2, 12  # gRPC status codes


class CallReply(NamedTuple):
    """The result of a call: gRPC's status code and message, and the bytes of the response if the code is OK."""

    code: int
    message: str
    body: bytes


Replies = Generator[bytes, None, CallReply]
"""yields the messages of a streamed response, and returns the status without a body"""


class Transport(Protocol):
    """Calls one plugin. May be used by several threads."""

    def call(self, path: str, body: bytes, seconds: float | None) -> CallReply:
        """Call the method at this path (`/tfplugin6.Provider/PlanResourceChange`). Raises TimeoutError if the plugin is
        silent for `seconds`, and other OSErrors if the connection breaks or cannot be made."""

    def stream(self, path: str, body: bytes, seconds: float | None) -> Replies:
        """The messages of a streamed response as they arrive. Raises the errors of `call`. Closing the generator
        cancels the call."""

    def close(self) -> None:
        """Close all connections, even if other threads wait for them."""


Open = Callable[[str, str, int], Transport]
"""creates a transport. Parameters: the plugin's address (`unix:PATH`, `HOST:PORT`), its certificate (Base64 DER, "" for
none) and the maximum size of a response in bytes. The transport connects on the first call"""
