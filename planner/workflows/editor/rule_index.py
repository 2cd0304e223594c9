"""Indexes the rule files of a directory: their relations with documentation and places. For open files, the text in the
editor is used. If a file has errors, only its valid statements are indexed."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from planner.answers.policy import rule_files, rulebook
from planner.answers.policy.packs import gather
from planner.answers.policy.shapes import Shapes, misfits
from planner.foundation.support.assets import rules_path
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_parse import parse_rules
from planner.language.syntax.rule_syntax import Declaration, RuleFile
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS, BuiltinPredicate
from planner.operations import rule_tests
from planner.operations.load import load
from planner.operations.options import Options
from planner.operations.policy_shapes import shapes_of

Texts = Mapping[str, str]
"""{absolute path: text in the editor}"""
ENDINGS = (".dl", ".case")


@frozen
class IndexedRelation:
    """A relation of the index. `columns`: (name, type) for each column."""

    name: str
    columns: tuple[tuple[str, str], ...]
    doc: str
    span: Span

    @property
    def declaration(self) -> str:
        return f"{self.name}({', '.join(f'{name}: {type}' for name, type in self.columns)})"


@frozen
class Book:
    """The index of a directory with rule files. `relations`: {name: relation} of these files and of planner's own
    rules. `program`: the program of planner's own rules that the files extend, such as "policy"."""

    program: str
    relations: dict[str, IndexedRelation]
    files: tuple[RuleFile, ...]

    def words(self, relation: IndexedRelation, column: int) -> list[str]:
        """The words that a column of the type `word` can contain, according to the relation's documentation; [] for
        columns of other types."""
        if column >= len(relation.columns) or relation.columns[column][1] != "word":
            return []
        named = f"{relation.columns[column][0]} "
        line = next((x for x in map(str.strip, relation.doc.split("\n")) if x.startswith(named)), "")
        listed = line.removeprefix(named).partition("(")[0].replace(" or ", ", ").split(",")
        words = [word.strip(" .`") for word in listed]
        return sorted(word for word in words if word and " " not in word)


def folder_files(path: str, opened: Texts) -> list[tuple[str, str]]:
    """(path, text) for each rule file in the directory of the file `path`. For open files, this is the text in the
    editor."""
    folder = os.path.dirname(path)
    item, _ = rule_files.read_files([folder], (".dl",)) if os.path.isdir(folder) else ([], [])
    texts = {os.path.normpath(name): text for name, text in item}
    for name, text in opened.items():
        if name in texts or (name.endswith(".dl") and os.path.dirname(name) == folder):
            texts[name] = text
    return sorted(texts.items())


def book_of(path: str, opened: Texts) -> Book:
    files = folder_files(path, opened)
    cases = [(path, opened[path])] if path.endswith(".case") and path in opened else []
    parsed = tuple(parse_rules(*file)[0] for file in files if file[0].endswith(".dl"))
    program = rule_files.choose([*files, *cases])
    relations = dict(_product(program))
    for file in parsed:
        for statement in file.statements:
            if isinstance(statement, Declaration):
                columns = tuple((column.name, column.type.text) for column in statement.columns)
                span = statement.within(statement.name)
                name = statement.name.text
                relations[name] = IndexedRelation(name, columns, statement.doc or "", span)
    return Book(program, relations, parsed)


@cache
def _product(program: str) -> dict[str, IndexedRelation]:
    """{name: relation} for planner's own rules of a program."""
    return {
        p.name: IndexedRelation(p.name, tuple((c.name, c.type.name) for c in p.columns), p.doc, p.span)
        for p in rulebook.program(program).predicates.values()
    }


def problems_of(path: str, opened: Texts) -> list[Diagnostic]:
    """The diagnostics of a file. A rule file is checked together with the other rule files of its directory, and a case
    file together with the rules that it tests."""
    try:
        if path.endswith(".case"):
            return list(_problems_of_cases(path, opened))
        checked = rule_files.check(folder_files(path, opened))
    except Failure as failure:
        return [d for d in failure.diagnostics if _is_about(d, path)]
    items = [*checked.diagnostics, *_misfits(path, opened, checked)]
    return [d for d in items if _is_about(d, path)]


def _misfits(path: str, opened: Texts, checked: rule_files.CheckedFiles) -> list[Diagnostic]:
    """Diagnostics about conditions on attributes that do not exist according to the provider schemas. Only policies
    without errors are examined."""
    if checked.program != "policy" or has_errors(checked.diagnostics):
        return []
    program, _ = rule_files.load(folder_files(path, opened), checked.program)
    return list(misfits(program, shapes_near(path))) if program is not None else []


def _problems_of_cases(path: str, opened: Texts) -> Iterator[Diagnostic]:
    files = folder_files(path, opened)
    program, _ = rule_files.load(files, rule_files.choose([*files, (path, opened[path])]))
    if program is not None:  # None if the rules are invalid; the check of the invalid rule file reports that
        cases = rule_tests.cases_of(program, path, opened[path], gather(tuple(files)))
        yield from (d for d in cases[1] if _is_about(d, path))


def _is_about(problem: Diagnostic, path: str) -> bool:
    return problem.subject is None or os.path.normpath(problem.subject.filename) == os.path.normpath(path)


def place(span: Span) -> str:
    """The path of the file that contains a span; for one of planner's own rules, the path of the installed file."""
    name = span.filename
    return name if os.path.isabs(name) else str(rules_path() / name)


def signature(name: str) -> BuiltinPredicate | None:
    """The signature of a built-in function, test or relation; None for other names."""
    return FUNCTIONS.get(name) or TESTS.get(name) or RELATIONS.get(name)


def functions() -> dict[str, BuiltinPredicate]:
    """Built-in functions, tests and relations whose name is written before parentheses."""
    return {name: s for name, s in {**FUNCTIONS, **TESTS, **RELATIONS}.items() if name[0].isalpha() and name != "in"}


# Provider schemas of the configuration that contains the rule files.


_ENDINGS = (".tf", ".tofu", ".tf.json", ".tofu.json")
_HIGHEST = 5
"""number of directories that are searched for a configuration: the directory of the rule file, its parent, and so on"""


def shapes_near(path: str) -> Shapes:
    """The types of objects according to the provider schemas of the nearest configuration, in the directory of a file
    or in a parent directory. No types are known if there is no readable configuration."""
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(_HIGHEST):
        if _is_configuration(folder):
            return _shapes(folder, os.stat(folder).st_mtime_ns)
        folder = os.path.dirname(folder)
    return _nothing


def _is_configuration(folder: str) -> bool:
    try:
        return any(name.endswith(_ENDINGS) for name in os.listdir(folder))
    except OSError:
        return False


@lru_cache(maxsize=8)
def _shapes(folder: str, changed: int) -> Shapes:
    try:
        loaded = load(Options(folder), Diagnostics())
        atexit.register(loaded.schemas.close)
        return shapes_of(loaded.schemas, loaded.config)
    except Failure:
        return _nothing


class _NoSchemas:
    """Used instead of schemas if there is no readable configuration: no types are known."""

    def __call__(self, mode: str, type: str) -> None:
        return None

    def types(self, mode: str) -> tuple[str, ...]:
        return ()

    def lacks(self, mode: str, type: str) -> str:
        return ""


_nothing = _NoSchemas()
