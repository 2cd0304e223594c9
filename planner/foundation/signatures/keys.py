"""Signing and verification keys: ed25519 and ECDSA keys in PEM files, and ed25519, ECDSA and RSA keys in OpenSSH's
files and agents."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planner.foundation.signatures import ssh
from planner.foundation.support.disk import list_directory, on_disk, read_given
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import field, frozen

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

PASSPHRASE = "PLANNER_SIGNING_PASSPHRASE"  # the environment variable for the passphrase of a private key
_MAX_BYTES = 1 << 16  # the maximum size of a key file
_LEAST_RSA = 2048
_SSH_WORDS = (b"ssh-", b"ecdsa-sha2-")


@frozen(eq=False)
class SigningKey:
    """A private key, or a key in an agent. `sign` returns the signature of bytes, or raises ServiceError."""

    key_id: str
    sign: Callable[[bytes], bytes] = field(repr=False)


@frozen(eq=False)
class Verifier:
    """A public key. `key_id` is the fingerprint that ssh-keygen prints, `name` the name of the key's file."""

    key_id: str
    name: str
    key: Any = field(repr=False)
    encoded: bytes = field(repr=False)  # the key in OpenSSH's format

    def accepts(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature, plain or in OpenSSH's format, was made by this key."""
        from cryptography.exceptions import InvalidSignature

        try:
            if signature.startswith(ssh.MAGIC):
                key, signed = ssh.parse(signature)
                if key != self.encoded:
                    return False
                return self._accepts_ssh(ssh.signed_data(message), signed)
            self._verify(message, signature)
            return True
        except (InvalidSignature, ValueError):
            return False

    def _verify(self, message: bytes, signature: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if isinstance(self.key, Ed25519PublicKey):
            self.key.verify(signature, message)
        elif isinstance(self.key, EllipticCurvePublicKey):
            self.key.verify(signature, message, ECDSA(_hash_of(self.key)))
        else:
            raise ValueError("signatures of RSA keys must be in OpenSSH format")

    def _accepts_ssh(self, data: bytes, signed: bytes) -> bool:
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA512

        reader = ssh.Reader(signed)
        kind, value = reader.text(), reader.text()
        if isinstance(self.key, RSAPublicKey):
            if kind != b"rsa-sha2-512":
                return False
            self.key.verify(value, data, PKCS1v15(), SHA512())
            return True
        if kind != ssh.Reader(self.encoded).text():
            return False
        if isinstance(self.key, EllipticCurvePublicKey):
            numbers = ssh.Reader(value)
            r, s = (int.from_bytes(numbers.text(), "big") for _ in range(2))
            value = encode_dss_signature(r, s)
        self._verify(data, value)
        return True


def _hash_of(key: EllipticCurvePublicKey) -> Any:
    from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512

    return {256: SHA256(), 384: SHA384(), 521: SHA512()}[key.curve.key_size]


# ---------------------------------------------------------------- reading


def load_signer(path: str) -> SigningKey:
    """The private key in a file. If the file contains an OpenSSH public key, the agent signs with the private key.
    Raises Failure."""
    data = _content(path)
    if data.startswith(_SSH_WORDS):
        verifier = _verifier(data, path)
        return SigningKey(verifier.key_id, lambda message: _by_agent(verifier.encoded, message))
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    is_ssh = b"BEGIN OPENSSH PRIVATE KEY" in data
    passphrase = os.environ.get(PASSPHRASE, "").encode() or None
    try:
        key: Any = (load_ssh_private_key if is_ssh else load_pem_private_key)(data, passphrase)
    except (ValueError, TypeError, UnsupportedAlgorithm) as problem:
        hint = f" If it has a passphrase, set {PASSPHRASE} to it." if passphrase is None else ""
        raise _unusable(path, f"{problem}.{hint}") from None
    verifier = _as_verifier(key.public_key(), path)
    if is_ssh or _is_rsa(verifier.key):
        return SigningKey(verifier.key_id, lambda message: _in_ssh_form(key, verifier.encoded, message))
    return SigningKey(verifier.key_id, lambda message: _plain_signature(key, message))


def load_verifiers(paths: tuple[str, ...]) -> tuple[Verifier, ...]:
    """The public keys in files and directories: PEM, or lines as in authorized_keys. Raises Failure."""
    keys: dict[str, Verifier] = {}
    for path in paths:
        where = on_disk(path)
        files = [path]
        if os.path.isdir(where):
            files = [os.path.join(path, entry.name) for entry in sorted(list_directory(path), key=lambda e: e.name)]
        for file in files:
            for verifier in _verifiers(file):
                keys.setdefault(verifier.key_id, verifier)
    if not keys:
        detail = f"There are no public keys in {', '.join(paths) or 'the named files'}."
        raise Failure(error("signature.no_keys", "No keys to verify signatures", detail))
    return tuple(keys.values())


def _verifiers(path: str) -> list[Verifier]:
    data = _content(path)
    if b"-----BEGIN" in data:
        return [_verifier(data, path)]
    lines = [line.strip() for line in data.splitlines()]
    return [_verifier(line, path) for line in lines if line and not line.startswith(b"#")]


def _verifier(data: bytes, path: str) -> Verifier:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key

    try:
        if b"-----BEGIN" in data:
            return _as_verifier(load_pem_public_key(data), path)
        words = data.split()
        at = next(
            (i for i, word in enumerate(words) if word.startswith(_SSH_WORDS)), 0
        )  # the principals precede the key
        return _as_verifier(load_ssh_public_key(b" ".join(words[at : at + 2])), path)
    except (ValueError, UnsupportedAlgorithm) as problem:
        raise _unusable(path, f"{problem}.") from None


def _as_verifier(key: Any, path: str) -> Verifier:
    """The verifier of a public key. Raises Failure for weak or unsupported keys."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, SECP384R1, SECP521R1, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    is_curve = isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1 | SECP384R1 | SECP521R1)
    if not (isinstance(key, Ed25519PublicKey) or is_curve or (_is_rsa(key) and key.key_size >= _LEAST_RSA)):
        raise _unusable(
            path, f"Supported keys: ed25519, ECDSA (P-256, P-384, P-521), RSA with {_LEAST_RSA} bits or more."
        )
    words = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).split()
    encoded = base64.b64decode(words[1])
    return Verifier(ssh.fingerprint(encoded), os.path.basename(path), key, encoded)


def _is_rsa(key: Any) -> bool:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    return isinstance(key, RSAPublicKey)


def _content(path: str) -> bytes:
    try:
        return read_given(path, _MAX_BYTES)
    except (OSError, ValueError) as problem:
        raise _unusable(path, f"{getattr(problem, 'strerror', None) or problem}.") from None


def _unusable(path: str, detail: str) -> Failure:
    return Failure(error("signature.key", "Unusable key", f"{path}: {detail}"))


# ---------------------------------------------------------------- signing


def _plain_signature(key: Any, message: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey

    if isinstance(key, EllipticCurvePrivateKey):
        return key.sign(message, ECDSA(_hash_of(key.public_key())))
    made: bytes = key.sign(message)
    return made


def _in_ssh_form(key: Any, encoded: bytes, message: bytes) -> bytes:
    def sign(data: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA512

        kind = ssh.Reader(encoded).text()
        if _is_rsa(key.public_key()):
            return ssh.text(b"rsa-sha2-512") + ssh.text(key.sign(data, PKCS1v15(), SHA512()))
        value = _plain_signature(key, data)
        if isinstance(key, EllipticCurvePrivateKey):
            value = b"".join(ssh.text(_big_number(n)) for n in decode_dss_signature(value))
        return ssh.text(kind) + ssh.text(value)

    return ssh.signature(encoded, message, sign)


def _big_number(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big")


def _by_agent(encoded: bytes, message: bytes) -> bytes:
    return ssh.signature(encoded, message, lambda data: ssh.agent_sign(encoded, data))
