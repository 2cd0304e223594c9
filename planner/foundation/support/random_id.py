"""Names that nobody else has."""

from __future__ import annotations

import os


def random_uuid() -> str:
    """A UUID of version 4 (RFC 9562). The module of the standard library finds out first which kind of machine it is
    on."""
    number = int.from_bytes(os.urandom(16), "big") & ~(0xF000_C000_0000_0000_0000) | 0x4000_8000_0000_0000_0000
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
