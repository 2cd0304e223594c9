"""Checks the signatures of plan files against the required keys."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from planner.foundation.signatures.envelope import MAX_BYTES, verify_envelope
from planner.foundation.signatures.keys import Verifier, load_verifiers
from planner.foundation.support.disk import read_given
from planner.foundation.support.exact_json import JsonError, loads
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.operations.load import selected_workspace
from planner.operations.options import Approval, OperationOptions, Requirement

ENDING = ".intoto.jsonl"
PREDICATE = "urn:planner:approval:1"
_SECONDS_AHEAD = 300
"""the number of seconds by which a signature may appear to be in the future, because the clocks of two machines
differ"""


def approved_file(options: OperationOptions, required: Iterable[Requirement], path: str) -> tuple[bytes, Approval]:
    """The content of a plan file, and its approval for the selected workspace. Raises Failure if the required
    signatures are missing."""
    data = read_plan_file(path)
    workspace = "" if fleet_content(data) is not None else selected_workspace(options)[0]
    return data, check(required, path, os.path.basename(path), data, workspace)


def check(required: Iterable[Requirement], path: str, name: str, data: bytes, workspace: str = "") -> Approval:
    """Check the signatures of the file `path`, and return the approval. `data`: the content of the file. `name`,
    `workspace`: the names of the file and of the workspace that the signed statements must contain ("" for any
    workspace). Raises Failure if a requirement is not met."""
    digest = sha256(data).hexdigest()
    signers: dict[str, str] = {}
    for requirement in required:
        verifiers = load_verifiers(requirement.keys)
        valid, reasons = _valid(_signatures(path), verifiers, name, digest, workspace)
        if len(valid) < requirement.number:
            raise Failure(_missing(requirement, path, len(valid), reasons))
        signers |= valid
    return (("plan", f"sha256:{digest}"), *sorted(signers.items()))


def _valid(
    data: bytes, verifiers: tuple[Verifier, ...], name: str, digest: str, workspace: str
) -> tuple[dict[str, str], list[str]]:
    """{key: time of its signature} of the valid signatures, and the reasons why other signatures are not valid."""
    valid: dict[str, str] = {}
    reasons: list[str] = []
    for signed in verify_envelope(data, verifiers):
        if not signed.signers:
            reasons.append("a signature was not made with any of these keys, or was changed")
            continue
        names = ", ".join(f"{one.key_id} ({one.name})" for one in signed.signers)
        try:
            wrong = _wrong(signed.statement, name, digest, workspace)
            moment = str(signed.statement["predicate"]["signed_at"])
        except (KeyError, TypeError, AttributeError, ValueError, IndexError):
            wrong, moment = "its statement is not an approval made by planner", ""
        if wrong:
            reasons.append(f"the signature of {names} is not valid: {wrong}")
        else:
            valid |= {one.key_id: moment for one in signed.signers}
    return valid, reasons


def _wrong(statement: Mapping[str, Any], name: str, digest: str, workspace: str) -> str:
    """Why a signed statement does not approve a file; "" if it does."""
    if statement["predicateType"] != PREDICATE:
        return "its statement is not an approval made by planner"
    (subject,) = statement["subject"]
    predicate = statement["predicate"]
    if subject["digest"]["sha256"] != digest:
        return "it is for another plan, or the plan was changed since"
    if subject["name"] != name:
        return f"it is for {subject['name']}, but the file is called {name}"
    if workspace and predicate["workspace"] != workspace:
        return f"it is for the workspace {predicate['workspace']}, but this one is {workspace}"
    now = time.time()
    if _seconds(predicate["signed_at"]) > now + _SECONDS_AHEAD:
        return f"it was made at {predicate['signed_at']}, which is in the future"
    if "expires_at" in predicate and _seconds(predicate["expires_at"]) < now:
        return f"it expired at {predicate['expires_at']}"
    return ""


def _seconds(moment: str) -> float:
    return datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def _missing(requirement: Requirement, path: str, count: int, reasons: list[str]) -> Any:
    several = requirement.number != 1
    wanted = f"{requirement.number} signatures" if several else "a signature"
    there = f"{count} of them {'is' if count == 1 else 'are'} valid" if several else "none is valid"
    listed = "".join(f"\n  - {reason}" for reason in dict.fromkeys(reasons))
    files = ", ".join(requirement.keys)
    detail = f"{requirement.source} requires {wanted} by the keys in {files}; {there}.{listed}"
    if not reasons:
        detail += f" There are no signatures in {path}{ENDING}: planner sign {path} -key=FILE makes one."
    return error("signature.missing", "The plan is not approved", detail)


def _signatures(path: str) -> bytes:
    try:
        return read_given(f"{path}{ENDING}", MAX_BYTES)
    except FileNotFoundError:
        return b""
    except (OSError, ValueError) as problem:
        detail = f"{path}{ENDING}: {getattr(problem, 'strerror', None) or problem}."
        raise Failure(error("signature.unreadable", "Cannot read the signatures", detail)) from None


def read_plan_file(path: str) -> bytes:
    try:
        return read_given(path)
    except (OSError, ValueError) as problem:
        detail = f"{path}: {getattr(problem, 'strerror', None) or problem}."
        raise Failure(error("plan_file.read", "Cannot read the plan file", detail)) from None


def fleet_content(data: bytes) -> dict[str, Any] | None:
    """The part of a signed statement that describes the plans of a fleet, from their manifest. The manifest contains
    the digests of all plans. None if `data` is not such a manifest."""
    if not data.startswith(b"{"):
        return None
    try:
        document = loads(data)
        units = {
            name: {"plan": f"sha256:{unit['plan']}" if unit["plan"] else "", "outcome": unit["outcome"]}
            for name, unit in document["units"].items()
        }
        return {"mode": document["mode"], "made": document["made"], "by": document["by"], "units": units}
    except (JsonError, KeyError, TypeError, AttributeError):
        return None
