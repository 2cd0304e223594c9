"""Compiled programs in the user's cache, so that a start reads instead of compiling. The name of an entry is the digest
of all rule text, of the engine's own files and of Python's version. An entry is code that is run: planner.own_cache
gives only what this user wrote."""

from __future__ import annotations

import io
import marshal
import os
import pickle
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from planner import own_cache
from planner.datalog.engine.program import Program
from planner.support.assets import grammar_path
from planner.vocabulary.diagnostic import Diagnostic
from planner.vocabulary.span import Source

_FORMAT = 1
_MOST_PROGRAMS = 50


def load_program(
    files: Sequence[tuple[str, str]], core: Collection[str] | None = None
) -> tuple[Program | None, list[Diagnostic]]:
    """Parse, check, stratify and compile rule files given as (name, text). Names are as diagnostics print them;
    without `.dl` they begin the names of rules (`graph/references.dl` gives `graph/references.1`...).

    `core` are the names of the files that belong to the product: other files may not change what those declare,
    except by adding rules to predicates declared `.open`. None: all files are equal.

    The program is None if a diagnostic is an error. A program without errors is kept in the user's cache under the
    digest of its text."""
    program, diagnostics = _kept_or_built(files, core)
    if program is not None:
        program.files = tuple(files)
    return program, diagnostics


def _kept_or_built(
    files: Sequence[tuple[str, str]], core: Collection[str] | None
) -> tuple[Program | None, list[Diagnostic]]:
    name = f"rules-{key(files, core)}"
    found = _read(name, {name: Source(name, text) for name, text in files})
    if found is not None:
        return found
    program, diagnostics = _built(files, core)
    if program is not None:
        _write(name, program, diagnostics)
    return program, diagnostics


def _built(files: Sequence[tuple[str, str]], core: Collection[str] | None) -> tuple[Program | None, list[Diagnostic]]:
    from planner.datalog.engine.build import build_program

    return build_program(files, core)


def key(files: Sequence[tuple[str, str]], core: Collection[str] | None) -> str:
    """The digest of rule files (name, text), of which the `core` ones are marked, and of the engine."""
    from hashlib import blake2b

    digest = blake2b(f"{_FORMAT} {sys.version} {_engine()}".encode(), digest_size=16)
    for name, text in files:
        is_core = core is None or name in core
        content = text.encode("utf-8", "surrogatepass")
        digest.update(f"\0{name}\0{is_core}\0{len(content)}\0".encode("utf-8", "surrogatepass") + content)
    return digest.hexdigest()


def _engine() -> list[tuple[str, int, int]]:
    """Name, size and time of the files that the compiled form depends on."""
    datalog = Path(__file__).parents[1]
    syntax = datalog.parent / "syntax"
    found = []
    for folder in (datalog / "front", datalog / "engine", syntax):
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py") and (folder is not syntax or entry.name.startswith("rule_")):
                    status = entry.stat()
                    found.append((entry.name, status.st_size, status.st_mtime_ns))
    status = grammar_path("datalog.lark").stat()
    return sorted([*found, ("datalog.lark", status.st_size, status.st_mtime_ns)])


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> str | None:
        return value.filename if isinstance(value, Source) else None


class _Unpickler(pickle.Unpickler):
    """Puts the sources of today in the place of those of then: the text is the same."""

    def __init__(self, data: bytes, sources: dict[str, Source]) -> None:
        super().__init__(io.BytesIO(data))
        self.sources = sources

    def persistent_load(self, name: str) -> Source:
        return self.sources[name]


def _pickled(value: Any) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def _write(name: str, program: Program, diagnostics: list[Diagnostic]) -> None:
    model = (program.predicates, program.strata, program.compiled._replace(source=""), diagnostics)
    own_cache.store("", name, marshal.dumps((program.code, _pickled(model), _pickled(program.rules))))
    own_cache.trim("", _MOST_PROGRAMS, prefix="rules-")  # each change of a rule file leaves one


def _read(name: str, sources: dict[str, Source]) -> tuple[Program, list[Diagnostic]] | None:
    data = own_cache.load("", name)
    if data is None:
        return None
    try:
        code, model, rules = marshal.loads(data)
        predicates, strata, compiled, diagnostics = _Unpickler(model, sources).load()
    except Exception:  # of another shape than today's: made again
        return None
    return Program(predicates, strata, compiled, code, lambda: _Unpickler(rules, sources).load()), diagnostics
