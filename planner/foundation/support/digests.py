"""SHA-256 and UUIDs without loading OpenSSL, which takes longer than all digests of a small configuration."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashlib import blake2b as blake2b
else:
    try:
        from _blake2 import blake2b as blake2b
    except ImportError:
        from hashlib import blake2b as blake2b

_SMALL = 1 << 18  # from this number of bytes, OpenSSL is faster in spite of its startup time


def sha256_of(data: bytes) -> str:
    """The SHA-256 digest of the data, in hexadecimal."""
    digest: str = (_own_sha256() if len(data) < _SMALL else _sha256())(data).hexdigest()
    return digest


@cache
def _own_sha256() -> Any:
    for name in ("_sha2", "_sha256"):  # the names of the module since Python 3.12 and in earlier versions
        try:
            return import_module(name).sha256
        except ImportError:
            continue
    return _sha256()


def _sha256() -> Any:
    from hashlib import sha256

    return sha256


def random_uuid() -> str:
    """A UUID of version 4 (RFC 9562). Importing the standard library's module would take several milliseconds."""
    number = int.from_bytes(os.urandom(16), "big") & ~(0xF000_C000_0000_0000_0000) | 0x4000_8000_0000_0000_0000
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
