"""A program to Python: a function for each rule (compile_rule.py) and for each index that one of them reads.

A recursive rule has one function for each of its atoms in the component; that atom ranges over `D`, the tuples that the
last round found (semi-naive evaluation: Bancilhon, Ramakrishnan 1986).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.language.syntax.rule_syntax import Atom, Constant
from planner.logic.datalog.engine.columns_read import looks
from planner.logic.datalog.engine.compile_rule import BodyCompiler, Indexes, key_code, tuple_code
from planner.logic.datalog.engine.compiled import CompiledFunction, CompiledIndex, CompiledRules, CompiledStratum
from planner.logic.datalog.language.literals import atoms
from planner.logic.datalog.language.model import Predicate, Rule, Stratum
from planner.logic.datalog.language.strata import dependencies
from planner.logic.datalog.language.values import encode


def index_code(number: int, index: CompiledIndex) -> str:
    """`x3(rows, d)`: enter rows into an index."""
    if index.has_rows:
        key = key_code([f"row[{i}]" for i in index.keys])
        return f"def x{number}(rows, d):\n    for row in rows:\n        d[{key}].append(row)\n"
    targets = tuple_code([f"c{i}" if i in index.keys else "_" for i in range(index.arity)])
    key = key_code([f"c{i}" for i in index.keys])
    return f"def x{number}(rows, d):\n    d.update({{{key} for {targets} in rows}})\n"


def _description(rule: Rule, predicates: Mapping[str, Predicate]) -> tuple[Any, ...]:
    """`positives`, `reads`, `constants` and `head_columns` of a rule's functions."""
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
