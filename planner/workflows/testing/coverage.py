"""Parts of a module that no run of its tests has reached: resources that were never planned, conditionals of which one
side was never taken, counts and for_each that were never none or never some, validations that never held or never
failed, outputs that never had a value, policies that never objected or always did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from planner.engine.evaluation.context import EvaluationContext
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, Expr
from planner.logic.model.plan import Plan
from planner.workflows.testing.conditionals import conditionals, truth, truths

Key: TypeAlias = tuple[str, str, int]
"""kind, file, offset; of a policy its code in the place of the file"""
Reached: TypeAlias = frozenset[tuple[Key, str]]
"""the conditions seen, by item"""
NOTHING: Reached = frozenset()


@frozen(eq=False)
class CoverageItem:
    """Something that tests can reach; `ways` are how. `kind` is resource, conditional, repetition, validation,
    output or policy."""

    kind: str
    name: str
    span: Span
    ways: tuple[str, ...]

    @property
    def key(self) -> Key:
        return (self.kind, self.span.filename, self.span.start)


@frozen(eq=False)
class Coverage:
    """All items of a configuration, by place, with the ways in which each was reached."""

    items: tuple[tuple[CoverageItem, frozenset[str]], ...]

    @property
    def counts(self) -> tuple[int, int]:
        """How many of all ways were reached, and how many there are."""
        return sum(len(seen) for _, seen in self.items), sum(len(item.ways) for item, _ in self.items)


def coverage(config: Config, reached: Iterable[Reached], policies: Mapping[str, Span] = {}) -> Coverage:
    """The coverage of a configuration, and of `policies`: the places of their codes."""
    seen: dict[Key, set[str]] = {}
    for one in reached:
        for key, way in one:
            seen.setdefault(key, set()).add(way)
    table = {item.key: item for item in items(config)}
    for code, span in policies.items():
        table["policy", code, 0] = CoverageItem("policy", code, span, ("objecting", "silent"))
    ordered = sorted(table.items(), key=lambda it: (it[1].span.filename, it[1].span.start, it[1].kind, it[1].name))
    return Coverage(tuple((item, frozenset(seen.get(key, set()) & set(item.ways))) for key, item in ordered))


def items(config: Config) -> Iterator[CoverageItem]:
    """Everything that tests of a configuration can reach."""
    for module in config.root.walk():
        place = ".".join(f"module.{name}" for name in module.path)
        for key, resource in module.resources.items():
            yield CoverageItem("resource", join(place, key), resource.span, ("planned",))
            yield from _repetition(resource, join(place, key))
        for name, call in module.calls.items():
            yield from _repetition(call, join(place, f"module.{name}"))
        for output in module.outputs.values():
            yield CoverageItem("output", join(place, f"output.{output.name}"), output.span, ("evaluated",))
        for variable in module.variables.values():
            for rule in variable.validations:
                yield CoverageItem("validation", join(place, f"var.{variable.name}"), rule.span, ("held", "failed"))
        for item in conditionals(module):
            span = Span(item.source, item.node.start, item.node.end)
            yield CoverageItem("conditional", span.text.split("\n")[0], span, ("true", "false"))


def _repetition(block: Any, name: str) -> Iterator[CoverageItem]:
    for argument in ("count", "for_each", "enabled"):
        expr: Expr | None = getattr(block, argument)
        if expr is not None:
            yield CoverageItem("repetition", f"{name}.{argument}", expr.span, ("some", "none"))


# ---------------------------------------------------------------- one run


def reached(context: EvaluationContext, made: Plan | None) -> Reached:
    """The parts that one run has reached, by the values that its plan was made with."""
    found: set[tuple[Key, str]] = set()
    planned = {change.resource_address for change in made.changes} if made is not None else set()
    for module in context.all_instances():
        config = module.config
        for key, resource in config.resources.items():
            objects = module.resource(key)
            instances = objects.expansion.instances if objects.expansion is not None else {}
            if instances or join(module.text, key) in planned:
                found.add((("resource", *_place(resource.span)), "planned"))
            _add_repetition(found, resource, instances if objects.expansion is not None else None)
        for name, call in config.calls.items():
            _add_repetition(found, call, module.calls.get(name))
        if made is not None and not made.errored:
            outputs = (output for output in config.outputs.values() if output.made_up is None)
            found.update((("output", *_place(output.span)), "evaluated") for output in outputs)
        for variable in config.variables.values():
            for rule in variable.validations:
                held = truth(rule.condition, module.scope)
                if held is not None:
                    found.add((("validation", *_place(rule.span)), "held" if held else "failed"))
        for place in conditionals(config):
            where: Key = ("conditional", place.source.filename, place.node.start)
            found.update((where, "true" if value else "false") for value in truths(module, place))
    return frozenset(found)


def _place(span: Span) -> tuple[str, int]:
    return span.filename, span.start


def _add_repetition(found: set[tuple[Key, str]], block: Any, instances: Any) -> None:
    for argument in ("count", "for_each", "enabled"):
        expr: Expr | None = getattr(block, argument)
        if expr is not None and instances is not None:
            found.add((("repetition", *_place(expr.span)), "some" if instances else "none"))
