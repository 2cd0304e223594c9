"""A kept plan after edits of its configuration: what has to be planned anew is, all else is taken as it was."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from planner.foundation.values.identity import identical
from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import renewal_program
from planner.operations.plan import may_have_cycle
from planner.workflows.renew.edits import MOST_TEXT, Spans, blanked, blocks_of, edit
from planner.workflows.renew.kept import KeptPlan, RenewableParts
from planner.workflows.renew.partial_plan import ModulePart, mentioned, plan_part, uses_of

if TYPE_CHECKING:
    from planner.engine.plan.options import Settled
    from planner.operations.options import OperationOptions
    from planner.operations.plan import MadePlan, Start

MOST = 1000
"""blocks; where more have to be planned anew, planning all takes no longer"""


@frozen(eq=False)
class Renewed:
    """`anew`: what was planned anew; `gone`: what is no more. The plan of `made` is about these alone."""

    made: MadePlan[Start]
    anew: frozenset[str]
    gone: frozenset[str]


class Renewal:
    """One kept plan, and the texts of its files as they are now."""

    def __init__(
        self, kept: KeptPlan, parts: RenewableParts, texts: Mapping[str, str], options: OperationOptions
    ) -> None:
        self.kept, self.parts, self.options = kept, parts, options
        self.texts = {**parts.files, **texts}
        self._edited = [name for name, text in texts.items() if text != parts.files[name]]
        self._objects: dict[tuple[int, int], dict[str, Settled]] = {}

    def renewed(self) -> Renewed | None:
        """The plan of what has to be planned anew. None when the whole has to be planned."""
        spans: dict[str, Spans] = {name: {} for name in self.texts}
        for name, (file, start, end, _) in sorted(self.parts.blocks.items(), key=lambda one: one[1][:2]):
            spans[file][name] = start, end
        inside = sum(end - start for places in spans.values() for start, end in places.values())
        if sum(map(len, self.texts.values())) - inside > MOST_TEXT:
            return None  # what is no resource is read with each part
        edits = []
        for name in self._edited:
            found = edit(self.parts.files[name], self.texts[name], spans[name])
            if found is None:
                return None
            spans[name] = found.spans
            edits.append(found)
        edited = frozenset(name for one in edits for name in one.edited)
        gone = frozenset(name for one in edits for name in one.gone)
        names = {name for places in spans.values() for name in places}
        if len(names) != sum(map(len, spans.values())) or not gone.isdisjoint(edited) or not gone.isdisjoint(names):
            return None  # a name occurs twice, or something went from one file to another
        return self._converged(edited, gone, spans)

    def _converged(self, edited: frozenset[str], gone: frozenset[str], spans: dict[str, Spans]) -> Renewed | None:
        different: frozenset[str] = frozenset()
        while True:
            anew = self._anew(edited, gone, different)
            part = None if len(anew) > MOST else self._part(anew, gone, spans)
            made = None if part is None else self._plan(part)
            if made is None:
                return None
            more = different | {name for name in anew if self._differs(made, name)}
            if more == different or self._anew(edited, gone, more) == anew:
                return None if self._is_beyond(made, anew | edited, gone) else Renewed(made, anew, gone)
            different = more

    def _is_beyond(self, made: MadePlan[Start], changed: frozenset[str], gone: frozenset[str]) -> bool:
        """Whether the edits reach what this part does not have: what is said of the whole."""
        graph = made.loaded.derived.plan_graph
        assert graph is not None
        now = {name: used for name, used in uses_of(graph).items() if name in changed}
        if may_have_cycle(made.plan) or self._may_circle(now):
            return True
        if not self.parts.told:
            return False
        # reading objects is told in the order of the graph, and before the plan
        same = all(now.get(name, []) == self.parts.uses.get(name, []) for name in changed)
        return bool(gone) or not same or not all(map(self._has_same_keys, [made] * len(changed), changed))

    def _has_same_keys(self, made: MadePlan[Start], name: str) -> bool:
        assert made.context is not None
        resource = made.context.root.resources.get(name)
        if resource is None:
            return True
        return name in self.kept.objects and self.objects(name).keys() == resource.planned.keys()

    # ---------------------------------------------------------------- what the rules decide

    def _anew(self, edited: Iterable[str], gone: frozenset[str], different: frozenset[str]) -> frozenset[str]:
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
        return frozenset(row[0] for row in evaluate(renewal_program(), facts.build(), ["anew"])["anew"])

    def _tell_uses(self, facts: FactBuilder, instead: Mapping[str, list[str]]) -> None:
        for name, used in {**self.parts.uses, **instead}.items():
            for other in used:
                facts.add("uses", name, other)
            if _is_expression(name):
                facts.add("is_expression", name)

    def _may_circle(self, now: Mapping[str, list[str]]) -> bool:
        """Whether what now refers to something that it did not refer to before may wait for itself."""
        new = [
            (name, other) for name, used in now.items() for other in used if other not in self.parts.uses.get(name, ())
        ]
        if not new:
            return False
        facts = FactBuilder()
        for pair in new:
            facts.add("new_use", *pair)
        self._tell_uses(facts, now)
        return bool(evaluate(renewal_program(), facts.build(), ["may_circle"])["may_circle"])

    # ---------------------------------------------------------------- the part

    def _part(self, anew: frozenset[str], gone: frozenset[str], spans: dict[str, Spans]) -> ModulePart | None:
        """What is planned anew, each block where it stands, and what that may refer to."""
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
        headers = {name: known[name][3] for name in mentions - anew - gone}
        return None if len(headers) > 10 * MOST else ModulePart(files, headers, anew | gone)

    def _plan(self, part: ModulePart) -> MadePlan[Start] | None:
        return plan_part(self.options, part, {name: self.objects(name) for name in part.headers})

    def objects(self, name: str) -> Settled:
        """The planned objects of a resource, as they were."""
        start, length = place = self.kept.objects[name]
        if place not in self._objects:
            self._objects[place] = pickle.loads(self.kept.data[start : start + length])
        return self._objects[place][name]

    def _differs(self, made: MadePlan[Start], name: str) -> bool:
        """Whether the objects of a resource are other ones than those that were planned before."""
        assert made.context is not None
        resource = made.context.root.resources.get(name)
        if resource is None:
            return False  # an output: nothing refers to it
        now = resource.planned
        before = self.objects(name) if name in self.kept.objects else None
        return (
            before is None
            or resource.argument != self.parts.blocks[name][3]
            or before.keys() != now.keys()
            or not all(identical(value, before[key]) for key, value in now.items())
        )


def _is_expression(name: str) -> bool:
    return name.startswith(("local.", "var."))


def hides_causes(renewed: Renewed, parts: RenewableParts) -> bool:
    """Whether something that stays as planned may be why something in the part changes."""
    facts = FactBuilder()
    for change in renewed.made.plan.changes:
        facts.add("part_action", change.address, change.action)
    settled = renewed.made.loaded.options.settled
    for address, resource, _, action, _, _ in parts.changes:
        if resource in settled:
            facts.add("settled_action", address, action)
    return bool(evaluate(renewal_program(), facts.build(), ["hides_cause"])["hides_cause"])
