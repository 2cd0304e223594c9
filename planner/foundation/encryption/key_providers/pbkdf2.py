"""`pbkdf2`: keys derived from a passphrase, or from the keys of another key provider."""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import pbkdf2_hmac

from planner.foundation.encryption.envelope import encode
from planner.foundation.encryption.keys import (
    EncryptionArguments,
    Given,
    Key,
    Keys,
    Metadata,
    MetadataError,
    ProviderError,
    Setting,
    bytes_of,
    number_of,
    text_of,
)
from planner.foundation.values.types import NUMBER
from planner.foundation.vocabulary.records import frozen

SETTINGS = EncryptionArguments(
    {
        "passphrase": Setting(),
        "chain": Setting(keys=True),
        "key_length": Setting(NUMBER),
        "iterations": Setting(NUMBER),
        "hash_function": Setting(),
        "salt_length": Setting(NUMBER),
    }
)
LEAST_PASSPHRASE = 16  # bytes
LEAST_ITERATIONS = 200_000
_SIZES = {"sha256": 32, "sha512": 64}  # the size of a digest, in bytes
MAX_ROUNDS = 20_000_000
"""the maximum number of iterations, over all blocks of the key, that stored metadata may require (about half a minute),
unless the configuration allows more; without a limit, a crafted file could make planner compute for years"""
MAX_SALT = 1 << 20  # bytes
MAX_LENGTH = 1 << 16  # the maximum length of a key that stored metadata may require, in bytes
_random = os.urandom


@frozen(eq=False, repr=False)
class Pbkdf2:
    """A key provider that derives keys. `chain`: keys of another key provider, used instead of a passphrase."""

    passphrase: bytes
    chain: Keys | None
    key_length: int
    iterations: int
    hash_function: str
    salt_length: int

    def provide(self, metadata: Metadata | None) -> tuple[Keys, Metadata]:
        salt = _random(self.salt_length)
        above = self.chain.encryption if self.chain is not None else Key.of(self.passphrase)
        assert above is not None
        encryption = _key(above, self.hash_function, salt, self.iterations, self.key_length)
        kept = {
            "salt": encode(salt),
            "iterations": self.iterations,
            "hash_function": self.hash_function,
            "key_length": self.key_length,
        }
        return self._with_decryption(encryption, metadata), kept

    def _with_decryption(self, encryption: Key, metadata: Metadata | None) -> Keys:
        if metadata is None:
            return Keys(encryption)
        salt, name = bytes_of(metadata, "salt"), text_of(metadata, "hash_function")
        iterations, length = number_of(metadata, "iterations"), number_of(metadata, "key_length")
        if not (salt and name and iterations and length):
            return Keys(encryption, None, "its metadata is incomplete")
        if iterations < 0:
            raise ProviderError(f"invalid number of iterations ({iterations})")
        if length < 0:
            raise ProviderError(f"invalid key length ({length})")
        if name not in _SIZES:
            raise ProviderError(f"invalid hash function name: invalid hash function name: {name}")
        if len(salt) > MAX_SALT or length > max(MAX_LENGTH, self.key_length):
            raise MetadataError(f"a salt of {len(salt)} bytes and a key of {length} are out of range")
        most = max(MAX_ROUNDS, _rounds(self.iterations, self.key_length, self.hash_function))
        if _rounds(iterations, length, name) > most:
            raise MetadataError(
                f"{iterations} iterations for a key of {length} bytes would take too long; if this is intended, "
                "configure the key provider with these iterations, this key_length and this hash_function"
            )
        above = Key.of(self.passphrase) if self.chain is None else self.chain.decryption
        if above is None:  # a key that is derived from an empty secret would be public
            assert self.chain is not None
            return Keys(encryption, None, self.chain.without_decryption or "the chained key provider returned none")
        return Keys(encryption, _key(above, name, salt, iterations, length))


def _rounds(iterations: int, length: int, hash_function: str) -> int:
    return iterations * -(-length // _SIZES[hash_function])


def _key(above: Key, hash_function: str, salt: bytes, iterations: int, length: int) -> Key:
    return Key(length, lambda: _derive_key(above.bytes(), hash_function, salt, iterations, length))


@lru_cache(32)
def _derive_key(passphrase: bytes, hash_function: str, salt: bytes, iterations: int, length: int) -> bytes:
    return pbkdf2_hmac(hash_function, passphrase, salt, iterations, length)


def build(settings: Given) -> Pbkdf2:
    """The key provider with these settings. Raises ProviderError."""
    passphrase = settings.get("passphrase", "").encode("utf-8", "surrogateescape")
    chain: Keys | None = settings.get("chain")
    if not passphrase and chain is None:
        raise ProviderError("no passphrase provided and no chained provider defined")
    if passphrase and chain is not None:
        raise ProviderError("passphrase and chain are mutually exclusive")
    if chain is not None:
        _check_chain(chain)
    elif len(passphrase) < LEAST_PASSPHRASE:
        raise ProviderError(f"passphrase is too short (minimum {LEAST_PASSPHRASE} characters)")
    length, iterations = settings.get("key_length", 32), settings.get("iterations", 600_000)
    salt_length, name = settings.get("salt_length", 32), settings.get("hash_function", "sha512")
    if length <= 0:
        raise ProviderError("the key length must be larger than zero")
    if iterations <= 0:
        raise ProviderError("the number of iterations must be larger than zero")
    if iterations < LEAST_ITERATIONS:
        raise ProviderError(
            f"the number of iterations is dangerously low (<{LEAST_ITERATIONS}), refusing to generate key"
        )
    if salt_length <= 0:
        raise ProviderError("the salt length must be larger than zero")
    if not name:
        raise ProviderError("invalid key provider configuration: please specify a hash function")
    if name not in _SIZES:
        raise ProviderError(f"invalid key provider configuration: invalid hash function name: {name}")
    if salt_length > MAX_SALT or length > 1 << 30 or iterations >= 1 << 31:
        raise ProviderError("the salt, the key or the number of iterations is too large")
    return Pbkdf2(passphrase, chain, length, iterations, name, salt_length)


def _check_chain(chain: Keys) -> None:
    if chain.encryption is None:
        raise ProviderError("no encryption key provided from upstream key provider")
    for kind, key in (("encryption", chain.encryption), ("decryption", chain.decryption)):
        if key is not None and key.length < LEAST_PASSPHRASE:
            raise ProviderError(
                f"upstream key provider supplied an {kind} key that is too short (minimum {LEAST_PASSPHRASE} "
                "characters)"
            )
