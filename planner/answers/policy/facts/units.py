"""Converts the plan of a unit, or of a component instance, to relations for queries and policies about all units."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.answers.policy.facts.relations import PolicyInputs
from planner.language.config.model import Config
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.values import Fraction, decode, sorted_rows
from planner.logic.model.plan import Plan

CONTENTS = "batch/contents.dl"
"""the file that declares the relations about the plans of units"""

HIDDEN = "(sensitive)"
"""placeholder for sensitive values in facts"""
_POLICY_NAMES = {
    "unit_change": "action",
    "kind_of": "change",
    "unit_reason": "reason",
    "unit_planned": "planned",
    "unit_prior": "prior",
    "unit_configured": "configured",
    "unit_unknown_after": "unknown_after",
    "unit_output": "output",
    "unit_maybe": "maybe",
    "unit_maybe_exact": "maybe_exact",
    "unit_maybe_open": "maybe_open",
}
"""{relation in rules/batch/contents.dl: the relation in rules/policy/inputs.dl with the same rows}"""


def contents_needed(program: RuleProgram, want: Iterable[str]) -> tuple[str, ...]:
    """The relations about the plans of units on which the predicates `want` depend."""
    needed = program.needed(tuple(want))
    contents = (p.name for p in program.predicates.values() if p.number in needed and p.span.filename == CONTENTS)
    return tuple(sorted(name for name in contents if program.predicates[name].is_input))


def facts_of(names: Iterable[str], plan: Plan, config: Config) -> dict[str, list[list[Any]]]:
    """{relation: its rows} for the relations with these names, without the column of the unit and without sensitive
    values."""
    from planner.answers.policy.facts.build import plan_facts

    wanted = {name: _POLICY_NAMES[name] for name in names if name in _POLICY_NAMES}
    reads = PolicyInputs(frozenset({*wanted.values(), "sensitive_at"}))

    def graph() -> Any:
        raise AssertionError("none of these relations reads the graph")

    facts = plan_facts(plan, config, reads, graph)
    result: dict[str, list[list[Any]]] = {}
    for name, source in wanted.items():
        rows = []
        for row in sorted_rows(facts.relation(source)):
            plain = [_plain(decode(value)) for value in row]
            if name == "kind_of":
                plain = [plain[0], plain[5], plain[1]]
            elif name == "unit_output":
                plain = plain[1:]
            elif source in ("planned", "prior", "configured") and (row[0], row[1]) in facts.hidden:
                plain[2] = HIDDEN
            rows.append(plain)
        result[name] = rows
    return result


def _plain(value: Any) -> Any:
    """A value in JSON form. A decimal that a float cannot represent becomes {"decimal": "..."}."""
    return {"decimal": str(value)} if value.__class__.__name__ == "Decimal" else value


def fact_value(value: Any) -> Any:
    """The inverse of `_plain`: the value of a fact from its JSON form."""
    return Fraction(value["decimal"]) if value.__class__ is dict else value
