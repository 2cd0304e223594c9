"""Caches compiled programs in the user's cache directory, so that they are not compiled at every start. The name of an
entry is a digest of all rule files, of the engine's own files and of the Python version. Entries contain code that is
executed, so planner.foundation.support.store returns only entries that this user wrote."""

from __future__ import annotations

import io
import marshal
from _pickle import Unpickler
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from planner.foundation.support.store import Shelf
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.span import Source, pickled_without_texts
from planner.language.syntax.rule_syntax import RuleFile
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.values import Row

if TYPE_CHECKING:
    from planner.logic.datalog.language.spaces import Spaces

MADE_BY = ("logic/datalog/language", "logic/datalog/engine", "language/syntax", "datalog.lark")
Beside = Callable[[], Sequence[tuple[str, str]]]
PROGRAMS = Shelf("programs", 50, made_by=MADE_BY)
"""the cache of compiled programs; at most 50 are kept, because each change of a rule file adds a program"""


def load_program(
    files: Sequence[tuple[str, str]],
    core: Collection[str] | None = None,
    made: Sequence[RuleFile] = (),
    beside: Beside | None = None,
    spaces: Spaces | None = None,
) -> tuple[RuleProgram | None, list[Diagnostic]]:
    """(program, diagnostics) of rule files, which are parsed, checked, stratified and compiled. Files are pairs (name,
    text). Diagnostics contain these names, and rules without a name are named after their file: `house.1` is the first
    such rule in `house.dl`.

    `core`: the names of the product's files (None: all files). All other files may add rules only to those predicates
    of the product's files that are declared `.open`.

    `made`: files that planner has constructed (language/constructed.py), which are not parsed. `beside`: returns all
    files of the product, including those of other programs. A name that one of these files declares must not be
    declared in any other file. `spaces`: the namespaces of files (language/spaces.py). The program is None if there is
    an error. A program without errors is cached."""
    files = [*files, *((file.source.filename, file.source.text) for file in made)]
    program, diagnostics = _kept_or_built(files, core, made, beside, spaces or {})
    if program is not None:
        program.files = tuple(files)
    return program, diagnostics


def _kept_or_built(
    files: Sequence[tuple[str, str]],
    core: Collection[str] | None,
    made: Sequence[RuleFile],
    beside: Beside | None,
    spaces: Spaces,
) -> tuple[RuleProgram | None, list[Diagnostic]]:
    name = PROGRAMS.name(*parts(files, core), *spaces_parts(spaces))
    known = _read(name, {name: Source(name, text) for name, text in files})
    if known is not None:
        return known
    from planner.logic.datalog.engine.compile import build_program

    program, diagnostics = build_program(files, core, made, beside() if beside is not None else (), spaces)
    if program is not None:
        model = (program.predicates, program.strata, program.compiled._replace(source=""), diagnostics)
        PROGRAMS.store(
            name, marshal.dumps((program.code, pickled_without_texts(model), pickled_without_texts(program.rules)))
        )
    return program, diagnostics


def parts(files: Sequence[tuple[str, str]], core: Collection[str] | None) -> Iterator[str]:
    """The components of the name of an entry that describe rule files (name, text); files in `core` are marked."""
    for name, text in files:
        yield from (name, str(core is None or name in core), text)


def spaces_parts(spaces: Spaces) -> Iterator[str]:
    """The components of the name of an entry that describe the namespaces of files."""
    for file in sorted(spaces):
        yield from (file, *spaces[file])


_SOURCE = (Source.__module__, Source.__qualname__)


class _Unpickler(Unpickler):
    """Reads a stored object and replaces the sources in it by current sources with the same text."""

    def __init__(self, data: bytes, sources: dict[str, Source]) -> None:
        super().__init__(io.BytesIO(data))
        # not a method: the memo of an unpickler would refer to it, and the garbage collector does not traverse the
        # memo, so no unpickled object would ever be freed
        self._source = lambda filename, _: sources[filename]

    def find_class(self, module: str, name: str) -> Any:
        return self._source if (module, name) == _SOURCE else super().find_class(module, name)


def unpickle(data: bytes, sources: dict[str, Source]) -> Any:
    """The stored object, with the sources {file name: source}. The bytes must have been written by this user
    (planner.foundation.support.store)."""
    return _Unpickler(data, sources).load()


def _read(name: str, sources: dict[str, Source]) -> tuple[RuleProgram, list[Diagnostic]] | None:
    data = PROGRAMS.load(name)
    if data is None:
        return None
    try:
        code, model, rules = marshal.loads(data)
        predicates, strata, compiled, diagnostics = _Unpickler(model, sources).load()
    except Exception:  # a different version of planner wrote the entry, so it is compiled again
        return None
    return RuleProgram(predicates, strata, compiled, code, lambda: _Unpickler(rules, sources).load()), diagnostics


# Caches small tables: the rows that rules derive without facts.


TABLES = Shelf("derived", 10, made_by=MADE_BY)  # at most 10, because each change of a rule file adds a table


def derive_rows(files: Sequence[tuple[str, str]], want: Iterable[str]) -> dict[str, list[Row]]:
    """{predicate: its rows, sorted} that rule files (name, text) derive without facts. Raises Failure if a file has
    errors."""
    wanted = sorted(want)
    name = TABLES.name(*wanted, *parts(files, None))
    known: dict[str, list[Row]] | None = TABLES.value(name)
    if known is not None:
        return known
    return _derive(files, wanted, name)


def _derive(files: Sequence[tuple[str, str]], wanted: list[str], name: str) -> dict[str, list[Row]]:
    from planner.logic.datalog.engine.evaluate import evaluate
    from planner.logic.datalog.engine.fact_base import FactBuilder

    program, diagnostics = load_program(files)
    if program is None:
        raise Failure([d for d in diagnostics if d.is_error])
    database = evaluate(program, FactBuilder().build(), wanted)
    table = {predicate: database.sorted(predicate) for predicate in wanted}
    TABLES.keep(name, table)
    return table
