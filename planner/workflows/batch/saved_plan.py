"""Saved plans of a fleet. A saved plan is a directory with a plan file for each unit that has changes, and a manifest
that records the inputs of the plans.

    manifest.json   {"format", "version", "planner_version", "made", "by", "mode", "refresh", "key", "words",
                     "units": {unit: {"folder", "workspace", "outcome", "before": [unit...], "state", "lineage",
                     "serial", "plan": SHA-256 or "", "files": {path: digest}, "goes_on", "asked": {...},
                     "result": {...}}},
                     "shard": null or {"number", "count", "fleet", "beside": {unit: digest}},
                     "sum": SHA-256 of the rest}
    plans/          UNIT.tfplan: plan files as written by `planner plan -out`; incomplete plans are included

Only the user can read the directory and its files (0700, 0600), because plans contain values. The manifest is written
last. Its content is not trusted: names of plan files are derived from unit names, paths must be below the fleet or its
repository, and sizes are limited. Digests of outputs are computed with the key in the manifest, so that other machines
can compare them."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from planner.foundation.support.disk import replace_file, repository_of
from planner.foundation.support.exact_json import dumps, orjson
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.release import RELEASE
from planner.render.review.shape import REVIEW, require_shape
from planner.workflows.batch.files_read import A_FOLDER, digest
from planner.workflows.batch.model import FinishedUnit, UnitResult, from_json, to_json
from planner.workflows.batch.record import safe_name
from planner.workflows.batch.unit_options import NOTHING, UnitOptions
from planner.world.state.lock import user_at_host

NAME = "manifest.json"
REPORT = "report.json"
"""file with the report of a shard"""
PLANS = "plans"
FORMAT, VERSION = "planner batch plan", 1
MOST_SHARDS = 10_000
MOST_BYTES = 256 << 20
"""maximum size in bytes of the manifest and of each plan file"""
_PASSING = re.compile(r"(^|/)(\.terraform|\.planner|\.git)(/|$)|\.tfstate(\.[^/]*)?$|\.tfstate\.d(/|$)|\.lock\.info$")
_DIGEST = re.compile(r"[0-9a-f]{32}$")
_SHA = re.compile(r"([0-9a-f]{64})?$")
_OUTCOMES = ("changes", "incomplete", "unchanged")


@frozen(eq=False)
class Saved:
    """A unit of a saved plan. `plan`: SHA-256 of its plan file; "" if it has no changes. `files`: {path relative to the
    base directory: digest}."""

    unit: str
    folder: str
    workspace: str
    outcome: str
    because: str
    before: tuple[str, ...]
    state: str
    lineage: str
    serial: int
    plan: str
    files: dict[str, str]
    result: UnitResult
    asked: UnitOptions = NOTHING
    """the options of the command line for the unit"""
    goes_on: bool = True
    """whether the unit can be planned again with the same options after an interrupted apply"""

    def done(self, plan_file: str) -> FinishedUnit:
        return FinishedUnit(self.unit, self.outcome, self.because, False, evolve(self.result, plan_file=plan_file))


@frozen(eq=False)
class Shard:
    """The shard that a saved plan contains. `fleet`: a digest of all units and their files. `beside`: {unit of another
    shard that was planned to obtain its outputs: digest of its plan, see seen_as}."""

    number: int
    count: int
    fleet: str
    beside: dict[str, str]


@frozen(eq=False)
class SavedManifest:
    """The manifest of a saved plan. `mode`: normal, destroy or refresh-only. `words`: the directories, patterns and
    selectors of the command line."""

    mode: Mode
    words: tuple[str, ...]
    units: dict[str, Saved]
    key: str = ""
    """key of the digests of outputs, in hexadecimal"""
    refresh: bool = True
    made: str = ""
    by: str = ""
    shard: Shard | None = None
    sum: str = ""
    """checksum of the manifest; it identifies the plan in the records of runs"""
    data: bytes = field(default=b"", repr=False)
    """the content of the manifest file, from which this object was read"""


def base_of(root: str) -> str:
    """The base directory of the paths in a manifest: the root of the fleet's git repository or, without a repository,
    the root of the fleet."""
    return repository_of(root) or os.path.realpath(root)


def seen_as(result: UnitResult, digests: tuple[tuple[str, str], ...]) -> str:
    """A digest of the parts of a unit's plan that dependents use: its state and its planned outputs. `digests`: digests
    of the outputs' values."""
    changed = [(name, digest) for name, digest in digests if name in result.changed]
    facts = [result.lineage, result.serial, sorted(result.changed), sorted(result.unknown), sorted(changed)]
    return sha256(dumps(facts, escape_html=False)).hexdigest()[:32]


def is_saved_plan(path: str) -> bool:
    """Whether a directory has the manifest of a saved plan; its content is not checked."""
    return NAME in _names(path)


def is_left_over(path: str) -> bool:
    """Whether a directory contains an incomplete saved plan: files that are written before the manifest, and nothing
    else."""
    names = _names(path)
    return PLANS in names and names <= {PLANS, REPORT}


def _names(path: str) -> set[str]:
    try:
        return set(os.listdir(path))
    except (OSError, ValueError):
        return set()


def plan_path(folder: str, unit: str) -> str:
    return os.path.join(folder, PLANS, f"{safe_name(unit)}.tfplan")


# ---------------------------------------------------------------- writing


def prepare(folder: str) -> None:
    """Prepare a directory for a saved plan: create it, or remove an earlier saved plan from it. Raises Failure if the
    directory contains files but no saved plan, or if it cannot be written."""
    try:
        names = os.listdir(folder) if os.path.isdir(folder) else []
        if names and NAME not in names and REPORT not in names and set(names) != {PLANS}:
            detail = f"{folder} is not empty and has no saved plan of a fleet: name another directory."
            raise Failure(error("batch.out", "Plans cannot be saved", detail))
        plans = os.path.join(folder, PLANS)
        os.makedirs(plans, mode=0o700, exist_ok=True)
        for path in (folder, plans):
            os.chmod(path, 0o700)
        earlier = (os.path.join(plans, name) for name in os.listdir(plans) if name.endswith(".tfplan"))
        for path in (os.path.join(folder, NAME), os.path.join(folder, REPORT), *earlier):
            if os.path.lexists(path):
                os.unlink(path)
    except OSError as problem:
        raise _unwritten(folder, problem) from None


def write(folder: str, manifest: SavedManifest) -> None:
    """Write the manifest, which completes a saved plan. Raises Failure."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "planner_version": RELEASE,
        "made": manifest.made or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "by": manifest.by or user_at_host(),
        "mode": manifest.mode,
        "refresh": manifest.refresh,
        "key": manifest.key,
        "words": list(manifest.words),
        "units": {name: _plain(saved) for name, saved in sorted(manifest.units.items())},
        "shard": to_json(manifest.shard) if manifest.shard is not None else None,
    }
    document["sum"] = _sum(document)
    try:
        replace_file(os.path.join(folder, NAME), orjson.dumps(document, option=orjson.OPT_INDENT_2), 0o600)
    except OSError as problem:
        raise _unwritten(folder, problem) from None


def _unwritten(folder: str, problem: OSError) -> Failure:
    return Failure(error("batch.out", "Plans cannot be saved", f"{folder}: {problem.strerror or problem}."))


def _plain(saved: Saved) -> dict[str, Any]:
    data = {name: getattr(saved, name) for name in _SHAPE}
    nothing: dict[str, Any] = {"text": "", "reads": [], "planned": {}, "planned_file": "", "plan_file": ""}
    if saved.result.is_secret:
        nothing |= {"review": {}, "facts": {}}
    result = evolve(saved.result, **nothing, diagnostics=())
    return {**data, "before": list(saved.before), "result": to_json(result), "asked": to_json(saved.asked)}


def files_of(root: str, surveyed: Iterable[str], reads: Iterable[list[Any]]) -> dict[str, str]:
    """{path relative to the base directory: digest} of the files from which a unit was planned. Files outside the base
    directory and files that change in every run are left out."""
    base = base_of(root)
    known = {path: content for path, kind, _, _, content in reads if kind == "file" and content != A_FOLDER}
    table = {}
    for path in {*surveyed, *known}:
        name = os.path.relpath(os.path.realpath(path), base)
        if not name.startswith("..") and not _PASSING.search(name):
            table[name] = known.get(path) or digest(path, "file")
    return dict(sorted(table.items()))


def plan_sum(path: str) -> str:
    """The SHA-256 of a plan file, in hexadecimal; "" if it does not exist."""
    try:
        return sha256(read_bounded(path)).hexdigest()
    except FileNotFoundError:
        return ""


def _sum(document: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in document.items() if name != "sum"}
    return sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()


# ---------------------------------------------------------------- reading


def read_bounded(path: str) -> bytes:
    """The content of a file. Raises OSError if the file is not a regular file, is a symbolic link, or is larger than
    MOST_BYTES."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            raise OSError(errno.EINVAL, "is not a regular file, or is too large")
        return file.read(MOST_BYTES)


def read(folder: str) -> SavedManifest:
    """Read and check the manifest of the saved plan in a directory. Raises Failure."""
    path = os.path.join(folder, NAME)
    try:
        data = read_bounded(path)
    except FileNotFoundError:
        why = f"it has no {NAME}, which is written last: batch plan -out failed or was interrupted"
        raise _unusable(folder, why) from None
    except OSError as problem:
        raise _unusable(folder, f"{NAME}: {problem.strerror or problem}") from None
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as bad:
        raise _unusable(folder, f"{NAME} is not JSON ({bad})") from None
    if document.__class__ is not dict or document.get("format") != FORMAT:
        raise _unusable(folder, f"{NAME} is not the manifest of a fleet's saved plan")
    if document.get("version") != VERSION or document.get("planner_version") != RELEASE:
        text = f"planner {document.get('planner_version')} (format {document.get('version')}) wrote it"
        raise _unusable(folder, f"{text}; this is planner {RELEASE} (format {VERSION}). Make the plan again")
    try:
        is_as_saved = document.get("sum") == _sum(document)
    except TypeError:  # nested too deeply
        is_as_saved = False
    if not is_as_saved:
        raise _unusable(folder, f"{NAME} is not the saved file: its checksum differs")
    try:
        return evolve(_manifest(document), data=data)
    except (ValueError, KeyError, TypeError, AttributeError) as bad:
        raise _unusable(folder, f"{NAME} is damaged: {bad}") from None
    except Exception as bad:  # cattrs' exceptions for invalid data have no common type
        raise _unusable(folder, f"{NAME} is damaged: {type(bad).__name__}") from None


def _unusable(folder: str, why: str) -> Failure:
    return Failure(error("batch.saved_plan", "Unusable fleet plan", f"{folder} cannot be applied: {why}."))


_SHAPE: dict[str, type] = {
    "unit": str,
    "folder": str,
    "workspace": str,
    "outcome": str,
    "because": str,
    "state": str,
    "lineage": str,
    "serial": int,
    "plan": str,
    "files": dict,
    "goes_on": bool,
}


def _manifest(document: dict[str, Any]) -> SavedManifest:
    mode, words = document["mode"], document["words"]
    if mode not in ("normal", "destroy", "refresh-only"):
        raise ValueError("its mode is unknown")
    if words.__class__ is not list or any(w.__class__ is not str or not is_inside(w) for w in words):
        raise ValueError("it refers to units outside the working directory")
    if document["units"].__class__ is not dict:
        raise ValueError("it has no units")
    units = {name: _parse_saved(name, raw) for name, raw in document["units"].items()}
    shard = _shard(document["shard"]) if document["shard"] is not None else None
    for name, saved in units.items():
        if shard is None and not set(saved.before) <= set(units):
            raise ValueError(f"{name} depends on units that are missing")
    key, refresh = document["key"], document["refresh"]
    if key.__class__ is not str or not _DIGEST.match(key) or refresh.__class__ is not bool:
        raise ValueError("the key for its digests is missing")
    made, by, whole = (str(document[name]) for name in ("made", "by", "sum"))
    return SavedManifest(mode, tuple(words), units, key, refresh, made, by, shard, whole)


def _shard(raw: Any) -> Shard:
    number, count, fleet, beside = (raw[name] for name in ("number", "count", "fleet", "beside"))
    if number.__class__ is not int or count.__class__ is not int or not 1 <= number <= count <= MOST_SHARDS:
        raise ValueError("its shard is not valid")
    if any(text.__class__ is not str or not _DIGEST.match(text) for text in (fleet, *beside.values())):
        raise ValueError("the digests of its shard are missing")
    return Shard(number, count, fleet, dict(beside))


def _parse_saved(name: str, raw: Any) -> Saved:
    for column, kind in _SHAPE.items():
        if raw[column].__class__ is not kind:
            raise ValueError(f"{column} of {name} is not of type {kind.__name__}")
    if raw["unit"] != name or raw["outcome"] not in _OUTCOMES or not _SHA.match(raw["plan"]):
        raise ValueError(f"its entry for {name} is not valid")
    if (raw["plan"] == "") != (raw["outcome"] == "unchanged"):
        raise ValueError(f"the plan of {name} is missing")
    before = raw["before"]
    if before.__class__ is not list or any(other.__class__ is not str for other in before):
        raise ValueError(f"the units before {name} are not valid")
    for path, content in raw["files"].items():
        is_digest = content.__class__ is str and (_DIGEST.match(content) or content == "unreadable")
        if not is_digest or not is_inside(path):
            raise ValueError(f"{name} lists the file {path!r}, which is outside the fleet or has no valid digest")
    result: UnitResult = from_json(UnitResult, raw["result"])
    if result.review:
        result = evolve(result, review=require_shape(result.review, REVIEW, "the review"))
    if result.unit != name:
        raise ValueError(f"the result of {name} belongs to another unit")
    options: UnitOptions = from_json(UnitOptions, raw["asked"])
    for option, text in options.variables:
        if option not in ("var", "var-file") or (option == "var-file" and not is_inside(text)):
            raise ValueError(f"{name} names a variable file outside the fleet")
    if not all(word.startswith("builtin:") or is_inside(word) for word in options.policies):
        raise ValueError(f"{name} names policies outside the fleet")
    return Saved(**{column: raw[column] for column in _SHAPE}, before=tuple(before), result=result, asked=options)


def is_inside(path: str) -> bool:
    return not (os.path.isabs(path) or "\0" in path or ".." in path.split("/"))
