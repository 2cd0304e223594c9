"""Renews a stored plan after edits. The affected blocks are planned again; all other blocks keep their plan."""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from planner.engine.evaluation.repetition import repetition_argument
from planner.foundation.values.value import identical
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source
from planner.language.syntax.body import NativeBody
from planner.language.syntax.parse import parse_config
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import product_program
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, Start, may_have_cycle
from planner.workflows.renew.keep import call_values
from planner.workflows.renew.kept import KeptPlan, RenewableParts
from planner.workflows.renew.partial_plan import (
    CALL,
    OUTPUT,
    ModulePart,
    block_of,
    blocks_with_data,
    mentioned,
    moved_blocks,
    plan_part,
    uses_of,
)

if TYPE_CHECKING:
    from planner.engine.plan.options import Settled
    from planner.operations.explanations import Chains

MOST = 1000
"""maximum number of blocks to plan again; for more blocks, a complete plan takes no longer"""


@frozen(eq=False)
class Renewed:
    """The renewed part of a plan. `made`: the plan of this part. `anew`: blocks that were planned again. `gone`: blocks
    that are no longer in the configuration."""

    made: MadePlan[Start]
    anew: frozenset[str]
    gone: frozenset[str]


class Renewal:
    """Renews a stored plan. `texts`: current contents of the edited files of the root module. `calls`: calls
    (`module.name`) of modules whose files were edited."""

    def __init__(
        self,
        kept: KeptPlan,
        parts: RenewableParts,
        texts: Mapping[str, str],
        options: OperationOptions,
        calls: Collection[str] = (),
    ) -> None:
        self.kept, self.parts, self.options, self.calls = kept, parts, options, calls
        self.texts = {**parts.files, **texts}
        self._edited = [name for name, text in texts.items() if text != parts.files[name]]
        self._objects: dict[tuple[int, int], dict[str, Settled]] = {}
        self._with_data, self._moved = set(parts.with_data), set(parts.moved)
        self._data = b""

    def renewed(self) -> Renewed | None:
        """The plan of the affected blocks; None if the whole configuration must be planned."""
        data = self.kept.values()
        if data is None:
            return None
        self._data = data
        spans: dict[str, Spans] = {name: {} for name in self.texts}
        for name, (file, start, end, *_) in sorted(self.parts.blocks.items(), key=lambda one: one[1][:2]):
            spans[file][name] = start, end
        inside = sum(end - start for places in spans.values() for start, end in places.values())
        if sum(map(len, self.texts.values())) - inside > MOST_TEXT:
            return None  # blocks other than resources are in every part
        edits = []
        for name in self._edited:
            result = edit(self.parts.files[name], self.texts[name], spans[name])
            if result is None:
                return None
            spans[name] = result.spans
            edits.append(result)
        edited = frozenset(name for one in edits for name in one.edited)
        gone = frozenset(name for one in edits for name in one.gone)
        names = {name for places in spans.values() for name in places}
        if len(names) != sum(map(len, spans.values())) or not gone.isdisjoint(edited) or not gone.isdisjoint(names):
            return None  # a name occurs twice, or a block moved to another file
        return self._converged(edited.union(self.calls) - gone, gone, spans)

    def _converged(self, edited: frozenset[str], gone: frozenset[str], spans: dict[str, Spans]) -> Renewed | None:
        different: frozenset[str] = frozenset()
        while True:
            anew = self._anew(edited, gone, different)
            if anew is None or len(anew) > MOST or self._is_large(anew):
                return None
            part = self._part(anew, gone, spans)
            made = None if part is None else self._plan(part)
            if made is None:
                return None
            self._with_data.update(blocks_with_data(made.loaded.config.root))
            self._moved.update(moved_blocks(made.loaded.config.root))
            more = different | {name for name in anew if self._differs(made, name)}
            if self._anew(edited, gone, more) == anew:
                return None if self._is_beyond(made, anew, edited, gone) else Renewed(made, anew, gone)
            different = more

    def _is_large(self, anew: frozenset[str]) -> bool:
        """Whether more than half of the module calls are affected, so that a complete plan takes no longer; False with
        up to four calls."""
        calls = sum(name.startswith(CALL) for name in self.parts.blocks)
        return calls > 4 and 2 * sum(name.startswith(CALL) for name in anew) > calls

    def _is_beyond(
        self, made: MadePlan[Start], anew: frozenset[str], edited: frozenset[str], gone: frozenset[str]
    ) -> bool:
        """Whether the edits may have effects outside of the part that was planned: a cycle, or other messages before
        the plan."""
        changed = anew | edited
        graph = made.loaded.derived.plan_graph
        assert graph is not None
        now = {name: used for name, used in uses_of(graph).items() if name in changed}
        if self._may_circle(now) or (may_have_cycle(made.plan) and self._hides_cycle(made, now)):
            return True
        if not self.parts.told:
            return False
        if gone or not all(map(self._has_same_keys, [made] * len(changed), changed)):
            return True
        # reads of objects are reported before the plan. With plugins, the order of the reads varies; otherwise it
        # follows the graph
        same = all(now.get(name, []) == self.parts.uses.get(name, []) for name in changed)
        return self.kept.plugins is None and not (same and not any(name.startswith(CALL) for name in edited))

    def _has_same_keys(self, made: MadePlan[Start], name: str) -> bool:
        assert made.context is not None
        if name.startswith(CALL):
            now = sorted(change.address for change in made.plan.changes if block_of(change.resource_address) == name)
            return now == sorted(change[0] for change in self.parts.changes if change[1] == name)
        resource = made.context.root.resources.get(name)
        if resource is None:
            return True
        return name in self.kept.objects and self.objects(name).keys() == resource.planned.keys()

    # ---------------------------------------------------------------- decisions of the rules

    def _anew(self, edited: Iterable[str], gone: frozenset[str], different: frozenset[str]) -> frozenset[str] | None:
        """The blocks to plan again; None if an affected block reads data or may move objects, because only a complete
        plan shows reads and moves. `edited`: edited or added blocks. `gone`: removed blocks. `different`: blocks that
        were planned again with other objects."""
        facts = FactBuilder()
        for name in edited:
            facts.add("edited", name)
            if _is_expression(name):
                facts.add("is_expression", name)
        for name in gone:
            facts.add("taken_out", name)
        for name in different:
            facts.add("looks_different", name)
        if gone or different or any(map(_is_expression, edited)):
            self._tell_uses(facts, {})
        for name in self.parts.uses:
            if name.startswith(OUTPUT):
                facts.add("is_output", name)
                for other in self.parts.uses[name]:
                    facts.add("block_uses", name, other)
        for name in self._with_data:
            facts.add("has_data", name)
        for name in self._moved:
            facts.add("may_move", name)
        derived = evaluate(product_program("renewal"), facts.build(), ["anew", "hides_read", "hides_move"])
        hides = derived["hides_read"] or derived["hides_move"]
        return None if hides else frozenset(row[0] for row in derived["anew"])

    def _tell_uses(self, facts: FactBuilder, instead: Mapping[str, list[str]]) -> None:
        for name, used in {**self.parts.uses, **instead}.items():
            for other in used:
                facts.add("block_uses", name, other)
            if _is_expression(name):
                facts.add("is_expression", name)

    def _may_circle(self, now: Mapping[str, list[str]]) -> bool:
        """Whether a new reference may make a block depend on itself. `now`: {block: blocks to which it refers now}."""
        new = [
            (name, other) for name, used in now.items() for other in used if other not in self.parts.uses.get(name, ())
        ]
        if not new:
            return False
        facts = FactBuilder()
        for pair in new:
            facts.add("new_use", *pair)
        self._tell_uses(facts, now)
        return bool(evaluate(product_program("renewal"), facts.build(), ["may_circle"])["may_circle"])

    def _hides_cycle(self, made: MadePlan[Start], now: Mapping[str, list[str]]) -> bool:
        """Whether the apply graph of the whole plan may have a cycle that the plan of the part does not show. `now`:
        {block: blocks to which it refers now}."""
        facts = FactBuilder()
        changed = {block_of(change.resource_address) for change in made.plan.changes if change.action != "no-op"}
        for name in changed:
            facts.add("changed_block", name)
        for action in {action for _, block, _, action, _, _ in self.parts.changes if block not in changed}:
            facts.add("staying_action", action)
        self._tell_uses(facts, now)
        return bool(evaluate(product_program("renewal"), facts.build(), ["hides_cycle"])["hides_cycle"])

    # ---------------------------------------------------------------- the part

    def _part(self, anew: frozenset[str], gone: frozenset[str], spans: dict[str, Spans]) -> ModulePart | None:
        """The part of the configuration to plan: the blocks `anew` at their positions, and the headers of the blocks to
        which they may refer. None if a file cannot be divided into blocks, or if there are too many headers."""
        files = {}
        for file, text in self.texts.items():
            rest = blanked(text, (place for name, place in spans[file].items() if name not in anew))
            blocks = blocks_of(rest)
            if blocks is None:
                return None
            away = [(b.start, b.end) for b in blocks if b.type == "output" and b.name not in anew]
            files[file] = blanked(rest, away)
        known = self.parts.blocks
        mentions = frozenset(name for text in files.values() for name in mentioned(text, known))
        headers = {name: known[name][3:] for name in mentions - anew - gone}
        return None if len(headers) > 10 * MOST else ModulePart(files, headers, anew | gone)

    def _plan(self, part: ModulePart) -> MadePlan[Start] | None:
        return plan_part(self.options, part, {name: self.objects(name) for name in part.headers})

    def objects(self, name: str) -> Settled:
        """The stored planned objects of a resource, or the stored outputs of a module call, by instance key."""
        start, length = place = self.kept.objects[name]
        if place not in self._objects:
            self._objects[place] = pickle.loads(self._data[start : start + length])
        return self._objects[place][name]

    def _differs(self, made: MadePlan[Start], name: str) -> bool:
        """Whether the planned objects of a resource, or the outputs of a module call, differ from the stored ones.
        Always False for outputs of the root module."""
        assert made.context is not None
        root = made.context.root
        resource = root.resources.get(name)
        if resource is None and not name.startswith(CALL):
            return False  # outputs have no dependents
        if resource is not None:
            now, argument = resource.planned, resource.argument
        else:
            call = name.removeprefix(CALL)
            now, argument = call_values(root, call), repetition_argument(root.config.calls[call])
        before = self.objects(name) if name in self.kept.objects else None
        return (
            before is None
            or argument != self.parts.blocks[name][3]
            or before.keys() != now.keys()
            or not all(identical(value, before[key]) for key, value in now.items())
        )


def _is_expression(name: str) -> bool:
    return name.startswith(("local.", "var.", "provider["))


def shown_causes(renewed: Renewed, parts: RenewableParts) -> Chains | None:
    """The causes of the changes in the renewed part of a plan. None if a cause may be outside of this part, or if the
    former or present value of a root cause is not known."""
    from planner.operations.explanations import causes

    facts = FactBuilder()
    chains = causes(renewed.made)
    for name, because in chains.items():
        for root in because.roots:
            is_inner = any(prefix in root.what for prefix in ("local.", "data.", CALL))
            if root.kind in ("text", "unapplied") and is_inner and not (root.value and root.before):
                facts.add("unshown_root", name, root.what)
    for change in renewed.made.plan.changes:
        facts.add("part_action", change.address, change.action)
    settled = renewed.made.loaded.options.settled
    for address, resource, _, action, _, _ in parts.changes:
        if resource in settled:
            facts.add("settled_action", address, action)
    hides = evaluate(product_program("renewal"), facts.build(), ["hides_cause"])["hides_cause"]
    return None if hides else chains


def hides_rename(renewed: Renewed, parts: RenewableParts) -> bool:
    """Whether a destroyed and a created object may be one renamed object, and at least one of them is outside of the
    renewed part of the plan."""
    facts = FactBuilder()
    touched = renewed.anew | renewed.gone
    for action in {change.action for change in renewed.made.plan.changes if change.mode == "managed"}:
        facts.add("anew_action", action)
    for action in {
        action for _, block, mode, action, _, _ in parts.changes if mode == "managed" and block not in touched
    }:
        facts.add("staying_action", action)
    return bool(evaluate(product_program("renewal"), facts.build(), ["hides_rename"])["hides_rename"])


# Finds the edited top-level blocks of a file without parsing the whole file. A block ends with its brace and the next
# begins on a new line, so only the text between two unchanged blocks is parsed.


_PREFIXES = {
    "resource": "",
    "data": "data.",
    "module": CALL,
    "output": "output.",
    "variable": "var.",
    "local": "local.",
}
"""{type of a block, or `local`: prefix of its name in expressions}, for the blocks that can be renewed separately"""
_LABELS = {"resource": 2, "data": 2, "module": 1, "output": 1, "variable": 1}
_PLACED = ("resource", "data", "module")
"""types of the blocks whose positions are recorded, so that those that are not planned again can be removed from the
text"""


MOST_TEXT = 1 << 16
"""maximum number of characters to parse again; for longer texts, a complete plan takes no longer"""

Spans = dict[str, tuple[int, int]]
"""positions of blocks in a file: {name as in expressions: (start, end)}"""


@frozen(eq=False)
class EditedBlock:
    """A top-level block, or a local value (type `local`). `name`: the name as in expressions; for blocks without such a
    name, the words of their header and a number."""

    type: str
    name: str
    start: int
    end: int


@frozen(eq=False)
class Edit:
    """The edits of a file. `edited`: new and edited blocks. `gone`: removed blocks. `spans`: current positions of the
    file's resources, data sources and module calls."""

    edited: frozenset[str]
    gone: frozenset[str]
    spans: Spans


def edit(old: str, new: str, spans: Spans) -> Edit | None:
    """The edits between two versions of a file. None if they cannot be determined, because blocks of other types were
    edited or an edited part of the file is invalid. `spans`: positions of resources, data sources and module calls in
    the old version."""
    edited: set[str] = set()
    gone: set[str] = set()
    item: Spans = {}
    count = at = moved = 0
    names, places = list(spans), list(spans.values())
    for region in _regions(old, new, places):
        was, now = old[region.begin : region.end], new[region.begin_now : region.end_now]
        if len(was) > MOST_TEXT or len(now) > MOST_TEXT:
            return None
        ends = region.end == len(old)
        if (region.begin and not _begins_behind_line(now)) or not (ends or now.rstrip(" \t").endswith("\n")):
            return None  # a second block on one line is invalid
        here, there = blocks_of(now), blocks_of(was)
        if here is None or there is None:
            return None
        texts = {block.name: was[block.start : block.end] for block in there}
        stay = {block.name for block in here}
        other = [block for block in here if texts.get(block.name) != now[block.start : block.end]]
        away = [block for block in there if block.name not in stay]
        if any(block.type not in _PREFIXES for block in (*other, *away)):
            return None
        edited.update(block.name for block in other)
        gone.update(block.name for block in away)
        for name, (start, end) in zip(names[at : region.first], places[at : region.first], strict=True):
            item[name] = start + moved, end + moved
        for block in here:
            if block.type in _PLACED:
                item[block.name] = region.begin_now + block.start, region.begin_now + block.end
                count += 1
        count += region.first - at
        at, moved = region.last, region.end_now - region.end
    for name, (start, end) in zip(names[at:], places[at:], strict=True):
        item[name] = start + moved, end + moved
    if len(item) < count + len(names) - at:
        return None  # a name occurs twice
    return Edit(frozenset(edited), frozenset(gone), item)


@frozen(eq=False)
class _Region:
    """A range in which two texts differ. It begins at the end of a block and ends at the start of another. `begin_now`
    and `end_now`: the range in the new text. `first` and `last`: indexes of its first block and of the first block
    after it."""

    begin: int
    end: int
    begin_now: int
    end_now: int
    first: int
    last: int


_FEW = 50
"""number of blocks after the beginning of a difference that are searched for in the new text to find the end of the
difference"""


def _regions(old: str, new: str, places: Sequence[tuple[int, int]]) -> Iterator[_Region]:
    at = now = 0
    while True:
        first = at + _same(old, new, at, now)
        if first == len(old) and first - at + now == len(new):
            return
        before = bisect_right(places, first, key=lambda place: place[1])  # blocks that end before the difference
        begin = max(at, places[before - 1][1]) if before else at
        begin_now = now + begin - at
        behind = bisect_left(places, first, key=lambda place: place[0])
        for last in range(behind, min(behind + _FEW, len(places))):
            start, end = places[last]
            end_now = new.find(old[start:end], begin_now)
            if end_now > 0 and new[end_now - 1] == "\n":
                yield _Region(begin, start, begin_now, end_now, before, last)
                at, now = start, end_now
                break
        else:
            yield _Region(begin, len(old), begin_now, len(new), before, len(places))
            return


def _begins_behind_line(text: str) -> bool:
    return text.lstrip(" \t").startswith(("\n", "\r\n", "#", "//"))


def blocks_of(text: str) -> list[EditedBlock] | None:
    """The top-level blocks and local values of a text; None if the text is invalid or two of them have the same
    name."""
    body, problems = parse_config(Source("", text))
    if problems or body.attributes:
        return None
    items: list[EditedBlock] = []
    others: list[str] = []
    for block in body.blocks:
        labels = [label.value for label in block.labels]
        if len(labels) == _LABELS.get(block.type):
            name = _PREFIXES[block.type] + ".".join(labels)
        elif block.type == "locals" and not labels and isinstance(block.body, NativeBody) and not block.body.blocks:
            values = block.body.attributes.values()
            items += [EditedBlock("local", f"local.{value.name}", value.start, value.end) for value in values]
            continue
        else:
            name = " ".join((block.type, *labels))
            others.append(name)
            name = f"{name} {others.count(name)}"
        items.append(EditedBlock(block.type, name, block.start, block.end))
    return items if len({block.name for block in items}) == len(items) else None


def blanked(text: str, places: Iterable[tuple[int, int]]) -> str:
    """The text without these ranges, which must be sorted. Their line breaks are kept, so that line numbers do not
    change."""
    pieces: list[str] = []
    at = 0
    for start, end in places:
        pieces += (text[at:start], "\n" * text.count("\n", start, end))
        at = end
    return "".join((*pieces, text[at:]))


def _same(old: str, new: str, at: int, now: int) -> int:
    """The length of the text that two texts have in common, from offset `at` in the old and `now` in the new one. It is
    found by bisection, because comparing slices is much faster than comparing characters."""
    low, high = 0, min(len(old) - at, len(new) - now)
    while low < high:
        middle = (low + high + 1) // 2
        if old[at + low : at + middle] == new[now + low : now + middle]:
            low = middle
        else:
            high = middle - 1
    return low
