"""`unencrypted`: the method for data that is, or was, stored unencrypted. The method encrypts nothing."""

from __future__ import annotations

from planner.foundation.encryption.keys import EncryptionArguments

SETTINGS = EncryptionArguments({})
