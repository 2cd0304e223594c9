"""States in local files: conversion between their text and the stored bytes."""

from __future__ import annotations

from planner.foundation.vocabulary.diagnostic import Failure
from planner.world.state.encryption_seal import PLAIN, Seal, Unsealed
from planner.world.state.file import read_state, write_state
from planner.world.state.model import State


class SealedFiles:
    """Reads and writes the files of one state. The last content is remembered, because it is read again before it is
    replaced."""

    def __init__(self, seal: Seal = PLAIN) -> None:
        self.seal = seal
        self._kept, self._said = b"", Unsealed(b"")

    def text(self, state: State) -> bytes:
        """The unencrypted content of a state file: indented for people, or compact if only programs read it. Raises
        ValueError."""
        return write_state(state, compact=not self.seal.is_plain)

    def sealed(self, text: bytes) -> bytes:
        """The bytes to write. Raises Failure."""
        if self.seal.is_plain:
            return text
        from planner.foundation.encryption.envelope import indented

        self._kept, self._said = indented(self.seal.seal(text)), Unsealed(text)
        return self._kept

    def opened(self, data: bytes) -> Unsealed:
        """The content of a file's bytes; empty for none. Raises Failure."""
        if self.seal is PLAIN or not data:
            return Unsealed(data)
        if data != self._kept:
            self._said = self.seal.unseal(data)
            self._kept = data
        return self._said

    def says(self, data: bytes, text: bytes) -> bool:
        """Whether the bytes of a file have exactly this content and the form in which planner would write it now."""
        if self.seal is PLAIN:
            return data == text
        try:
            content = self.opened(data)
        except Failure:
            return False
        return bool(data) and content.data == text and not content.is_pending

    def backup(self, data: bytes) -> bytes:
        """The bytes for a backup of a file; an unencrypted file is encrypted."""
        if self.seal is PLAIN:
            return data
        try:
            return self.seal.seal(self.seal.unseal(data).data)
        except Failure:
            # Bytes that may be unreadable: an unencrypted state is encrypted; everything else is unchanged.
            from planner.world.state.encrypted_seal import no_state

            return data if no_state(data) or self.seal.is_plain else self.seal.seal(data)

    def resealed(self, data: bytes) -> bytes | None:
        """The bytes of a backup in the form that is now written; None if they already have it, or cannot be read."""
        try:
            content = self.seal.unseal(data)
            return self.seal.seal(content.data) if content.is_pending and not self.seal.is_plain else None
        except Failure:
            return None

    def state(self, data: bytes, name: str) -> State | None:
        """The state in the bytes of a file; None if there is none, or it cannot be read."""
        try:
            return read_state(self.opened(data).data, name)[0]
        except Failure:
            return None
