"""Reads and writes plan files. These are zip archives that contain the plan, its states and the configuration files.
Members: `tfplan`, JSON in planner's own format (see `planner.answers.documents.encoding`); `tfstate`, the state after
refresh; `tfstate-prev`, the state before refresh, if different; `tfstate-planned`, the state expected after the apply;
`config/N`, the configuration files in the order of `sources` in `tfplan`; `schemas`, provider schemas, for showing the
plan when plugins are not installed; `review`, data for the report of the apply; `sha256`, the checksum of all other
members, so that a changed plan file is rejected. Nothing in a plan file is executed, and every defect of the file is
reported as a diagnostic. Plan files contain sensitive values in plain text, unless encryption is configured
(`seal`)."""

from __future__ import annotations

import io
import os
import posixpath
import zlib
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from planner.answers.documents.encoding import decode, encode
from planner.answers.documents.json_schemas import provider_schema, schemas_json
from planner.foundation.support.disk import collector_paused, read_given, remove_leftovers, replace_file
from planner.foundation.support.exact_json import JsonError, dumps, loads
from planner.foundation.vocabulary.address import AddressError
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, InstallError, error
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.records import fields
from planner.foundation.vocabulary.release import RELEASE
from planner.logic.model.plan import (
    CheckResult,
    DeferredChange,
    Importing,
    Invocation,
    OutputChange,
    Plan,
    PolicyRecord,
    ResourceChange,
)
from planner.logic.programs.actions import actions, known_triggers
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.file import read_state, write_state
from planner.world.state.model import State

if TYPE_CHECKING:
    from zipfile import ZipFile

    from planner.world.provider.interface import ProviderSchema

FORMAT = "planner plan"
VERSION = 2
SUM = "sha256"
"""the member with the checksum of all other members"""
SCHEMAS, REVIEW = "schemas", "review"
RECORDS: dict[str, type] = {
    c.__name__: c
    for c in (CheckResult, DeferredChange, Importing, Invocation, OutputChange, PolicyRecord, ResourceChange)
}
ABSOLUTE = ".terraform/absolute"
"""the directory in a plan file for modules with absolute paths"""
_STATES = {"prior_state": "tfstate", "previous_state": "tfstate-prev", "planned_state": "tfstate-planned"}
_LEFT_OUT = ("module_outputs",)
"""fields of Plan that are not stored, because they are evaluated again when a saved plan is applied"""
_OWN = frozenset((*_STATES, *_LEFT_OUT, "limits"))
"""fields of Plan that are not encoded in `tfplan` like the other fields"""
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
_MODES = ("normal", "destroy", "refresh-only")


# ---------------------------------------------------------------- writing


def write_plan(
    path: str,
    plan: Plan,
    sources: Mapping[str, bytes],
    seal: Seal = PLAIN,
    mode: int = 0o666,
    schemas: Mapping[str, ProviderSchema] | None = None,
    review: Mapping[str, Any] | None = None,
    durable: bool = True,
) -> list[Diagnostic]:
    """Write a plan file. Returns errors. `sources`: {path of a configuration file: content}. `mode`: the permissions of
    a new file, before the umask is applied. `schemas`: {source address: schema}, for showing the plan later. `review`:
    data for the report of the apply. `durable`: as for `replace_file`."""
    with collector_paused():
        data = plan_bytes(plan, sources, schemas, review)
    try:
        data = seal.seal(data)
    except Failure as failure:
        return failure.diagnostics
    try:
        remove_leftovers(path)
        replace_file(path, data, mode, durable=durable)
    except OSError as e:
        return [error("plan_file.write", "Cannot write the plan file", f"{path}: {e.strerror or e}.")]
    return []


def plan_bytes(
    plan: Plan,
    sources: Mapping[str, bytes],
    schemas: Mapping[str, ProviderSchema] | None = None,
    review: Mapping[str, Any] | None = None,
) -> bytes:
    """The content of a plan file. Equal plans have equal contents."""
    from zipfile import ZIP_DEFLATED, ZIP_STORED

    from planner.foundation.support.archive import allowed_bytes

    members = _members(plan, sources)
    if schemas:
        members.append((SCHEMAS, dumps(schemas_json(schemas))))
    if review:
        members.append((REVIEW, dumps(review)))
    members.append((SUM, _sum(members)))
    data = _archive(members, ZIP_DEFLATED)
    if sum(len(content) for _, content in members) > allowed_bytes(len(data)):
        data = _archive(members, ZIP_STORED)  # otherwise, a zip reader could suspect a zip bomb
    return data


def _archive(members: Iterable[tuple[str, bytes]], method: int) -> bytes:
    from zipfile import ZipFile, ZipInfo

    out = io.BytesIO()
    with ZipFile(out, "w", method, compresslevel=1) as archive:
        for name, data in members:
            info = ZipInfo(name, _FIXED_TIME)
            info.compress_type = method
            info.external_attr = 0o600 << 16
            archive.writestr(info, data)
    return out.getvalue()


def _members(plan: Plan, sources: Mapping[str, bytes]) -> list[tuple[str, bytes]]:
    names = sorted(sources)
    raw = {field.name: encode(getattr(plan, field.name), RECORDS) for field in fields(Plan) if field.name not in _OWN}
    raw["limits"] = plan.limits.to_json()
    states = [("tfstate", write_state(plan.prior_state))]
    if plan.previous_state is not plan.prior_state:
        states.append(("tfstate-prev", write_state(plan.previous_state)))
    if plan.planned_state is not None:
        states.append(("tfstate-planned", write_state(plan.planned_state)))
    head = {
        "format": FORMAT,
        "version": VERSION,
        "planner_version": RELEASE,
        "sources": names,
        "states": [name for name, _ in states],
        "plan": raw,
    }
    members = [("tfplan", dumps(head)), *states]
    return members + [(f"config/{i}", bytes(sources[name])) for i, name in enumerate(names)]


def _sum(members: Iterable[tuple[str, bytes]]) -> bytes:
    """The SHA-256 checksum of the names and contents of members, in the order of the names."""
    digest = sha256()
    for name, data in sorted(members):
        digest.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        digest.update(data)
    return digest.hexdigest().encode()


# ---------------------------------------------------------------- reading


def read_plan(
    path: str, seal: Seal = PLAIN, data: bytes | None = None, schemas: dict[str, ProviderSchema] | None = None
) -> tuple[Plan | None, dict[str, bytes], list[Diagnostic]]:
    """The plan in a file, {path: content} of its configuration files, and problems. If there are problems, the plan is
    None. `data`: the content of the file, if it was already read. `schemas`: a dictionary {source address: schema} to
    which the schemas in the file are added, unless they are damaged."""
    from zipfile import BadZipFile, LargeZipFile, ZipFile

    from planner.foundation.support.archive import members

    try:
        data = _open(read_given(path) if data is None else data, path, seal)
        with ZipFile(io.BytesIO(data)) as archive, collector_paused():
            members(archive, len(data))
            if schemas is not None:
                schemas |= _schemas(archive)
            return _read(archive, path)
    except Failure as failure:
        return None, {}, failure.diagnostics
    except InstallError as e:
        return None, {}, [_not_a_plan(path, str(e))]
    except OSError as e:
        return None, {}, [error("plan_file.read", "Cannot read the plan file", f"{path}: {e.strerror or e}.")]
    except BadZipFile:
        return None, {}, [_not_a_plan(path, "it is not a zip archive, or the archive is damaged")]
    except (LargeZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, ValueError) as e:
        return None, {}, [_not_a_plan(path, f"its archive is damaged ({e})")]


def _schemas(archive: ZipFile) -> dict[str, ProviderSchema]:
    if SCHEMAS not in archive.namelist():
        return {}
    try:
        providers = loads(archive.read(SCHEMAS))["provider_schemas"]
        return {source: provider_schema(data) for source, data in providers.items()}
    except (JsonError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return {}


def read_review(path: str, seal: Seal = PLAIN) -> Any:
    """The review in a plan file; None if the file has no review or cannot be read. The review itself is not checked."""
    from zipfile import ZipFile

    try:
        with ZipFile(io.BytesIO(_open(read_given(path), path, seal))) as archive:
            return loads(archive.read(REVIEW)) if REVIEW in archive.namelist() else None
    except (Failure, JsonError, OSError, RecursionError, ValueError):
        return None


def _open(data: bytes, path: str, seal: Seal) -> bytes:
    """The content of a plan file, decrypted if necessary. Raises Failure."""
    if seal is PLAIN and data[:1] == b"{" and b'"encryption_version"' in data:
        raise Failure(_not_a_plan(path, "it is encrypted, and no encryption is configured to read it"))
    return seal.unseal(data).data


def _read(archive: ZipFile, path: str) -> tuple[Plan | None, dict[str, bytes], list[Diagnostic]]:
    members = set(archive.namelist())
    if "tfplan" not in members:
        return None, {}, [_not_a_plan(path, "it has no member tfplan")]
    head, problem = _head(archive.read("tfplan"), path)
    if problem is not None:
        return None, {}, [problem]
    others = members - {SUM}
    if SUM not in members or archive.read(SUM) != _sum((name, archive.read(name)) for name in others):
        return None, {}, [_not_a_plan(path, "its content was changed after it was saved")]
    try:
        names = head["sources"]
        sources = {str(name): archive.read(f"config/{i}") for i, name in enumerate(names)}
        saved = head["plan"].items()
        fields: dict[str, Any] = {name: decode(raw, RECORDS) for name, raw in saved if name not in _OWN}
        fields["limits"] = Limits.from_json(head["plan"]["limits"])
        for field, member in _STATES.items():
            if member in head["states"]:
                state, diagnostics = read_state(archive.read(member), f"in {path}")
                if diagnostics:
                    return None, {}, diagnostics
                fields[field] = state
        fields.setdefault("previous_state", fields.get("prior_state"))
        fields.setdefault("planned_state", None)
        plan = Plan(**fields)
        _check(plan)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        RecursionError,
        OverflowError,
        AddressError,
    ) as e:
        return None, {}, [_not_a_plan(path, f"its content is damaged ({type(e).__name__}: {e})")]
    return plan, sources, []


def _head(data: bytes, path: str) -> tuple[dict[str, Any], Diagnostic | None]:
    try:
        head = loads(data)
    except JsonError:
        return {}, _not_a_plan(
            path,
            "another program wrote it. Only OpenTofu can apply OpenTofu's plan files, and only planner its own",
        )
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        return {}, _not_a_plan(path, "another program wrote it")
    if head.get("version") != VERSION or head.get("planner_version") != RELEASE:
        return {}, error(
            "plan_file.version",
            "Plan file from a different version",
            f"{path} was written by planner {head.get('planner_version')} (format {head.get('version')}); this is "
            f"planner {RELEASE} (format {VERSION}). Only the version that wrote a plan file can read it: plan again.",
        )
    return head, None


def _check(plan: Plan) -> None:
    """Raises an exception, usually ValueError, if the decoded plan has parts of wrong types."""
    shapes: tuple[tuple[tuple[Any, ...], type], ...] = (
        (plan.changes, ResourceChange),
        (plan.drift, ResourceChange),
        (plan.outputs, OutputChange),
        (plan.checks, CheckResult),
        (plan.invocations, Invocation),
        (plan.deferred_changes, DeferredChange),
    )
    for items, cls in shapes:
        if items.__class__ is not tuple or any(item.__class__ is not cls for item in items):
            raise ValueError(f"a list of {cls.__name__} expected")
    if any(one.change.__class__ is not ResourceChange for one in plan.deferred_changes):
        raise ValueError("a deferred ResourceChange expected")
    if plan.rules.__class__ is not tuple or any(
        file.__class__ is not tuple or len(file) != 2 or any(part.__class__ is not str for part in file)
        for file in plan.rules
    ):
        raise ValueError("rules")
    if plan.policy is not None and plan.policy.__class__ is not PolicyRecord:
        raise ValueError("policy")
    for row in plan.policy.facts if plan.policy is not None else ():
        if row.__class__ is not tuple or not row or any(part.__class__ is not str for part in row):
            raise ValueError("policy")
    for pair in plan.providers:
        if pair.__class__ is not tuple or len(pair) != 2 or pair[0].__class__ is not str:
            raise ValueError("providers")
    for pairs in (plan.policy.files, plan.policy.overrides) if plan.policy is not None else ():
        if pairs.__class__ is not tuple or any(
            pair.__class__ is not tuple or len(pair) != 2 or any(part.__class__ is not str for part in pair)
            for pair in pairs
        ):
            raise ValueError("policy")
    for change in (*plan.changes, *plan.drift):
        if change.action not in actions() or change.importing.__class__ not in (Importing, type(None)):
            raise ValueError("action or importing")
    for one in plan.invocations:
        if one.event and (one.event, one.on_failure) not in known_triggers():
            raise ValueError("an invocation")
        if any(place.__class__ is not int or place < 0 for place in (one.block, one.index)):
            raise ValueError("the place of an invocation")
    fact_lists = (c.facts for changes in (plan.changes, plan.drift, plan.outputs) for c in changes)
    for facts in (plan.facts, *fact_lists):
        for fact in facts:
            if fact.__class__ is not tuple or not fact or any(part.__class__ not in (str, int, bool) for part in fact):
                raise ValueError("a fact expected")
    for value in (plan.variables, plan.backend):
        if value.__class__ is not dict:
            raise ValueError("an object expected")
    if plan.mode not in _MODES or plan.errored.__class__ is not bool or plan.timestamp.__class__ is not str:
        raise ValueError("mode, errored or timestamp")
    if plan.prior_state.__class__ is not State or plan.previous_state.__class__ is not State:
        raise ValueError("a state is missing")


def _not_a_plan(path: str, why: str) -> Diagnostic:
    return error("plan_file.invalid", "Unusable plan file", f"{path} cannot be read as a plan: {why}.")


# ---------------------------------------------------------------- staleness


def _was_applied(plan: Plan, current: State) -> bool:
    from planner.answers.documents.applied import was_applied

    return was_applied(plan, current)


def stale(plan: Plan, current: State | None) -> list[Diagnostic]:
    """An error if the stored state has changed since the plan was made, because applying the plan could then undo or
    repeat changes. Empty if the state is unchanged, or if there is no stored state."""
    before = plan.previous_state
    if current is None or not current.lineage:
        return []
    if before.lineage == current.lineage and before.serial == current.serial:
        return []
    what = (
        f"it was made from serial {before.serial}, and the stored state now has serial {current.serial}"
        if before.lineage == current.lineage
        else "the stored state has a different lineage: it is not a later version of the same state"
        if before.lineage
        else f"it was made before there was a state, and the stored state now has serial {current.serial}"
    )
    if before.lineage in ("", current.lineage) and _was_applied(plan, current):
        detail = (
            f"The stored state (serial {current.serial}) already has all changes of this plan. There is nothing to do."
        )
        return [error("plan_file.applied", "Saved plan already applied", detail)]
    detail = f"The plan can no longer be applied: {what}. Make the plan again."
    return [error("plan_file.stale", "Saved plan is stale", detail)]


# ---------------------------------------------------------------- the configuration files in a plan file


def unpack_sources(sources: Mapping[str, bytes], folder: str) -> tuple[str, list[Diagnostic]]:
    """Write the configuration files of a plan into an empty directory. Returns the directory of the root module there,
    and errors. Names are relative to the root module and may lead to its parent directories (`../shared/main.tf`).
    Absolute names, and names that lead out of the target directory, are errors."""
    names = {name: posixpath.normpath(name) for name in sources}
    above = max((normal.split("/").count("..") for normal in names.values()), default=0)
    root = os.path.join(folder, *(f"up{i}" for i in range(min(above, 100))))
    try:
        os.makedirs(root, exist_ok=True)
        for name, normal in names.items():
            if normal.startswith("/") or "\0" in normal or normal.split("/").count("..") > 100:
                detail = (
                    f"The plan file contains a file named {name!r}, which is not a valid path relative to the root "
                    "module."
                )
                return root, [error("plan_file.source_name", "Unusable plan file", detail)]
            target = os.path.normpath(os.path.join(root, normal))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(sources[name])
    except OSError as e:
        detail = f"{e.filename or folder}: {e.strerror or e}."
        return root, [error("plan_file.unpack", "Cannot unpack the plan's configuration", detail)]
    return root, []
