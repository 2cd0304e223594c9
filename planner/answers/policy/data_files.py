"""Reads data files of packs as rows. A CSV file has a column for each field. A JSON or YAML file is read as rows (path,
value) or, if columns are declared, as a table. Nothing in a file is evaluated: a cell `=1+1` contains these four
characters. If a file cannot be read completely, Failure is raised with the line in the file."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import Any

from planner.answers.policy.strict_toml import plain_number
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.span import Source, Span
from planner.logic.datalog.language.values import member

CODE = "policy.data"
MOST_ROWS = 200_000
MOST_COLUMNS = 250
MOST_CHARACTERS = 8 << 20
DEEPEST = 64
Row = tuple[Any, ...]
Rows = list[tuple[Row, Span]]
Columns = tuple[tuple[str, str], ...]
"""(name, base type) of each column"""
Steps = tuple[str | int, ...]
Leaf = tuple[Steps, Any, int]
"""(keys that lead to a value, value, offset)"""
EMPTY = object()
"""placeholder for an empty object or array"""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
LEAVES: Columns = (("path", "symbol"), ("value", "any"))


def read_data(name: str, text: str, types: dict[str, str]) -> tuple[Columns, Rows]:
    """(columns, rows) of a data file. `types`: for CSV, {column: type} of the columns that are not strings; for JSON
    and YAML tables, the types of all columns in order; empty for JSON and YAML as (path, value). Raises Failure."""
    source = Source(name, text.removeprefix("\ufeff"))
    if len(text) > MOST_CHARACTERS:
        raise Failure(error(CODE, "Data file too large", f"{name} is longer than {MOST_CHARACTERS:,} characters."))
    match = _CONTROL.search(source.text)
    if match is not None:
        raise _failure(source, match.start(), "The file contains a control character.")
    if name.endswith(".csv"):
        return _csv(source, types)
    leaves = (_json if name.endswith(".json") else _yaml)(source)
    if types:
        return _columns(types), list(_table(source, leaves, types))
    rows: Rows = []
    for steps, value, start in leaves:
        if len(rows) >= MOST_ROWS:
            raise _failure(source, start, f"A data file has at most {MOST_ROWS} values.")
        if value is not None and value is not EMPTY:
            rows.append(((_path(steps), value), _line(source, start)))
    return LEAVES, rows


def _columns(types: dict[str, str]) -> Columns:
    bases = {"string": "symbol", "number": "number"}
    return tuple((name, bases.get(kind, "any")) for name, kind in types.items())


def _path(steps: Steps) -> str:
    path = ""
    for step in steps:
        path = f"{path}[{step}]" if step.__class__ is int else member(path, str(step))
    return path


def _table(source: Source, leaves: Iterable[Leaf], types: dict[str, str]) -> Iterator[tuple[Row, Span]]:
    """The rows of a table, from a list of objects, or from an object whose keys are the values of the first column. If
    there are only two columns, the entries of such an object may also be the values of the second column. Fields that
    are not columns are ignored. Raises Failure."""
    for number, (entry, group) in enumerate(groupby(leaves, key=lambda leaf: leaf[0][:1])):
        items = list(group)
        start = items[0][2]
        if number >= MOST_ROWS:
            raise _failure(source, start, f"A data file has at most {MOST_ROWS} rows.")
        if not entry:
            if items[0][1] is EMPTY:
                return
            raise _failure(source, start, "A file with columns must be a list of objects, or an object.")
        names = list(types)
        cells: dict[str, Any] = {}
        if entry[0].__class__ is str:
            cells[names.pop(0)] = entry[0]
        for steps, value, place in items:
            if len(steps) == 1 and value is not EMPTY:
                if entry[0].__class__ is int or len(names) != 1:
                    raise _failure(source, place, f"Expected an object with the keys {' and '.join(names)}.")
                cells[names[0]] = value
            elif len(steps) > 1 and steps[1] in names:
                if len(steps) > 2 or value is EMPTY:
                    raise _failure(source, place, f"{steps[1]} is not a string, number or boolean.")
                cells[str(steps[1])] = value
        for name, kind in types.items():
            value = cells.get(name)
            if value is None:
                raise _failure(source, start, f"The entry has no {name}.")
            if kind != "any" and kind != _kind(value):
                raise _failure(source, start, f'{name} must be a {kind}, not "{str(value)[:60]}".')
        yield tuple(cells[name] for name in types), _line(source, start)


def _kind(value: Any) -> str:
    return "string" if value.__class__ is str else "bool" if value.__class__ is bool else "number"


def _failure(source: Source, start: int, detail: str) -> Failure:
    return Failure(error(CODE, "Cannot read a data file", detail, _line(source, start)))


def _line(source: Source, start: int) -> Span:
    """The span of the line that contains an offset."""
    number = source.line_number(min(start, len(source.text)))
    begin = source.line_starts[number - 1]
    return Span(source, begin, begin + len(source.line_text(number)))


def _number(text: str) -> int | Decimal | None:
    if re.fullmatch(r"-?[0-9]{1,300}", text):
        return int(text)
    try:
        is_decimal = re.fullmatch(r"-?[0-9]{1,300}\.[0-9]{1,300}", text)
        number = plain_number(Decimal(text), text) if is_decimal else None
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
            raise _at_line(source, begin, f"This is not CSV: {problem}.") from None
        if cells is None:
            break
        if not header:
            header = _header(source, cells, types)
        elif cells:
            if len(cells) != len(header):
                detail = f"The line has {len(cells)} fields, but the first line names {len(header)}."
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
    return _columns({name: types.get(name, "string") for name in header}), rows


def _at_line(source: Source, line: int, detail: str) -> Failure:
    return _failure(source, source.line_starts[min(line, len(source.line_starts)) - 1], detail)


def _header(source: Source, cells: list[str], types: dict[str, str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    if len(names) > MOST_COLUMNS:
        raise _at_line(source, 1, f"A data file has at most {MOST_COLUMNS} columns.")
    for name in names:
        if not _NAME.fullmatch(name):
            detail = f'"{name}" in the first line is not a valid name of a column: use lowercase letters, digits and _.'
            raise _at_line(source, 1, detail)
        if names.count(name) > 1:
            raise _at_line(source, 1, f"There are two columns {name}.")
    for name in types:
        if name not in names:
            raise _at_line(source, 1, f"There is no column {name}, for which the pack declares a type.")
    return names


def _cell(source: Source, line: int, name: str, cell: str, kind: str) -> Any:
    if kind in ("string", "any"):
        return cell
    value = {"true": True, "false": False}.get(cell.strip()) if kind == "bool" else _number(cell.strip())
    if value is None:
        raise _at_line(source, line, f'{name} must be a {kind}, not "{cell[:60]}".')
    return value


# ---------------------------------------------------------------- JSON


def _json(source: Source) -> Iterator[Leaf]:
    """Each string, number, bool, null (None) and empty container of a JSON file. Raises Failure."""
    text = source.text

    def constant(word: str) -> None:
        raise ValueError(f"{word} is not a valid number")

    try:
        json.loads(text, parse_constant=constant, parse_float=_decimal)
    except RecursionError:
        raise _failure(source, 0, f"The file is nested more than {DEEPEST} levels deep.") from None
    except ValueError as problem:
        place = getattr(problem, "pos", 0)
        message = getattr(problem, "msg", str(problem))
        raise _failure(source, place, f"This is not JSON: {message}.") from None
    space = re.compile(r"[ \t\r\n]*")
    decoder = json.JSONDecoder(parse_float=_decimal)
    end = 0

    def skip(at: int) -> int:
        match = space.match(text, at)
        return match.end() if match is not None else at

    def walk(at: int, steps: Steps) -> Iterator[Leaf]:
        nonlocal end
        if len(steps) > DEEPEST:
            raise _failure(source, at, f"The file is nested more than {DEEPEST} levels deep.")
        at = skip(at)
        sign = text[at]
        if sign not in "{[":
            value, end = decoder.raw_decode(text, at)
            yield steps, value, at
            return
        seen: set[str] = set()
        end = skip(at + 1)
        number = 0
        while text[end] not in "}]":
            step: str | int = number
            if sign == "{":
                begin = end
                key, end = decoder.raw_decode(text, end)
                if key in seen:
                    raise _failure(source, begin, f'The key "{key[:60]}" occurs twice.')
                seen.add(key)
                step = key
                end = skip(end) + 1
            yield from walk(end, (*steps, step))
            number += 1
            end = skip(end)
            if text[end] == ",":
                end = skip(end + 1)
        end += 1
        if not number:
            yield steps, EMPTY, at

    yield from walk(0, ())


def _decimal(text: str) -> int | Decimal:
    return plain_number(Decimal(text), text)


# ---------------------------------------------------------------- YAML


def _yaml(source: Source) -> Iterator[Leaf]:
    """Each string, number, bool, null (None) and empty container of a YAML file. Raises Failure, also for aliases,
    because the content of a small file with aliases can become arbitrarily large."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    starts = source.line_starts

    def place(mark: Any) -> int:
        return starts[min(mark.line, len(starts) - 1)] if mark is not None else 0

    try:
        depth = 0
        for event in yaml.parse(source.text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise _failure(
                    source, place(event.start_mark), "The file has aliases (*name), which are not supported."
                )
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise _failure(source, place(event.start_mark), f"The file is nested more than {DEEPEST} levels deep.")
        nodes = list(yaml.compose_all(source.text, Loader=loader))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        message = getattr(problem, "problem", None) or "it cannot be read"
        raise _failure(source, place(mark), f"This is not YAML: {message}.") from None
    if len(nodes) > 1:
        raise _failure(source, place(nodes[1].start_mark), "The file has several documents, but only one is allowed.")

    def walk(node: Any, steps: Steps) -> Iterator[Leaf]:
        start = place(node.start_mark)
        if not isinstance(node, yaml.ScalarNode) and not node.value:
            yield steps, EMPTY, start
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                    raise _failure(source, place(key.start_mark), "A key must be a plain string.")
                if key.value in seen:
                    raise _failure(source, place(key.start_mark), f'The key "{key.value[:60]}" occurs twice.')
                seen.add(key.value)
                yield from walk(value, (*steps, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                yield from walk(value, (*steps, number))
        else:
            value = _scalar(node.tag, node.value)
            if value is None and not node.tag.endswith(":null"):
                raise _failure(source, start, f"{node.value[:60]} cannot be read as {node.tag.rpartition(':')[2]}.")
            yield steps, value, start

    for node in nodes:
        if node is not None:
            yield from walk(node, ())


def _scalar(tag: str, text: str) -> Any:
    kind = tag.rpartition(":")[2]
    if kind in ("str", "timestamp", "value"):
        return text  # a date is read as a string, as it is written in the file
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind in ("int", "float"):
        return text if ":" in text else _number(text.replace("_", ""))  # 12:12:30 is not read as a number
    return None
