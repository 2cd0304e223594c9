"""`aes_gcm`: AES in Galois/Counter Mode. Encrypted data is a nonce of 12 bytes, the ciphertext, and a tag of 16
bytes."""

from __future__ import annotations

import os

from planner.foundation.encryption.keys import EncryptionArguments, Given, Key, Keys, Setting
from planner.foundation.encryption.target import DecryptionError, EncryptionError, InvalidMethodError, NoKeyError
from planner.foundation.values.types import NUMBER, ListType
from planner.foundation.vocabulary.records import frozen

SETTINGS = EncryptionArguments({"keys": Setting(required=True, keys=True), "aad": Setting(ListType(NUMBER))})
_LENGTHS = (16, 24, 32)
_NONCE = 12
_random = os.urandom


@frozen(eq=False, repr=False)
class AesGcm:
    """A method that encrypts with AES-GCM. `aad`: additional authenticated data."""

    keys: Keys
    aad: bytes

    def encrypt(self, data: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        assert self.keys.encryption is not None
        nonce = _random(_NONCE)
        try:
            return nonce + AESGCM(self.keys.encryption.bytes()).encrypt(nonce, data, self.aad)
        except (OverflowError, ValueError) as problem:
            raise EncryptionError(str(problem)) from None

    def decrypt(self, data: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if self.keys.decryption is None:
            raise NoKeyError(self.keys.without_decryption)
        if not data:
            raise DecryptionError("cannot decrypt empty data")
        if len(data) < _NONCE:
            raise DecryptionError("cannot decrypt data because it is too small (likely data corruption)")
        try:
            return AESGCM(self.keys.decryption.bytes()).decrypt(data[:_NONCE], data[_NONCE:], self.aad)
        except (InvalidTag, OverflowError, ValueError):
            raise DecryptionError("cipher: message authentication failed") from None


def build(settings: Given) -> AesGcm:
    """The method with these settings. Raises InvalidMethodError."""
    keys: Keys = settings["keys"]
    for kind, key in (("encryption", keys.encryption), ("decryption", keys.decryption)):
        if not _is_good(kind, key):
            lengths = ", ".join(map(str, _LENGTHS))
            raise InvalidMethodError(
                f"AES-GCM requires the key length to be one of: {lengths}, received "
                f"{key.length if key is not None else 0} bytes in the {kind} key"
            )
    return AesGcm(keys, bytes(settings.get("aad", ())))


def _is_good(kind: str, key: Key | None) -> bool:
    return kind == "decryption" if key is None else key.length in _LENGTHS
