"""Hashes, UUIDs and decryption."""

from __future__ import annotations

import hashlib
import os
from base64 import b64encode
from typing import Any

from planner.foundation.values.types import NUMBER, STRING
from planner.foundation.values.value import Value
from planner.language.functions.encoding import base64_bytes
from planner.language.functions.protocol import (
    CallContext,
    Function,
    FunctionError,
    Param,
    function,
    small_int,
    text_from_bytes,
)

FUNCTIONS: list[Function] = []


def hexadecimal(digest: bytes) -> str:
    return digest.hex()


def base64(digest: bytes) -> str:
    return b64encode(digest).decode()


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def md5(string: str) -> Value:
    """Returns the MD5 hash of a string, in hexadecimal digits."""
    return hexadecimal(hashlib.md5(string.encode("utf-8", "surrogateescape"), usedforsecurity=False).digest())


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def sha1(string: str) -> Value:
    """Returns the SHA-1 hash of a string, in hexadecimal digits."""
    return hexadecimal(hashlib.sha1(string.encode("utf-8", "surrogateescape"), usedforsecurity=False).digest())


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def sha256(string: str) -> Value:
    """Returns the SHA-256 hash of a string, in hexadecimal digits."""
    return hexadecimal(hashlib.sha256(string.encode("utf-8", "surrogateescape")).digest())


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def sha512(string: str) -> Value:
    """Returns the SHA-512 hash of a string, in hexadecimal digits."""
    return hexadecimal(hashlib.sha512(string.encode("utf-8", "surrogateescape")).digest())


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def base64sha256(string: str) -> Value:
    """Returns the SHA-256 hash of a string, in Base64."""
    return base64(hashlib.sha256(string.encode("utf-8", "surrogateescape")).digest())


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def base64sha512(string: str) -> Value:
    """Returns the SHA-512 hash of a string, in Base64."""
    return base64(hashlib.sha512(string.encode("utf-8", "surrogateescape")).digest())


@function(
    Param("str", STRING, "The password."),
    variadic=Param("cost", NUMBER, "The work factor, 4 to 31; 10 by default."),
    result=STRING,
    impure=True,
    into=FUNCTIONS,
)
def bcrypt(string: str, *cost: Value, context: CallContext) -> Value:
    """Returns a bcrypt hash of a password, with a new salt in each call."""
    factor = small_int(cost[0]) if cost else 10
    if len(cost) > 1:
        raise FunctionError("It takes no more than two arguments.")
    if factor > 31:
        raise FunctionError("The cost must not be above 31.")
    password = string.encode("utf-8", "surrogateescape")
    if len(password) > 72:
        raise FunctionError("The password must not have more than 72 bytes.")
    if context.trial:
        return ""
    return _bcrypt(factor, password)


def _bcrypt(factor: int, password: bytes) -> Value:
    import bcrypt as algorithm

    # a cost below the minimum means the default; other tools can read the prefix 2a
    salt = algorithm.gensalt(factor if factor >= 4 else 10, prefix=b"2a")
    return algorithm.hashpw(password, salt).decode()


@function(result=STRING, impure=True, into=FUNCTIONS)
def uuid() -> Value:
    """Returns 16 random bytes in the form of a UUID."""
    return _uuid_text(os.urandom(16))


def _uuid_text(data: bytes) -> str:
    digits = data.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@function(
    Param("namespace", STRING, "dns, url, oid, x500, or a UUID."),
    Param("name", STRING, "The name in that namespace."),
    result=STRING,
    into=FUNCTIONS,
)
def uuidv5(namespace: str, name: str) -> Value:
    """Returns the UUID (version 5, by SHA-1) of a name in a namespace."""
    well_known = {"dns": 0, "url": 1, "oid": 2, "x500": 4}
    if namespace in well_known:
        space = bytes.fromhex(f"6ba7b81{well_known[namespace]:x}9dad11d180b400c04fd430c8")
    else:
        space = _parse_uuid(namespace)
    digest = bytearray(
        hashlib.sha1(space + name.encode("utf-8", "surrogateescape"), usedforsecurity=False).digest()[:16]
    )
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    return _uuid_text(bytes(digest))


def _parse_uuid(written: str) -> bytes:
    """Parse a UUID: 32 hexadecimal digits, or the form with hyphens, which may be in braces or after `urn:uuid:`.
    Returns its 16 bytes. Raises FunctionError."""
    body, data = written, written.encode("utf-8", "surrogateescape")
    if len(data) == 45 and body[:9].lower() == "urn:uuid:":
        body = body[9:]
    elif len(data) == 38:
        body = data[1:-1].decode("utf-8", "replace")
    if len(data) != 32:
        if len(body) != 36 or any(body[i] != "-" for i in (8, 13, 18, 23)):
            body = "x"
        body = body[:8] + body[9:13] + body[14:18] + body[19:23] + body[24:]
    if len(body) != 32 or any(c not in "0123456789abcdefABCDEF" for c in body):
        raise FunctionError(f'"{written}" must be dns, url, oid, x500, or a UUID.')
    return bytes.fromhex(body)


@function(
    Param("ciphertext", STRING, "The encrypted message in Base64."),
    Param("privatekey", STRING, "The private key in PEM form, without a passphrase."),
    result=STRING,
    into=FUNCTIONS,
)
def rsadecrypt(ciphertext: str, private_key: str) -> Value:
    """Decrypts a message that was encrypted for an RSA key (RSAES-PKCS1-v1_5, RFC 8017 section 7.2)."""
    data = base64_bytes(ciphertext)
    if data is None:
        raise FunctionError("The encrypted message must be in Base64.", 0)
    key = _rsa_key(private_key)
    modulus, exponent = key.public_numbers.n, key.d
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(data, "big")
    # OpenSSL would return random bytes instead of an error if the padding is wrong
    if len(data) == size and size >= 11 and number < modulus:
        padded = pow(number, exponent, modulus).to_bytes(size, "big")
        end = padded.find(0, 2)
        if padded[:2] == b"\0\2" and end >= 10:
            return text_from_bytes(padded[end + 1 :])
    raise FunctionError("The message cannot be decrypted with this key.")


def _rsa_key(pem: str) -> Any:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    data = pem.encode("utf-8", "surrogateescape")
    try:
        if b"BEGIN OPENSSH PRIVATE KEY" in data:
            key: Any = serialization.load_ssh_private_key(data, None)
        else:
            key = serialization.load_pem_private_key(data, None)
    except Exception:  # all exceptions of the library mean that the key cannot be read
        raise FunctionError("The private key cannot be read; it must be in PEM form without a passphrase.", 1) from None
    if not isinstance(key, RSAPrivateKey):
        raise FunctionError("The private key must be an RSA key.", 1)
    return key.private_numbers()
