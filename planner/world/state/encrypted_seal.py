"""Seals that encrypt states and plans in OpenTofu's format, and documents stored with them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

from planner.foundation.encryption.envelope import Base64Error, decode, encode
from planner.foundation.encryption.target import Decrypted, Target, TargetError
from planner.foundation.support.exact_json import JsonError, dumps, loads
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.world.state.encryption_seal import PLAIN, Seal, Unsealed

NO_STATE = "Given payload is not a state file"
_HEAD = re.compile(
    rb'\{\s*"version":\s*4,\s*"terraform_version":\s*"[0-9.]*",\s*"serial":\s*(\d{1,18}),\s*"lineage":\s*"([\w-]*)",'
)
"""matches the beginning of a state file of planner or OpenTofu; the groups are the serial and the lineage, so that a
large file need not be parsed"""
R = TypeVar("R")


def no_state(data: bytes) -> str:
    """The reason why the bytes are not an unencrypted state file; "" if they are."""
    if _HEAD.match(data) is not None:
        return ""
    try:
        document = loads(data)
    except JsonError as bad:
        return str(bad)
    version = document.get("terraform_version") if isinstance(document, dict) else None
    return "" if isinstance(version, str) and version else NO_STATE


def no_plan(data: bytes) -> str:
    """The reason why the bytes are not an unencrypted plan file; "" if they are."""
    return "" if data[:2] == b"PK" else f"Invalid plan file {data[:2].decode('utf-8', 'replace')}"


class _Sealed:
    """The common part of the seals of states and plans."""

    def __init__(self, target: Target) -> None:
        self._target = target

    @property
    def is_plain(self) -> bool:
        return self._target.is_plain

    def seal_document(self, kind: str, data: bytes) -> bytes:
        return self._failing(lambda: self._sealed_document(kind, data))

    def _sealed_document(self, kind: str, data: bytes) -> bytes:
        if self._target.is_plain:
            return data
        return self._target.encrypt(_mark(kind) + data, {})

    def unseal_document(self, kind: str, data: bytes) -> Unsealed:
        return self._failing(lambda: self._unsealed_document(kind, data))

    def _unsealed_document(self, kind: str, data: bytes) -> Unsealed:
        result = self._target.decrypt(data, lambda data: "")
        if not result.was_encrypted:
            return Unsealed(data, result.is_pending)
        mark = _mark(kind)
        if not result.data.startswith(mark):
            raise TargetError(f"the decrypted content is not a {kind}")
        return Unsealed(result.data[len(mark) :], result.is_pending)

    @staticmethod
    def _failing(do: Callable[[], R]) -> R:
        """Call `do` and return its result; raise its TargetError as Failure."""
        try:
            return do()
        except TargetError as bad:
            raise Failure(error("state.encryption", "Error refreshing state", str(bad))) from None


class SealedState(_Sealed):
    """The encryption of states."""

    def seal(self, data: bytes) -> bytes:
        serial, lineage = _serial_and_lineage(data)
        try:
            return self._target.encrypt(data, {"serial": serial, "lineage": lineage or ""})
        except TargetError as bad:
            raise Failure(error("state.encryption", "Failed to save state", str(bad))) from None

    def unseal(self, data: bytes) -> Unsealed:
        return self._failing(lambda: self._unseal(data))

    def _unseal(self, data: bytes) -> Unsealed:
        result = self._target.decrypt(data)
        if result.was_encrypted:
            _check_head(result)
        return Unsealed(result.data, result.is_pending)


def _check_head(content: Decrypted) -> None:
    """Compare serial and lineage with their unencrypted copies in the envelope, because these copies may have been
    changed. Raises TargetError."""
    serial, lineage = _serial_and_lineage(content.data)
    outer, history = content.head.get("serial"), content.head.get("lineage")
    if outer is not None and outer.__class__ is not int:
        raise TargetError("the serial of the encrypted state is not a whole number")
    if outer is not None and serial is not None and outer != serial:
        raise TargetError(f"invalid state metadata, serial field mismatch {outer} vs {serial}")
    if history and history != lineage:
        raise TargetError(f"invalid state metadata, linage field mismatch {history} vs {lineage or ''}")


def _serial_and_lineage(data: bytes) -> tuple[int | None, str | None]:
    """The serial and lineage of an unencrypted state, None for invalid ones. Raises TargetError if the data is not a
    state."""
    head = _HEAD.match(data)
    if head is not None:
        return int(head[1]), head[2].decode("ascii")
    try:
        document: Any = loads(data)
    except JsonError as bad:
        raise TargetError(f"the decrypted content is not a state: {bad}") from None
    if not isinstance(document, dict):
        raise TargetError("the decrypted content is not a state")
    serial, lineage = document.get("serial"), document.get("lineage")
    return serial if serial.__class__ is int else None, lineage if isinstance(lineage, str) else None


class SealedPlan(_Sealed):
    """The encryption of plan files."""

    def seal(self, data: bytes) -> bytes:
        try:
            return self._target.encrypt(data, {})
        except TargetError as bad:
            raise Failure(error("plan_file.encryption", "Failed to write plan file", str(bad))) from None

    def unseal(self, data: bytes) -> Unsealed:
        try:
            result = self._target.decrypt(data)
        except TargetError as bad:
            raise Failure(error("plan_file.encryption", "Failed to read plan file", str(bad))) from None
        return Unsealed(result.data, result.is_pending)


def _mark(kind: str) -> bytes:
    return f"planner {kind}\0".encode()


# Journals of encrypted states. The first line contains a key that is encrypted like the state. Each further line is
# encrypted separately with this key, so that after a crash the lines on disk can be read with the state's keys.
#
#   first line:    {"key": ENVELOPE}
#   further lines: {"line": 1, "data": "BASE64"}
#
# The data is a nonce of 12 bytes, then the entry, encrypted with AES-256-GCM, with its tag. The line's number is
# authenticated, too.


KIND = "journal key"
_LENGTH = 32
_NONCE = 12


class LineSeal:
    """Encrypts and decrypts the lines of a journal with the journal's key, and counts them."""

    def __init__(self, key: bytes, lines: int = 0) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher, self.lines = AESGCM(key), lines

    def sealed(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The entry as the next encrypted line. Raises TypeError for values that JSON cannot represent."""
        text, nonce = dumps(entry, escape_html=False), os.urandom(_NONCE)
        self.lines += 1
        data = nonce + self._cipher.encrypt(nonce, text, b"%d" % self.lines)
        return {"line": self.lines, "data": encode(data)}

    def open_entry(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        """The entry in a line; None if the line is malformed or was changed."""
        from cryptography.exceptions import InvalidTag

        number, text = entry.get("line"), entry.get("data")
        if not isinstance(number, int) or not isinstance(text, str):
            return None
        try:
            data = decode(text)
            document = loads(self._cipher.decrypt(data[:_NONCE], data[_NONCE:], b"%d" % number))
        except (Base64Error, InvalidTag, ValueError, JsonError):
            return None
        return document if isinstance(document, dict) else None


def new_line_seal(seal: Seal) -> tuple[LineSeal, dict[str, Any]]:
    """A line seal with a new key, and the first line of the journal, which contains the encrypted key. Raises
    Failure."""
    key = os.urandom(_LENGTH)
    return LineSeal(key), {"key": loads(seal.seal_document(KIND, key))}


def line_seal(head: dict[str, Any], seal: Seal) -> LineSeal | None:
    """The line seal with the key in the first line of a journal; None for an unencrypted journal. Raises Failure if the
    key cannot be decrypted, or if the journal is unencrypted although encryption is enforced."""
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


def open_lines(
    entries: list[dict[str, Any]], seal: Seal
) -> tuple[list[dict[str, Any]], tuple[str, ...], LineSeal | None]:
    """The decrypted entries of a journal, descriptions of problems, and the line seal for further lines (None for an
    unencrypted journal). Raises Failure."""
    if not entries:
        return entries, (), None
    opens = line_seal(entries[0], seal)
    if opens is None:
        return entries, (), None
    lines: list[dict[str, Any]] = []
    wrong, missing, last = 0, 0, 0
    for entry in entries[1:]:
        result = opens.open_entry(entry)
        if result is None:
            wrong += 1
            continue
        number = entry["line"]
        if number <= last:  # the line was moved
            wrong += 1
            continue
        missing += number - last - 1
        last = number
        lines.append(result)
    opens.lines = max([last, *(n for e in entries[1:] if isinstance(n := e.get("line"), int))])
    damage = []
    if wrong:
        damage.append(f"{wrong} {'line is' if wrong == 1 else 'lines are'} damaged")
    if missing > wrong:
        damage.append(f"{missing - wrong} encrypted {'line is' if missing - wrong == 1 else 'lines are'} missing")
    return lines, tuple(damage), opens
