"""A kept plan after edits of its configuration: what has to be planned anew is, all else is taken as it was."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBuilder
from planner.operations.plan import may_have_cycle
from planner.programs.rule_programs import renewal_program
from planner.renew.edits import Edit, blocks_of, edit
from planner.renew.kept import Kept, Parts
from planner.renew.part import Part, mentioned, plan_part, uses_of
from planner.values.identity import identical
from planner.vocabulary.records import frozen

if TYPE_CHECKING:
    from planner.operations.options import OperationOptions
    from planner.operations.plan import Made, Start
    from planner.plan.options import Settled

MOST = 1000
"""blocks; where more have to be planned anew, planning all takes no longer"""


@frozen(eq=False)
class Renewed:
    """`anew`: what was planned anew; `gone`: what is no more. The plan of `made` is about these alone."""

    made: Made[Start]
    anew: frozenset[str]
    gone: frozenset[str]


class Renewal:
    """One kept plan, and the texts of its files as they are now."""

    def __init__(self, kept: Kept, parts: Parts, texts: Mapping[str, str], options: OperationOptions) -> None:
        self.kept, self.parts, self.texts, self.options = kept, parts, texts, options
        self._objects: dict[tuple[int, int], dict[str, Settled]] = {}

    def renewed(self) -> Renewed | None:
        """The plan of what has to be planned anew. None when the whole has to be planned."""
        edits = {}
        for name, text in self.texts.items():
            found = edit(self.parts.files[name], text, self._spans(name))
            if found is None:
                return None
            edits[name] = found
        edited = {name: text for one in edits.values() for name, text in one.texts.items()}
        gone = frozenset(name for one in edits.values() for name in one.gone)
        if len(edited) != sum(len(one.texts) for one in edits.values()) or not gone.isdisjoint(edited):
            return None  # a name occurs twice, or something went from one file to another
        if self._is_taken(edited, edits):
            return None
        rest = self._rest(edits)
        return None if rest is None else self._converged(edited, gone, rest)

    def _converged(self, edited: Mapping[str, str], gone: frozenset[str], rest: dict[str, tuple[str, str]]) -> Any:
        different: frozenset[str] = frozenset()
        while True:
            anew = self._anew(edited, gone, different)
            if len(anew) > MOST:
                return None
            made = self._plan(anew, edited, gone, rest)
            if made is None:
                return None
            more = different | {name for name in anew if self._differs(made, name)}
            if more == different or self._anew(edited, gone, more) == anew:
                return None if self._is_beyond(made, anew, gone) else Renewed(made, anew, gone)
            different = more

    def _is_beyond(self, made: Made[Start], anew: frozenset[str], gone: frozenset[str]) -> bool:
        """Whether the edits reach what this part does not have: what is said of the whole."""
        graph = made.loaded.derived.plan_graph
        assert graph is not None
        now = {name: used for name, used in uses_of(graph).items() if name in anew}
        if may_have_cycle(made.plan) or self._may_circle(now):
            return True
        if not self.parts.told:
            return False
        # reading objects is told in the order of the graph, and before the plan
        same = all(now.get(name, []) == self.parts.uses.get(name, []) for name in anew)
        return bool(gone) or not same or not all(map(self._has_same_keys, [made] * len(anew), anew))

    def _has_same_keys(self, made: Made[Start], name: str) -> bool:
        assert made.context is not None
        resource = made.context.root.resources.get(name)
        if resource is None:
            return True
        return name in self.kept.objects and self.objects(name).keys() == resource.planned.keys()

    def _spans(self, file: str) -> list[tuple[int, int]]:
        return [(start, end) for name, start, end, _ in self.parts.blocks.values() if name == file]

    def _is_taken(self, edited: Mapping[str, str], edits: Mapping[str, Edit]) -> bool:
        """Whether a new resource has the name of one that stands elsewhere."""
        for name in edited:
            at = self.parts.blocks.get(name)
            if at is not None and not (at[0] in edits and edits[at[0]].begin <= at[1] < edits[at[0]].end):
                return True
        return False

    # ---------------------------------------------------------------- what the rules decide

    def _anew(self, edited: Iterable[str], gone: frozenset[str], different: frozenset[str]) -> frozenset[str]:
        facts = FactBuilder()
        for name in edited:
            facts.add("edited", name)
        for name in gone:
            facts.add("taken_out", name)
        for name in different:
            facts.add("looks_different", name)
        if gone or different:
            self._tell_uses(facts, {})
        return frozenset(row[0] for row in evaluate(renewal_program(), facts.build(), ["anew"])["anew"])

    def _tell_uses(self, facts: FactBuilder, instead: Mapping[str, list[str]]) -> None:
        for name, used in {**self.parts.uses, **instead}.items():
            for other in used:
                facts.add("uses", name, other)
            if name.startswith("local."):
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

    def _rest(self, edits: Mapping[str, Edit]) -> dict[str, tuple[str, str]] | None:
        """All blocks but resources, as they are now: type and text."""
        pieces = []
        for file, text in self.parts.files.items():
            at = 0
            one = edits.get(file)
            for start, end in self._spans(file):
                pieces.append(_outside(text, at, start, one))
                at = end
            pieces.append(_outside(text, at, len(text), one))
            if one is not None:
                pieces.append(one.rest)
        return blocks_of("\n".join(piece for piece in pieces if piece.strip()))

    def _plan(
        self, anew: frozenset[str], edited: Mapping[str, str], gone: frozenset[str], rest: dict[str, tuple[str, str]]
    ) -> Made[Start] | None:
        parts = self.parts
        if any(name in rest and name in edited for name in anew):
            return None  # twice
        texts = [text for name, (kind, text) in rest.items() if kind != "output" or name in anew]
        for name in sorted(anew):
            if name in edited:
                texts.append(edited[name])
            elif name in parts.blocks:
                file, start, end, _ = parts.blocks[name]
                texts.append(parts.files[file][start:end])
        text = "\n".join(texts)
        headers = {name: parts.blocks[name][3] for name in mentioned(text, parts.blocks) - anew - gone}
        if len(headers) > 10 * MOST:
            return None
        settled = {name: self.objects(name) for name in headers}
        return plan_part(self.options, Part(text, headers, anew | gone), settled)

    def objects(self, name: str) -> Settled:
        """The planned objects of a resource, as they were."""
        start, length = place = self.kept.objects[name]
        if place not in self._objects:
            self._objects[place] = pickle.loads(self.kept.data[start : start + length])
        return self._objects[place][name]

    def _differs(self, made: Made[Start], name: str) -> bool:
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


def _outside(text: str, start: int, end: int, one: Edit | None) -> str:
    """What of a part of the old text is outside of an edit."""
    if one is None or one.end <= start or end <= one.begin:
        return text[start:end]
    return f"{text[start : max(start, one.begin)]}\n{text[min(end, one.end) : end]}"
