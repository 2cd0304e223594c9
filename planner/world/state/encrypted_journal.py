"""Journals of encrypted states: the first line has a key, encrypted like the state; with it each further line is
encrypted separately, so that the lines on disk can be read after a crash, with access to the state's keys.

    {"key": ENVELOPE}
    {"line": 1, "data": "BASE64"}     AES-256-GCM: a nonce of 12 bytes, the line, a tag; the number is authenticated
"""

from __future__ import annotations

import os
from typing import Any

from planner.foundation.encryption.envelope import Base64Error, decode, encode
from planner.foundation.support.exact_json import JsonError, dumps, loads
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.world.state.encryption_seal import PLAIN, Seal

KIND = "journal key"
_LENGTH = 32
_NONCE = 12


class LineSeal:
    """The key of a journal, and how many lines there are."""

    def __init__(self, key: bytes, lines: int = 0) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher, self.lines = AESGCM(key), lines

    def sealed(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The next line, encrypted, for this entry. Raises TypeError for values without a JSON form."""
        text, nonce = dumps(entry, escape_html=False), os.urandom(_NONCE)
        self.lines += 1
        data = nonce + self._cipher.encrypt(nonce, text, b"%d" % self.lines)
        return {"line": self.lines, "data": encode(data)}

    def opened(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        """The entry of a line; None for a line that was changed."""
        from cryptography.exceptions import InvalidTag

        number, text = entry.get("line"), entry.get("data")
        if not isinstance(number, int) or not isinstance(text, str):
            return None
        try:
            data = decode(text)
            said = loads(self._cipher.decrypt(data[:_NONCE], data[_NONCE:], b"%d" % number))
        except (Base64Error, InvalidTag, ValueError, JsonError):
            return None
        return said if isinstance(said, dict) else None


def new_line_seal(seal: Seal) -> tuple[LineSeal, dict[str, Any]]:
    """A key for a new journal, and its first line. Raises Failure."""
    key = os.urandom(_LENGTH)
    return LineSeal(key), {"key": loads(seal.seal_document(KIND, key))}


def line_seal(head: dict[str, Any], seal: Seal) -> LineSeal | None:
    """The key of a journal with this first line; None for a journal in clear. Raises Failure for one that cannot be
    read, or may not be in clear."""
    envelope = head.get("key")
    if envelope is None:
        seal.unseal_document(KIND, b"{}")
        return None
    if seal is PLAIN:
        detail = "It is encrypted and can not be read without an encryption configuration."
        raise Failure(error("state.journal", "Cannot read the journal", detail))
    key = seal.unseal_document(KIND, dumps(envelope)).data
    if len(key) != _LENGTH:
        raise Failure(error("state.journal", "Cannot read the journal", "Its key has the wrong length."))
    return LineSeal(key)


def opened_lines(
    entries: list[dict[str, Any]], seal: Seal
) -> tuple[list[dict[str, Any]], tuple[str, ...], LineSeal | None]:
    """The entries of a journal, without the first line where that has the key; the problems, in words; and the key, for
    further lines. Raises Failure."""
    if not entries:
        return entries, (), None
    opens = line_seal(entries[0], seal)
    if opens is None:
        return entries, (), None
    said: list[dict[str, Any]] = []
    wrong, missing, last = 0, 0, 0
    for entry in entries[1:]:
        result = opens.opened(entry)
        if result is None:
            wrong += 1
            continue
        number = entry["line"]
        if number <= last:  # a line that stood elsewhere
            wrong += 1
            continue
        missing += number - last - 1
        last = number
        said.append(result)
    opens.lines = max([last, *(n for e in entries[1:] if isinstance(n := e.get("line"), int))])
    damage = []
    if wrong:
        damage.append(f"{wrong} {'line is' if wrong == 1 else 'lines are'} not as encrypted")
    if missing > wrong:
        damage.append(f"{missing - wrong} encrypted {'line is' if missing - wrong == 1 else 'lines are'} missing")
    return said, tuple(damage), opens
