"""Encodes messages to and from other machines: one line of JSON, then binary data whose length is in the JSON. In a
message, paths below the fleet's root begin with `ROOT`, which the receiver replaces with its own directory. All
received data is checked before use."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from typing import Any

import attrs

from planner.foundation.support.assets import PACKAGE
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.release import RELEASE
from planner.workflows.batch.model import Request, UnitResult, from_json, to_json

ROOT = "planner-root:"
"""placeholder for the fleet's root in paths that are sent"""
LARGEST = 1 << 30
"""maximum size in bytes of an archive, a plan file or a plan as JSON"""
_LONGEST_HEADER = 64 << 20
_ASKED = frozenset(("answers", "expected"))
"""members of a message that map lookups in Terragrunt's files to their results. The key of a lookup consists of strings
separated by null characters; each string may be a path"""
_VALUES = frozenset(("planned", "given", "environment", "variables", "inputs"))
"""members of a message that contain users' values; paths in these values are not replaced"""


class BadParcel(Exception):
    """The data is not a valid message, or was sent by another version of planner."""


@frozen
class Parcel:
    """A request to another machine to run one unit. `digest`: SHA-256 of the archive, which is in `data` or in `store`.
    `files`, `folders`: the content of the archive; `absent`: paths that do not exist; all are relative to the root.
    `run` and `attempt` identify the execution. `plan`: the plan file to apply. `rehearse`: before applying the plan
    file, make and discard a plan, to find out which files the apply needs."""

    request: Request
    digest: str
    run: str
    attempt: int
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    store: str = ""
    rehearse: bool = False
    data: bytes = field(default=b"", repr=False)
    plan: bytes = field(default=b"", repr=False)


@frozen
class ParcelResult:
    """The result of a parcel. `missing`: paths, relative to the root, that the unit needs and the bundle does not
    contain; if there are any, the unit was not run. `begun`: the execution was already started by a worker that may
    still be running.
    `problem`: why the unit could not run. `plan`: the new plan file; `json`: its content as JSON."""

    result: UnitResult | None = None
    missing: tuple[str, ...] = ()
    begun: bool = False
    problem: str = ""
    plan: bytes = field(default=b"", repr=False)
    json: bytes = field(default=b"", repr=False)


@functools.cache
def version() -> str:
    """The version number and a digest of planner's Python files, which must be equal on both machines."""
    digest, folder = hashlib.blake2b(digest_size=8), PACKAGE
    for path, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                with open(os.path.join(path, name), "rb") as file:
                    digest.update(file.read())
    return f"{RELEASE} ({digest.hexdigest()})"


def parcel_bytes(parcel: Parcel, root: str) -> bytes:
    plain = (field.name for field in attrs.fields(Parcel) if field.name not in ("request", "data", "plan"))
    header = {name: getattr(parcel, name) for name in plain}
    header["request"] = _relocated(to_json(parcel.request), root, ROOT)
    return _join(header, parcel.data, parcel.plan)


def received(data: bytes, root: str) -> Parcel:
    """Decode a parcel. `root`: the directory on this machine that replaces the fleet's root in paths. Raises
    BadParcel."""
    header, archive, plan = _split(data, "The bundle comes from")
    parcel: Parcel = _structured(Parcel, {**header, "request": _relocated(header.get("request"), ROOT, root)})
    return evolve(parcel, data=archive, plan=plan)


def result_bytes(answer: ParcelResult, root: str) -> bytes:
    result = _relocated(to_json(answer.result), root, ROOT) if answer.result is not None else None
    header = {"missing": answer.missing, "begun": answer.begun, "problem": answer.problem, "result": result}
    return _join(header, answer.plan, answer.json)


def parse_result(data: bytes, root: str) -> ParcelResult:
    """Decode the result of a parcel. `root`: the fleet's root on this machine. Raises BadParcel."""
    header, plan, text = _split(data, "The worker has")
    answer: ParcelResult = _structured(ParcelResult, {**header, "result": _relocated(header.get("result"), ROOT, root)})
    return evolve(answer, plan=plan, json=text)


def _structured(kind: type, header: dict[str, Any]) -> Any:
    try:
        return from_json(kind, header)
    except Exception as problem:
        raise BadParcel(f"The message cannot be decoded: {type(problem).__name__}.") from None


def _join(header: dict[str, Any], one: bytes, other: bytes) -> bytes:
    header |= {"bytes": [len(one), len(other)], "version": version()}
    return json.dumps(header, separators=(",", ":")).encode() + b"\n" + one + other


def _split(data: bytes, whose: str) -> tuple[dict[str, Any], bytes, bytes]:
    line, _, rest = data.partition(b"\n")
    try:
        if len(line) > _LONGEST_HEADER:
            raise ValueError
        header = json.loads(line)
        one, other = header.pop("bytes")
        whole = type(one) is int and type(other) is int and 0 <= one <= LARGEST and 0 <= other <= LARGEST
        if not whole or one + other != len(rest):
            raise ValueError
        other_version = header.pop("version")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadParcel("The received data is not a valid message, or is incomplete.") from None
    if other_version != version():
        raise BadParcel(
            f"{whose} planner {str(other_version)[:80]}, but this is {version()}: both must have the same version."
        )
    return header, rest[:one], rest[one:]


def _relocated(value: Any, before: str, after: str) -> Any:
    """Plain data in which the directory `before`, and paths below it, are replaced with `after`. Only whole strings are
    treated as paths, not parts of strings; values of users (_VALUES) are not changed."""
    kind = type(value)
    if kind is dict:
        return {name: _member(name, item, before, after) for name, item in value.items()}
    if kind is list or kind is tuple:
        return [_relocated(item, before, after) for item in value]
    if kind is str and value.startswith(before):
        rest = value[len(before) :]
        if rest == "" or rest.startswith("/"):
            return after + rest
    return value


def _member(name: str, value: Any, before: str, after: str) -> Any:
    if name in _VALUES:
        return value
    if name not in _ASKED or type(value) is not dict:
        return _relocated(value, before, after)
    result = {}
    for asked, answer in value.items():
        words = [_relocated(word, before, after) for word in asked.split("\0")]
        result["\0".join(words)] = answer if words[0] == "env" else _relocated(answer, before, after)
    return result
