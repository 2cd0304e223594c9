"""The HTML page about the plans of deployments. It shows the graph of components, providers and child stacks, and the
flow of values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.native import reduction
from planner.logic.programs.rule_programs import product_program
from planner.render.page.document import Arrow, Page, PageNode, PageView, Place, Reason, place_of
from planner.render.page.page import hiding, page_html
from planner.workflows.batch.plan_unit import text_of
from planner.workflows.batch.reports.deployments import DeploymentReport, Plans, done_steps, prefix_of
from planner.workflows.batch.reports.document import summary_line, totals_text
from planner.workflows.batch.reports.html import below, change_of, colours
from planner.workflows.stacks.questions import facts_about
from planner.workflows.stacks.rounds import why_deferred
from planner.workflows.stacks.steps import DeploymentPlan, InstanceStep

_STEP = re.compile(r'stack\.[\w-]+(?:\[(?:\*|\d+|"(?:[^"\\]|\\.)*")\])?')
_MADE_FROM, _MADE_BEFORE = "stacks/deployment.made-from", "stacks/deployment.made-before"
LAYERS = (("reference", "an instance is made from the value"),)
_TITLES = {"components": "Components, providers and child stacks", "flow": "All values: data flow"}


def with_page(part: DeploymentReport, plans: Plans) -> DeploymentReport:
    """The report with the data for the HTML page. Sensitive values are hidden."""
    steps = done_steps(plans)
    hides = [hiding(step.plan) for step in steps.values() if step.plan is not None]

    def hidden(text: str) -> str:
        for hide in hides:
            text = hide(text)
        return text

    texts = {name: hidden(_text(step)) for name, step in steps.items()}
    views: list[PageView] = []
    if plans and plans[-1].decided is not None:
        views = [_Drawn(plans[-1], steps, name, hidden).view() for name in _TITLES]
    return evolve(part, texts={name: text for name, text in texts.items() if text}, views=tuple(views))


def _text(step: InstanceStep) -> str:
    """The plan of an instance as `planner plan` shows it, or why the instance is deferred; "" if there are no
    changes."""
    if step.put_off:
        return f"deferred: {why_deferred(step)}\n"
    made = step.planned.complete if step.planned is not None else None
    return text_of(made) if made is not None and step.has_changes else ""


def stack_page(document: dict[str, Any], parts: Sequence[DeploymentReport], review: Mapping[str, Any]) -> str:
    """The HTML page of deployments. `document`: the report about their components. `review`: the data for the review,
    which is shown below the graphs."""
    return page_html(page_of_stack(document, parts), below(document, review))


def page_of_stack(document: dict[str, Any], parts: Sequence[DeploymentReport]) -> Page:
    moved = [unit for unit in document["units"] if unit["outcome"] != "unchanged"]
    number = {unit["unit"]: n for n, unit in enumerate(moved)}
    texts = {f"{prefix_of(part, parts)}{name}": text for part in parts for name, text in part.texts.items()}
    drawn = [
        _qualified_view(view, prefix_of(part, parts), part.deployment, number) for part in parts for view in part.views
    ]
    return Page(
        summary_line(document),
        (f"Objects: {totals_text(document) or 'none'}.", f"{document['seconds']} s."),
        tuple(_together([view for view in drawn if view.name == name], name) for name in reversed(_TITLES)),
        LAYERS,
        colours(document),
        tuple(change_of(unit, texts) for unit in moved),
        noun="component",
    )


def _qualified_view(view: PageView, before: str, deployment: str, number: Mapping[str, int]) -> PageView:
    """The view with the prefix `before` at all names, and with links from nodes to changes. `number`: {name: index of
    its change in the page}. If the page shows a single deployment, the prefix is "". Otherwise the deployment is the
    outermost box of the view."""

    def box(name: str) -> str:
        return f"{before}{name}" if name or before else ""

    items = (
        item._replace(
            name=f"{before}{item.name}",
            about=f"{before}{item.name}",
            box=box(item.box),
            changes=(number[f"{before}{item.name}"],) if f"{before}{item.name}" in number else (),
        )
        for item in view.items
    )
    arrows = (
        arrow._replace(dependent=f"{before}{arrow.dependent}", dependency=f"{before}{arrow.dependency}")
        for arrow in view.arrows
    )
    boxes = {box(name): (box(parent), label) for name, (parent, label) in view.boxes.items()}
    if before:
        boxes[before] = ("", deployment)
    return evolve(view, items=tuple(items), arrows=tuple(arrows), boxes=boxes)


def _together(views: list[PageView], name: str) -> PageView:
    items = tuple(item for view in views for item in view.items)
    arrows = tuple(arrow for view in views for arrow in view.arrows)
    return PageView(
        name, _TITLES[name], items, arrows, {box: where for view in views for box, where in view.boxes.items()}
    )


class _Drawn:
    def __init__(
        self, plan: DeploymentPlan, steps: Mapping[str, InstanceStep], name: str, hide: Callable[[str], str]
    ) -> None:
        self.plan, self.steps, self.name, self.hide = plan, steps, name, hide
        self.relation = "edge" if name == "components" else "reads_value"
        program = product_program("deployments")
        self.database = evaluate(
            program, facts_about(plan), ("edge", "flow_node", "flows_on", "promise", "reads_value")
        )
        items = [*self.database["flow_node"], *(self.database["promise"] if name == "flow" else ())]
        self.nodes = {str(node): (str(kind), str(stack)) for node, kind, stack in items}
        pairs = {(str(a), str(b)) for a, b in self.database[self.relation]}
        self.edges = {(a, b) for a, b in pairs if a in self.nodes and b in self.nodes and a != b}
        self.reasons = {rule.name: rule.reason for rule in program.rules_for("edge")}
        self.places = _places(self.database, hide)
        self.asks: dict[str, list[str]] = defaultdict(list)
        for one, other in self.database["reads_value"]:
            self.asks[str(one)].append(str(other))

    def view(self) -> PageView:
        items = tuple(self._item(name, kind, stack) for name, (kind, stack) in sorted(self.nodes.items()))
        return PageView(self.name, _TITLES[self.name], items, tuple(self._arrows()), self._boxes())

    def _item(self, name: str, kind: str, stack: str) -> PageNode:
        step = self.steps.get(name)
        rows: list[tuple[str, str]] = [("Deployment", self.plan.deployment)]
        if step is not None:
            rows.append(("Planned", step.what))
        if step is not None and step.put_off:
            rows.append(("Deferred", why_deferred(step)))
        label = name.removeprefix(f"{stack}.") if stack else name
        return PageNode(name, kind, label, stack, name, None, (), tuple(rows))

    def _arrows(self) -> list[Arrow]:
        reduced = reduction(self.edges, {}) if self.relation == "edge" else self.edges
        return [Arrow(a, b, ("reference",), (a, b) not in reduced, self._reasons(a, b)) for a, b in sorted(self.edges)]

    def _reasons(self, name: str, other: str) -> tuple[Reason, ...]:
        """The reasons why `name` depends on `other`, with the source lines of all references on the paths between
        them."""
        if self.relation != "edge":
            return (Reason("", f"{name} reads {other}", tuple(self.places.get((name, other), ()))),)
        leads = {str(a) for a, b in self.database["flows_on"] if b == other and a not in self.nodes} | {other}
        places: set[Place] = set()
        waiting, seen = [name], {name}
        while waiting:
            value = waiting.pop()
            for asked in self.asks.get(value, ()):
                if asked in leads:
                    places.update(self.places.get((value, asked), ()))
                    if asked not in seen and asked != other:
                        seen.add(asked)
                        waiting.append(asked)
        rule = _MADE_FROM if (name, other) in self.database["flows_on"] else _MADE_BEFORE
        return (Reason(rule, self.reasons[rule].format(A=name, B=other), tuple(sorted(places))),)

    def _boxes(self) -> dict[str, tuple[str, str]]:
        result: dict[str, tuple[str, str]] = {}
        for _, stack in self.nodes.values():
            parts = _stacks(stack)
            for above, one in zip(["", *parts], parts, strict=False):
                result[one] = (above, one.removeprefix(f"{above}."))
        return result


def _places(database: Database, hide: Callable[[str], str]) -> dict[tuple[str, str], list[Place]]:
    """{(value, other value): source locations of the references}."""
    result: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for row in database.facts.relation("reads_value"):
        source = database.facts.source("reads_value", row)
        if isinstance(source, Span):
            line = source.source.line_number(source.start)
            place = place_of({"file": source.filename, "line": line, "snippet": hide(source.source.line_text(line))})
            if place is not None:
                result[str(row[0]), str(row[1])].append(place)
    return result


def _stacks(stack: str) -> list[str]:
    """A child stack and the enclosing stacks, outermost first: `stack.a["k"].stack.b` gives `stack.a["k"]` and
    itself."""
    return [stack[: step.end()] for step in _STEP.finditer(stack)]
