"""Seals that encrypt: of states and plans, in OpenTofu's format, and of the documents stored with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from planner.foundation.encryption.target import Decrypted, Target, TargetError
from planner.foundation.support.exact_json import JsonError, loads
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.world.state.encryption_seal import Unsealed

NO_STATE = "Given payload is not a state file"
_HEAD = re.compile(
    rb'\{\s*"version":\s*4,\s*"terraform_version":\s*"[0-9.]*",\s*"serial":\s*(\d{1,18}),\s*"lineage":\s*"([\w-]*)",'
)
"""how state files begin that planner or OpenTofu wrote, so that large ones need not be read for two members"""
R = TypeVar("R")


def no_state(data: bytes) -> str:
    """The reason why bytes are not a state file in clear; empty when they are."""
    if _HEAD.match(data) is not None:
        return ""
    try:
        document = loads(data)
    except JsonError as bad:
        return str(bad)
    version = document.get("terraform_version") if isinstance(document, dict) else None
    return "" if isinstance(version, str) and version else NO_STATE


def no_plan(data: bytes) -> str:
    """The reason why bytes are not a plan file in clear; empty when they are."""
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
            raise TargetError(f"what is encrypted here is no {kind}")
        return Unsealed(result.data[len(mark) :], result.is_pending)

    @staticmethod
    def _failing(do: Callable[[], R]) -> R:
        """The result of work, with its errors raised as Failure."""
        try:
            return do()
        except TargetError as bad:
            raise Failure(error("state.encryption", "Error refreshing state", str(bad))) from None


class SealedState(_Sealed):
    """States."""

    def seal(self, data: bytes) -> bytes:
        serial, lineage = _serial_and_lineage(data)
        try:
            return self._target.encrypt(data, {"serial": serial, "lineage": lineage or ""})
        except TargetError as bad:
            raise Failure(error("state.encryption", "Failed to save state", str(bad))) from None

    def unseal(self, data: bytes) -> Unsealed:
        return self._failing(lambda: self._unsealed(data))

    def _unsealed(self, data: bytes) -> Unsealed:
        result = self._target.decrypt(data)
        if result.was_encrypted:
            _check_head(result)
        return Unsealed(result.data, result.is_pending)


def _check_head(found: Decrypted) -> None:
    """Serial and lineage are also in clear, where anyone can change them. Raises TargetError."""
    serial, lineage = _serial_and_lineage(found.data)
    outer, history = found.head.get("serial"), found.head.get("lineage")
    if outer is not None and outer.__class__ is not int:
        raise TargetError("the serial of the encrypted state is not a whole number")
    if outer is not None and serial is not None and outer != serial:
        raise TargetError(f"invalid state metadata, serial field mismatch {outer} vs {serial}")
    if history and history != lineage:
        raise TargetError(f"invalid state metadata, linage field mismatch {history} vs {lineage or ''}")


def _serial_and_lineage(data: bytes) -> tuple[int | None, str | None]:
    """The serial and lineage of a state. Raises TargetError for other data."""
    head = _HEAD.match(data)
    if head is not None:
        return int(head[1]), head[2].decode("ascii")
    try:
        document: Any = loads(data)
    except JsonError as bad:
        raise TargetError(f"what is encrypted here is not a state: {bad}") from None
    if not isinstance(document, dict):
        raise TargetError("what is encrypted here is not a state")
    serial, lineage = document.get("serial"), document.get("lineage")
    return serial if serial.__class__ is int else None, lineage if isinstance(lineage, str) else None


class SealedPlan(_Sealed):
    """Plan files."""

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
