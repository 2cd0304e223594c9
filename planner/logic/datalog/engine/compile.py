"""Compiles a program to Python: one function for each rule (compile_rule.py), and one function for each index that the
functions of rules read.

A recursive rule has one function for each of its atoms in the recursive component. In this function, the atom reads
only `D`, the rows that were new in the last round (semi-naive evaluation: Bancilhon, Ramakrishnan 1986)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.language.syntax.rule_parse import parse_rules
from planner.language.syntax.rule_syntax import Aggregate, Atom, Constant, Negation, RuleFile, RuleVariable
from planner.logic.datalog.engine.compile_rule import BodyCompiler, Indexes, key_code, tuple_code
from planner.logic.datalog.engine.program import (
    UNSEEN,
    CompiledFunction,
    CompiledIndex,
    CompiledRules,
    CompiledStratum,
    Look,
    RuleProgram,
)
from planner.logic.datalog.language import checks
from planner.logic.datalog.language.link import Linker, with_reason
from planner.logic.datalog.language.model import Predicate, Rule, Stratum, atoms, inner_variables, variables
from planner.logic.datalog.language.spaces import Spaces, resolve
from planner.logic.datalog.language.strata import dependencies, stratify
from planner.logic.datalog.language.types import column_types
from planner.logic.datalog.language.values import encode


def index_code(number: int, index: CompiledIndex) -> str:
    """The code of a function that adds rows to an index: `x3(rows, d)`."""
    if index.has_rows:
        key = key_code([f"row[{i}]" for i in index.keys])
        return f"def x{number}(rows, d):\n    for row in rows:\n        d[{key}].append(row)\n"
    targets = tuple_code([f"c{i}" if i in index.keys else "_" for i in range(index.arity)])
    key = key_code([f"c{i}" for i in index.keys])
    return f"def x{number}(rows, d):\n    d.update({{{key} for {targets} in rows}})\n"


def _description(rule: Rule, predicates: Mapping[str, Predicate]) -> tuple[Any, ...]:
    """The fields `positives`, `reads`, `constants` and `head_columns` of CompiledFunction for a rule."""
    positives = [atom for atom in rule.body if isinstance(atom, Atom)]
    constants = []
    for atom in positives:
        given = [(n, encode(a.value)) for n, a in enumerate(atom.arguments) if isinstance(a, Constant)]
        if given:
            constants.append((predicates[atom.predicate].number, tuple(given)))
    return (
        tuple(sorted({predicates[atom.predicate].number for atom in positives})),
        tuple(sorted({predicates[atom.predicate].number for atom, _ in atoms(rule.body)})),
        tuple(constants),
        tuple((encode(a.value),) if isinstance(a, Constant) else None for a in rule.head.arguments),
    )


def compile_program(predicates: Mapping[str, Predicate], rules: list[Rule], strata: list[Stratum]) -> CompiledRules:
    indexes = Indexes()
    parts: list[str] = []
    steps: list[CompiledStratum] = []
    uses: set[tuple[str, str]] = set()
    count = 0
    for stratum in strata:
        members = set(stratum.predicates)
        functions: list[CompiledFunction] = []
        for number in stratum.rules:
            rule = rules[number]
            recursive: list[Atom | None] = [x for x in rule.body if isinstance(x, Atom) and x.predicate in members]
            for delta in recursive or [None]:
                compiler = BodyCompiler(rule, predicates, indexes)
                body = "".join(f"    {line}\n" for line in compiler.statements(delta))
                parts.append(f"def f{count}(R, I, D, O):\n{body}")
                head = predicates[rule.head.predicate].number
                source = predicates[delta.predicate].number if delta is not None else -1
                needs = tuple(sorted(compiler.needs))
                uses |= compiler.uses
                functions.append(CompiledFunction(count, number, head, source, needs, *_description(rule, predicates)))
                count += 1
        native = predicates[stratum.predicates[0]]
        steps.append(
            CompiledStratum(
                tuple(predicates[p].number for p in stratum.predicates),
                stratum.is_recursive,
                tuple(functions),
                native.operator or "",
                tuple(predicates[p].number for p in native.inputs),
            )
        )
    parts += [index_code(number, index) for index, number in indexes.numbers.items()]
    graph = dependencies(predicates.values(), rules)
    reads = [tuple(predicates[other].number for other in graph[name]) for name in predicates]
    return CompiledRules(
        "\n".join(parts), steps, list(indexes.numbers), reads, looks(rules, predicates), tuple(sorted(uses))
    )


# Computes which values of each input column the rules examine, because only these affect derivations. A cache of
# results, such as the cache in plan/action.py, may replace all values that the rules do not examine by a single
# placeholder.


_Place = tuple[str, int]
_Looks = dict[_Place, Look]


def looks(rules: Iterable[Rule], predicates: Mapping[str, Predicate]) -> dict[str, tuple[Look, ...]]:
    """{input predicate: use of each of its columns by the rules}."""
    seen: _Looks = {}
    passed: dict[_Place, set[_Place]] = {}
    """{column: columns of heads to which rules pass its values}"""
    for predicate in predicates.values():
        for name in predicate.inputs:  # an input of a native operator, which compares whole rows
            _see(seen, ((name, n) for n in range(predicates[name].arity)), Look(compared=True))
        if predicate.is_output:
            _see(seen, ((predicate.name, n) for n in range(predicate.arity)), Look(shown=True))
    for rule in rules:
        _look(rule, seen, passed)
    changed = True
    while changed:
        changed = False
        for place, heads in passed.items():
            before = seen.get(place, UNSEEN)
            _see(seen, (place,), _together(seen.get(head, UNSEEN) for head in heads))
            changed |= seen.get(place, UNSEEN) != before
    # equal objects are shared, so that the stored form is small
    one = {look: look for look in (UNSEEN, *seen.values())}
    return {
        p.name: tuple(one[seen.get((p.name, n), UNSEEN)] for n in range(p.arity))
        for p in predicates.values()
        if p.is_input
    }


def _look(rule: Rule, seen: _Looks, passed: dict[_Place, set[_Place]]) -> None:
    times: dict[str, int] = {}
    for literal in rule.body:
        inner = inner_variables(literal) if isinstance(literal, Aggregate) else ()
        for variable in chain(variables(literal), inner):
            times[variable.name] = times.get(variable.name, 0) + 1
    heads: dict[str, set[_Place]] = {}
    for n, argument in enumerate(rule.head.arguments):
        place = (rule.head.predicate, n)
        if isinstance(argument, RuleVariable):
            heads.setdefault(argument.name, set()).add(place)
        else:
            for variable in variables(argument):  # the head computes a value from this variable
                times[variable.name] = 2
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            for atom in (x.atom if isinstance(x, Negation) else x for x in literal.body):
                if isinstance(atom, Atom):  # aggregates count rows
                    _see(seen, ((atom.predicate, n) for n in range(len(atom.arguments))), Look(compared=True))
            continue
        atom = literal.atom if isinstance(literal, Negation) else literal
        if not isinstance(atom, Atom):
            continue
        for n, argument in enumerate(atom.arguments):
            place = (atom.predicate, n)
            if isinstance(argument, Constant):
                _see(seen, (place,), Look(frozenset((argument.value,))))
            elif isinstance(argument, RuleVariable) and times[argument.name] > 1:
                _see(seen, (place,), Look(compared=True))
            elif isinstance(argument, RuleVariable):
                passed.setdefault(place, set()).update(heads.get(argument.name, ()))


def _see(seen: _Looks, places: Iterable[_Place], look: Look) -> None:
    for place in places:
        seen[place] = _together((seen.get(place, UNSEEN), look))


def _together(parts: Iterable[Look]) -> Look:
    constants: frozenset[object] = frozenset()
    compared = shown = False
    for part in parts:
        constants |= part.constants
        compared |= part.compared
        shown |= part.shown
    return Look(constants, compared, shown)


def build_program(
    files: Sequence[tuple[str, str]],
    core: Collection[str] | None,
    made: Sequence[RuleFile] = (),
    beside: Sequence[tuple[str, str]] = (),
    spaces: Spaces | None = None,
) -> tuple[RuleProgram | None, list[Diagnostic]]:
    """The program as `load_program` returns it, but compiled without the cache. It is None if there is an error."""
    diagnostics: list[Diagnostic] = []
    linker = Linker(core, spaces)
    given = {file.source.filename: file for file in made}
    parsed = []
    for name, text in files:
        if name in given:
            parsed.append(given[name])
            continue
        file, problems = (_parse_core if core is not None and name in core else parse_rules)(name, text)
        parsed.append(file)
        diagnostics += problems
    parsed, problems = resolve(parsed, spaces or {}, core)
    diagnostics += problems
    if has_errors(problems):
        return None, _in_order(diagnostics)  # the next checks require that names are resolved
    linker.link(parsed)
    predicates = linker.predicates
    rules = [with_reason(rule, predicates) for rule in linker.rules]
    diagnostics += linker.diagnostics
    diagnostics += checks.declared_elsewhere(predicates, beside)
    diagnostics += checks.unknown_predicates(rules, predicates)
    diagnostics += checks.arity(rules, predicates)
    diagnostics += checks.form(rules, checks.MAX_LITERALS_MADE if made else checks.MAX_LITERALS)
    diagnostics += checks.rule_names(rules)
    diagnostics += checks.reasons(rules)
    diagnostics += checks.check_derivations(rules, predicates)
    if has_errors(diagnostics):
        return None, _in_order(diagnostics)  # the next checks require that rules are well-formed
    diagnostics += checks.unsafe(rules)
    diagnostics += column_types(rules, predicates)
    strata, problems = stratify(list(predicates.values()), rules)
    diagnostics += problems
    if not has_errors(diagnostics):
        diagnostics += checks.computed_recursion(rules, strata)
    if has_errors(diagnostics):
        return None, _in_order(diagnostics)
    diagnostics += checks.single_use(rules)
    diagnostics += checks.unknown_words(rules, predicates)
    diagnostics += checks.whole_decimals(rules)
    diagnostics += checks.unread(rules, predicates)
    diagnostics += checks.unproduced(rules, predicates)
    compiled = compile_program(predicates, rules, strata)
    code = compile(compiled.source, "<rules>", "exec")
    return RuleProgram(predicates, strata, compiled, code, lambda: rules), _in_order(diagnostics)


_parse_core = lru_cache(64)(parse_rules)
"""parses a file of the product; the result is shared by all programs of the process and is never changed"""


def _in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics without duplicates, sorted by file and position."""

    def place(d: Diagnostic) -> tuple[str, int, str]:
        return (d.subject.filename, d.subject.start, d.code) if d.subject else ("", 0, d.code)

    unique = {(d.code, d.detail, place(d)): d for d in diagnostics}
    return sorted(unique.values(), key=place)
