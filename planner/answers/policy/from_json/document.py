"""Reads JSON documents of other programs and checks their kind and types. Each part is checked before it is used, and a
defect is reported with its JSON path."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from planner.answers.policy.from_json.excerpt import Excerpt, excerpt
from planner.foundation.support.exact_json import JsonError, loads, orjson
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import frozen

Kind: TypeAlias = Literal["plan", "state", "state file"]


@frozen(eq=False)
class Document:
    """A parsed document. `name`: its name in messages. `root`: its members, or some of them (see `data`)."""

    name: str
    kind: Kind
    root: dict[str, Any]
    data: bytes | None = None
    """the bytes of the whole document, if `root` contains only the members that most policies use (see excerpt.py)"""
    excerpt: Excerpt | None = None
    """the changes of resources, if `root` is only an excerpt without them"""
    entries: list[Any] | None = None
    """the changes of a chunk, if not all changes are to be read"""

    @property
    def whole(self) -> Document:
        """The document with all its members. Raises Failure."""
        return self if self.data is None else _parsed(self.data, self.name)

    @property
    def with_configuration(self) -> Document:
        """The document with its whole configuration. Raises JsonError."""
        if self.excerpt is None:
            return self
        root = {**self.root, "configuration": self.excerpt.configuration()}
        return Document(self.name, self.kind, root, self.data, self.excerpt)


class Misshapen(ValueError):
    """A part of a document does not have the form that the format requires. The message contains the place of the part
    and the expected content."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path or 'the document'}: {what}")


def parse(data: bytes, name: str) -> Document:
    """The document with the JSON of a plan or state. Raises Failure for other content."""
    result = excerpt(data)
    return _parsed(data, name) if result is None else Document(name, "plan", result.members, data, result)


def _parsed(data: bytes, name: str) -> Document:
    try:
        root = _loaded(data)
    except JsonError as problem:
        raise not_usable(name, f"it is not JSON: {problem}") from None
    if not isinstance(root, dict):
        raise not_usable(name, "it is JSON, but not an object")
    version = root.get("format_version")
    if isinstance(version, str):
        if version.partition(".")[0] != "1":
            detail = f"its format_version is {version[:40]!r}, and only 1.x is supported"
            raise not_usable(name, detail)
        if any(member in root for member in ("resource_changes", "planned_values", "configuration", "output_changes")):
            return Document(name, "plan", root)
        if "values" in root or set(root) <= {"format_version", "terraform_version", "checks"}:
            return Document(name, "state", root)
        raise not_usable(name, "it has a format_version, but neither planned changes nor values")
    if root.get("version") == 4 and "lineage" in root:
        return Document(name, "state file", root)
    if "@level" in root or "@message" in root:
        raise not_usable(name, "it is one of the lines that plan -json prints; show -json PLANFILE prints a plan")
    raise not_usable(name, "it has no format_version. show -json PLANFILE prints a plan, show -json prints the state")


def _loaded(data: bytes) -> Any:
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    elif data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # Windows shells redirect output in this encoding
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError as problem:
            raise JsonError("not UTF-16", getattr(problem, "start", 0)) from None
    if b"\\ud" in data or b"\\uD" in data:  # not valid characters, but the exact reader accepts them
        try:
            orjson.loads(data)
        except orjson.JSONDecodeError as problem:
            raise JsonError(problem.msg, problem.pos) from None
    return loads(data)


def not_usable(name: str, why: str) -> Failure:
    """The error about a document that cannot be checked."""
    return Failure(error("policy.document", "Not a plan or state", f"{name} cannot be checked: {why}."))


# ---------------------------------------------------------------- parts


def text(where: dict[str, Any], member: str, path: str, default: str | None = None) -> str:
    """The value of a member that must be a string; `default` if the member is missing or null. `path`: the place of
    `where`, for the message. Raises Misshapen."""
    value = where.get(member)
    if value.__class__ is str:
        return str(value)
    if value is None and default is not None:
        return default
    raise Misshapen(f"{path}.{member}", "a string expected")


def table(where: dict[str, Any], member: str, path: str) -> dict[str, Any]:
    """The value of a member that must be an object; {} if the member is missing or null. Raises Misshapen."""
    value = where.get(member)
    if value is None:
        return {}
    if value.__class__ is not dict:
        raise Misshapen(f"{path}.{member}".removeprefix("."), "an object expected")
    return value


def objects(where: dict[str, Any], member: str, path: str) -> list[dict[str, Any]]:
    """The value of a member that must be a list of objects; [] if the member is missing or null. Raises Misshapen."""
    value = where.get(member)
    if value is None:
        return []
    at = f"{path}.{member}".removeprefix(".")
    if value.__class__ is not list:
        raise Misshapen(at, "a list expected")
    for i, item in enumerate(value):
        if item.__class__ is not dict:
            raise Misshapen(f"{at}[{i}]", "an object expected")
    return list(value)
