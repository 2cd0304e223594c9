"""`unencrypted`: marks data that are, or were, stored in clear. It encrypts nothing."""

from __future__ import annotations

from planner.foundation.encryption.keys import EncryptionArguments

SETTINGS = EncryptionArguments({})
