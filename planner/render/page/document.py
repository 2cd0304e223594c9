"""The data of a page to explore, in format 1.5. The page's script and other programs read it.

    {"format_version": "1.5", "title", "summary": [text...], "about": [[word, text]...],
     "noun": "node", "unit" or "component", "advice": text, "asks": command,
     "layers": [[name, meaning]...], "actions": [[action, name of its colour, sign, name for people]...],
     "changes": [[address, action, reason, [group...], [string...]]...],
     "causes": [[group, [[name, former value, value, where, line of text, elements]...], number or 0, [change...],
                 [hop...]]...],
     "moved": {change: former address}, "renamed": {change: remark}, "shifted": {change: sentence},
     "moves": [[old address, new address, number of objects]...],
     "counterparts": {cause: [cause, number of objects]}, "idle": [[edit, where]...],
     "moved_blocks": [[where, [change...]]...], "holds_data": {change: sentence}, "unknown_data": [change...],
     "texts": {change: text}, "blocks": {where: text}, "verdicts": [[kind, code, address, message]...],
     "strings": [text...], "places": [[where, line of text]...], "grounds": [[rule, reason, [place...]]...],
     "views": [{"name", "title", "is_reduced",
                "boxes": [[name, label, parent box, [column...]]...],
                "nodes": {"name": [string...], "label": [string...], "kind": [string...], "about": [string...],
                          "box": [box...], "place": [place or -1...], "changes": {node: [change...]},
                          "causes": {node: [cause...]}, "facts": {node: [[word, text]...]}},
                "edges": {"from": [node...], "to": [node...], "layers": [bits...], "grounds": [ground or list...],
                          "reads": [[node...], [node...]]}}...]}

`from` waits for `to`. The bits of `layers` correspond to the list of layers; the next higher bit marks an edge that
other edges imply. A column contains nodes as their numbers, and child boxes as -1 minus their number. Box 0 contains
everything. In the reason of a ground, the characters \\x01 and \\x02 are placeholders for the two nodes, \\x03 and
\\x04 for their objects. A place is a file with its line, or a state entry. A view `is_reduced` if it has so many edges
that implied edges are omitted. `reads` has the ends of those omitted edges by which values are read; between these
ends, there may be no path of shown edges that are all reads. `about` of a node is an address. Very long `texts` and
`blocks` are JSON, compressed with zlib and encoded in base64. The strings of a change are lines about its causes. A
cause has the values of each of its parts, or the elements that a list gained and lost; "" is an unknown value,
`nothing` means that there is no value. The counterpart of a cause creates objects that look like renamed objects of the
cause, or the reverse. `idle` has the edits that are not a cause of any change. `moved_blocks` has the blocks that move
objects, with these objects. `holds_data` has the destroyed and replaced objects that hold data, `unknown_data` the
types of those about which this is not known. The list of changes of a cause contains only the changes that this cause
merely updates while other causes replace the objects. Everything is sorted: equal input gives equal bytes."""

from __future__ import annotations

import base64
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile
from math import isqrt
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from planner.foundation.support.exact_json import dumps
from planner.foundation.vocabulary.records import field, frozen
from planner.logic.datalog.engine.native import levels

FORMAT_VERSION = "1.5"
CLIPPED = 200
"""the maximum number of characters shown of a line of a file"""

SHORTEST = 3
"""the minimum length in characters of a name that is replaced by a placeholder in reasons, because shorter names may
occur within words"""
DANGEROUS = ("delete", "replace")
"""the colours of actions that destroy objects"""
MOST_TEXT = 300_000
"""the number of characters above which the texts are compressed"""

T = TypeVar("T")
Place = tuple[str, str]
"""the location of an item, and the text of the line"""


class Reason(NamedTuple):
    """The reason for an edge."""

    rule: str
    text: str
    places: tuple[Place, ...] = ()


class Arrow(NamedTuple):
    """An edge: `dependent` waits for `dependency`. `layers` are names of the page's layers."""

    dependent: str
    dependency: str
    layers: tuple[str, ...]
    is_implied: bool = False
    reasons: tuple[Reason, ...] = ()


class Edges(NamedTuple):
    """Edges by column, in the order of their nodes, which are numbered by name. `layers` are bits. A ground is the
    number of a reason, or a list of numbers. Reasons have placeholders for the names of the nodes (`forms_of`)."""

    dependents: list[int]
    dependencies: list[int]
    layers: list[int]
    grounds: list[int | list[int]]
    reasons: Sequence[Reason]
    reads: Sequence[tuple[int, int]] = ()
    """the omitted edges by which values are read, as (dependent, dependency)"""

    @classmethod
    def of(
        cls,
        ends: Sequence[tuple[int, int]],
        layers: Sequence[int],
        grounds: Sequence[int | list[int]],
        reasons: Iterable[Reason],
        reads: Iterable[tuple[int, int]] = (),
    ) -> Edges:
        """The edges and reads in sorted order. The arguments may be in any order."""
        count = 1 + max([other for _, other in ends], default=0)
        keys = [one * count + other for one, other in ends]  # sorting numbers takes half as long as sorting pairs
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return cls(
            [ends[n][0] for n in order],
            [ends[n][1] for n in order],
            [layers[n] for n in order],
            [grounds[n] for n in order],
            list(reasons),
            sorted(reads),
        )


class PageNode(NamedTuple):
    """A node. `box` is a module, or another group that can be folded; `about` is the address of the node's object;
    `changes` are indexes in `Page.changes`; `facts` are pairs (word, text) to show."""

    name: str
    kind: str
    label: str
    box: str = ""
    about: str = ""
    place: Place | None = None
    changes: tuple[int, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    causes: tuple[int, ...] = ()
    """indexes of the causes that the node contains, in `Page.causes`"""


@frozen
class PageView:
    """A graph to explore. `boxes` maps each box except the outermost to its parent and its name in the parent."""

    name: str
    title: str
    items: tuple[PageNode, ...]
    arrows: Iterable[Arrow]
    """the edges; iterated once"""
    boxes: Mapping[str, tuple[str, str]] = field(factory=dict)
    is_reduced: bool = False
    """whether implied edges are left out, because there are too many edges"""
    edges: Edges | None = None
    """the edges in columns; if set, `arrows` is not read"""


@frozen
class PageChange:
    """The planned change of an object, with its description for people."""

    address: str
    action: str
    reason: str
    groups: tuple[str, ...]
    """the names of the change's groups, one for each cause; a group may have several changes"""
    lines: tuple[str, ...] = ()
    text: str = ""
    """the change, as in the text of a plan"""
    former: str = ""
    """the former address of an object that was moved"""


class CausePart(NamedTuple):
    """A changed input, with the values to show: "" for an unknown value, `nothing` if there is no value."""

    name: str
    before: str
    after: str
    where: str = ""
    line: str = ""
    elements: str = ""
    """the elements that a list gained and lost, which are shown instead of its values"""


class PageCause(NamedTuple):
    """A cause of changes. `group`: the name by which changes refer to it. `parts`: the inputs that one edit changed.
    `number`: the number that the commands print, 0 for an object that is its own cause. `updates`: the indexes of
    changes for which this cause requires only an update, while other causes replace the objects. `hops`: the steps from
    the cause to its changes, one per line, each indented below the previous step; empty if there are too many."""

    group: str
    parts: tuple[CausePart, ...]
    number: int
    updates: tuple[int, ...] = ()
    hops: tuple[str, ...] = ()


@frozen
class Page:
    """The complete content of a page. `about`: words and texts for its header; `actions`: each with its colour, its
    sign and its name for people; `verdicts` as (kind, code, address, message)."""

    title: str
    summary: tuple[str, ...]
    views: Iterable[PageView]
    """the views, the last view of the page first. Each view is read only once, so that only one large graph is in
    memory at a time"""
    layers: tuple[tuple[str, str], ...]  # (name, meaning)
    actions: tuple[tuple[str, str, str, str], ...]
    changes: tuple[PageChange, ...] = ()
    verdicts: tuple[tuple[str, str, str, str], ...] = ()
    about: tuple[tuple[str, str], ...] = ()
    noun: str = "node"
    asks: str = ""
    """the beginning of the command that proves an edge, without the names of its ends"""
    hide: Callable[[str], str] = str
    """removes sensitive values from lines of files"""
    causes: tuple[PageCause, ...] = ()
    blocks: Mapping[str, str] = field(factory=dict)
    """{place: text} of declarations with several lines; complete when all views have been read"""
    advice: str = ""
    """the sentence about objects that look renamed"""
    renamed: Mapping[str, str] = field(factory=dict)
    """{address of a change: remark} for objects that look renamed"""
    moves: tuple[tuple[str, str, int], ...] = ()
    """(old address, new address, number of objects) of the moves that the renames suggest, the largest first"""
    shifted: Mapping[str, str] = field(factory=dict)
    """{address of a change: sentence} for objects with count whose indexes have shifted"""
    counterparts: Mapping[int, tuple[int, int]] = field(factory=dict)
    """{index of a cause: (index of its counterpart, number of objects that look renamed)}"""
    idle: tuple[Place, ...] = ()
    """(edited input, place) of the edits that are not a cause of any change"""
    moved_blocks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(place, addresses of changes) of the moved blocks that move objects"""
    data: Mapping[str, str] = field(factory=dict)
    """{address of a change: sentence} for destroyed and replaced objects that hold data"""
    unknown_data: tuple[str, ...] = ()
    """addresses of the changes that destroy or replace objects about which it is not known whether they hold data"""


def page_json(page: Page) -> dict[str, Any]:
    """The page as plain data."""
    tables = _Tables(page.hide)
    layers = [name for name, _ in page.layers]
    dangerous = frozenset(n for n, change in enumerate(page.changes) if _is_dangerous(page, change))
    drawn = [_DrawnView(view, layers, dangerous) for view in page.views]
    views = [_NumberedView(view, tables).json() for view in reversed(drawn)]
    number = {change.address: n for n, change in enumerate(page.changes)}
    return {
        "format_version": FORMAT_VERSION,
        "title": page.title,
        "summary": list(page.summary),
        "about": [list(pair) for pair in page.about],
        "noun": page.noun,
        "advice": page.advice,
        "asks": page.asks,
        "layers": [list(layer) for layer in page.layers],
        "actions": [list(action) for action in page.actions],
        "changes": [
            [c.address, c.action, c.reason, list(c.groups), [tables.strings[line] for line in c.lines]]
            for c in page.changes
        ],
        "causes": [
            [cause.group, [list(part) for part in cause.parts], cause.number, list(cause.updates), list(cause.hops)]
            for cause in page.causes
        ],
        "moved": {str(n): change.former for n, change in enumerate(page.changes) if change.former},
        "renamed": {str(n): page.renamed[c.address] for n, c in enumerate(page.changes) if c.address in page.renamed},
        "moves": [list(move) for move in page.moves],
        "shifted": {str(n): page.shifted[c.address] for n, c in enumerate(page.changes) if c.address in page.shifted},
        "counterparts": {str(n): list(other) for n, other in sorted(page.counterparts.items())},
        "idle": [list(edit) for edit in page.idle],
        "moved_blocks": [[where, [number[name] for name in names]] for where, names in page.moved_blocks],
        "holds_data": {str(n): page.data[c.address] for n, c in enumerate(page.changes) if c.address in page.data},
        "unknown_data": [number[name] for name in page.unknown_data],
        "texts": _pack({str(n): change.text for n, change in enumerate(page.changes) if change.text}),
        "blocks": _pack({where: page.hide(text) for where, text in sorted(page.blocks.items())}),
        "verdicts": [list(verdict) for verdict in page.verdicts],
        "strings": list(tables.strings),
        "places": [list(place) for place in tables.places],
        "grounds": [[rule, reason, list(places)] for rule, reason, places in tables.grounds],
        "views": views,
    }


def _is_dangerous(page: Page, change: PageChange) -> bool:
    """Whether an object is destroyed."""
    return any(action == change.action and colour in DANGEROUS for action, colour, *_ in page.actions)


def _pack(texts: dict[str, str]) -> dict[str, str] | str:
    """The texts themselves or, if they are very long together, their JSON, compressed with zlib and encoded in
    base64."""
    if sum(map(len, texts.values())) <= MOST_TEXT:
        return texts
    return base64.b64encode(zlib.compress(dumps(texts), 9)).decode("ascii")


class _ValueTable(dict[Any, int]):
    """A table of different values, each with a number."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number


class _Tables:
    """The tables that all views share."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        self.strings, self.places, self.grounds = _ValueTable(), _ValueTable(), _ValueTable()
        self.hide = hide
        self.known_places: dict[Place, int] = {}


class _DrawnView:
    """A view whose arrows have been read, so that the view no longer needs the graph."""

    def __init__(self, view: PageView, layers: Sequence[str], dangerous: AbstractSet[int]) -> None:
        """`layers`: the names of the page's layers. `dangerous`: indexes in `Page.changes` of changes that destroy
        objects."""
        self.head = {"name": view.name, "title": view.title, "is_reduced": view.is_reduced}
        self.implied = 1 << len(layers)
        self.items, self.parents = together(sorted(view.items, key=attrgetter("name")), view.boxes, dangerous)
        self.edges = self._edges(view.arrows, layers) if view.edges is None else view.edges

    def _edges(self, arrows: Iterable[Arrow], layers: Sequence[str]) -> Edges:
        number, items = {item.name: n for n, item in enumerate(self.items)}, self.items
        bits_of = {name: 1 << n for n, name in enumerate(layers)}
        ends: list[tuple[int, int]] = []
        bits: list[int] = []
        grounds: list[int | list[int]] = []
        reasons: dict[Reason, int] = {}
        for arrow in arrows:
            one, other = number[arrow.dependent], number[arrow.dependency]
            names = items[one].name, items[other].name, items[one].about, items[other].about
            forms = [reason._replace(text=_form(reason.text, names)) for reason in arrow.reasons]
            numbers = [reasons.setdefault(form, len(reasons)) for form in forms]
            ends.append((one, other))
            bits.append(sum(bits_of[x] for x in arrow.layers) + self.implied * arrow.is_implied)
            grounds.append(numbers[0] if len(numbers) == 1 else numbers)
        return Edges.of(ends, bits, grounds, reasons)


PLACEHOLDERS = "\1\2\3\4"
"""the placeholders for the names of the two nodes of an edge, and for the names of their objects"""


def forms_of(form: str, values: Sequence[Sequence[str]], names: Sequence[Sequence[str]]) -> list[str]:
    """The reasons of a rule for several edges, with placeholders for names, because the reasons of many edges differ
    only in names. `form` has a `%s` for each value. `values` has a column for each of these values, and `names` a
    column for each placeholder."""
    all_names = set[str]().union(*names) if values else set[str]()
    columns = [
        column
        if all_names.isdisjoint(set(column))
        else [
            v
            if len(v) < SHORTEST
            else "\1"
            if v == a
            else "\2"
            if v == b
            else "\3"
            if v == c
            else "\4"
            if v == d
            else v
            for v, a, b, c, d in zip(column, *names, strict=True)
        ]
        for column in values
    ]
    texts = [form % filled for filled in zip(*columns, strict=True)] if columns else [form % ()] * len(names[0])
    return [
        _form(text, (a, b, c, d)) if a in text or b in text or c in text or d in text else text
        for text, a, b, c, d in zip(texts, *names, strict=True)
    ]


def _form(text: str, ends: Sequence[str]) -> str:
    """The text with placeholders in place of the names of an edge's ends. Longer names are replaced first."""
    names = {
        name: mark for name, mark in zip(reversed(ends), reversed(PLACEHOLDERS), strict=True) if len(name) >= SHORTEST
    }
    if any(name in text for name in names):
        for name in sorted(names, key=lambda name: (-len(name), names[name])):
            text = text.replace(name, names[name])
    return text


class _NumberedView:
    """A drawn view in which strings are replaced by their numbers in the tables of the page."""

    def __init__(self, view: _DrawnView, tables: _Tables) -> None:
        self.view, self.items, self.edges, self.parents = view, view.items, view.edges, view.parents
        self.implied, self.hide = view.implied, tables.hide
        self.strings, self.places, self.grounds = tables.strings, tables.places, tables.grounds
        self.known_places = tables.known_places
        self.box_names = ["", *sorted(self.parents, key=_natural)]
        self.box = {name: n for n, name in enumerate(self.box_names)}
        self.box_of = [self.box[item.box] for item in self.items]

    def json(self) -> dict[str, Any]:
        grounds, (dependents, dependencies, layers, *_) = self._grounds(), self.edges
        reads = [list(ends) for ends in zip(*self.edges.reads, strict=True)] or [[], []]
        edges = {"from": dependents, "to": dependencies, "layers": layers, "grounds": grounds, "reads": reads}
        return {**self.view.head, "boxes": self._boxes(), "nodes": self._nodes(), "edges": edges}

    def _nodes(self) -> dict[str, Any]:
        items, text = self.items, self.strings.__getitem__
        return {
            "name": [text(item.name) for item in items],
            "label": [text(item.label) for item in items],
            "kind": [text(item.kind) for item in items],
            "about": [text(item.about) for item in items],
            "box": self.box_of,
            "place": [-1 if item.place is None else self._place(item.place) for item in items],
            "changes": {str(n): list(item.changes) for n, item in enumerate(items) if item.changes},
            "causes": {str(n): list(item.causes) for n, item in enumerate(items) if item.causes},
            "facts": {str(n): [list(f) for f in item.facts] for n, item in enumerate(items) if item.facts},
        }

    def _grounds(self) -> list[int | list[int]]:
        """The number of the reason of each edge; a list of numbers if an edge has several reasons."""
        reasons = self.edges.reasons
        numbers = [-1] * len(reasons)

        def number(ground: int) -> int:
            if numbers[ground] < 0:
                rule, text, places = reasons[ground]
                row = self.strings[rule], self.strings[text], tuple(map(self._place, places))
                numbers[ground] = self.grounds[row]
            return numbers[ground]

        return [number(one) if isinstance(one, int) else [*map(number, one)] for one in self.edges.grounds]

    def _place(self, place: Place) -> int:
        known = self.known_places.get(place)
        if known is None:
            where, line = place
            line = self.hide(line.strip())
            known = self.places[where, line if len(line) <= CLIPPED else line[: CLIPPED - 3] + "..."]
            self.known_places[place] = known
        return known

    # ---------------------------------------------------------------- boxes

    def _boxes(self) -> list[list[Any]]:
        parents = [-1, *(self.box[self.parents[name][0]] for name in self.box_names[1:])]
        labels = ["", *(self.parents[name][1] for name in self.box_names[1:])]
        contents: list[list[int]] = [[] for _ in parents]
        for number in sorted(range(len(self.items)), key=lambda n: _natural(self.items[n].name)):
            contents[self.box_of[number]].append(number)
        for number in range(1, len(parents)):
            contents[parents[number]].append(-1 - number)
        edges = self._lifted(parents)
        made = []
        for number, inside in enumerate(contents):
            at = {thing: n for n, thing in enumerate(inside)}
            drawn = columns(len(inside), ((at[a], at[b]) for a, b in edges[number]))
            made.append(
                [self.box_names[number], labels[number], parents[number], [[inside[n] for n in c] for c in drawn]]
            )
        return made

    def _lifted(self, parents: list[int]) -> list[set[tuple[int, int]]]:
        """For each box, the edges between its members. An edge belongs to the lowest box that contains both its
        nodes."""
        ways = [self._way(box, parents) for box in range(len(parents))]
        lifted: list[set[tuple[int, int]]] = [set() for _ in parents]
        known: dict[tuple[int, int], tuple[int, int | None, int | None]] = {}
        box_of, implied = self.box_of, self.implied
        for a, b, layers in zip(self.edges.dependents, self.edges.dependencies, self.edges.layers, strict=True):
            if layers & implied:
                continue
            boxes = box_of[a], box_of[b]
            if boxes not in known:
                known[boxes] = self._meeting(ways[boxes[0]], ways[boxes[1]])
            box, one, other = known[boxes]
            lifted[box].add((a if one is None else one, b if other is None else other))
        return lifted

    @staticmethod
    def _meeting(way_a: list[int], way_b: list[int]) -> tuple[int, int | None, int | None]:
        """The lowest box that contains both boxes and, for each of the two, the member of the lowest box that contains
        it; None for a box that is itself the lowest box."""
        depth = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(way_a, way_b, strict=False)))
        one, other = (-1 - way[depth] if depth < len(way) else None for way in (way_a, way_b))
        return way_a[depth - 1], one, other

    @staticmethod
    def _way(box: int, parents: list[int]) -> list[int]:
        way = [box]
        while parents[way[-1]] >= 0:
            way.append(parents[way[-1]])
        return way[::-1]


def place_of(source: Mapping[str, Any]) -> Place | None:
    """A source in the format of proofs as a place; None for sources without one."""
    if "file" in source:
        return f"{source['file']}:{source['line']}", str(source.get("snippet", ""))
    if "state" in source:
        return "state", str(source["state"])
    return None


def places_of(sources: Iterable[Mapping[str, Any]]) -> tuple[Place, ...]:
    """The places of several sources; sources without a place are omitted."""
    return tuple(place for place in map(place_of, sources) if place is not None)


# Divides modules with very many nodes into boxes: first by type, then, for very many nodes of a type, into ranges of
# names.

Boxes = Mapping[str, tuple[str, str]]
"""{box: (its parent, its label)}"""

MOST_TOGETHER = 60
"""the number of nodes and boxes in a box above which its content is divided"""


ALIKE = 10
"""the minimum number of boxes with similar names that are put into a box of their own, even if there are few boxes"""
MOST_APART = 5
"""Up to this number, boxes in which objects are destroyed are kept apart from boxes with similar names, and destroyed
instances are kept apart from the other instances of their resource. If there are more such boxes or instances, they are
not kept apart."""
INSTANCES = 5
"""the minimum number of instances of a resource that are put into a box of their own"""


ANY = "*"
"""a placeholder for the part of the names that differs within a family of boxes"""
PARTS = 30
"""the maximum number of boxes into which nodes of a type are divided"""


def together(
    items: Sequence[PageNode], boxes: Boxes, dangerous: AbstractSet[int] = frozenset()
) -> tuple[list[PageNode], dict[str, tuple[str, str]]]:
    """The nodes with their boxes, and all boxes. No box has too many members. `dangerous`: indexes in `Page.changes` of
    changes that destroy objects."""
    inside: dict[str, list[PageNode]] = defaultdict(list)
    for item in items:
        inside[item.box].append(item)
    made = dict(boxes)
    at: dict[str, str] = {}
    for box, those in inside.items():
        of_resources = _instances(those, dangerous) if len(those) >= INSTANCES else {}
        for resource, members in of_resources.items():
            name = f"{box}: {resource}" if box else f"all {resource}"
            made[name] = (box, resource)
            at.update((item.name, name) for item in members)
            _divide(sorted(members, key=lambda item: _natural(item.name)), name, made, at)
        others = [item for item in those if item.name not in at] if of_resources else those
        if len(others) + len(of_resources) <= MOST_TOGETHER:
            continue
        types: dict[str, list[PageNode]] = defaultdict(list)
        for item in others:
            types[_TYPE.match(item.label)[0]].append(item)  # type: ignore[index]
        for kind, members in types.items():
            if len(members) > 1 and kind:
                of_type = f"{box}: {kind}" if box else f"all {kind}"
                made[of_type] = (box, kind)
                at.update((item.name, of_type) for item in members)
                _divide(sorted(members, key=lambda item: _natural(item.name)), of_type, made, at)
    within: dict[str, list[str]] = defaultdict(list)
    for box, (parent, _) in boxes.items():
        within[parent].append(box)
    destroying = _around({item.box for item in items if not dangerous.isdisjoint(item.changes)}, boxes)
    for parent, children in within.items():
        _divide_boxes(sorted(children, key=_natural), parent, made, destroying)
    # created with positional arguments, which takes half as long as `_replace`
    return [PageNode._make((*item[:3], at[item.name], *item[4:])) if item.name in at else item for item in items], made


def _instances(items: Sequence[PageNode], dangerous: AbstractSet[int]) -> dict[str, list[PageNode]]:
    """{resource with `[*]`: the nodes of its instances}, of resources with many instances; empty if there are too many
    such resources. If only a few instances are destroyed, they are kept apart from the others."""
    families: dict[str, dict[str, list[PageNode]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        label = _object_label(item)
        resource = _KEY.sub("", label)
        if resource != label:
            families[resource][label].append(item)
    groups = {}
    for resource, instances in families.items():
        alike = [those for those in instances.values() if not any(dangerous & set(item.changes) for item in those)]
        if len(alike) < INSTANCES or len(instances) - len(alike) > MOST_APART:
            alike = list(instances.values())
        if len(alike) >= INSTANCES:
            groups[f"{resource}[*]"] = [item for those in alike for item in those]
    return groups if len(groups) <= MOST_TOGETHER else {}


def _parts(members: list[T], name: Callable[[T], str] | None = None) -> Iterator[tuple[int, list[T]]]:
    """Split members that are too many for one box. Yields (index of the first member, members) for each part, and
    nothing if all members fit into one box. Adjacent members with the same `name` remain in one part."""
    count = len(members)
    size = -(-count // min(PARTS, isqrt(count) + 1)) if count > MOST_TOGETHER else count
    end = 0
    while end < count > size:
        begin, end = end, min(end + size, count)
        while name is not None and end < count and name(members[end]) == name(members[end - 1]):
            end += 1
        if end - begin == count:
            return
        yield begin, members[begin:end]


def _around(inner: Iterable[str], boxes: Boxes) -> set[str]:
    """These boxes and all boxes around them."""
    known: set[str] = set()
    for box in inner:
        while box and box not in known:
            known.add(box)
            box = boxes[box][0]
    return known


def _divide_boxes(
    children: list[str], parent: str, boxes: dict[str, tuple[str, str]], destroying: AbstractSet[str]
) -> None:
    """Put the inner boxes of a box into further boxes. Inner boxes with similar names are combined if there are many of
    them. If there are too many inner boxes and their names are not similar, ranges of them are combined. `destroying`:
    boxes in which objects are destroyed. If there are only a few such boxes, they are not combined with boxes of
    similar names."""
    is_crowded = len(children) > MOST_TOGETHER
    families = _families([boxes[child][1] for child in children]) if len(children) >= ALIKE else {}
    for family, numbers in families.items():
        inside = [children[n] for n in numbers]
        others = [child for child in inside if child not in destroying]
        if len(others) >= ALIKE and len(inside) - len(others) <= MOST_APART:
            inside = others
        if len(inside) >= (2 if is_crowded else ALIKE):
            name = f"{parent or 'modules'}, {family}"
            boxes[name] = (parent, family)
            boxes.update((child, (name, boxes[child][1])) for child in inside)
            if len(inside) > MOST_TOGETHER:
                _divide_boxes(inside, name, boxes, destroying)
    if families or not is_crowded:
        return
    keyed = [child for child in children if _KEY.search(boxes[child][1])]
    if 0 < len(children) - len(keyed) <= MOST_APART:  # inner modules do not belong to a range of instances
        children = keyed
    for begin, part in _parts(children):
        name = f"{parent or 'modules'}, {begin + 1} to {begin + len(part)}"
        boxes[name] = (parent, f"{boxes[part[0]][1]} \u2013 {boxes[part[-1]][1]}")
        boxes.update((child, (name, boxes[child][1])) for child in part)
        _divide_boxes(part, name, boxes, destroying)


def _families(labels: Sequence[str]) -> dict[str, list[int]]:
    """{family: the indexes of its labels}. The labels of a family differ only in numbers, or begin with the same word.
    The result is empty if there are too many families, or only one family."""
    for varying, kept in ((_NUMBER, ANY), (_REST, rf"\1{ANY}\2")):
        families: dict[str, list[int]] = defaultdict(list)
        for number, label in enumerate(labels):
            families[varying.sub(kept, label)].append(number)
        if 1 < len(families) <= MOST_TOGETHER:
            return families
    return {}


def _object_label(item: PageNode) -> str:
    """The label without the suffix that distinguishes the vertices of an object."""
    return item.label.partition(" (")[0]


def _divide(members: list[PageNode], box: str, boxes: dict[str, tuple[str, str]], at: dict[str, str]) -> None:
    """Divide the nodes of a box into inner boxes by name if there are too many."""
    for begin, part in _parts(members, _object_label):
        first, last = (_TYPE.sub("", _object_label(item), 1).lstrip(".") for item in (part[0], part[-1]))
        name = f"{box}, {begin + 1} to {begin + len(part)}"
        boxes[name] = (box, f"{first} \u2013 {last}")
        at.update((item.name, name) for item in part)
        _divide(part, name, boxes, at)


_KEY = re.compile(r'(?<=\w)\[(?:"(?:[^"\\]|\\.)*"|\d+)\]$')
_TYPE = re.compile(r"(data\.|ephemeral\.)?\w*")
_NUMBER = re.compile(r"(\d+)")
_REST = re.compile(r"^(.*\[\"[^-_.\"]+[-_.]|module\.[^-_.\[]+[-_]).+?((?:\"\])?)$")


def _natural(name: str) -> str:
    """A sort key that puts r2 before r10: each number follows its length."""
    parts = _NUMBER.split(name)
    for n in range(1, len(parts), 2):  # numbers are at odd indexes, texts at even indexes
        digits = str(int(parts[n]))
        parts[n] = chr(len(digits)) + digits
    return "\0".join(parts)


# The layout of a page's boxes: in columns, with each item to the right of its dependencies.
#
# A layered drawing after Sugiyama, Tagawa and Toda (1981): levels by the longest path, with cycles on one level; within
# a level, items are sorted by the mean position of their neighbours, in a few passes in both directions, so that few
# edges cross. Levels that are too tall are divided into several columns. The page determines sizes.
#
# Measured on acyclic graphs in which each resource refers to two of the 200 resources before it: the layout of 3,000
# items took 0.04 s, that of 20,000 items 0.24 s. The package fast-sugiyama took more than 25 s for 3,000 items with its
# default settings. With ranks from below and without transpositions it took 0.07 s and 1.8 s, and edges were three
# times as long.


SWEEPS = 6
LOWEST = 24
"""the maximum number of items in a column of a small page; a larger page may have longer columns"""
HUB = 64
"""the number of neighbours above which the position of an item does not influence others; for example, all objects may
depend on one provider"""


def columns(count: int, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Arranges the items 0 to count - 1 in columns from left to right, each from top to bottom. An edge leads from an
    item to its dependency, which is placed further left."""
    pairs = sorted({edge for edge in edges if edge[0] != edge[1]})
    left: list[list[int]] = [[] for _ in range(count)]
    right: list[list[int]] = [[] for _ in range(count)]
    for dependent, dependency in pairs:
        left[dependent].append(dependency)
        right[dependency].append(dependent)
    level = _levels(left, right)
    if level is None:  # all items of a cycle have the same level; folded modules may form cycles
        known: dict[int, int] = dict(levels(pairs, {}))
        level = [known.get(item, 0) for item in range(count)]
    has_hubs = any(len(one) + len(other) > HUB for one, other in zip(left, right, strict=True))
    for neighbours in (left, right) if has_hubs else ():
        for item, those in enumerate(neighbours):
            neighbours[item] = [o for o in those if len(left[o]) + len(right[o]) <= HUB]
    by_level: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for item in range(count):
        by_level[level[item]].append(item)
    place = [0.0] * count
    for column in by_level:
        _number(column, place)
    tall = [column for column in by_level if len(column) > 1]
    unchanged = 0
    for sweep in range(SWEEPS):
        is_forward = sweep % 2 == 0
        changed = [
            _arrange(column, left if is_forward else right, place) for column in tall[:: 1 if is_forward else -1]
        ]
        unchanged = 0 if any(changed) else unchanged + 1
        if unchanged == 2:  # in both directions
            break
    return _broken_levels(by_level, count)


def _levels(left: list[list[int]], right: list[list[int]]) -> list[int] | None:
    """The length of the longest path to the left, for each item; None if there are cycles."""
    level = [0] * len(left)
    waiting = list(map(len, left))
    ready = [item for item, count in enumerate(waiting) if not count]
    for item in ready:
        after = level[item] + 1
        for other in right[item]:
            level[other] = max(level[other], after)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return level if len(ready) == len(left) else None


def _arrange(column: list[int], neighbours: Sequence[Sequence[int]], place: list[float]) -> bool:
    """Sort a column by the mean position of each item's neighbours. Items without neighbours keep their positions.
    Returns whether the order changed."""
    means = []
    for item in column:
        those = neighbours[item]
        means.append((sum([place[other] for other in those]) / len(those) if those else place[item], item))
    means.sort()
    order = [item for _, item in means]
    if order == column:
        return False
    column[:] = order
    _number(column, place)
    return True


def _number(column: list[int], place: list[float]) -> None:
    """Number the positions in a column from its middle, because columns are centred."""
    middle = (len(column) - 1) / 2
    for number, item in enumerate(column):
        place[item] = number - middle


def _broken_levels(by_level: list[list[int]], count: int) -> list[list[int]]:
    """The levels as columns; a level that is too tall becomes several columns."""
    most = max(LOWEST, 2 * isqrt(count))
    broken = []
    for column in by_level:
        parts = -(-len(column) // most)
        size = -(-len(column) // parts) if parts else 1
        broken += [column[at : at + size] for at in range(0, len(column), size)]
    return broken
