"""Our end of gRPC: headers, and a connection against a peer that is made of frames here, well-behaved and not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from struct import pack, unpack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.world.provider.plugin import http2
from planner.world.provider.plugin.http2 import (
    CallReply,
    Connection,
    Replies,
    decode_headers,
    encode_headers,
    request_headers,
)

HEADERS = request_headers("/tfplugin6.Provider/PlanResourceChange", False)
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STATUS = b"\x88"  # :status 200, an entry of the known table
DATA, HEADER, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9


# ---------------------------------------------------------------- headers


@given(st.lists(st.tuples(st.text("abc-:", min_size=1), st.text(st.characters(max_codepoint=126), max_size=400))))
@settings(max_examples=examples(60))
def test_headers_there_and_back(pairs: list[tuple[str, str]]) -> None:
    assert decode_headers(encode_headers(tuple(pairs))) == dict(pairs)


@pytest.mark.parametrize(
    ("data", "found"),
    [  # from the examples of RFC 7541, appendix C
        ("400a637573746f6d2d6b65790d637573746f6d2d686561646572", {"custom-key": "custom-header"}),
        ("040c2f73616d706c652f70617468", {":path": "/sample/path"}),
        ("100870617373776f726406736563726574", {"password": "secret"}),
        ("408825a849e95ba97d7f8925a849e95bb8e8b4bf", {"custom-key": "custom-value"}),
        ("4803333032", {":status": "302"}),
        ("48826402", {":status": "302"}),
        ("2088", {":status": "200"}),
    ],
)
def test_headers_of_others(data: str, found: dict[str, str]) -> None:
    assert decode_headers(bytes.fromhex(data)) == found


@pytest.mark.parametrize("data", ["be", "7f00", "80", "3f7f", "00", "0003", "000161ff", "0001618100", "00016181ff"])
def test_headers_that_are_none(data: str) -> None:
    with pytest.raises(ValueError, match="header"):
        decode_headers(bytes.fromhex(data))


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", [b"\xff" * 200_000, b"\x00\x7f" + b"\xff" * 200_000, b"\x82" * 200_000, b"\x00" * 900_000]
)
def test_what_is_wrong_with_headers_is_said_in_few_words(data: bytes) -> None:
    with pytest.raises(ValueError, match="header") as problem:
        decode_headers(data)
    assert len(str(problem.value)) < 100


# ---------------------------------------------------------------- a peer


class Peer:
    """The other end: what it reads frame by frame, and what it sends."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.stream = connected.makefile("rb")

    def read(self) -> tuple[int, int, int, bytes]:
        head = self.stream.read(9)
        size = int.from_bytes(head[:3], "big")
        return head[3], head[4], int.from_bytes(head[5:], "big"), self.stream.read(size)

    def send(self, kind: int, flags: int = 0, stream: int = 1, payload: bytes = b"") -> None:
        self.socket.sendall(len(payload).to_bytes(3, "big") + bytes((kind, flags)) + pack(">I", stream) + payload)

    def request(self, first: bool = True) -> tuple[int, bytes]:
        """The stream of a call and its message, read to its end."""
        if first:
            assert self.stream.read(len(GREETING)) == GREETING
        body, flags, kind, stream = b"", 0, SETTINGS, 0
        while not (kind == DATA and flags & 1):
            kind, flags, stream, payload = self.read()
            body += payload if kind == DATA else b""
            assert kind != HEADER or payload == HEADERS
        assert (body[0], unpack(">I", body[1:5])[0]) == (0, len(body) - 5)
        return stream, body[5:]

    def answer(self, stream: int, body: bytes, trailer: bytes = encode_headers((("grpc-status", "0"),))) -> None:
        self.send(HEADER, 4, stream, STATUS)
        data = pack(">BI", 0, len(body)) + body
        for at in range(0, len(data), 10_000):
            self.send(DATA, 0, stream, data[at : at + 10_000])
        self.send(HEADER, 5, stream, trailer)


Start = Callable[..., Connection]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a peer that does something in a thread; the connection to it."""
    path = str(tmp_path / "s")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(path)
    server.listen()
    threads: list[threading.Thread] = []
    failures: list[BaseException] = []

    def begin(act: Callable[[Peer], None], **settings: Any) -> Connection:
        def run() -> None:
            connected, _ = server.accept()
            try:
                act(Peer(connected))
            except BaseException as problem:
                failures.append(problem)
            finally:
                connected.close()

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
        return Connection(f"unix:{path}", **settings)

    yield begin
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    server.close()
    assert not failures, failures


def test_calls_one_after_the_other(start: Start) -> None:
    def act(peer: Peer) -> None:
        peer.send(SETTINGS, 0, 0)
        for i in range(3):
            stream, body = peer.request(i == 0)
            assert stream == 2 * i + 1
            peer.answer(stream, body * 2)

    connection = start(act)
    for body in (b"a", b"", b"something"):
        assert connection.call(HEADERS, body) == CallReply(0, "", body * 2) and connection.is_usable
    connection.close()


def test_long_messages_wait_until_the_peer_takes_them(start: Start) -> None:
    long = bytes(range(256)) * 1200

    def act(peer: Peer) -> None:
        peer.send(SETTINGS, 0, 0, pack(">HI", 4, 1000))  # bytes of a call before it is asked for more
        peer.answer(peer.request()[0], b"")
        taken, body, flags = 1000, b"", 0
        while len(body) < len(long) + 5:
            kind, flags, stream, payload = peer.read()
            if kind == DATA:
                body += payload
                assert len(payload) <= 16_384 and len(body) <= taken
                if len(body) == taken:
                    taken += 30_000
                    peer.send(WINDOW, 0, 0, pack(">I", 30_000))
                    peer.send(WINDOW, 0, stream, pack(">I", 30_000))
        assert body[5:] == long and flags & 1
        peer.answer(stream, long)

    connection = start(act)
    assert connection.call(HEADERS, b"").body == b""
    assert connection.call(HEADERS, long).body == long
    connection.close()


def test_what_peers_may_do_meanwhile(start: Start) -> None:
    def act(peer: Peer) -> None:
        stream, _ = peer.request()
        peer.send(PING, 0, 0, b"12345678")
        peer.send(WINDOW, 0, 0, pack(">I", 10))
        peer.send(99, 0, 0, b"of an extension")
        assert peer.read() == (PING, 1, 0, b"12345678")
        packed = encode_headers((("grpc-status", "0"), ("other", "x" * 100)))
        peer.send(HEADER, 0, stream, STATUS[:0])
        peer.send(CONTINUATION, 4, stream, STATUS)
        peer.send(DATA, 8, stream, b"\x03" + pack(">BI", 0, 2) + b"ok" + bytes(3))
        peer.send(HEADER, 1 | 4 | 8 | 32, stream, b"\x01" + bytes(5) + packed + b"\x00")
        stream, _ = peer.request(False)
        peer.send(GOAWAY, 0, 0, pack(">II", stream, 0))
        peer.answer(stream, b"the last")

    connection = start(act)
    assert connection.call(HEADERS, b"").body == b"ok" and connection.is_usable
    assert connection.call(HEADERS, b"").body == b"the last" and not connection.is_usable
    with pytest.raises(ConnectionError):
        connection.call(HEADERS, b"")
    connection.close()


@pytest.mark.parametrize(
    ("trailer", "found"),
    [
        ((("grpc-status", "12"), ("grpc-message", "no such%20call%21")), CallReply(12, "no such call!", b"")),
        ((("grpc-status", "2"),), CallReply(2, "", b"")),
        ((("other", "x"),), CallReply(2, "it returned the HTTP status 200 without a gRPC status", b"")),
    ],
)
def test_answers_that_are_errors(start: Start, trailer: tuple[tuple[str, str], ...], found: CallReply) -> None:
    def act(peer: Peer) -> None:
        stream, _ = peer.request()
        peer.send(HEADER, 5, stream, STATUS + encode_headers(trailer))

    connection = start(act)
    assert connection.call(HEADERS, b"") == found and connection.is_usable
    connection.close()


@pytest.mark.parametrize(
    ("kind", "flags", "payload", "reason"),
    [
        (RESET, 0, pack(">I", 8), "reset the call"),
        (GOAWAY, 0, pack(">II", 0, 0), "accepts no more calls"),
        (HEADER, 4, b"\xff\xff", "not gRPC"),
        (DATA, 0, bytes(16_385), "not gRPC: a frame that is longer"),
        (None, 0, b"", "closed the connection"),
    ],
)
def test_peers_that_break_off(start: Start, kind: int | None, flags: int, payload: bytes, reason: str) -> None:
    def act(peer: Peer) -> None:
        stream, _ = peer.request()
        if kind is not None:
            peer.send(kind, flags, 0 if kind == GOAWAY else stream, payload)

    connection = start(act)
    with pytest.raises(ConnectionError, match=reason):
        connection.call(HEADERS, b"")
    assert not connection.is_usable
    connection.close()


@pytest.mark.parametrize(
    ("kind", "flags", "stream", "payload", "reason"),
    [
        (DATA, 8, 1, b"", "more padding than"),
        (DATA, 8, 1, b"\x05abc", "more padding than"),
        (HEADER, 4 | 8, 1, b"", "more padding than"),
        (HEADER, 4 | 32, 1, b"abc", "end too early"),
        (RESET, 0, 1, b"", "ends too early"),
        (GOAWAY, 0, 0, b"abc", "ends too early"),
        (WINDOW, 0, 1, b"\0", "ends too early"),
        (WINDOW, 0, 0, b"\0\0\0", "ends too early"),
        (WINDOW, 0, 0, b"\x7f\xff\xff\xff", "wider than"),
        (WINDOW, 0, 1, b"\x7f\xff\xff\xff", "wider than"),
        (SETTINGS, 0, 0, b"\0\4\0", "end too early"),
        (SETTINGS, 0, 0, pack(">HI", 4, 1 << 31), "wider than"),
        (HEADER, 0, 1, bytes(100), "with an invalid continuation"),
    ],
)
def test_frames_that_are_none(start: Start, kind: int, flags: int, stream: int, payload: bytes, reason: str) -> None:
    def act(peer: Peer) -> None:
        peer.request()
        peer.send(kind, flags, stream, payload)
        with suppress(OSError):  # whoever has seen enough is gone
            peer.send(DATA, 0, 1)

    connection = start(act)
    with pytest.raises(ConnectionError, match=reason):
        connection.call(HEADERS, b"")
    assert not connection.is_usable
    connection.close()


def test_headers_without_end(start: Start) -> None:
    def act(peer: Peer) -> None:
        stream, _ = peer.request()
        for i in range(11):
            with suppress(OSError):
                peer.send(HEADER, 4, stream, encode_headers(tuple((f"{i}-{j}", "") for j in range(1000))))

    connection = start(act)
    with pytest.raises(ConnectionError, match="more headers than"):
        connection.call(HEADERS, b"")
    connection.close()


FRAMES = st.tuples(
    st.sampled_from((*range(10), 99)), st.integers(0, 255), st.sampled_from((0, 1, 3)), st.binary(max_size=40)
)
GOOD = (
    (HEADER, 4, 1, STATUS),
    (DATA, 0, 1, pack(">BI", 0, 2) + b"ok"),
    (HEADER, 5, 1, encode_headers((("grpc-status", "0"),))),
)


@given(st.lists(FRAMES, max_size=6), st.integers(0, 3), st.binary(max_size=30), st.integers(0, 200))
@settings(max_examples=examples(300))
def test_any_frames_end_in_an_answer_or_one_kind_of_error(
    frames: list[tuple[int, int, int, bytes]], place: int, rest: bytes, cut: int
) -> None:
    """What a peer sends among the frames of a right answer, cut off somewhere or followed by anything."""
    ours, theirs = socket.socketpair()
    with theirs, pytest.MonkeyPatch.context() as patched:
        patched.setattr(http2, "_connect", lambda target, seconds: ours)
        connection = Connection("unix:/nowhere")
        sent = b"".join(
            len(payload).to_bytes(3, "big") + bytes((kind, flags)) + pack(">I", stream) + payload
            for kind, flags, stream, payload in (*GOOD[:place], *frames, *GOOD[place:])
        )
        theirs.sendall((sent + rest)[: -cut or None])
        theirs.shutdown(socket.SHUT_WR)
        try:
            answer = connection.call(HEADERS, b"body")
        except ConnectionError:
            assert not connection.is_usable
        else:
            assert isinstance(answer, CallReply)
        connection.close()


def test_messages_that_are_none_or_too_long(start: Start) -> None:
    def act(peer: Peer) -> None:
        for i, data in enumerate((b"", b"\x01\0\0\0\x01a", b"\0\0\0\0\x05a")):
            stream, _ = peer.request(i == 0)
            peer.send(HEADER, 4, stream, STATUS)
            peer.send(DATA, 0, stream, data)
            peer.send(HEADER, 5, stream, encode_headers((("grpc-status", "0"),)))
        stream, _ = peer.request(False)
        peer.send(HEADER, 4, stream, STATUS)
        peer.send(DATA, 0, stream, bytes(106))
        peer.stream.read()

    connection = start(act, longest=100)
    for _ in range(3):
        assert "something other" in connection.call(HEADERS, b"").message
    assert connection.call(HEADERS, b"").message == "the response is longer than 100 bytes"
    assert not connection.is_usable
    connection.close()


def test_silence_has_an_end(start: Start) -> None:
    connection = start(lambda peer: (peer.request(), peer.stream.read())[:0])
    with pytest.raises(TimeoutError):
        connection.call(HEADERS, b"", 0.2)
    connection.close()


def test_a_waiting_call_can_be_ended_by_another_thread(start: Start) -> None:
    arrived = threading.Event()

    def act(peer: Peer) -> None:
        peer.request()
        arrived.set()
        peer.stream.read()

    connection = start(act)
    other = threading.Thread(target=lambda: (arrived.wait(10), connection.abort()))
    other.start()
    with pytest.raises(ConnectionError):
        connection.call(HEADERS, b"")
    other.join()
    connection.close()


def weak_certificate(folder: Path, name: str) -> tuple[str, bytes]:
    """A file with a certificate and its key, as a widespread framework makes them (1024 bits), and the certificate."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(65537, 1024)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    made = builder.not_valid_before(now).not_valid_after(now + timedelta(hours=1)).sign(key, hashes.SHA256())
    path = folder / name
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + made.public_bytes(Encoding.PEM))
    return str(path), made.public_bytes(Encoding.DER)


@pytest.mark.parametrize("is_own", [True, False])
def test_only_the_peer_with_the_certificate_is_talked_to(start: Start, tmp_path: Path, is_own: bool) -> None:
    import ssl
    from base64 import b64encode

    path, known = weak_certificate(tmp_path, "own")
    if not is_own:
        path, _ = weak_certificate(tmp_path, "other")

    def act(peer: Peer) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(path)
        with context.wrap_socket(peer.socket, server_side=True) as secured:
            if is_own:
                assert secured.selected_alpn_protocol() == "h2"
                inner = Peer(secured)
                assert inner.stream.read(len(GREETING)) == GREETING
                while inner.read()[0] != DATA:
                    pass
                inner.answer(1, b"secret")

    certificate = b64encode(known).decode().rstrip("=")
    if not is_own:
        with pytest.raises(ssl.SSLError, match="the certificate of the plugin differs"):
            start(act, certificate=certificate)
        return
    connection = start(act, certificate=certificate)
    assert connection.call(HEADERS, b"").body == b"secret"
    connection.close()


def test_headers_that_go_on_for_ever_with_nothing(start: Start) -> None:
    def act(peer: Peer) -> None:
        stream, _ = peer.request()
        peer.send(HEADER, 0, stream, STATUS)
        with suppress(OSError):
            while True:
                peer.send(CONTINUATION, 0, stream, b"")

    connection = start(act)
    with pytest.raises(ConnectionError, match="with an invalid continuation"):
        connection.call(HEADERS, b"")
    connection.close()


# ---------------------------------------------------------------- streams


def plain(*bodies: bytes) -> bytes:
    return b"".join(pack(">BI", 0, len(body)) + body for body in bodies)


def everything(replies: Replies) -> tuple[list[bytes], CallReply]:
    found = []
    while True:
        try:
            found.append(next(replies))
        except StopIteration as end:
            return found, end.value


GOOD_END = encode_headers((("grpc-status", "0"),))
ALL = plain(b"first", b"", b"x" * 20_000)
SHORT = (2, "its last message is incomplete")
STREAMS: dict[str, tuple[list[bytes], bytes, list[bytes], tuple[int, str]]] = {
    # frames of data, trailer -> messages, status
    "each in a frame": ([plain(b"a"), plain(b"b")], GOOD_END, [b"a", b"b"], (0, "")),
    "none": ([], GOOD_END, [], (0, "")),
    "several in a frame": ([plain(b"a", b"b", b"c")], GOOD_END, [b"a", b"b", b"c"], (0, "")),
    "in any parts": (
        [ALL[i : i + 7] for i in range(0, 70, 7)] + [ALL[70:10_000], ALL[10_000:]],
        GOOD_END,
        [b"first", b"", b"x" * 20_000],
        (0, ""),
    ),
    "a byte at a time": ([bytes([b]) for b in plain(b"ab", b"c")], GOOD_END, [b"ab", b"c"], (0, "")),
    "an error at the end": (
        [plain(b"a")],
        encode_headers((("grpc-status", "13"), ("grpc-message", "no%21"))),
        [b"a"],
        (13, "no!"),
    ),
    "a head cut short": ([plain(b"a"), b"\0\0"], GOOD_END, [b"a"], SHORT),
    "a message cut short": ([plain(b"a"), plain(b"long")[:-1]], GOOD_END, [b"a"], SHORT),
    "cut short, with an error": ([plain(b"long")[:-1]], encode_headers((("grpc-status", "5"),)), [], (5, "")),
    "no status": (
        [plain(b"a")],
        encode_headers((("other", "x"),)),
        [b"a"],
        (2, "it returned the HTTP status 200 without a gRPC status"),
    ),
    "a packed message": (
        [plain(b"a"), b"\1\0\0\0\1b"],
        GOOD_END,
        [b"a"],
        (2, "it responded with something other than uncompressed messages"),
    ),
    "a message that would be too long": (
        [plain(b"a"), pack(">BI", 0, 1 << 31)],
        GOOD_END,
        [b"a"],
        (2, "a message of the response is longer than 50000 bytes"),
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams(start: Start, name: str) -> None:
    frames, trailer, messages, status = STREAMS[name]

    def act(peer: Peer) -> None:
        for i in range(2):
            stream, body = peer.request(i == 0)
            assert body == b"request"
            with suppress(OSError):  # our end leaves at the first fault
                peer.send(HEADER, 4, stream, STATUS)
                for data in frames:
                    for at in range(0, len(data), 16_384):
                        peer.send(DATA, 0, stream, data[at : at + 16_384])
                peer.send(HEADER, 5, stream, trailer)
            if status[1].startswith(("it responded with something", "a message")):
                return

    connection = start(act, longest=50_000)
    assert everything(connection.stream(HEADERS, b"request")) == (messages, CallReply(*status, b""))
    if connection.is_usable:  # for another call, of either kind
        assert everything(connection.stream(HEADERS, b"request"))[0] == messages
    connection.close()


def test_messages_arrive_one_by_one(start: Start) -> None:
    """A peer that sends the next message only when the one before was read."""
    read = threading.Semaphore(0)

    def act(peer: Peer) -> None:
        stream, _ = peer.request()
        peer.send(HEADER, 4, stream, STATUS)
        for i in range(5):
            peer.send(DATA, 0, stream, plain(b"%d" % i))
            assert read.acquire(timeout=10)
        peer.send(HEADER, 5, stream, GOOD_END)

    connection = start(act)
    found = []
    for message in connection.stream(HEADERS, b""):
        found.append(message)
        read.release()
    assert found == [b"0", b"1", b"2", b"3", b"4"] and connection.is_usable
    connection.close()


def test_a_stream_without_end_is_broken_off(start: Start) -> None:
    told: list[Any] = []

    def act(peer: Peer) -> None:
        stream, _ = peer.request()
        peer.send(HEADER, 4, stream, STATUS)
        with suppress(OSError):  # until our end is gone
            while True:
                peer.send(DATA, 0, stream, plain(b"m" * 1000) * 16)
        told.append(peer.read())

    connection = start(act)
    replies = connection.stream(HEADERS, b"")
    assert [next(replies) for _ in range(3)] == [b"m" * 1000] * 3
    replies.close()
    assert not connection.is_usable
    connection.close()
    for _ in range(100):
        if told:
            break
        time.sleep(0.05)
    assert told == [(RESET, 0, 1, pack(">I", 8))]


def test_a_stream_that_is_broken_off_ends_its_wait(start: Start) -> None:
    def act(peer: Peer) -> None:
        stream, _ = peer.request()
        peer.send(HEADER, 4, stream, STATUS)
        peer.send(DATA, 0, stream, plain(b"a"))
        peer.stream.read()

    connection = start(act)
    replies = connection.stream(HEADERS, b"", 0.2)
    assert next(replies) == b"a"
    with pytest.raises(TimeoutError):
        next(replies)
    assert not connection.is_usable
    connection.close()


@given(st.lists(FRAMES, max_size=6), st.integers(0, 3), st.binary(max_size=30), st.integers(0, 200))
@settings(max_examples=examples(100))
def test_any_frames_end_a_stream(frames: list[tuple[int, int, int, bytes]], place: int, rest: bytes, cut: int) -> None:
    ours, theirs = socket.socketpair()
    with theirs, pytest.MonkeyPatch.context() as patched:
        patched.setattr(http2, "_connect", lambda target, seconds: ours)
        connection = Connection("unix:/nowhere")
        sent = b"".join(
            len(payload).to_bytes(3, "big") + bytes((kind, flags)) + pack(">I", stream) + payload
            for kind, flags, stream, payload in (*GOOD[:place], *frames, *GOOD[place:])
        )
        theirs.sendall((sent + rest)[: -cut or None])
        theirs.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            assert isinstance(everything(connection.stream(HEADERS, b"body"))[1], CallReply)
        connection.close()
