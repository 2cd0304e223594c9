"""Finds values that differ between two plans, and the root variables that cause the differences. One plan is called
`without`, the other `within`."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from planner.answers.explain.causes import Because, CauseStep
from planner.answers.explain.origins import differing, part_at
from planner.answers.explain.places import place_name
from planner.answers.explain.why import Explainer
from planner.foundation.values.expression_text import short_text, short_texts
from planner.foundation.values.value import SENSITIVE, Marked, Unknown, Value, identical, unmark_deep
from planner.foundation.vocabulary.records import evolve, frozen
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.model.plan import OutputChange, ResourceChange


@frozen
class ValueDifference:
    """A part that differs between two plans. `what`: its name. `without`, `within`: its values in the two plans as
    texts without secrets; "" if a value is unknown until apply."""

    what: str
    without: str
    within: str


def value_differences(
    name: str, before: ResourceChange | OutputChange, after: ResourceChange | OutputChange
) -> tuple[ValueDifference, ...]:
    """The parts in which two planned values of an object or output differ. `name`: the name of the object or output."""
    return _value_differences(name, *(_hidden(one) for one in (before, after)))


def _hidden(change: ResourceChange | OutputChange) -> Value:
    """The planned value of a change. The value of a sensitive output is marked as sensitive as a whole."""
    is_secret = bool(getattr(change, "sensitive", False))
    return Marked(unmark_deep(change.after)[0], frozenset((SENSITIVE,))) if is_secret else change.after


def _value_differences(name: str, before: Value, after: Value) -> tuple[ValueDifference, ...]:
    differences = []
    for path, _ in differing(before, after):
        old, new = part_at(before, path), part_at(after, path)
        texts = [
            "" if v.__class__ is Unknown else text for v, text in zip((old, new), short_texts(old, new), strict=True)
        ]
        if any(texts):
            differences.append(ValueDifference(place_name(name, path), *texts))
    return tuple(differences)


def cause_between(names: Sequence[str], without: Explainer, within: Explainer) -> Because | None:
    """The root variables that differ between two plans and on which the values called `names` depend. The result
    contains the chain from the first of these variables to a value. None if there are no such variables."""
    chains: dict[str, tuple[CauseStep, ...]] = {}
    for explainer in (within, without):
        trace = explainer.trace()
        places = [place for name in names if (place := explainer.places.read(name)) is not None]
        starts = [str(at) for place in places for at, _ in trace.value(place)]
        for place in places:
            trace.mentioned(place)
        facts = trace.build()
        for name in sorted({str(row[0]) for row in facts.relation("root_variable")} - chains.keys()):
            root = _variable(name, without, within)
            if root is not None:
                chains[name] = (root, *_steps(facts, starts, name))
    parts = {name for name in chains if not any(other.startswith((f"{name}.", f"{name}[")) for other in chains)}
    ordered = [chains[name] for name in sorted(parts)]
    return Because(ordered[0], tuple(steps[0] for steps in ordered)) if ordered else None


def roots_between(
    because: Because, without: Explainer, within: Explainer, known: dict[str, CauseStep | None], is_former: bool
) -> Because:
    """The cause of a change. For each variable whose values in the two plans differ, the two values are added. `known`:
    {variable: result} of comparisons already made, to which new results are added. `is_former`: whether the change
    exists only in the plan `without`; then the place of a variable is its place in the other plan."""

    def root_of(step: CauseStep) -> CauseStep:
        if step.kind != "variable":
            return step
        if step.what not in known:
            known[step.what] = _variable(step.what, without, within)
        other = known[step.what]
        if other is None or is_former:
            return other or step
        return evolve(step, before=other.before, value=other.value, has_elements=False)

    root, *hops = because.steps
    return evolve(because, steps=(root_of(root), *hops), roots=tuple(map(root_of, because.roots)))


def only_between(because: Because, known: dict[str, CauseStep | None], variables: AbstractSet[str]) -> Because | None:
    """The cause with only those roots that differ between the plans. `variables`: all root variables that differ. None
    if the first root or one of these variables is not among the remaining roots, because then other causes are
    possible."""
    roots = tuple(root for root in because.roots if known.get(root.what) is not None)
    are_all = variables and variables <= {
        match[0] for root in roots if (match := _VARIABLE.match(root.what)) is not None
    }
    return evolve(because, roots=roots) if are_all and because.steps[0] in roots else None


_VARIABLE = re.compile(r"var\.[\w-]+")


def _variable(name: str, without: Explainer, within: Explainer) -> CauseStep | None:
    """The root cause for the root variable `name`, with the values of the variable in the two plans; None if the values
    are equal."""
    values: list[Value] = []
    texts: list[str] = []
    source: Any = None
    for explainer in (without, within):
        place, trace = explainer.places.read(name), explainer.trace()
        read = trace.value(place) if place is not None else []
        is_hidden = place is not None and explainer.places.is_sensitive(place)
        values.append(unmark_deep(read[0][1])[0] if read else None)
        texts.append(short_text(read[0][1], is_hidden) if read else "nothing")
        facts = trace.build()
        source = next((facts.source("root_variable", row) for row in facts.relation("root_variable")), source)
    before, after = values
    is_same = before is after if before is None or after is None else identical(before, after)
    return None if is_same else CauseStep(name, "variable", source, texts[0], texts[1])


def _steps(facts: FactBase, starts: Sequence[str], root: str) -> list[CauseStep]:
    """The steps of the shortest chain from the root variable `root` to one of the values `starts`."""
    further: dict[str, dict[str, Any]] = {}
    for predicate in ("refers_value", "value_part"):
        for row in sorted(facts.relation(predicate)):
            further.setdefault(row[0], {})[row[1]] = facts.source(predicate, row)
    for value, instance in sorted(facts.relation("object_value")):
        if value not in further:
            further[value] = {instance: facts.source("object_value", (value, instance))}
    for value, instance, path in sorted(facts.relation("attribute_place")):
        if (instance, path) in facts.relation("requires_replace") or not facts.relation("requires_replace"):
            further.setdefault(instance, {})[value] = facts.source("attribute_place", (value, instance, path))
    before: dict[str, str] = dict.fromkeys(starts, "")
    waiting = deque(starts)
    while waiting and root not in before:
        at = waiting.popleft()
        for step in further.get(at, ()):
            if step not in before:
                before[step] = at
                waiting.append(step)
    steps, below, at = [], root, before.get(root, "")
    while at and before[at]:
        steps.append(CauseStep(at, "", facts.source("desired", (at,)) or further[at][below]))
        below, at = at, before[at]
    return steps
