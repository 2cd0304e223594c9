"""Base64 as OpenTofu reads and writes it: the standard alphabet, padded; line breaks are no part of it."""

from __future__ import annotations

import binascii


class Base64Error(ValueError):
    """A text is no base64; says where."""


def encode(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def decode(text: str) -> bytes:
    """Raises Base64Error."""
    if "\n" in text or "\r" in text:
        text = text.replace("\n", "").replace("\r", "")
    try:
        return binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except UnicodeEncodeError as bad:
        raise Base64Error(f"illegal base64 data at input byte {bad.start}") from None
    except binascii.Error:
        raise Base64Error(f"illegal base64 data at input byte {_first_wrong(text)}") from None


def _first_wrong(text: str) -> int:
    alphabet = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    for at, sign in enumerate(text):
        if sign not in alphabet:
            return at
    return len(text) // 4 * 4
