"""What stands in texts that a document shows as unknown: the configuration at hand makes them with jsonencode, and all
that is not written there is unknown. Names mean nothing but the locals of a module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planner.answers.policy.planned_values import ValueRows, root_of
from planner.foundation.values.value import UNKNOWN, Unknown, Value
from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.functions import CallContext
from planner.language.syntax.nodes import GetAttr, Traversal, Variable
from planner.logic.facts.from_state import module_path

if TYPE_CHECKING:
    from collections.abc import Collection

    from planner.answers.policy.facts.owners import ConfiguredOwners
    from planner.foundation.vocabulary.span import Source
    from planner.language.config.model import ModuleConfig
    from planner.language.syntax.body import Attribute

_MAKES = "jsonencode"
_IN_LIST = re.compile(r"\[\d")
_DEEPEST = 20
"""locals that are made of locals"""


def documents_of(owners: ConfiguredOwners, unknown: Collection[tuple[str, str]]) -> dict[tuple[str, str], Unknown]:
    """Of unknown values (address, path) those of which the configuration says what stands in them. (Elements of lists
    are left out: they may be those of a set, in another order.)"""
    wanted: dict[str, set[str]] = {}
    for address, path in unknown:
        if path and not _IN_LIST.search(path):
            wanted.setdefault(address, set()).add(path)
    modules: dict[str, _Written] = {}
    values: dict[tuple[int, str], Value] = {}
    rows = ValueRows(structure=False)
    for address in sorted(wanted):
        change = owners.changes.get(address)
        decl = owners.declaration(change) if change is not None else None
        if change is None or decl is None:
            continue
        attributes = decl.body.just_attributes()[0]
        for name in sorted({root_of(path) for path in wanted[address]} & attributes.keys()):
            if (id(decl), name) not in values:
                path = module_path(change.module)
                if path not in modules:
                    modules[path] = _Written(owners.module(path))
                values[id(decl), name] = modules[path].value(attributes[name])
            rows.walk(address, name, values[id(decl), name])
    return {place: value for place, value in rows.unknown.items() if value.document is not None and place in unknown}


class _Written(Scope):
    """The names of a module of which nothing is known but what its locals say."""

    def __init__(self, module: ModuleConfig | None) -> None:
        self.module = module
        self._values: dict[str, Value] = {}
        self._depth = 0
        self._context = CallContext(planning=True)

    def value(self, attribute: Attribute) -> Value:
        """What an argument is, as far as that is written."""
        span = attribute.expr_span
        if _MAKES not in span.text and "local." not in span.text:
            return UNKNOWN
        try:
            value, problems = try_evaluate(attribute.expr, self, attribute.source)
        except Failure:
            return UNKNOWN
        return UNKNOWN if problems else value

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        if isinstance(node, Traversal) and node.root == "local" and isinstance(node.steps[0], GetAttr):
            return self._local(node.steps[0].name), 1
        return UNKNOWN, 0

    def _local(self, name: str) -> Value:
        decl = self.module.locals.get(name) if self.module is not None else None
        if decl is None or self._depth > _DEEPEST:
            return UNKNOWN
        if name not in self._values:
            self._values[name] = UNKNOWN  # while it is found out: one that refers to itself is an error elsewhere
            self._depth += 1
            value, problems = try_evaluate(decl.expr.node, self, decl.expr.source)
            self._depth -= 1
            self._values[name] = UNKNOWN if problems else value
        return self._values[name]
