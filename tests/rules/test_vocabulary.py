"""One name, one meaning: over all rule files of the product each relation is declared once."""

from __future__ import annotations

import pytest

from planner.answers.policy import rulebook
from planner.language.syntax.rule_parse import parse_rules
from planner.language.syntax.rule_syntax import Declaration, TypeDeclaration
from planner.logic.datalog.engine.cache import load_program
from planner.logic.programs.rule_programs import FILES, every_file, files_of, product_program


def declared(kind: type[Declaration | TypeDeclaration]) -> list[tuple[str, str]]:
    """(name, file) of every declaration in a rule file of the product."""
    return [
        (statement.name.text, name)
        for name, text in every_file()
        for statement in parse_rules(name, text)[0].statements
        if isinstance(statement, kind)
    ]


@pytest.mark.parametrize("kind", [Declaration, TypeDeclaration])
def test_each_name_is_declared_once(kind: type[Declaration | TypeDeclaration]) -> None:
    files: dict[str, list[str]] = {}
    for name, file in declared(kind):
        files.setdefault(name, []).append(file)
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_each_program_says_the_same_of_a_name() -> None:
    said: dict[str, set[tuple[str, str]]] = {}
    for name in FILES:
        for predicate in product_program(name).predicates.values():
            said.setdefault(predicate.name, set()).add((predicate.declaration, predicate.doc))
    assert [name for name, ways in said.items() if len(ways) > 1] == []


def test_the_book_tells_of_each_name_once() -> None:
    names = [entry.predicate.name for entry in rulebook.entries()]
    assert names == sorted(set(names))


def test_what_another_file_declares_too_is_refused() -> None:
    core = files_of("moves")
    names = [name for name, _ in core]
    other = ("batch/other.dl", "/// moved(unit): a unit elsewhere.\n.decl moved(unit: symbol)\n")
    assert load_program(core, names)[0] is not None
    refused, diagnostics = load_program([*core, ("new.dl", "// new\n")], names, beside=lambda: (*core, other))
    assert refused is None
    assert [(d.code, "batch/other.dl:2" in d.detail) for d in diagnostics if d.is_error] == [("rules.duplicate", True)]


def test_a_user_may_use_a_name_of_another_program() -> None:
    own = ("own.dl", "/// moved(x): mine.\n.decl moved(x: any)\n.output moved\nmoved(X) :- about_unit(X).\n")
    core = files_of("batch")
    loaded, diagnostics = load_program([*core, own], [name for name, _ in core], beside=every_file)
    assert loaded is not None, diagnostics
