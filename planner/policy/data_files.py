"""Data files of packs as rows: CSV with a column a field, JSON and YAML as (path, value).

They are text and nothing else: a cell `=1+1` is these four characters. What cannot be read as a whole is an error with
its line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from planner.datalog.front.paths import member
from planner.vocabulary.diagnostic import Failure, error
from planner.vocabulary.span import Source, Span

CODE = "policy.data"
MOST_ROWS = 200_000
MOST_COLUMNS = 250
MOST_CHARACTERS = 8 << 20
DEEPEST = 64
Row = tuple[Any, ...]
Rows = list[tuple[Row, Span]]
Columns = tuple[tuple[str, str], ...]
"""name and base type of each column"""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
LEAVES: Columns = (("path", "symbol"), ("value", "any"))


def read_data(name: str, text: str, types: dict[str, str]) -> tuple[Columns, Rows]:
    """The columns and rows of a data file, by the ending of its name. `types` are those of columns that are not text.
    Raises Failure."""
    source = Source(name, text.removeprefix("\ufeff"))
    if len(text) > MOST_CHARACTERS:
        raise Failure(error(CODE, "Data file too large", f"{name} has more than {MOST_CHARACTERS >> 20} MiB."))
    found = _CONTROL.search(source.text)
    if found is not None:
        raise _failure(source, found.start(), "A control character stands in the file.")
    if name.endswith(".csv"):
        return _csv(source, types)
    rows: Rows = []
    for path, value, start in (_json if name.endswith(".json") else _yaml)(source):
        if len(rows) >= MOST_ROWS:
            raise _failure(source, start, f"A data file has at most {MOST_ROWS} values.")
        rows.append(((path, value), _line(source, start)))
    return LEAVES, rows


def _failure(source: Source, start: int, detail: str) -> Failure:
    return Failure(error(CODE, "Cannot read a data file", detail, _line(source, start)))


def _line(source: Source, start: int) -> Span:
    """The line in which something starts."""
    number = source.line_number(min(start, len(source.text)))
    begin = source.line_starts[number - 1]
    return Span(source, begin, begin + len(source.line_text(number)))


def _number(text: str) -> int | Decimal | None:
    if re.fullmatch(r"-?[0-9]{1,300}", text):
        return int(text)
    try:
        number = Decimal(text) if re.fullmatch(r"-?[0-9]{1,300}\.[0-9]{1,300}", text) else None
    except InvalidOperation:
        return None
    return number


# ---------------------------------------------------------------- CSV


def _csv(source: Source, types: dict[str, str]) -> tuple[Columns, Rows]:
    reader = csv.reader(io.StringIO(source.text, newline=""), strict=True)
    rows: Rows = []
    header: list[str] = []
    begin = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as problem:
            raise _at_line(source, begin, f"This is no CSV: {problem}.") from None
        if cells is None:
            break
        if not header:
            header = _header(source, cells, types)
        elif cells:
            if len(cells) != len(header):
                detail = f"The line has {len(cells)} fields, and the first line names {len(header)}."
                raise _at_line(source, begin, detail)
            if len(rows) >= MOST_ROWS:
                raise _at_line(source, begin, f"A data file has at most {MOST_ROWS} rows.")
            row = tuple(
                _cell(source, begin, name, cell, types.get(name, "string"))
                for name, cell in zip(header, cells, strict=True)
            )
            rows.append((row, _line(source, source.line_starts[min(begin, len(source.line_starts)) - 1])))
        begin = reader.line_num + 1
    if not header:
        raise _at_line(source, 1, "The file is empty. Its first line names the columns.")
    bases = {"string": "symbol", "number": "number"}
    return tuple((name, bases.get(types.get(name, "string"), "any")) for name in header), rows


def _at_line(source: Source, line: int, detail: str) -> Failure:
    return _failure(source, source.line_starts[min(line, len(source.line_starts)) - 1], detail)


def _header(source: Source, cells: list[str], types: dict[str, str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    if len(names) > MOST_COLUMNS:
        raise _at_line(source, 1, f"A data file has at most {MOST_COLUMNS} columns.")
    for name in names:
        if not _NAME.fullmatch(name):
            detail = f'The first line names the columns, and "{name}" is no name: small letters, digits and _.'
            raise _at_line(source, 1, detail)
        if names.count(name) > 1:
            raise _at_line(source, 1, f"There are two columns {name}.")
    for name in types:
        if name not in names:
            raise _at_line(source, 1, f"There is no column {name}, which the pack gives a type.")
    return names


def _cell(source: Source, line: int, name: str, cell: str, kind: str) -> Any:
    if kind in ("string", "any"):
        return cell
    value = {"true": True, "false": False}.get(cell.strip()) if kind == "bool" else _number(cell.strip())
    if value is None:
        raise _at_line(source, line, f'{name} is a {kind}; "{cell[:60]}" is none.')
    return value


# ---------------------------------------------------------------- JSON


def _json(source: Source) -> Iterator[tuple[str, Any, int]]:
    """Path, value and place of each text, number and truth value; null gives nothing, as in plans."""
    import json

    text = source.text

    def constant(word: str) -> None:
        raise ValueError(f"{word} is no number")

    try:
        json.loads(text, parse_constant=constant, parse_float=_decimal)
    except RecursionError:
        raise _failure(source, 0, f"The file is nested more than {DEEPEST} deep.") from None
    except ValueError as problem:
        place = getattr(problem, "pos", 0)
        message = getattr(problem, "msg", str(problem))
        raise _failure(source, place, f"This is no JSON: {message}.") from None
    space = re.compile(r"[ \t\r\n]*")
    decoder = json.JSONDecoder(parse_float=_decimal)
    end = 0

    def skip(at: int) -> int:
        match = space.match(text, at)
        return match.end() if match is not None else at

    def walk(at: int, path: str, depth: int) -> Iterator[tuple[str, Any, int]]:
        nonlocal end
        if depth > DEEPEST:
            raise _failure(source, at, f"The file is nested more than {DEEPEST} deep.")
        at = skip(at)
        sign = text[at]
        if sign not in "{[":
            value, end = decoder.raw_decode(text, at)
            if value is not None:
                yield path, value, at
            return
        seen: set[str] = set()
        end = skip(at + 1)
        number = 0
        while text[end] not in "}]":
            inner = f"{path}[{number}]"
            if sign == "{":
                begin = end
                key, end = decoder.raw_decode(text, end)
                if key in seen:
                    raise _failure(source, begin, f'The key "{key[:60]}" stands there twice.')
                seen.add(key)
                inner = member(path, key)
                end = skip(end) + 1
            yield from walk(end, inner, depth + 1)
            number += 1
            end = skip(end)
            if text[end] == ",":
                end = skip(end + 1)
        end += 1

    yield from walk(0, "", 0)


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite() or abs(number.adjusted()) > 1000:
        raise ValueError(f"{text[:60]} is no number to compute with")
    return number


# ---------------------------------------------------------------- YAML


def _yaml(source: Source) -> Iterator[tuple[str, Any, int]]:
    """As _json. Anchors are refused: they make small files endless."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    starts = source.line_starts

    def place(mark: Any) -> int:
        return starts[min(mark.line, len(starts) - 1)] if mark is not None else 0

    try:
        depth = 0
        for event in yaml.parse(source.text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise _failure(source, place(event.start_mark), "The file has aliases (*name), which are not read.")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise _failure(source, place(event.start_mark), f"The file is nested more than {DEEPEST} deep.")
        nodes = list(yaml.compose_all(source.text, Loader=loader))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        message = getattr(problem, "problem", None) or "it cannot be read"
        raise _failure(source, place(mark), f"This is no YAML: {message}.") from None
    if len(nodes) > 1:
        raise _failure(source, place(nodes[1].start_mark), "The file has several documents; one is read.")

    def walk(node: Any, path: str) -> Iterator[tuple[str, Any, int]]:
        start = place(node.start_mark)
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                    raise _failure(source, place(key.start_mark), "A key is a plain text.")
                if key.value in seen:
                    raise _failure(source, place(key.start_mark), f'The key "{key.value[:60]}" stands there twice.')
                seen.add(key.value)
                yield from walk(value, member(path, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                yield from walk(value, f"{path}[{number}]")
        else:
            value = _scalar(node.tag, node.value)
            if value is None and not node.tag.endswith(":null"):
                raise _failure(source, start, f"{node.value[:60]} cannot be read as {node.tag.rpartition(':')[2]}.")
            if value is not None:
                yield path, value, start

    for node in nodes:
        if node is not None:
            yield from walk(node, "")


def _scalar(tag: str, text: str) -> Any:
    kind = tag.rpartition(":")[2]
    if kind in ("str", "timestamp", "value"):
        return text  # a date is the text that writes it
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind in ("int", "float"):
        return _number(text.replace("_", ""))
    return None
