"""A plan and its graphs as a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.address import AddressError, ModuleAddress, parse_module, parse_resource_instance
from planner.logic.graph.edge_sources import LAYERS, declarations, grounds
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan, change_name
from planner.logic.programs.actions import NO_OP, Counts, actions, verb_of, words_for
from planner.render.cause_summary import Causes, title_of
from planner.render.diff_block import SchemaLookup
from planner.render.page.document import (
    MOST_EDGES,
    Arrow,
    Page,
    PageChange,
    PageNode,
    PageView,
    Reason,
    place_of,
    places_of,
)
from planner.render.page.page import hiding
from planner.render.plan import PlanText, is_shown, pending, pending_actions
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.operations.graph import Explored

TITLES = {"plan": "What is declared", "apply": "What will be done, in its order"}
MEANINGS = {
    "reference": "a value is read",
    "order": "it only has to come first",
    "provider": "a provider is configured before, and closes after",
    "module": "a module begins before its contents and ends after them",
    "destroy": "the order follows from what is destroyed",
}


def page_of_plan(explored: Explored, title: str, asks: str) -> Page:
    """The page about a plan. `asks`: the command that proves an edge."""
    plan = explored.plan
    hide = hiding(plan)
    terminal = Terminal(StringIO(), StringIO(), StringIO(), colour=False)
    shown = PlanText(plan, SchemaLookup(explored.schemas).resource_schema, terminal)
    told = Causes(explored.causes, explored.actions, "full")
    groups: dict[str, list[str]] = defaultdict(list)
    for group in told.groups:
        for name, _ in group.changes:
            groups[name].append(title_of(group))
    changes = tuple(
        PageChange(
            change_name(change),
            change.action,
            change.reason.replace("_", " "),
            tuple(map(hide, groups.get(change_name(change), ()))),
            tuple(map(hide, told.lines(change_name(change)))),
            hide("\n".join(shown.body(change))) if is_shown(change) else "",
        )
        for change in sorted(plan.changes, key=change_name)
    )
    done = {change.action for change in changes} - {NO_OP}
    counts = Counts.of_plan(plan)
    verdicts = plan.policy.verdicts if plan.policy is not None else ()
    return Page(
        title,
        tuple(_summary(plan, told.headline(pending(counts), pending_actions(counts)))),
        tuple(_view(name, graph, plan, changes) for name, graph in explored.graphs),
        tuple((layer, MEANINGS[layer]) for layer in LAYERS),
        tuple((action, colour(action), words_for(colour(action)).sign) for action in actions() if action in done),
        changes,
        tuple(sorted(verdicts)),
        asks=asks,
        hide=hide,
    )


def colour(action: str) -> str:
    """The name of the colour that an action has."""
    return "none" if action == NO_OP else verb_of(action)


def _summary(plan: Plan, line: str) -> list[str]:
    return [line] if plan.mode == "normal" else [line, f"Mode: {plan.mode}."]


def _view(name: str, graph: Graph, plan: Plan, changes: tuple[PageChange, ...]) -> PageView:
    number = {change.address: n for n, change in enumerate(changes)}
    of_resource: dict[str, list[int]] = defaultdict(list)
    for change in plan.changes:
        of_resource[str(parse_resource_instance(change.address).config)].append(number[change_name(change)])
    about = {row[0]: row[3] for row in graph.database["vertex"]}
    instances: dict[str, str] = dict(graph.database["instance_node"])
    declared = declarations(graph)
    items = []
    for node in graph.nodes.values():
        instance = instances.get(node.name)
        found: Sequence[int] = ()
        if instance is not None:
            here = number.get(f"{instance} (deposed {node.extra})" if node.extra else instance)
            found = (here,) if here is not None else ()
        elif name == "plan":
            found = of_resource.get(about[node.name], ())
        source = declared.get(node.name)
        items.append(
            PageNode(
                node.name,
                node.kind,
                _short(node.name, node.module, name),
                node.module,
                about[node.name],
                place_of(source) if source is not None else None,
                tuple(sorted(found)),
            )
        )
    reduced = {(a, b) for a, bs in graph.reduced.items() for b in bs}
    wanted = reduced if len(graph.edge_rows) > MOST_EDGES else set(graph.edge_rows)
    because = grounds(graph, wanted)
    arrows = tuple(
        Arrow(
            a,
            b,
            ground.layers,
            (a, b) not in reduced,
            tuple(
                Reason(maker.rule, maker.reason, places_of(ground.sources) if not n else ())
                for n, maker in enumerate(ground.makers)
            ),
        )
        for (a, b), ground in because.items()
    )
    is_reduced = len(graph.edge_rows) > MOST_EDGES
    return PageView(name, TITLES[name], tuple(items), arrows, _boxes({item.box for item in items}), is_reduced)


def _short(name: str, module: str, view: str) -> str:
    """The name without the module that the node is drawn in, and without what most names of a plan graph end with."""
    inside = name.removeprefix(f"{module}.") if module else name
    return inside.removesuffix(" (expand)") if view == "plan" else inside


def _boxes(modules: set[str]) -> Mapping[str, tuple[str, str]]:
    """The parent of each module, and what it is called there. An instance of a repeated module is in the module."""
    result: dict[str, tuple[str, str]] = {}
    waiting = sorted(modules - {""})
    while waiting:
        module = waiting.pop()
        if module in result:
            continue
        parent = _parent(module)
        result[module] = (parent, module.removeprefix(f"{parent}.") if parent else module)
        if parent:
            waiting.append(parent)
    return result


def _parent(module: str) -> str:
    try:
        address = parse_module(module)
    except AddressError:
        return ""
    if address.key is None:
        return str(address.parent)
    *steps, (name, _) = address.steps
    return str(ModuleAddress((*steps, (name, None))))
