"""Signs saved plans. The signatures are stored next to the plan in PLAN.intoto.jsonl, one line for each signature. The
signed statement contains the name and the digest of the plan, digests of its inputs, the time until which it may be
applied, and the causes of its changes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from planner.foundation.signatures.envelope import STATEMENT, envelope
from planner.foundation.signatures.keys import load_signer
from planner.foundation.support.disk import on_disk, read_given
from planner.foundation.support.exact_json import dumps
from planner.foundation.values.json_codec import CodecError, simple_json
from planner.foundation.values.value import unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostics, Failure, ServiceError, error
from planner.foundation.vocabulary.release import RELEASE
from planner.operations.explanations import causes, changed_actions
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan
from planner.operations.plan_files import Unstored, open_plan
from planner.operations.signature_check import ENDING, PREDICATE, fleet_content, read_plan_file
from planner.world.provider.lock_file import NAME as LOCK_FILE
from planner.world.provider.lock_file import read_locks

_MOST_CAUSES = 200


# ---------------------------------------------------------------- signing


def sign(options: OperationOptions, path: str, key: str, expires: float = 0.0) -> tuple[str, str]:
    """Sign a plan file, or the manifest of a fleet's plans, with the private key in the file `key`. `expires`: the
    number of seconds for which the signature is valid (0: forever). Returns the name of the file with the signatures,
    and the fingerprint of the key. Raises Failure."""
    signer = load_signer(key)
    data = read_plan_file(path)
    if (manifest := fleet_content(data)) is not None:
        return _signed(path, key, _statement(os.path.basename(path), data, manifest, expires), signer)
    diagnostics = Diagnostics()
    opened = open_plan(options, path, diagnostics, only_shown=True)
    diagnostics.check()
    if opened.plan.errored:
        detail = f"{path} is a failed plan, which cannot be applied."
        raise Failure(error("signature.errored_plan", "Nothing to sign", detail))
    return _signed(path, key, _statement(os.path.basename(path), data, _of_plan(opened), expires), signer)


def _signed(path: str, key: str, statement: Mapping[str, Any], signer: Any) -> tuple[str, str]:
    target = f"{path}{ENDING}"
    try:
        line = envelope(statement, signer)
        descriptor = os.open(on_disk(target), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "ab") as file:
            file.write(line)
    except ServiceError as problem:
        raise Failure(error("signature.refused", "The key cannot sign", f"{key}: {problem.text}.")) from None
    except OSError as problem:
        detail = f"{target}: {problem.strerror or problem}."
        raise Failure(error("signature.write", "Cannot write the signature", detail)) from None
    return target, signer.key_id


def _statement(name: str, data: bytes, content: Mapping[str, Any], expires: float) -> dict[str, Any]:
    now = time.time()
    predicate = {"planner_version": RELEASE, "signed_at": _moment(now), **content}
    if expires:
        predicate["expires_at"] = _moment(now + expires)
    subject = [{"name": name, "digest": {"sha256": sha256(data).hexdigest()}}]
    return {"_type": STATEMENT, "subject": subject, "predicateType": PREDICATE, "predicate": predicate}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _of_plan(made: MadePlan[Unstored]) -> dict[str, Any]:
    """The description of a plan in the signed statement: the changes, their causes, and digests of the inputs. It
    contains no sensitive values."""
    plan, loaded = made.plan, made.loaded
    locks, _ = read_locks(loaded.options.directory)
    chains = causes(made)
    planned = changed_actions(made)
    roots = {(root.what, root.kind): root.json for because in chains.values() for root in because.roots}
    return {
        "workspace": loaded.workspace,
        "mode": plan.mode,
        "state": {
            "backend": str(plan.backend.get("type", "local")),
            "lineage": plan.previous_state.lineage,
            "serial": plan.previous_state.serial,
        },
        "configuration": {name: f"sha256:{digest}" for name, digest in sorted(loaded.config.files.items())},
        "lock_file": _digest_of_file(os.path.join(loaded.options.directory, LOCK_FILE)),
        "variables": _digest(sorted((name, _plain(value)) for name, value in _shown_variables(made))),
        "providers": {
            source: {"version": str(one.version), "hashes": list(one.hashes)} for source, one in locks.items()
        },
        "policies": {name: _digest(text) for name, text in plan.policy.files} if plan.policy is not None else {},
        "verdicts": [list(verdict) for verdict in plan.policy.verdicts] if plan.policy is not None else [],
        "changes": dict(sorted(planned.items())),
        "causes": [roots[key] for key in sorted(roots)[:_MOST_CAUSES]],
        "causes_left_out": max(0, len(roots) - _MOST_CAUSES),
    }


def _shown_variables(made: MadePlan[Unstored]) -> Iterator[tuple[str, Any]]:
    """(name, value) of the signed variables. Sensitive variables are omitted, because a value with few possibilities
    could be guessed from its digest."""
    declared = made.loaded.config.root.variables
    for name, value in made.plan.variables.items():
        if value is not None and not (name in declared and declared[name].sensitive):
            yield name, value


def _plain(value: Any) -> Any:
    """The value of a variable in JSON, without marks; None if the value has no JSON form. The signed statement does not
    contain the values, but one digest of all values together."""
    try:
        return simple_json(unmark_deep(value)[0])
    except CodecError:
        return None


def _digest(content: Any) -> str:
    return f"sha256:{sha256(content.encode() if isinstance(content, str) else dumps(content)).hexdigest()}"


def _digest_of_file(path: str) -> str:
    try:
        return f"sha256:{sha256(read_given(path)).hexdigest()}"
    except OSError:
        return ""
