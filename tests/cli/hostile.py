"""Damage for the tests of bad input: strategies that spoil texts, JSON documents and archives, and a judge of what the
command line makes of them."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from typing import Any

from hypothesis import strategies as st

from planner.cli import main

from .conftest import Ran, make_terminal

TOKENS = (
    *"{}[]()\"'$%\\#*?:,.=<>!&|-+/~`@\t\n\r ",
    *(
        "${",
        "%{",
        "$${",
        "~}",
        "<<E\n",
        "<<-E\n",
        "\nE\n",
        "/*",
        "*/",
        "//",
        "...",
        "[*]",
        ".*",
        "=>",
        "==",
        "\x00",
        "\x7f",
    ),
    *("\ufeff", "é", "\U0001f600", "e\u0301", "\\u12", "\\ud800", "0x", "1e999", "-1", "99999999999999999999", "0.1"),
    *(
        "null",
        "true",
        "var",
        "local",
        "each",
        "count",
        "self",
        "path",
        "terraform",
        "data",
        "module",
        "for",
        "if",
        "in",
    ),
    *("count = ", "for_each = ", "depends_on = [", "lifecycle {", "dynamic ", "moved {", "removed {", "import {"),
    *(
        "variable",
        "output",
        "locals {",
        "provider",
        "resource",
        "check",
        "validation {",
        "provider::a::b()",
        "sensitive(",
    ),
    *("each.key", "count.index", "terraform_data.a", "terraform_data.b[0].id", "module.m.o", "var.n", "local.l"),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.sampled_from(
        [1.5, 1e300, 2**70, "", "a", "terraform_data.a", "module.m[", "\x00", "dynamic", ["list", "x"], {}, []]
    ),
)
EDIT = st.tuples(
    st.sampled_from(("cut", "insert", "replace", "repeat", "swap", "end")), st.floats(0, 1), st.integers(0, 12)
)
EDITS = st.lists(st.tuples(EDIT, st.sampled_from(TOKENS)), min_size=1, max_size=4)
BYTE_EDITS = st.lists(st.tuples(EDIT, st.binary(min_size=1, max_size=3)), min_size=1, max_size=3)


def spoiled(data: Any, edits: list[Any]) -> Any:
    """A text (or bytes) after these edits."""
    for (kind, where, length), token in edits:
        at = int(where * len(data))
        piece = data[at : at + length]
        if kind == "cut":
            data = data[:at] + data[at + length :]
        elif kind == "insert":
            data = data[:at] + token + data[at:]
        elif kind == "replace":
            data = data[:at] + token + data[at + len(token) :]
        elif kind == "repeat":
            data = data[:at] + piece * 3 + data[at:]
        elif kind == "swap":
            data = data[at:] + data[:at]
        else:
            data = data[: max(at, 1)]
    return data


def places(document: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON document."""
    found: list[tuple[Any, Any]] = []
    todo = [document]
    while todo:
        item = todo.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
        for key in keys:
            found.append((item, key))
            todo.append(item[key])
    return found


@st.composite
def json_spoiled(draw: Any, document: Any) -> Any:
    """A document of the same kind with some of its members changed, removed, exchanged or wrapped."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        found = places(document)
        if not found:
            break
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        kind = draw(st.sampled_from(("value", "remove", "wrap", "rename", "other")))
        if kind == "value":
            holder[key] = draw(SCALARS)
        elif kind == "remove":
            del holder[key]
        elif kind == "wrap":
            holder[key] = draw(st.sampled_from(([holder[key]], {"t": holder[key]}, {"value": holder[key]})))
        elif kind == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from(("x", "", "version", "mode", "c", "type")))] = holder.pop(key)
        else:
            other, name = found[draw(st.integers(0, len(found) - 1))]
            holder[key] = copy.deepcopy(other[name]) if name in _keys(other) else None
    return document


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def members(archive: bytes) -> dict[str, bytes]:
    """The members of a ZIP archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(contents: dict[str, bytes]) -> bytes:
    """A ZIP archive with these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, data in contents.items():
            file.writestr(name, data)
    return stream.getvalue()


def dumped(document: Any) -> bytes:
    return json.dumps(document).encode()


def planner(*words: str, stdin: str = "") -> Ran:
    """A command line in this process, at the working directory of the process."""
    screen: Any = make_terminal(False, stdin)
    code = main.dispatch(list(words), screen)
    return Ran(code, screen.stdout.getvalue(), screen.stderr.getvalue())


def judged(*words: str, stdin: str = "") -> Ran:
    """The same, and whatever the input: an exit code that means something, no traceback, and a reason for a failure."""
    ran = planner(*words, stdin=stdin)
    said = ran.out + ran.err
    assert ran.code in (0, 1, 2), said
    assert "Traceback" not in said and "Internal error" not in said, f"{words}\n{said}"
    if ran.code == 1:
        assert "Error: " in ran.err or '"severity":"error"' in said or '"severity": "error"' in said, f"{words}\n{said}"
    return ran
