"""Point evaluation: a few non-recursive rules over a handful of facts, many thousand times.

The decision for one instance inside a walk is such a case: twenty rules, ten facts. All rules become one Python
function without indexes; a rule is skipped when a relation that it reads is empty. The result equals `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from planner.datalog.engine.compile_rule import BodyCompiler
from planner.datalog.engine.compiled import namespace
from planner.datalog.engine.program import Program
from planner.datalog.front.model import Rule
from planner.datalog.front.values import Row, Rows
from planner.syntax.rule_syntax import Atom

Facts = Mapping[str, AbstractSet[Row]]
Point = Callable[[Facts], dict[str, AbstractSet[Row]]]

_NOTHING: Rows = {}


def compile_point(program: Program, want: Iterable[str]) -> Point:
    """A function from facts (predicate -> rows in the engine's form, see values.encode) to the relations in `want`.
    Facts are trusted to fit their declarations; facts for derived predicates are not looked at.

    Raises ValueError if what is wanted needs recursion or a native operator, KeyError for an unknown predicate."""
    wanted = sorted(set(want))
    needed = program.needed(wanted)
    globals_ = namespace()
    prelude: dict[str, str] = {}
    lines = ["def point(F):", "    get = F.get"]
    constants: set[str] = set()
    for predicate in program.predicates.values():
        if predicate.number in needed and predicate.is_input:
            lines.append(f"    r{predicate.number} = get({predicate.name!r}, NOTHING)")
    for stratum in program.strata:
        predicate = program.predicates[stratum.predicates[0]]
        if predicate.number not in needed or predicate.is_input:
            continue
        if stratum.is_recursive or predicate.operator is not None:
            raise ValueError(f"{predicate.name} is recursive or native: use evaluate")
        rules = [program.rules[n] for n in stratum.rules]
        name = f"r{predicate.number}"
        if all(not rule.body for rule in rules):
            codes = [BodyCompiler(rule, program.predicates, None, prelude).comprehension() for rule in rules]
            rows: Rows = {}
            for code in codes:
                rows |= eval(code, globals_)
            globals_[name] = rows
            constants.add(predicate.name)
            continue
        for position, rule in enumerate(rules):
            code = BodyCompiler(rule, program.predicates, None, prelude).comprehension()
            guard = _guard(program, rule, constants)
            if position == 0:
                lines.append(f"    {name} = {code}" + (f" if {guard} else {_empty(rules)}" if guard else ""))
            else:
                lines += ([f"    if {guard}:"] if guard else []) + [f"    {'    ' if guard else ''}{name} |= {code}"]
    results = ", ".join(f"{name!r}: r{program.predicates[name].number}.keys()" for name in wanted)
    lines.append(f"    return {{{results}}}")
    globals_["NOTHING"] = _NOTHING
    for code, name in prelude.items():
        if not code.startswith("R["):
            globals_[name] = eval(code, globals_)
    exec("\n".join(lines), globals_)
    point: Any = globals_["point"]
    return point  # type: ignore[no-any-return]


def _empty(rules: list[Rule]) -> str:
    return "NOTHING" if len(rules) == 1 else "{}"


def _guard(program: Program, rule: Rule, constants: set[str]) -> str:
    """The relations that must not be empty."""
    read = dict.fromkeys(x.predicate for x in rule.body if isinstance(x, Atom))
    return " and ".join(f"r{program.predicates[name].number}" for name in read if name not in constants)
