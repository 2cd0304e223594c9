"""Signatures in OpenSSH's format (PROTOCOL.sshsig), which `ssh-keygen -Y verify` accepts, made by a key or by an agent
(draft-miller-ssh-agent)."""

from __future__ import annotations

import base64
import os
import socket
import struct
from collections.abc import Callable
from hashlib import sha256, sha512

from planner.foundation.vocabulary.diagnostic import ServiceError

NAMESPACE = "planner"
MAGIC = b"SSHSIG"
_HASH = b"sha512"
_SIGN, _SIGNED, _LIST, _KEYS = 13, 14, 11, 12
_RSA_SHA2_512 = 4
_MAX_BYTES = 1 << 20  # the maximum size of an agent's response, in bytes
_SECONDS = 120.0  # seconds to wait for an agent, which may prompt the user


def text(data: bytes) -> bytes:
    """The bytes, preceded by their length as four bytes."""
    return struct.pack(">I", len(data)) + data


class Reader:
    """Reads the fields of a message. Raises ValueError if a field is missing."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise ValueError("a part is missing")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def text(self) -> bytes:
        return self.take(self.number())

    @property
    def is_at_end(self) -> bool:
        return self.at == len(self.data)


def fingerprint(key: bytes) -> str:
    """The fingerprint of a public key, as `ssh-keygen -l` prints it."""
    return f"SHA256:{base64.b64encode(sha256(key).digest()).decode().rstrip('=')}"


def signed_data(message: bytes) -> bytes:
    return MAGIC + b"".join(map(text, (NAMESPACE.encode(), b"", _HASH, sha512(message).digest())))


def signature(key: bytes, message: bytes, sign: Callable[[bytes], bytes]) -> bytes:
    """A signature of a message in OpenSSH's format. `key`: the public key; `sign` returns the signature of bytes. Both
    use OpenSSH's format."""
    parts = (key, NAMESPACE.encode(), b"", _HASH, sign(signed_data(message)))
    return MAGIC + struct.pack(">I", 1) + b"".join(map(text, parts))


def parse(data: bytes) -> tuple[bytes, bytes]:
    """Parse a signature in OpenSSH's format. Returns the public key, and the signature of the bytes that `signed_data`
    returns. Raises ValueError for an unsupported format, purpose or hash."""
    reader = Reader(data)
    if reader.take(len(MAGIC)) != MAGIC or reader.number() != 1:
        raise ValueError("not a signature of OpenSSH")
    key, namespace, _, hash, signed = (reader.text() for _ in range(5))
    if namespace != NAMESPACE.encode() or hash != _HASH or not reader.is_at_end:
        raise ValueError("an OpenSSH signature with another purpose or hash, or with trailing data")
    return key, signed


def agent_sign(key: bytes, data: bytes) -> bytes:
    """A signature by the agent at SSH_AUTH_SOCK. Raises ServiceError."""
    flags = _RSA_SHA2_512 if Reader(key).text() == b"ssh-rsa" else 0
    answer = _request_of_agent(bytes([_SIGN]) + text(key) + text(data) + struct.pack(">I", flags))
    if answer[:1] != bytes([_SIGNED]):
        raise ServiceError(
            f"the agent did not sign with the key {fingerprint(key)}: it does not have this key, or refused to use it"
        )
    try:
        return Reader(answer[1:]).text()
    except ValueError as problem:
        raise ServiceError(f"the response of the agent cannot be read: {problem}") from None


def _request_of_agent(request: bytes) -> bytes:
    path = os.environ.get("SSH_AUTH_SOCK")
    if not path:
        raise ServiceError("there is no agent: SSH_AUTH_SOCK is not set")
    try:
        with socket.socket(socket.AF_UNIX) as agent:
            agent.settimeout(_SECONDS)
            agent.connect(path)
            agent.sendall(text(request))
            (size,) = struct.unpack(">I", _receive(agent, 4))
            if size > _MAX_BYTES:
                raise ServiceError("the response of the agent is too large")
            return _receive(agent, size)
    except OSError as problem:
        if isinstance(problem, ServiceError):
            raise
        raise ServiceError(f"the agent at {path} does not respond: {problem.strerror or problem}") from None


def _receive(agent: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = agent.recv(size - len(data))
        if not part:
            raise ServiceError("the agent closed the connection")
        data += part
    return data
