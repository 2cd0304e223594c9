"""Determines the causes of all changes of a plan: for each change, a chain of steps from a root cause, and all root
causes. `chains_of` reads the relations of rules/plan/because.dl, and the results of interventions (evaluating a change
again with one input reverted). There may be several chains for a change. A chain from a root cause that interventions
confirmed is preferred, then a chain without candidates, then the shortest chain, then the first chain in the order of
names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise, takewhile
from typing import Any, Protocol

from planner.answers.explain.cause_paths import TEXT, WORLD, CausePaths, FactLocations, is_part, plain
from planner.answers.explain.changed_inputs import ENTRY, ChangedInput, ChangedInputs
from planner.answers.explain.checked_roots import CheckedRoots, wholes
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.model.graph import source_json
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.actions import NO_OP

RELATIONS = (
    *("because", "leaf", "unrecorded_value", "former_value"),
    *("perhaps_edited", "forces", "renewed", "perhaps_renewed", "changed_besides", "mentions_part", "sole_input"),
)
"""relations that `chains_of` reads"""
UNRECORDED = (
    "No earlier apply is recorded here, so the causes are only candidates. To see the input that changed, apply once "
    "with planner, or compare with a commit: -since=REF"
)
"""the note that is shown if no former values are recorded"""
_LOST = ("left-state", "not-in-state")
"""kinds of root causes that are objects which are created again because they are no longer in the state"""
_WRITTEN_VALUES = ("text", "unapplied")
"""kinds of root causes for which the former and the current value of an attribute, a local value or a module's variable
are shown"""
WRITTEN = ("variable", "text")
"""kinds of root causes that are lines in files; each line counts as one edit"""
WITHOUT_FILE = ("default", "environment", "input", "plan")
"""the origins of a variable's value that are not files"""
FORMER_LINE = "was line "
"""the beginning of a note with the former line of something that was removed"""


@frozen
class CauseStep:
    """A step of a chain of causes: an instance, an output, a value or a file. `kind`: for a root cause, its kind (as in
    the relation `leaf`, or ENTRY); "" for other steps. `source`: the place of the step."""

    what: str
    kind: str = ""
    source: Any = None
    before: str = ""
    """the former value, for display; "" if it is unknown"""
    value: str = ""
    """the current value, for display"""
    note: str = ""
    """a note: the origin of a variable's value (default, environment, input, plan, or a file), if the place does not
    show this origin; the origin of a taint; the real name of a lost object; the former line of a removed entry of a
    file, or of a removed part of a variable (`was line 3`); or TRIGGER"""
    has_elements: bool = False
    """whether `before` and `value` are elements that a list or set lost and gained"""
    has_shifted: bool = False
    """whether the changed object reads the list by index, and the indexes of unchanged elements have changed"""
    also: tuple[str, ...] = ()
    """the names of the same step in other instances"""
    edited: tuple[str, str] = ("", "")
    """for root causes of the kind `text`, the former and the current text of the changed part of the expression; for a
    file, "" and a description of the changed keys or lines"""

    @property
    def json(self) -> dict[str, Any]:
        """The step as JSON, with its place in the same form as in proofs."""
        place = {"source": source_json(self.source)} if self.source is not None else {}
        extra: dict[str, Any] = {
            name: text
            for name, text in (
                ("kind", self.kind),
                ("before", self.before),
                ("value", self.value),
                ("former_place" if self.note.startswith(FORMER_LINE) else "origin", self.note),
            )
            if text
        }
        if self.has_elements:
            extra["elements"] = True
        if self.has_shifted:
            extra["shifted"] = True
        if self.also:
            extra["also"] = list(self.also)
        return {"what": self.what, **extra, **place}


@frozen
class Way:
    """A path from a root cause to a part of a change. `steps` begin at the changed object that is nearest to the change
    on this path, or at the root cause if there is no such object. They end at a part of the change, or at the whole
    change. `roots`: (name, kind) of the root causes of the change that this path comes from."""

    steps: tuple[CauseStep, ...]
    roots: frozenset[tuple[str, str]]
    forces: bool = False
    """whether the difference at the end forces a replacement"""


_REPLACING = ("replace_because_tainted", "replace_by_request")
"""kinds of root causes that replace an object even if its arguments are unchanged"""


@frozen
class Because:
    """The causes of a change. `steps`: a chain from a root cause to the last step before the change. `roots`: all root
    causes; the root cause with which `steps` begins comes first. `is_guess`: whether the root causes are only
    candidates, for example because former values are not recorded. `is_checked`: whether evaluation confirmed that
    there are no other root causes, and that the change would be different without each of these; also true if the
    change is its own root cause."""

    steps: tuple[CauseStep, ...]
    roots: tuple[CauseStep, ...]
    is_guess: bool = False
    is_checked: bool = False
    others: tuple[tuple[CauseStep, ...], ...] = ()
    """for each root cause after the first, a chain like `steps`; empty if only one chain was requested"""
    ways: tuple[Way, ...] = ()
    """all paths to parts of the change that evaluation confirmed"""

    def forcing(self) -> set[tuple[str, str]]:
        """(name, kind) of the root causes that force the replacement. Empty if these are not known, and for changes
        that are not replacements."""
        if self.is_guess:
            return set()
        forcing = {part for way in self.ways if way.forces for part in way.roots}
        return forcing | {(one.what, one.kind) for one in self.roots if one.kind in _REPLACING}

    def is_itself(self, name: str) -> bool:
        """Whether the only root cause of a change is the change itself."""
        return len(self.roots) == 1 and self.roots[0].what == name

    @property
    def json(self) -> dict[str, Any]:
        """The members that describe the causes in JSON documents."""
        return {
            "because": [step.json for step in self.steps],
            "root_causes": [root.json for root in self.roots],
            "because_is_certain": not self.is_guess,
            "checked": self.is_checked,
            **({"other_causes": [[step.json for step in steps] for steps in self.others]} if self.others else {}),
        }


@frozen(eq=False)
class Derivation:
    """The derived causes of the changes that are compared with the same former configuration
    (planner.answers.explain.former_world). `relations`: the derived relations. `facts`: the facts from which they were
    derived. `names`: the names of the changes. `trace`: the object that collected the facts."""

    relations: Mapping[str, Collection[Any]]
    facts: FactBase
    names: Sequence[str]
    trace: Checks


class Checks(Protocol):
    """The results of interventions (planner.answers.explain.trace). `checks`: {name of a value in a change: the changed
    inputs that affect it, or None if these cannot be determined}."""

    changes: dict[str, ResourceChange]
    checks: dict[str, ChangedInputs | None]
    elements: dict[str, tuple[str, str]]
    """{name of a list or set in a change: (removed elements, added elements)}, without secrets"""

    def unit(self, leaf: str) -> ChangedInput | None:
        """The changed input that a leaf (the end of a chain of causes) represents; None for other leaves."""

    def input_of(self, change: ResourceChange) -> ChangedInput:
        """The change of an instance, as an input of other values."""

    def describe(self, unit: ChangedInput) -> tuple[str, str, Any, str]:
        """(name, kind, place, origin as in `origin_note`) of an input, if it is a root cause."""

    def shown_values(self, unit: ChangedInput) -> tuple[str, str, bool]:
        """(former value, current value, whether they are elements that a list lost and gained) of a part of a root
        variable or of an entry of a file, without secrets."""

    def with_former_line(self, root: CauseStep) -> CauseStep:
        """The root cause; a removed part of a root variable with its former line as note, if the line is known."""

    def shown_local(self, name: str) -> tuple[str, str]:
        """(former value, current value) of a local value or of a module's variable, without secrets; "" for other names
        and for unknown values."""

    def real_name(self, address: str) -> str:
        """The attribute by which users can recognise a former object, with its value; "" if there is none."""

    def text_edit(self, name: str) -> tuple[str, str]:
        """The former and the current text of the changed part of an expression, without secrets."""

    def file_edit(self, path: str) -> str:
        """The changed keys or the first changed line of a file, without secrets."""

    def list_of(self, name: str) -> CauseStep | None:
        """A step for the list or set which is the named value or contains it, if elements of this list or set were
        added or removed. If the named value is a list in which only one part differs, the step is this part. Otherwise
        None."""


def chains_of(derived: Sequence[Derivation], has_others: bool = False) -> dict[str, Because]:
    """{name of a change: its causes}. `derived`: one derivation for each former configuration. `has_others`: whether to
    also find a chain for each root cause after the first (`Because.others`)."""
    return _Chains(derived, has_others).answers()


class _Chains:
    def __init__(self, derived: Sequence[Derivation], has_others: bool) -> None:
        self._derived, self._has_others = derived, has_others
        self._worlds = _Worlds(derived)
        self._ways = CausePaths(self._worlds.relations)
        self._places = [FactLocations(one.facts) for one in derived]
        self._variables = [_variables(one.relations, one.facts) for one in derived]
        self._altered = [
            {what: (before, value) for what, before, value in one.facts.relation("planned_change")} for one in derived
        ]
        self._added: dict[str, CauseStep] = {}
        self._entries: dict[str, ChangedInput] = {}
        """{name of an entry of a file: the entry}"""
        self._entry_steps: dict[tuple[ChangedInput, int], CauseStep] = {}
        """{(entry of a file, number of the former configuration): its step}"""
        self._lists: dict[tuple[int, str], CauseStep | None] = {}
        """{(number of the former configuration, value): the list that contains it}, see Checks.list_of"""
        self._unknown = {
            self._worlds.name(row[0], number)
            for number, one in enumerate(derived)
            for row in one.facts.relation("unknown_value")
        }
        self._watched = [
            {(row[0], row[2]): one.facts.source(of, row) for of in _WATCHES for row in one.facts.relation(of)}
            for one in derived
        ]
        checks = {
            self._worlds.name(name, number): units
            for number, one in enumerate(derived)
            for name, units in one.trace.checks.items()
            if (owner := self._worlds.owner(name)) in (None, number) or name not in derived[owner].trace.checks
        }
        self._resources = resources = _resources_of(derived)
        instances: dict[ChangedInput, list[str]] = {}
        for name, unit in resources.items():
            instances.setdefault(unit, []).append(name)
        self._checked = CheckedRoots(
            self._ways,
            checks,
            self._unit,
            resources.get,
            instances,
            self._missing,
        )

    def answers(self) -> dict[str, Because]:
        answers: dict[str, Because] = {}
        for number, one in enumerate(self._derived):
            for name in one.names:
                answer = self._answer(name, number)
                if answer is not None:
                    answers[name] = answer
        del self._checked  # it refers to this object; without this cycle, the facts are freed now
        return answers

    def _answer(self, name: str, number: int) -> Because | None:
        if self._checked.is_alone(name):  # the common case, which needs no search
            step = self._whole_list(self._root(name, name, number), number)
            return Because((step,), (step,), self._checked.is_guess(name), True)
        roots, chain = self._ways.roots(name), self._ways.chain(name)
        confirmed = self._checked.roots(name)
        is_checked = bool(confirmed)
        if confirmed:
            if not roots or roots[0] not in confirmed:
                tried = chain[:1] if chain and self._checked.of_value(chain[0]) else []
                chain = self._checked.path(name, confirmed, self._unknown) or _to_part(chain, confirmed) or tried
            first = chain[-1] if chain and chain[-1] in confirmed else min(confirmed)
            roots = [first, *sorted(confirmed - {first})]
        beside = self._ways.beside(name) if confirmed is None and roots else set()
        roots += sorted({root for value in beside for root in self._checked.of_value(value)} - {*roots})
        if not roots:
            return None
        # an input that is compared with several former configurations is one root, even if it is the change itself
        nearest = sorted(roots, key=lambda root: self._worlds.of(root, number) != number)
        roots = [root for root in roots if next(one for one in nearest if plain(one) == plain(root)) == root]
        whole = [self._whole_list(self._root(name, root, number), number) for root in roots]
        shifted = {step.what for step in whole if step.has_shifted}
        whole = [evolve(step, has_shifted=step.has_elements and step.what in shifted) for step in whole]
        steps = list(dict.fromkeys(whole))
        if self._may_be_known_later(name, chain):
            chain = self._checked.path(name, chain[-1:], self._unknown) or chain
        inner = self._inner(name, chain, steps[0], roots[0], number)
        others: list[tuple[CauseStep, ...]] = []
        for step in steps[1:] if self._has_others else ():
            root = roots[whole.index(step)]
            path = self._checked.path(name, {root}, self._unknown) or _to_part(self._ways.chain(name), [root])
            others.append((step, *self._inner(name, path, step, root, number)))
        # if a value should not differ, its causes are uncertain unless interventions confirmed them
        if is_checked:
            # an object that is missing in the state may have been applied later than the other objects with its former
            # configuration
            lost = (root for root in roots if self._ways.leaves.get(root) in _LOST)
            is_mixed = len(roots) > 1 and any(self._worlds.of(root, number) != number for root in lost)
            is_guess = is_mixed or self._checked.is_guess(name)
        else:
            # some of several untested causes may be irrelevant
            is_guess = self._ways.is_guess(name) or (confirmed is None and len(steps) > 1) or bool(beside)
            is_guess = is_guess or any(s.kind == "as-before" for s in steps)
        named = {root: (step.what, step.kind) for root, step in zip(roots, whole, strict=True)}
        ways = () if is_guess else tuple(self._ways_into(name, number, named))
        return Because((steps[0], *inner), tuple(steps), is_guess, is_checked, tuple(others), ways)

    def _ways_into(self, name: str, number: int, named: Mapping[str, tuple[str, str]]) -> Iterator[Way]:
        """The paths to the parts of a change that interventions confirmed. Of several paths that differ only in their
        instances, one is returned. `named`: {leaf: (name, kind)} of the root causes of the change."""
        seen, forcing = set(), set[tuple[str, str]]()
        world = self._worlds.of(name, number)
        for is_forced, way in ((of, way) for of in (True, False) for way in self._checked.ways(name, of)):
            last = way[-1]
            owner = self._instance(last)
            if owner is None:
                first = self._whole_list(self._root(name, last, number), number)
                steps = [first, *self._inner(name, way, first, last, number)]
                roots = frozenset(((first.what, first.kind),)) & frozenset(named.values())
                if first.kind == "file":  # the entries of the file that matter to this part
                    entries = [root for root in named if root in self._entries and self._is_of(root, first.what)]
                    roots |= {named[root] for root in entries if self._checked.matters_to(root, way[0])}
            else:
                roots = frozenset(named[root] for root in self._checked.behind_way(last, owner) or () if root in named)
                steps = self._inner(name, way if owner == last else [*way, owner], CauseStep(""), "", number)
            source = self._watched[world].get((name, plain(way[0])))
            if source is not None:
                steps.append(CauseStep(name, "", source, note=TRIGGER))
            elif not any(step.what.startswith((f"{name}.", f"{name}[")) for step in steps):
                steps.append(CauseStep(name, "", self._places[world].of(name)))
            key = tuple(frozenset((step.what, *step.also)) for step in steps)
            if is_forced:
                forcing |= roots
            else:  # if a root forces a replacement, only differences that force the replacement matter
                roots -= forcing
            if key not in seen and roots:
                seen.add(key)
                yield Way(tuple(steps), roots, is_forced)

    def _is_of(self, entry: str, file: str) -> bool:
        return file == f"file {self._entries[entry].name}"

    def _instance(self, name: str) -> str | None:
        """The name of the changed object which has this name, or which contains the value with this name; None for
        other names."""
        return next((whole for whole in wholes(name) if whole in self._resources), None)

    def _may_be_known_later(self, name: str, chain: Sequence[str]) -> bool:
        """Whether a chain leads from an unknown value to a known value, although the unknown value also depends on
        another unknown value."""
        for at, step in pairwise((name, *chain)):
            if is_part(step, at):
                continue
            if at in self._unknown and step not in self._unknown and step not in self._resources:
                return any(one in self._unknown for one in self._ways.further.get(at, ()))
        return False

    def _inner(self, name: str, chain: Sequence[str], first: CauseStep, root: str, number: int) -> list[CauseStep]:
        """The steps between the root cause `first` and a change. Steps that are the root cause under another name are
        omitted."""
        inner: list[CauseStep] = []
        own, others = "", list[str]()  # the instance through which the chain leads, and instances with equal steps
        for at, (before, step) in enumerate(pairwise((name, *chain))):
            if step.startswith(f"{before}["):
                instance, alike = self._alike(before, chain[at:])
                own, others = (instance, alike) if alike else (own, others)
            if plain(step) in (first.what, plain(root)):
                continue
            shown = self._step(step, before, self._worlds.of(step, number), number)
            if others and shown.what.startswith(own):
                also = tuple(other + shown.what[len(own) :] for other in others)
                shown = evolve(shown, before="", value="", also=also)
            after = chain[at + 1] if at + 1 < len(chain) else ""
            source = self._watched[self._worlds.of(step, number)].get((plain(step), plain(after)))
            inner.append(evolve(shown, source=source, note=TRIGGER) if source is not None else shown)
        return inner[::-1]

    def _alike(self, reader: str, chain: Sequence[str]) -> tuple[str, list[str]]:
        """If the expression of `reader` refers to a whole resource, and the chain leads through one of its instances:
        this instance, and the other instances for which the steps are the same. Otherwise ("", [])."""
        match = _FIRST_KEY.match(chain[0][len(reader) :])
        if match is None or not match[2]:
            return "", []
        own, rest = reader + match[1], match[2]
        parts = [of for of in self._ways.further.get(reader, ()) if of.startswith(f"{reader}[") and of.endswith(rest)]
        others = [of.removesuffix(rest) for of in parts if of != chain[0]]
        others = [other for other in others if _FIRST_KEY.fullmatch(f"{other[len(reader) :]}")]
        return own, [other for other in others if self._leads_on(other, own, chain)]

    def _leads_on(self, other: str, own: str, chain: Sequence[str]) -> bool:
        """Whether the steps of the chain inside the instance `own`, and the step that leads out of `own`, also exist
        for the instance `other`."""
        for before, step in pairwise(chain):
            if not before.startswith(own):
                return True
            inside = other + step[len(own) :] if step.startswith(own) else step
            if inside not in self._ways.further.get(other + before[len(own) :], ()):
                return False
        return True

    def _step(self, step: str, reader: str, world: int, number: int) -> CauseStep:
        """A step of a chain. If one reference in an expression refers to several parts of a value, the step is the
        innermost value that contains all of them."""
        what = plain(step)
        source = self._places[world].of(what)
        if self._worlds.owner(step) is None:
            mention = self._mention(reader, step, number)
            beside = [of for of in self._ways.further.get(reader, ()) if self._mention(reader, of, number) == mention]
            whole = reduce(_whole_of_both, map(plain, beside)) if mention is not None else what
            if whole not in (what, ""):
                return CauseStep(whole, "", self._places[world].of(whole) or source)
        mentioned = self._ways.mentioned.get((reader, what))
        if mentioned is not None:
            return CauseStep(mentioned, "", source)
        elements = self._derived[number].trace.elements.get(what)
        if elements is not None:
            return CauseStep(what, "", source, *elements, has_elements=True)
        return CauseStep(what, "", source, *self._altered[number].get(what, ()))

    def _mention(self, reader: str, step: str, number: int) -> Any:
        """The place of the reference to the value `step` in the expression of the value `reader`; None if there is no
        such reference."""
        facts = self._derived[self._worlds.of(reader, number)].facts
        return facts.source("refers_value", (plain(reader), plain(step)))

    def _root(self, name: str, root: str, number: int) -> CauseStep:
        world, what = self._worlds.of(root, number), plain(root)
        if root not in self._ways.leaves:
            added = self._added.get(root, CauseStep(what))
            return evolve(added, source=added.source or self._places[world].of(what))
        kind = self._ways.leaves[root]
        reader = plain(self._ways.reader(name, root))
        source = self._places[world].of_leaf(what, kind, reader)
        shown = self._variables[number].get(what) or self._variables[world].get(what, ("", "", ""))
        if not any(shown) and kind in _WRITTEN_VALUES:
            written = what.removeprefix(TEXT)
            known = self._altered[number].get(written) or self._derived[number].trace.shown_local(written)
            shown = (*known, "")
        if kind == "gone":
            shown = ("", "", self._derived[world].trace.real_name(what))
        trace = self._derived[number].trace
        if kind == "variable" and "nothing" in shown[:2] and (unit := self._unit(root)) is not None:
            before, now, has_elements = trace.shown_values(unit)
            if before and now and not has_elements:  # the fact may have only the beginning of the value
                shown = before, now, shown[2]
        edited = trace.text_edit(what.removeprefix(TEXT)) if kind == "text" else ("", "")
        if kind == "file":
            edited = "", trace.file_edit(what.removeprefix("file "))
        return trace.with_former_line(CauseStep(what, kind, source, *shown, edited=edited))

    def _whole_list(self, root: CauseStep, number: int) -> CauseStep:
        """The root cause. If it is an element of a list or set, the root cause becomes the list or set, with all added
        and removed elements, because they belong to one edit."""
        lead = TEXT if root.kind == "text" else ""
        name = root.what.removeprefix(lead)
        if root.kind in WRITTEN and (number, name) not in self._lists:
            self._lists[number, name] = self._derived[number].trace.list_of(name)
        known = self._lists[number, name] if root.kind in WRITTEN else None
        if known is None:
            return root
        note = known.note if known.source is not None else root.note
        return evolve(known, what=f"{lead}{known.what}", kind=root.kind, source=known.source or root.source, note=note)

    def _unit(self, leaf: str) -> ChangedInput | None:
        if leaf in self._entries:
            return self._entries[leaf]
        name = plain(leaf)
        if self._ways.leaves.get(leaf) == "text":
            name = f"{TEXT}{name.removeprefix(TEXT)}"  # a removed part has no text of its own, and is not an object
        return self._derived[self._worlds.of(leaf, 0)].trace.unit(name)

    def _missing(self, unit: ChangedInput, value: str) -> str:
        """The name of the root cause for an input that interventions found and that no rule derives. Its step is stored
        in `_added`."""
        world = self._worlds.of(value, 0)
        if (known := self._entry_steps.get((unit, world))) is not None:
            self._added[known.what] = known
            return known.what
        trace = self._derived[world].trace
        name, kind, source, origin = trace.describe(unit)
        if unit.kind == "attribute" and name == f"the text of {plain(value)}"[: len(name)]:
            name = f"the text of {plain(value)}"  # the expression of the value contains the input
        note = origin_note(origin, source)
        before, value, has_elements = trace.shown_values(unit)
        self._added[name] = trace.with_former_line(CauseStep(name, kind, source, before, value, note, has_elements))
        if kind == ENTRY:
            self._entries[name], self._entry_steps[unit, world] = unit, self._added[name]
        return name


def _whole_of_both(one: str, other: str) -> str:
    """The innermost value that contains both values; "" if there is none."""
    pairs = zip(_STEPS_OF_NAME.findall(one), _STEPS_OF_NAME.findall(other), strict=False)
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


_FIRST_KEY = re.compile(r'(\["(?:[^"\\]|\\.)*"\]|\[\d+\])(.*)', re.DOTALL)
_STEPS_OF_NAME = re.compile(r'(?:^|\.)[^.\[]+|\["(?:[^"\\]|\\.)*"\]|\[[^\]"]*\]')


def _to_part(chain: list[str], roots: Collection[str]) -> list[str]:
    """The chain, with its last step replaced by the first of `roots` (in the order of names) that is a part of this
    step. [] if none of `roots` is a part of it."""
    part = next((root for root in sorted(roots) if chain and is_part(root, plain(chain[-1]))), "")
    return [*chain[:-1], part] if part else []


def _resources_of(derived: Sequence[Derivation]) -> dict[str, ChangedInput]:
    """{name of a changed instance: the change of its resource, as an input of other values}."""
    inputs: dict[str, ChangedInput] = {}
    for one in derived:
        for name, change in one.trace.changes.items():
            unit = one.trace.input_of(change) if change.action != NO_OP else None
            if unit is not None and (name not in inputs or unit.kind == "object"):
                inputs[name] = unit
    return inputs


_WATCHES = ("watches", "watches_value")
TRIGGER = "replace_triggered_by"
"""the note of a step whose object is replaced because of the argument replace_triggered_by"""
_STEPS = ("because", "forces", "changed_besides")
"""the relations that contain pairs of names (name, next step)"""


class _Worlds:
    """The union of the relations of all former configurations, which are numbered. Each object, with its values, is
    compared with one of these configurations. To other names, the number of the configuration is added."""

    def __init__(self, derived: Sequence[Derivation]) -> None:
        self._owners = {name: number for number, one in enumerate(derived) for name in one.names}
        self._is_single = len(derived) == 1
        self.relations: Mapping[str, Collection[Any]]
        if self._is_single:
            self.relations = derived[0].relations
            return
        joined: dict[str, set[Any]] = {name: set() for name in RELATIONS}
        explained = [{row[0] for name in ("because", "leaf") for row in one.relations[name]} for one in derived]
        for number, one in enumerate(derived):
            for predicate, rows in joined.items():
                for row in one.relations[predicate]:
                    owner = self.owner(row[0])
                    if owner in (None, number) or row[0] not in explained[owner]:
                        rest = (self.name(row[1], number),) if predicate in _STEPS else row[1:]
                        rows.add((self.name(row[0], number), *rest))
        self.relations = joined

    def owner(self, name: str) -> int | None:
        """The number of the former configuration with which an object, or the object that contains a value, is
        compared; None for other names."""
        return next((self._owners[whole] for whole in wholes(name) if whole in self._owners), None)

    def name(self, name: str, number: int) -> str:
        """The name in the union of the relations, for a name in the relations of one former configuration."""
        return name if self._is_single or self.owner(name) is not None else f"{name}{WORLD}{number}"

    def of(self, name: str, number: int) -> int:
        """The number of the former configuration to which a name in the union belongs; `number` if the name contains no
        number."""
        if self._is_single:
            return 0
        mark, owner = name.partition(WORLD)[2], self.owner(name)
        return int(mark) if mark else number if owner is None else owner


def _variables(relations: Mapping[str, Collection[Any]], facts: FactBase) -> dict[str, tuple[str, str, str]]:
    """{name of a root cause: (former value, current value, note)}, for root variables, provider configurations, and
    objects that are tainted or changed outside planner. For the note, see CauseStep."""
    before = dict(sorted(relations["former_value"], reverse=True))
    shown = {}
    for name, text, origin in facts.relation("root_variable"):
        source = facts.source("root_variable", (name, text, origin))
        shown[name] = (before.get(name, ""), text, origin_note(origin, source))
    shown |= {name: (old, now, "") for _, name, old, now in facts.relation("provider_changed")}
    shown |= {name: ("", "", how) for name, how in facts.relation("tainted_by")}
    shown |= {name: (old, now, "") for name, old, now in facts.relation("drifted_from")}
    return shown


def origin_note(origin: str, source: Any) -> str:
    """The origin of a variable's value (such as default, environment or a file), or the former line of a removed entry
    of a file. "" if the place `source` already shows this."""
    is_elsewhere = isinstance(source, Span) and source.filename != origin
    return origin if origin in WITHOUT_FILE or (is_elsewhere and origin) else ""
