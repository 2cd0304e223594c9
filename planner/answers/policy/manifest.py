"""Reads `pack.toml`: the name of a pack of policies, its parameters, its data, and metadata of its policies.

    name = "acme.tags"
    version = "1.2.0"
    [parameters.required_tag]           # the relation required_tag(value), one row for each element
    type = "list(string)"
    default = ["Owner"]
    description = "tags that objects must have"
    [data.owners]                       # the relation owners, with the columns of the file's first line
    file = "owners.csv"
    [policies.required_tags]            # metadata of the denials and warnings with this code
    level = "soft"

Other keys in the file are errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from planner.answers.policy.strict_toml import TomlFile, TomlTable, kind_of
from planner.foundation.vocabulary.diagnostic import error
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Source, Span

MANIFEST = "pack.toml"
WHAT = "a pack"
CODE = "policy.pack"
Level: TypeAlias = Literal["", "deny", "soft", "warn", "info"]
LEVELS: tuple[Level, ...] = ("deny", "soft", "warn", "info")
"""the levels, the strictest first; "" means no level: the rule decides, and a denial may be overridden with a reason"""
SEVERITIES = ("low", "medium", "high", "critical")
Row: TypeAlias = tuple[Any, ...]

_NAME = re.compile(r"[a-z][a-z0-9_]*")
PACK_NAME = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*")
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,2}(?:-[0-9A-Za-z.-]+)?")
_WRITTEN = re.compile(r"(?:(list|set|map)\((.*)\))|(string|number|bool|any)|object\(\{(.*)\}\)")
_BASES = {"string": "symbol", "number": "number", "bool": "any", "any": "any"}


@frozen
class ParameterType:
    """The type of a parameter. `kind`: the kind "list" is also used for sets. `text`: the type as it is written.
    `inner`: the type of the elements; None for scalars and objects. `fields`: (name, type) of the fields of an
    object."""

    kind: Literal["scalar", "list", "map", "object"]
    text: str
    inner: ParameterType | None = None
    fields: tuple[tuple[str, ParameterType], ...] = ()

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """(name, base type) of each column of the parameter's relation."""
        if self.kind == "scalar":
            return (("value", _BASES[self.text]),)
        if self.kind == "object":
            return tuple((name, _BASES[type_.text]) for name, type_ in self.fields)
        assert self.inner is not None
        if self.kind == "list":
            return self.inner.columns
        return (("key", "symbol"), *self.inner.columns)


def parameter_type(text: str, depth: int = 0) -> ParameterType | None:
    """The type that a string such as "list(string)" describes; None if the string does not describe a supported type.
    `depth`: the number of types around it."""
    match = _WRITTEN.fullmatch(text.strip())
    if match is None or depth > 2:
        return None
    if match[3]:
        return ParameterType("scalar", match[3])
    if match[1]:
        inner = parameter_type(match[2], depth + 1)
        if inner is None or (inner.kind == "map") or (inner.kind == "list" and match[1] != "map"):
            return None
        return ParameterType("map" if match[1] == "map" else "list", text, inner)
    if depth == 0:
        return None
    fields = []
    for part in match[4].split(","):
        name, _, kind = part.partition("=")
        type_ = parameter_type(kind, 2)
        if not _NAME.fullmatch(name.strip()) or type_ is None or type_.kind != "scalar":
            return None
        fields.append((name.strip(), type_))
    return ParameterType("object", text, None, tuple(fields))


TYPES = "string, number, bool, any, list(T), set(T), map(T), map(list(T)), list(object({name = T, ...}))"


@frozen
class ParameterRows:
    """The rows of the value of a parameter, each with its place."""

    rows: tuple[tuple[Row, Span], ...] = ()


@frozen
class Parameter:
    """A parameter of a pack, whose values are rows of the relation `name`. `default`: its default value; None if the
    parameter must be set."""

    name: str
    type: ParameterType
    default: ParameterRows | None
    description: str
    span: Span


@frozen
class DataFile:
    """A data file of a pack, whose content becomes the relation `name`. `columns`: (name, type) of columns: for CSV, of
    those that are not strings; for JSON and YAML tables, of all columns."""

    name: str
    file: str
    description: str
    columns: tuple[tuple[str, str], ...]
    span: Span


@frozen
class PolicyInfo:
    """The metadata of the verdicts with one code. `override`: the groups whose members may override denials of the
    level "soft". `secret`: whether the policy searches for secrets, so that reports hide the values that it read."""

    code: str
    level: Level = ""
    override: tuple[str, ...] = ()
    severity: str = ""
    title: str = ""
    links: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    pack: str = ""
    span: Span | None = None
    secret: bool = False

    def to_json(self) -> dict[str, Any]:
        """The metadata as in findings and `policy list -json`, without empty members."""
        document: dict[str, Any] = {"level": self.level, "severity": self.severity, "title": self.title}
        document |= {"links": list(self.links), "controls": list(self.controls), "override": list(self.override)}
        return {"pack": self.pack, **{key: value for key, value in document.items() if value}}


@frozen
class PackDependency:
    """A pack from which a pack imports relations."""

    name: str
    source: str
    version: str
    span: Span


@frozen
class PackManifest:
    """The content of a pack.toml."""

    name: str
    version: str
    description: str
    source: Source
    parameters: dict[str, Parameter] = field(factory=dict)
    data: dict[str, DataFile] = field(factory=dict)
    policies: dict[str, PolicyInfo] = field(factory=dict)
    dependencies: dict[str, PackDependency] = field(factory=dict)


def read_manifest(name: str, text: str) -> PackManifest:
    """The content of a pack.toml. Raises Failure with all problems."""
    file = TomlFile(Source(name, text), WHAT, CODE)
    return file.finish(lambda: _manifest(file))


def _manifest(file: TomlFile) -> PackManifest:
    root = file.root
    name = root.needed("name")
    if name and not PACK_NAME.fullmatch(name):
        root.problem(
            "name", f'"{name}" is not a valid name of a pack: lowercase letters, digits and _, parts joined with a dot.'
        )
    version = root.text("version")
    if version and not _VERSION.fullmatch(version):
        root.problem("version", f'"{version}" is not a valid version. Write one like 1.2.0.')
    parameters = dict(_named_tables(root, "parameters", _parameter))
    data = dict(_named_tables(root, "data", _data))
    for both in sorted(parameters.keys() & data.keys()):
        root.table("data").problem(both, f"There is also a parameter {both}. Both would have the same relation.")
    policies = {info.code: info for info in _policies(root, name)}
    dependencies = {}
    for other, table in root.tables("dependencies"):
        dependencies[other] = PackDependency(other, table.needed("source"), table.text("version"), table.span)
        table.done()
    made = PackManifest(name, version, root.text("description"), file.source, parameters, data, policies, dependencies)
    root.done()
    return made


def _named_tables(root: TomlTable, key: str, make: Any) -> Iterator[tuple[str, Any]]:
    for name, table in root.tables(key):
        if not _NAME.fullmatch(name):
            root.table(key).problem(
                name, f'"{name}" is not a valid name of a relation: lowercase letters, digits and _.'
            )
            continue
        made = make(name, table)
        table.done()
        if made is not None:
            yield name, made


def _parameter(name: str, table: TomlTable) -> Parameter | None:
    text = table.needed("type")
    type_ = parameter_type(text)
    described, given = table.needed("description"), "default" in table
    if type_ is None:
        if text:
            table.problem("type", f"There is no parameter type {text}. The types are {TYPES}.")
        return None
    default = given_rows(type_, table, "default") if given else None
    return Parameter(name, type_, default, described, table.span)


def _data(name: str, table: TomlTable) -> DataFile:
    file = table.needed("file")
    parts = file.split("/")
    if file and (file.startswith("/") or ".." in parts or "\\" in file or any(p.startswith(".") for p in parts)):
        table.problem("file", f'"{file}" is not a file of the pack: name one below its directory.')
        file = ""
    elif file and not file.endswith((".csv", ".json", ".yaml", ".yml")):
        table.problem("file", f'"{file}" is not in a supported format: .csv, .json, .yaml or .yml.')
    columns = table.table("columns")
    types = tuple((key, columns.word(key, _BASES, "string")) for key in columns.data)
    for key, _ in types:
        if not _NAME.fullmatch(key):
            columns.problem(key, f'"{key}" is not a valid name of a column: lowercase letters, digits and _.')
    return DataFile(name, file, table.text("description"), types, table.span)


def _policies(root: TomlTable, pack: str) -> Iterator[PolicyInfo]:
    for code, table in root.tables("policies"):
        level: Any = table.word("level", LEVELS, "")
        override = table.texts("override")
        if override and level != "soft":
            table.problem(
                "override",
                f"Only denials of policies with level soft can be overridden; {code} has level {level or 'none'}.",
            )
        severity = table.word("severity", SEVERITIES, "")
        title, links, controls = table.text("title"), table.texts("links"), table.texts("controls")
        for link in links:
            if not link.startswith(("https://", "http://")):
                table.problem("links", f'"{link}" is not a valid link: it must begin with https:// or http://.')
        secret = table.value("secret", bool, "a truth value", False)
        yield PolicyInfo(code, level, override, severity, title, links, controls, pack, table.span, secret)
        table.done()


# ---------------------------------------------------------------- values


def given_rows(type_: ParameterType, table: TomlTable, key: str) -> ParameterRows:
    """The rows of the value of a key in a table. If the value does not have the type `type_`, a problem is added to the
    file of the table."""
    rows: list[tuple[Row, Span]] = []
    path = (*table.path, key)
    _collect(type_, table.data[key], path, (), rows, table, key)
    return ParameterRows(tuple(rows))


def _collect(
    type_: ParameterType, value: Any, path: Any, before: Row, rows: list[tuple[Row, Span]], table: TomlTable, key: str
) -> None:
    def wrong(wanted: str) -> None:
        detail = f"{key} is of the type {type_.text}, but {kind_of(value)} is not {wanted}."
        summary = f"Value of another type in {table.file.what}"
        table.file.problems.append(error(table.file.code, summary, detail, table.file.span(path)))

    if type_.kind == "list":
        if not isinstance(value, list):
            return wrong("a list")
        assert type_.inner is not None
        for number, item in enumerate(value):
            _collect(type_.inner, item, (*path, number), before, rows, table, key)
    elif type_.kind == "map":
        if not isinstance(value, dict):
            return wrong("a table")
        assert type_.inner is not None
        for name, item in value.items():
            _collect(type_.inner, item, (*path, name), (*before, name), rows, table, key)
    elif type_.kind == "object":
        names = [name for name, _ in type_.fields]
        if not isinstance(value, dict) or sorted(value) != sorted(names):
            return wrong(f"a table with only {', '.join(names)}")
        cells: list[tuple[Row, Span]] = []
        for name, inner in type_.fields:
            _collect(inner, value[name], (*path, name), (), cells, table, key)
        if len(cells) == len(names):
            rows.append(((*before, *(row[0] for row, _ in cells)), table.file.span(path)))
    else:
        fits = {"string": isinstance(value, str), "bool": isinstance(value, bool)}
        fits["number"] = kind_of(value).startswith("the number")
        fits["any"] = any(fits.values())
        if not fits[type_.text]:
            return wrong({"any": "a string, a number or a bool"}.get(type_.text, f"a {type_.text}"))
        rows.append(((*before, value), table.file.span(path)))
    return None
