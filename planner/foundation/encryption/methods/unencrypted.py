"""`unencrypted`: a mark that something is, or was, kept in clear. Nothing is ever encrypted by it."""

from __future__ import annotations

from planner.foundation.encryption.keys import EncryptionArguments

SETTINGS = EncryptionArguments({})
