"""Whether a signature was made by a key that has expired since (RFC 9580, versions 4; RSA, ECDSA and EdDSA).

The OpenPGP library refuses expired keys whatever the time of the signature; the ecosystem accepts them still. Packets
are taken apart by that library, and the arithmetic is that of `cryptography`.
"""

from __future__ import annotations

import hashlib
from typing import Any

_HASHES = {8: "sha256", 9: "sha384", 10: "sha512", 11: "sha224"}
_RSA, _ECDSA, _EDDSA, _ED25519 = (1, 3), 19, 22, 27


def is_by_key_of(certificate: bytes, signature: bytes, document: bytes) -> bool:
    """Whether one of the keys of a certificate made this detached signature over a document."""
    from pysequoia.packet import PacketPile, Tag

    try:
        (packet,) = [p for p in PacketPile.from_bytes(signature) if p.tag == Tag.Signature]
        wanted = (packet.issuer_fingerprint or "").lower()
        for key in PacketPile.from_bytes(certificate):
            if key.tag in (Tag.PublicKey, Tag.PublicSubkey) and str(key.fingerprint).lower() == wanted:
                return _verifies(bytes(key.body), bytes(packet.body), document)
    except Exception:  # whatever is wrong with it, it proves nothing
        return False
    return False


def _verifies(key: bytes, signature: bytes, document: bytes) -> bool:
    if key[0] != 4 or signature[0] != 4:
        return False
    name = _HASHES[signature[3]]
    hashed = 6 + int.from_bytes(signature[4:6], "big")
    digest = hashlib.new(name, document)
    digest.update(signature[:hashed] + b"\x04\xff" + hashed.to_bytes(4, "big"))
    after = hashed + 2 + int.from_bytes(signature[hashed : hashed + 2], "big")
    return _is_good(key[5], key[6:], signature[after + 2 :], name, digest.digest())


def _is_good(algorithm: int, key: bytes, numbers: bytes, name: str, digest: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

    method: Any = utils.Prehashed(getattr(hashes, name.upper())())
    try:
        if algorithm in _RSA:
            modulus, exponent = _integers(key, 2)
            public = rsa.RSAPublicNumbers(exponent, modulus).public_key()
            size = (modulus.bit_length() + 7) // 8
            public.verify(_integers(numbers, 1)[0].to_bytes(size, "big"), digest, padding.PKCS1v15(), method)
        elif algorithm == _ED25519:
            ed25519.Ed25519PublicKey.from_public_bytes(key[:32]).verify(numbers[:64], digest)
        elif algorithm == _EDDSA:
            point = _integers(key[1 + key[0] :], 1)[0].to_bytes(33, "big")[1:]
            r, s = _integers(numbers, 2)
            text = r.to_bytes(32, "big") + s.to_bytes(32, "big")
            ed25519.Ed25519PublicKey.from_public_bytes(point).verify(text, digest)
        elif algorithm == _ECDSA:
            curve = {8: ec.SECP256R1(), 5: ec.SECP384R1() if key[5] == 34 else ec.SECP521R1()}[key[0]]
            at = _integers(key[1 + key[0] :], 1)[0]
            point = at.to_bytes((at.bit_length() + 7) // 8, "big")
            r, s = _integers(numbers, 2)
            ec.EllipticCurvePublicKey.from_encoded_point(curve, point).verify(
                utils.encode_dss_signature(r, s), digest, ec.ECDSA(method)
            )
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _integers(data: bytes, count: int) -> list[int]:
    """Multi-precision integers: a length in bits (two bytes), then the number."""
    found, at = [], 0
    for _ in range(count):
        size = (int.from_bytes(data[at : at + 2], "big") + 7) // 8
        found.append(int.from_bytes(data[at + 2 : at + 2 + size], "big"))
        at += 2 + size
    return found
