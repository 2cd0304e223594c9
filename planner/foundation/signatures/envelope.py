"""Signed statements: in-toto statements (version 1) in DSSE envelopes (version 1). In a file, each line is an envelope
with one signature.

https://github.com/secure-systems-lab/dsse/blob/master/protocol.md

https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from planner.foundation.signatures.keys import SigningKey, Verifier
from planner.foundation.support.exact_json import orjson
from planner.foundation.vocabulary.records import frozen

PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
MAX_BYTES = 16 << 20  # the maximum size of a file with envelopes
_MAX_SIGNATURES = 64


def encode(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding of a payload: the bytes that are signed."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def envelope(statement: Mapping[str, Any], signer: SigningKey) -> bytes:
    """A signed statement, as one line of JSON. Raises ServiceError if signing fails."""
    payload = orjson.dumps(statement, option=orjson.OPT_SORT_KEYS)
    signature = signer.sign(encode(payload))
    signatures = [{"keyid": signer.key_id, "sig": base64.b64encode(signature).decode()}]
    whole = {"payloadType": PAYLOAD, "payload": base64.b64encode(payload).decode(), "signatures": signatures}
    return bytes(orjson.dumps(whole)) + b"\n"


@frozen(eq=False)
class Signed:
    """A statement, and the keys whose signatures of it are valid."""

    statement: Mapping[str, Any]
    signers: tuple[Verifier, ...]


def verify_envelope(data: bytes, verifiers: tuple[Verifier, ...]) -> Iterator[Signed]:
    """The statements in a file, each with the keys among `verifiers` that have signed it. Lines that are not envelopes
    with a statement are ignored."""
    for line in data.splitlines():
        if line.strip():
            try:
                yield _verify_line(line, verifiers)
            except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
                continue


def _verify_line(line: bytes, verifiers: tuple[Verifier, ...]) -> Signed:
    whole = orjson.loads(line)
    if whole["payloadType"] != PAYLOAD:
        raise ValueError("the payload is of a different kind")
    payload = base64.b64decode(whole["payload"], validate=True)
    message = encode(payload)
    statement = orjson.loads(payload)
    if statement["_type"] != STATEMENT:
        raise ValueError("the statement is of a different kind")
    signatures = [base64.b64decode(one["sig"], validate=True) for one in whole["signatures"][:_MAX_SIGNATURES]]
    # key ids are only unsigned hints, so every key is tried
    signers = tuple(one for one in verifiers if any(one.accepts(message, signature) for signature in signatures))
    return Signed(statement, signers)
