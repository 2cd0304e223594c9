"""`unencrypted`: the method for data that is, or was, stored unencrypted. It encrypts nothing."""

from __future__ import annotations

from planner.foundation.encryption.keys import EncryptionArguments

SETTINGS = EncryptionArguments({})
