"""A plan and its graphs as a page."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from io import StringIO
from operator import attrgetter
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from planner.answers.explain.cause_groups import RootCause
from planner.answers.explain.cause_paths import TEXT
from planner.answers.explain.causes import FORMER_LINE, TRIGGER, WITHOUT_FILE, Because, CauseStep
from planner.answers.explain.changed_inputs import ENTRY
from planner.answers.explain.checked_roots import wholes
from planner.answers.explain.renames import rename_remarks, rename_text, shift_remarks
from planner.foundation.values.operations import same_value
from planner.foundation.values.paths import parts
from planner.foundation.values.schema import has
from planner.foundation.values.value import Set, Unknown, Value, unmark, unmark_deep
from planner.foundation.vocabulary.address import AddressError, ModuleAddress, format_resource, parse_module
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.logic.graph.edge_sources import LAYERS, Edge, declarations, grounds
from planner.logic.model.graph import Graph, Unquoted, source_json
from planner.logic.model.plan import Plan, ResourceChange, change_name
from planner.logic.programs.actions import NO_OP, Counts, actions, does, step_words, verb_of
from planner.operations.policies import STATEFUL
from planner.render.cause_hops import COUNT
from planner.render.cause_line import KINDS, because_lines, elements_text, name_of, owner_of, place_of, presence
from planner.render.cause_summary import OUTPUT, Causes, title_of
from planner.render.diff_block import SchemaLookup
from planner.render.page.document import (
    CLIPPED,
    CausePart,
    Edges,
    Page,
    PageCause,
    PageChange,
    PageNode,
    PageView,
    Place,
    Reason,
    forms_of,
    places_of,
)
from planner.render.page.page import hiding
from planner.render.plan import PlanText, is_shown, pending_actions
from planner.render.terminal import Terminal
from planner.render.verdicts import count_verdicts

if TYPE_CHECKING:
    from planner.foundation.values.schema import BlockSchema
    from planner.operations.graph import Explored

TITLES = {"plan": "Configuration", "apply": "Planned changes"}
_REASONS = {
    "replace_because_cannot_update": "cannot be updated in place",
    "replace_by_triggers": "replace_triggered_by names an object or a value that changes",
    "replace_by_request": "requested by -replace",
    "delete_because_each_key": "its key is not in for_each any more",
    "delete_because_count_index": "its index is out of the range of count",
    "delete_because_wrong_repetition": "count or for_each was added, removed or exchanged",
    "delete_because_enabled_false": "enabled is false",
    "read_because_config_unknown": "a part of its configuration is not known before the apply",
    "read_because_dependency_pending": "something on which it depends changes first",
    "read_because_check_nested": "it belongs to a check",
}
MEANINGS = {
    "reference": "a value is read",
    "order": "only the order is required; no value is read",
    "provider": "a provider is configured before its use, and closed after it",
    "module": "a module begins before its contents and ends after them",
    "destroy": "the order follows from the destruction of objects",
}


def page_of_plan(explored: Explored, title: str, asks: str) -> Page:
    """The page about a plan. `asks`: the command that explains an edge."""
    plan = explored.plan
    places = _SourcePlaces(_secret_arguments(explored))
    hide = hiding(plan)
    causes = Causes(explored.causes, explored.actions, "full")
    titles = [hide(_title(group)) for group in causes.groups]
    changes = _changes(explored, causes, titles, hide)
    number = {change.address: n for n, change in enumerate(changes)}
    shown_causes = tuple(_causes(causes, titles, places, hide, number))
    within = _containing(shown_causes, _holders(causes))
    done = {change.action for change in changes} - {NO_OP}
    renamed = explored.renamed
    carried = sorted({pair for move in explored.moves_meant for pair in move.carried} or renamed)
    verdicts = plan.policy.verdicts if plan.policy is not None else ()
    return Page(
        title,
        tuple(_summary(plan)),
        (_view(name, explored.graph(name), plan, number, places, within) for name in reversed(explored.kinds)),
        tuple((layer, MEANINGS[layer]) for layer in LAYERS),
        tuple((action, colour(action), _sign(action), _name(action)) for action in actions() if action in done),
        changes,
        tuple(sorted(verdicts)),
        tuple(_about(explored)),
        asks=asks,
        hide=hide,
        causes=shown_causes,
        blocks=places.blocks,
        advice=hide(rename_text(renamed)),
        renamed={
            address: hide(remark)
            for address, remark in (
                rename_remarks(explored.perhaps_renamed, is_certain=False) | rename_remarks(carried)
            ).items()
        },
        moves=tuple((hide(move.from_), hide(move.to), len(move.carried)) for move in explored.moves_meant),
        shifted={address: hide(remark) for address, remark in shift_remarks(plan).items()},
        counterparts=_counterparts(causes.groups, carried),
        idle=tuple((hide(name_of(edit)), place_of(edit.source)) for edit in explored.causes.idle_edits),
        moved_blocks=tuple(_moved_blocks(explored, number)),
        data=_data(explored),
        unknown_data=_unknown_data(explored),
    )


def _moved_blocks(explored: Explored, numbers: Mapping[str, int]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The places of the moved blocks that move objects, in the order of places, each with its objects."""
    blocks: dict[tuple[str, int], list[str]] = defaultdict(list)
    for one in explored.moved:
        if one.source is not None and one.address in numbers:
            blocks[one.source.filename, one.source.start_position.line].append(one.address)
    for (file, line), addresses in sorted(blocks.items()):
        yield f"{file}:{line}", tuple(addresses)


def _data(explored: Explored) -> Mapping[str, str]:
    """{change: sentence} for the destroyed and replaced objects that hold data."""
    return {
        change_name(one): f"It holds data: {STATEFUL}.{by} contains {one.type}."
        for one, (data, by) in _destroyed(explored)
        if data == "holds"
    }


def _unknown_data(explored: Explored) -> tuple[str, ...]:
    """The destroyed and replaced objects of which no rule determines whether they hold data."""
    return tuple(sorted(change_name(one) for one, (data, _) in _destroyed(explored) if not data))


def _destroyed(explored: Explored) -> Iterator[tuple[ResourceChange, tuple[str, str]]]:
    """The destroyed and replaced objects, each with its entry in `data_held`; ("", "") without an entry."""
    for one in explored.plan.changes:
        if one.mode == "managed" and does(one.action, "destroys"):
            name = change_name(one)
            yield one, explored.data_held.get(name) or explored.data_held.get(one.address, ("", ""))


def _secret_arguments(explored: Explored) -> Mapping[str, frozenset[str]]:
    """The names of sensitive and write-only arguments, at any depth, by the type of the plan's resources."""
    schema_of = SchemaLookup(explored.schemas).resource_schema
    names: dict[str, frozenset[str]] = {}
    for provider, mode, type in {(one.provider, one.mode, one.type) for one in explored.plan.changes}:
        schema = schema_of(provider, mode, type)
        if schema is not None:
            names[type] = frozenset(_secret_names(schema.block)) | names.get(type, frozenset())
    return names


def _secret_names(block: BlockSchema) -> Iterator[str]:
    for name, attribute in block.attributes.items():
        if has(attribute, "sensitive") or has(attribute, "write_only"):
            yield name
    for nested in block.blocks.values():
        yield from _secret_names(nested.block)


def _title(group: RootCause) -> str:
    title = title_of(group)
    if not group.root.what and len(group.changes) == 1:
        return f"{group.changes[0][0]}: {title[:1].lower()}{title[1:]}"
    return title


def _causes(
    causes: Causes, titles: Sequence[str], places: _SourcePlaces, hide: Callable[[str], str], indexes: Mapping[str, int]
) -> Iterator[PageCause]:
    """All causes with the values of their changed inputs, in the order and with the numbers that the commands print."""
    steps: dict[tuple[str, str], CauseStep] = {}
    for because in causes.chains.values():
        steps.update(((root.what, root.kind), root) for root in because.roots)
    for title, group in zip(titles, causes.groups, strict=True):
        known = sorted((steps[part] for part in group.parts if part in steps), key=lambda step: step.what)
        known = _with_edits(known)
        number = next((causes.numbers[part] for part in group.parts if part in causes.numbers), 0)
        updates = tuple(indexes[name] for name, action in group.changes if action != causes.planned.get(name, action))
        hops = tuple(map(hide, causes.overview_hops(number))) if number else ()
        yield PageCause(
            title, tuple(_part(step, causes.planned, places, hide) for step in known), number, updates, hops
        )


def _with_edits(steps: Sequence[CauseStep]) -> list[CauseStep]:
    """The steps, with the edited text instead of their values if the values differ in several lines, which other edits
    may have changed, or differ between the steps."""
    values = {(step.before, step.value) for step in steps}
    return [
        evolve(step, before=step.edited[0] or "nothing", value=step.edited[1])
        if step.kind == "text" and step.edited[1] and (len(values) > 1 or " more): " in step.before)
        else step
        for step in steps
    ]


def _counterparts(groups: Sequence[RootCause], renamed: Iterable[tuple[str, str]]) -> Mapping[int, tuple[int, int]]:
    """{index of a cause: (index of the cause with the most objects that look renamed from or to its objects, number of
    these objects)}. `renamed`: (old, new) objects."""
    groups_of: dict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        for name, _ in group.changes:
            groups_of[name].append(number)
    pairs = Counter(
        pair
        for old, new in renamed
        for one in groups_of[old]
        for other in groups_of[new]
        if one != other
        for pair in ((one, other), (other, one))
    )
    best: dict[int, tuple[int, int]] = {}
    for (one, other), number in sorted(pairs.items()):
        if number > best.get(one, (0, 0))[1]:
            best[one] = (other, number)
    return best


def _part(step: CauseStep, planned: Mapping[str, str], places: _SourcePlaces, hide: Callable[[str], str]) -> CausePart:
    key = presence(step, planned).strip()  # this is a new or removed for_each key, which has no values
    before, after = {"added": ("nothing", ""), "removed": ("", "nothing")}.get(key, (step.before, step.value))
    line = "".join(text for _, text in places.of(step.source)[:1]) if isinstance(step.source, Span) else ""
    line = "" if _OPENING.search(line) else line.strip()[:CLIPPED]
    where = place_of(step.source)
    is_gone = step.note.startswith(FORMER_LINE)
    if step.kind == "variable" and not is_gone and step.note not in ("", *WITHOUT_FILE):
        where, line = step.note, ""  # the place of a sensitive value is its declaration, which did not change
    elements = elements_text(before, after) if step.has_elements else ""
    if is_gone:
        where, line = f"{where} ({step.note})", ""
    if step.kind == "file":
        where, line = "", ""  # the title names the expression that reads the file
    values = ("", "") if elements else (before, after)
    return CausePart(*map(hide, (name_of(step), *values, where, line, elements)))


_OPENING = re.compile(r"=\s*[\[{(]\s*$")
"""matches a line that contains only the beginning of a value of several lines, and no part of the value"""
_MODULE = re.compile(r'(?:(?:^|\.)module(?:\.[\w-]+(?:\[(?:"(?:[^"\\]|\\.)*"|\d+|\*)\])?)?)+')
"""matches the name of a module, or its beginning"""
_INSTANCE_KEYS = re.compile(r'\[(?:"(?:[^"\\]|\\.)*"|\d+|\*)\]')


def _holders(causes: Causes) -> Mapping[str, Collection[str]]:
    """{cause that no value or object contains: the values or objects that show it}: for a file, the values that read
    it, and for a count, the instances that it creates or destroys."""
    holders: dict[str, dict[str, None]] = defaultdict(dict)
    for name, because in causes.chains.items():
        for first, *others in (because.steps, *because.others):
            if first.kind in ("file", ENTRY):
                holders[name_of(first)][others[0].what if others else name] = None
            elif first.what.endswith(f".{COUNT}") and name.startswith(first.what.removeprefix(TEXT)[: -len(COUNT) - 1]):
                holders[name_of(first)][name] = None
    return holders


def _containing(causes: Sequence[PageCause], others: Mapping[str, Collection[str]]) -> Mapping[str, tuple[int, ...]]:
    """{name of a value, an object, or an added or removed module: indexes of the causes that have a part within it, or
    that it shows}. Each name is also included without its instance keys. `others`: see _holders."""
    holders: dict[str, dict[int, None]] = defaultdict(dict)
    for number, cause in enumerate(causes):
        for name in (name for part in cause.parts for name in others.get(part.name, (part.name,))):
            for whole in wholes(name):
                if whole != name and _MODULE.fullmatch(whole):
                    break  # the modules around this module are not causes
                holders[whole][number] = holders[_INSTANCE_KEYS.sub("", whole)][number] = None
    return {name: tuple(numbers) for name, numbers in holders.items()}


def _changes(
    explored: Explored, causes: Causes, titles: Sequence[str], hide: Callable[[str], str]
) -> tuple[PageChange, ...]:
    """The changes of objects, then the changes of outputs."""
    plan = explored.plan
    terminal = Terminal(StringIO(), StringIO(), StringIO(), colour=False)
    shown = PlanText(plan, SchemaLookup(explored.schemas).resource_schema, terminal)
    groups: dict[str, list[str]] = defaultdict(list)
    for title, group in zip(titles, causes.groups, strict=True):
        for name, _ in group.changes:
            groups[name].append(title)

    known: dict[str, str] = {}  # equal lines of several changes are stored once

    def change(name: str, action: str, reason: str, text: str, former: str = "") -> PageChange:
        lines, named = map(hide, _chains(causes, name)), groups.get(name, ())
        kept = tuple(known.setdefault(line, line) for line in lines)
        return PageChange(name, action, reason, tuple(named), kept, hide(text), former)

    def reason(one: ResourceChange) -> str:
        name = change_name(one)
        words = _REASONS.get(one.reason) or KINDS.get(one.reason) or one.reason.replace("_", " ")
        because = causes.chains.get(name)
        if because is not None:
            if because.is_itself(name):
                words = "declared, and does not exist yet" if because.roots[0].kind == "create" else words
                place = place_of(because.roots[0].source)
                words += f" ({place})" if words and place not in ("", "state") else ""
            triggers = {place_of(way.steps[-1].source) for way in because.ways if way.steps[-1].note == TRIGGER}
            words += f" ({', '.join(sorted(triggers))})" if one.reason == "replace_by_triggers" and triggers else ""
        sources = {owner_of(way.steps[0], causes.planned) for way in because.ways} if because is not None else set()
        is_updated = bool(sources) and all(causes.planned.get(name) == "update" for name in sources)
        if one.action == "update" and is_updated and may_stay(one.before, one.after):
            words = "all values that may differ are known only after the apply, so it may turn out to be unchanged"
        first = explored.created_first.get(name)
        return "; ".join(filter(None, (words, first and f"the new object is created first, because {first}")))

    objects = [
        change(
            change_name(one),
            one.action,
            reason(one),
            "\n".join(shown.body(one)) if is_shown(one) else "",
            one.previous_address if one.previous_address != one.address else "",
        )
        for one in sorted(plan.changes, key=change_name)
    ]
    texts = {name: f"{sign.strip()} {name} = {value}" for name, sign, value in shown.output_parts() if sign}
    outputs = [
        change(f"{OUTPUT}{one.name}", one.action, "", texts.get(one.name, ""))
        for one in sorted(plan.outputs, key=attrgetter("name"))
        if one.action != NO_OP
    ]
    return (*objects, *outputs)


def may_stay(before: Value, after: Value) -> bool:
    """Whether all differences between two values are in parts that are not known yet."""
    before, after = unmark(before)[0], unmark(after)[0]
    if after.__class__ is Unknown:
        return True
    if after.__class__ is Set or before.__class__ is not after.__class__:
        return same_value(unmark_deep(before)[0], unmark_deep(after)[0])
    old, new = dict(parts(before)), dict(parts(after))
    if not new or old.keys() != new.keys():
        return same_value(unmark_deep(before)[0], unmark_deep(after)[0])
    return all(may_stay(old[step], part) for step, part in new.items())


def _chains(causes: Causes, name: str) -> list[str]:
    """The lines about a change's causes: a chain for each cause, which begins with `because:`."""
    because, lines = causes.chains.get(name), causes.lines(name)
    if because is None:
        return lines
    chains = [Because(steps, steps[:1], because.is_guess) for steps in because.others]
    return [*lines, *(line for chain in chains for line in because_lines(chain, name, causes.planned))]


def _about(explored: Explored) -> Iterator[tuple[str, str]]:
    """The place and the time at which the plan was made, and the findings of policies."""
    head = explored.head
    name = os.path.basename(os.path.realpath(explored.directory))
    yield "Directory", name if head is None or not head.path else head.path
    if head is not None:
        edited = ", with edits" if head.is_edited else ""
        yield "Branch", f"{head.branch} at {head.commit}{edited}" if head.branch else f"{head.commit}{edited}"
    yield "Workspace", explored.workspace
    planned = Counts.of_plan(explored.plan)
    replaced = sum(verb_of(one.action) == "replace" for one in explored.plan.changes)
    also = f" ({replaced} replaced)" if replaced else ""
    yield "Plan", f"{planned.add} to add, {planned.change} to change, {planned.remove} to destroy{also}"
    if explored.plan.timestamp:
        yield "Planned", explored.plan.timestamp.replace("T", " ").replace("Z", " UTC")
    if explored.verdict is None:
        yield "Policies", "none"
    else:
        counts = count_verdicts(explored.verdict).removeprefix("Policies: ").removesuffix(".")
        is_decided = all(finding.kind != "undecided" for finding in explored.verdict.findings)
        yield "Policies", f"{counts}, none undecided" if is_decided else counts


def _sign(action: str) -> str:
    """The sign of an action. A replacement with create-before-destroy has a sign of its own."""
    return "/".join(step.sign for step in step_words(action))


def _name(action: str) -> str:
    """An action's name for people: `replace (create before destroy)`."""
    first, *others = (step.legend.partition(" (")[0] for step in step_words(action))
    if not others:
        return first
    return "replace" if does(action, "deletes") else f"replace ({' before '.join((first, *others))})"


def colour(action: str) -> str:
    """The name of the colour for an action."""
    return "none" if action == NO_OP else verb_of(action)


_BY_RISK = ("replace", "delete", "forget", "update", "create", "read")


def object_counts(plan: Plan) -> str:
    """The numbers of objects by action, as in the lists of the page: `1 to destroy, 2 to create`. A replaced object is
    counted once."""
    numbers: dict[tuple[int, str], int] = defaultdict(int)
    for change in plan.changes:
        if change.action != NO_OP:
            verb = colour(change.action)
            rank = _BY_RISK.index(verb) if verb in _BY_RISK else len(_BY_RISK)
            numbers[rank, _name(change.action).partition(" (")[0]] += 1
    return ", ".join(f"{number} to {name}" for (_, name), number in sorted(numbers.items())) or "no objects change"


def _summary(plan: Plan) -> list[str]:
    """The summary of a plan: `Plan for 3 objects: 1 to destroy, 2 to create. 1 output changes.`"""
    objects = sum(change.action != NO_OP for change in plan.changes)
    outputs = sum(one.action != NO_OP for one in plan.outputs)
    imports = Counts.of_plan(plan).imports
    line = f"Plan for {objects} object{'' if objects == 1 else 's'}: {object_counts(plan)}."
    line = line if objects else "No objects change."
    line += f" {imports} imported." if imports else ""
    line += f" {outputs} output{' changes' if outputs == 1 else 's change'}." if outputs else ""
    line += pending_actions(Counts.of_plan(plan))
    return [line] if plan.mode == "normal" else [line, f"Mode: {plan.mode}."]


def _view(
    name: str,
    graph: Graph,
    plan: Plan,
    number: Mapping[str, int],
    places: _SourcePlaces,
    within: Mapping[str, tuple[int, ...]],
) -> PageView:
    """A view of a graph. `number`: {name of a change: its index}. `within`: see _containing."""
    of_resource: dict[str, list[int]] = defaultdict(list)
    declared_in = {module: str(parse_module(module).config) for module in {change.module for change in plan.changes}}
    for change in plan.changes if name == "plan" else ():
        resource = format_resource(declared_in[change.module], change.mode, change.type, change.name)
        of_resource[resource].append(number[change_name(change)])
    outputs = {change for change in number if change.startswith(OUTPUT)}
    about = {row[0]: row[3] for row in graph.database["vertex"]}
    instances: dict[str, str] = dict(graph.database["instance_node"])
    declared = declarations(graph)
    items = []
    for node in graph.nodes.values():
        subject, instance, source = about[node.name], instances.get(node.name), declared.get(node.name)
        numbers: Sequence[int] = ()
        if instance is not None:
            here = number.get(f"{instance} (deposed {node.extra})") if node.extra else None
            if here is None:  # a deposed object without a change of its own belongs to the replacement of its instance
                here = number.get(instance)
            numbers = (here,) if here is not None else ()
        elif subject in outputs:
            numbers = (number[subject],)
        elif subject in of_resource:
            numbers = sorted(of_resource[subject])
        place = places.of(source) if source is not None else ()
        if isinstance(source, Span) and place:
            places.keep_block(source, place[0][0])
        label = _short(node.name, node.module, name if subject not in outputs else "plan")
        items.append(
            PageNode(
                node.name,
                node.kind,
                label,
                node.module,
                subject,
                place[0] if place else None,
                tuple(numbers),
                (),
                within.get(subject if instance is None else instance, ()),
            )
        )
    boxes = _boxes({item.box for item in items})
    is_reduced = bool(graph.database["has_too_many_edges"])
    edges = _edges(graph, is_reduced, about, places)
    return PageView(name, TITLES[name], tuple(items), (), boxes, is_reduced, edges)


def _edges(graph: Graph, is_reduced: bool, about: Mapping[str, str], places: _SourcePlaces) -> Edges:
    """The edges that a page shows. If `is_reduced`, implied edges are omitted. `about`: the object of each node."""
    reduced = graph.database["reduced_edge"]
    edges: AbstractSet[Edge] = reduced if is_reduced else graph.database["edge"]
    sources = grounds(graph, edges)
    numbers: dict[Reason, int] = {}
    first: dict[Edge, int] = {}
    several: dict[Edge, list[int]] = {}
    for (rule, form), rows, columns in sources.reasons:
        ends = tuple(zip(*rows, strict=True))
        texts = forms_of(form, columns, (*ends, *([about[name] for name in names] for names in ends)))
        for edge, text, facts in zip(rows, texts, map(sources.places.get, rows), strict=True):
            if edge in first:
                number = numbers.setdefault(Reason(rule, text), len(numbers))
                several.setdefault(edge, [first[edge]]).append(number)
            else:  # only the first reason of an edge has the places
                where = () if facts is None else places.of_all(facts)
                if edge in sources.more:
                    where = *where, ("", f"and {sources.more[edge]} more lines")
                first[edge] = numbers.setdefault(Reason(rule, text, where), len(numbers))
    node = {name: n for n, name in enumerate(sorted(graph.nodes))}
    bits = {layers: sum(1 << LAYERS.index(x) for x in layers) for layers in set(sources.layers.values())}
    implied = 0 if is_reduced else 1 << len(LAYERS)
    return Edges.of(
        [(node[one], node[other]) for one, other in edges],
        [bits[sources.layers[edge]] + (implied if implied and edge not in reduced else 0) for edge in edges],
        [several[edge] if edge in several else first.get(edge, []) for edge in edges],
        numbers,
        [(node[one], node[other]) for one, other in graph.database["omitted_read"]],
    )


_DECLARATION = re.compile(r'(resource|data|variable|output)[ \t]+"([^"\s]+)"')
_SECRET = re.compile(r"\b(?:sensitive|ephemeral|connection|provisioner)\b")
_WORD = re.compile(r"[\w-]+")
MOST_LINES = 80
"""the maximum number of lines shown of a declaration"""


class _SourcePlaces:
    """The places of the sources of facts. Each line is stored only once for all views."""

    def __init__(self, secret_arguments: Mapping[str, frozenset[str]]) -> None:
        """`secret_arguments`: {known type of resources: its secret arguments}."""
        self.secret_arguments = secret_arguments
        self.blocks: dict[str, str] = {}
        self.lines: dict[tuple[int, int, bool], tuple[Place, ...]] = {}
        self.known: dict[int, tuple[tuple[Place, ...], Any]] = {}  # keyed by the id of the source, which is kept alive

    def of(self, source: Any) -> tuple[Place, ...]:
        """The place; empty if the source has no place that pages can show."""
        known = self.known.get(id(source))
        if known is None:
            known = self.known[id(source)] = self._of(source), source
        return known[0]

    def _of(self, source: Any) -> tuple[Place, ...]:
        if not isinstance(source, Span):
            return places_of((source_json(source),))
        file, line, is_shown = source.source, source.line, not isinstance(source, Unquoted)
        place = self.lines.get((id(file), line, is_shown))
        if place is None:
            place = ((f"{file.filename}:{line}", file.line_text(line) if is_shown else ""),)
            self.lines[id(file), line, is_shown] = place
        return place

    def keep_block(self, source: Span, where: str) -> None:
        """Keep the text of a declaration with several lines. A declaration that may have sensitive values is not kept,
        because pages are passed on to others, and only known sensitive strings can be replaced."""
        if where in self.blocks or source.source.is_secret or isinstance(source, Unquoted):
            return
        text, header = source.source.text, source.text
        start, end = text.rfind("\n", 0, source.start) + 1, source.end
        match = _DECLARATION.match(header)
        if match is not None:
            indentation = text[start : source.start]
            end = text.find(f"\n{indentation}}}", end) + len(indentation) + 2
            first, _, body = text[source.end : max(end, source.end)].partition("\n")
            names = self.secret_arguments.get(match[2]) if match[1] in ("resource", "data") else frozenset()
            if (
                first.strip() != "{"
                or names is None
                or _SECRET.search(body)
                or not names.isdisjoint(_WORD.findall(body))
            ):
                return
        elif "\n" not in header:
            return
        lines = dedent(text[start:end]).splitlines()
        more = [f"... ({len(lines)} lines)"] if len(lines) > MOST_LINES else []
        self.blocks[where] = "\n".join([*lines[:MOST_LINES], *more])

    def of_all(self, sources: Sequence[Any]) -> tuple[Place, ...]:
        if len(sources) == 1:
            return self.of(sources[0])
        return tuple([place for source in sources for place in self.of(source)])


def _short(name: str, module: str, view: str) -> str:
    """The name without the module in which the node is drawn, and without the usual suffix of names in a plan graph."""
    inside = name.removeprefix(f"{module}.") if module else name
    return inside.removesuffix(" (expand)") if view == "plan" else inside


def _boxes(modules: set[str]) -> Mapping[str, tuple[str, str]]:
    """The parent of each module, and its name there. The boxes of the instances of a repeated module are inside the box
    of the module."""
    result: dict[str, tuple[str, str]] = {}
    waiting = sorted(modules - {""})
    while waiting:
        module = waiting.pop()
        if module in result:
            continue
        parent, around = _parents(module)
        result[module] = (parent, module.removeprefix(f"{around}.") if around else module)
        if parent:
            waiting.append(parent)
    return result


def _parents(module: str) -> tuple[str, str]:
    """(box around a module, module that contains it). For a module instance with a key, the box around it is that of
    the module without the key; for other modules, box and module are the same."""
    try:
        address = parse_module(module)
    except AddressError:
        return "", ""
    around = str(address.parent)
    if address.key is None:
        return around, around
    *steps, (name, _) = address.steps
    return str(ModuleAddress((*steps, (name, None)))), around
