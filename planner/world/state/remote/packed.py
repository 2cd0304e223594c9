"""States that are kept compressed with gzip."""

from __future__ import annotations

import zlib

from planner.foundation.clients.problem import ServiceError

LARGEST = 1 << 30
"""bytes of a state"""
_FRAME = 31
"""what zlib calls the frame of gzip"""


def packed(data: bytes) -> bytes:
    """The data, compressed; the same for the same data."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, _FRAME)
    return compressor.compress(data) + compressor.flush()


def unpacked(data: bytes, place: str) -> bytes:
    """What was compressed. Raises ServiceError for what is no gzip, is cut off, or is too large."""
    decompressor = zlib.decompressobj(_FRAME)
    try:
        result = decompressor.decompress(data, LARGEST)
    except zlib.error as bad:
        raise ServiceError(f"what is kept in {place} is not gzip: {bad}") from None
    if decompressor.unconsumed_tail:
        raise ServiceError(f"what is kept in {place} is larger than {LARGEST >> 20} MiB")
    if not decompressor.eof:
        raise ServiceError(f"what is kept in {place} is cut off")
    return result
