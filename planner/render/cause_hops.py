"""The hops (the values and objects on the way) from a cause to its changes, as an indented tree. Hops that differ only
in instance keys share a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.answers.explain.cause_groups import RootCause
from planner.answers.explain.causes import Because, CauseStep, Way
from planner.foundation.vocabulary.records import evolve
from planner.logic.programs.actions import words_for
from planner.render.alike import MOST_ALIKE, alike
from planner.render.cause_line import (
    INSIDE,
    folded,
    hops_of,
    inside_text,
    name_of,
    owner_of,
    place_of,
    presence,
    words_of,
)

MODULE = re.compile(r'module\.[\w-]+(?:\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\])?\.')
MODULES = re.compile(rf"(?:{MODULE.pattern})+")
_KEYS = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[[0-9*]+\]')
_NAMED_VALUE = re.compile(rf"(?:{MODULE.pattern})*(?:var|local)\.[\w-]+")
_LAST_KEY = re.compile(rf"(?:{_KEYS.pattern})$")
COUNT = "count"
END = "end"
"""kind of a chain's last step: the change itself"""


class _Hop:
    """A step between a cause and its changes, combined for several instances, with the steps after it."""

    def __init__(self) -> None:
        self.steps: dict[str, CauseStep] = {}
        self.below: dict[tuple[str, ...], _Hop] = {}

    @property
    def is_inside(self) -> bool:
        """Whether a step is inside an installed module."""
        return any(step.kind == INSIDE for step in self.steps.values())

    @property
    def words(self) -> tuple[list[str], CauseStep]:
        """The names of the steps, combined if they differ only in keys, and one representative step. Different parts of
        a variable or local value have the name of the whole value."""
        steps = list(self.steps.values())
        whole = {_KEYS.sub("[*]", step.what) for step in steps if "[*]" in step.what}
        steps = [one for one in steps if "[*]" in one.what or _KEYS.sub("[*]", one.what) not in whole]
        if len({_KEYS.sub("[*]", step.what) for step in steps}) > 1:
            steps = [evolve(step, what=_whole(step), before="", value="") for step in steps]
        texts = [one.text for one in alike(map(name_of, steps), MOST_ALIKE)]
        if len(texts) > 1 and all(step.kind == END for step in steps):
            texts = [one.text for one in alike((_LAST_KEY.sub("", step.what) for step in steps), MOST_ALIKE)]
        return texts, min(steps, key=lambda step: step.kind == END)


def hop_lines(
    group: RootCause,
    chains: Mapping[str, Because],
    planned: Mapping[str, str],
    folds: bool = False,
    is_whole: bool = False,
    named: set[str] | None = None,
    has_further: bool = False,
) -> list[str]:
    """The hops between a cause and its changes, one per line, each indented below the previous hop. `folds`: whether to
    combine hops inside an installed module. `is_whole`: whether to keep the module in a name that is below a name in
    the same module. `named`: if set, the changes at the ends of chains are shown, too, and their names are added to
    this set. `has_further`: whether to show all chains to a change, not only the first."""
    root = _Hop()
    of_group = _ChainsOfGroup(group, chains, planned)
    for name, _ in group.changes:
        for chain in of_group.of(name, has_further):
            at, before = root, ("",)
            hops = hops_of(chain, name, planned)
            end = _end(chain, name, planned, chains[name]) if named is not None else None
            if end is not None and end.note == COUNT:
                hops = hops[:-1]
            steps = [*(folded(hops, name_of(group.root)) if folds else hops), *([end] if end is not None else [])]
            for step in steps:
                key = (
                    _KEYS.sub("[*]", _whole(step) if folds else step.what),
                    f"{place_of(step.source)}{presence(step, planned)}{planned.get(step.what, '')}",
                    *(before if step.kind == INSIDE else ()),
                )
                before = key
                at = at.below.setdefault(key, _Hop())
                for what in (step.what, *step.also):
                    if step.kind != END or what not in at.steps:  # the step also leads to changes of other objects
                        at.steps[what] = evolve(step, what=what, also=()) if step.also else step
                    if named is not None and what in planned:
                        named.add(what)
    return list(_Lines(planned, is_whole).below(root, "", ""))


class _ChainsOfGroup:
    """The chains of steps from a cause to its changes. A chain may lead through other changes."""

    def __init__(self, group: RootCause, chains: Mapping[str, Because], planned: Mapping[str, str]) -> None:
        self._parts, self._chains, self._planned = group.parts, chains, planned
        self._first: dict[str, list[Sequence[CauseStep]]] = {}

    def of(self, name: str, has_further: bool) -> Sequence[Sequence[CauseStep]]:
        """The chains to a change, the nearest first, with at most one chain through each object; without `has_further`,
        only the first chain. Empty if the causes of the change are unknown or a guess."""
        if name not in self._chains or self._chains[name].is_guess:
            return ()
        because = self._chains[name]
        if self._is_of_group(because.steps[0]):
            return [because.steps, *self._further(name, [because.steps])] if has_further else [because.steps]
        if name not in self._first or has_further:
            self._first.setdefault(name, [])  # the result if a cycle leads back to this change
            self._first[name] = self._further(name, [])
        return self._first[name][: None if has_further else 1]

    def _further(self, name: str, chains: list[Sequence[CauseStep]]) -> list[Sequence[CauseStep]]:
        """Append further chains to a change to `chains`, and return only the further ones."""
        known, because = len(chains), self._chains[name]
        through = {object_before(chain, name, self._planned) for chain in chains}
        for way in because.ways:
            first, chain = way.steps[0], way.steps
            if way.roots.isdisjoint(self._parts):
                continue
            if first.what in self._planned and first.what not in (name, *(what for what, _ in self._parts)):
                before = self.of(first.what, False)
                chain = (*before[0], *chain) if before else ()
            elif chains and is_beside(way, because.ways, self._planned):
                continue
            between = object_before(chain, name, self._planned) if chain else ""
            if chain and between not in through:
                through.add(between)
                chains.append(chain)
        return chains[known:]

    def _is_of_group(self, root: CauseStep) -> bool:
        return (root.what, root.kind) in self._parts


def object_before(chain: Sequence[CauseStep], name: str, planned: Mapping[str, str]) -> str:
    """The last object on a chain, before its end, that the plan also changes; "" if there is none."""
    hops = hops_of(chain, name, planned)
    return next((hop.what for hop in reversed(hops) if hop.what in planned), "")


def is_beside(way: Way, ways: Iterable[Way], planned: Mapping[str, str]) -> bool:
    """Whether a chain other than `way`, from the same root to the same part of a change, leads through a changed
    object."""
    part = way.steps[-1].what
    others = (other for other in ways if other.steps[-1].what == part and other.steps[0].what in planned)
    return any(not other.roots.isdisjoint(way.roots) for other in others)


def _whole(step: CauseStep) -> str:
    """The name of the variable or local value to which the step belongs; for other steps, the name of the step."""
    match = _NAMED_VALUE.match(step.what) if not step.kind else None
    return step.what if match is None else match.group()


def _end(chain: Sequence[CauseStep], name: str, planned: Mapping[str, str], because: Because) -> CauseStep | None:
    """The change as the last hop. Its place is the line that uses the value of the previous hop. None if only the line
    of the previous hop uses this value."""
    is_placed = name.startswith("output.")
    own = [
        step
        for step in chain
        if step.what.startswith((f"{name}.", f"{name}[")) or (step.what == name and (step.note or is_placed))
    ]
    if own and own[0] is not chain[0]:
        return CauseStep(name, END, own[0].source, note=own[0].note)
    last = chain[-1]
    if last.what == f"{_LAST_KEY.sub('', name)}.{COUNT}" and last is not chain[0]:
        return CauseStep(name, END, last.source, note=COUNT)
    owner = owner_of(last, planned)
    ends = [
        way.steps[-1]
        for way in because.ways
        if way.steps[-1].what == name and (way.steps[-1].note or is_placed)
        if way.steps[0].what == (owner or chain[0].what)
    ]
    return CauseStep(name, END, ends[0].source, note=ends[0].note) if ends and not own else None


class _Lines:
    """Prints hops. `planned`: {name: action} of all changes."""

    def __init__(self, planned: Mapping[str, str], is_whole: bool) -> None:
        self._planned, self._is_whole = planned, is_whole

    def below(self, hop: _Hop, lead: str, module: str) -> Iterator[str]:
        """The lines below a hop. `lead`: their indentation. `module`: the module of the hop, to omit from the names in
        these lines; "" to omit no module."""
        ends = []
        shown = {step.what for one in hop.below.values() for step in one.steps.values() if step.kind != END}
        for below in hop.below.values():
            if not below.below and all(step.kind == END and step.what in shown for step in below.steps.values()):
                continue
            if below.is_inside:
                if below.below:  # a step outside of installed modules follows
                    names = alike((step.what for step in below.steps.values()), MOST_ALIKE)
                    yield f"{lead}-> {', '.join(one.text for one in names)}"
                    yield from self.below(below, f"{lead}  ", "")
                continue
            texts, first = below.words
            inside = [inner for inner in below.below.values() if inner.below and inner.is_inside]
            others = _Hop()
            others.below = {key: inner for key, inner in below.below.items() if not inner.is_inside}
            for inner in inside:
                others.below |= inner.below
            modules = [step for inner in inside for step in inner.steps.values()]
            if modules:
                names = alike((inside_text(step, *modules) for step in below.steps.values()), MOST_ALIKE)
                texts = [one.text for one in names]
            text = ", ".join(without_module(text, module) for text in texts)
            if first.kind == END and not below.below:
                notes = (first.note, place_of(first.source), self._number_and_action(below))
                ends.append(f"{text} ({', '.join(filter(None, notes))})")
                continue
            text += words_of(first, self._planned)[len(name_of(first)) :]
            if first.what in self._planned and len(below.steps) > 1:
                done = words_for(self._planned[first.what]).done
                text = text.replace(f", {done})", f", {self._number_and_action(below)})")
            inner_module = "" if self._is_whole else module if inside else module_of(texts[0])
            yield f"{lead}-> {text}"
            yield from self.below(others, f"{lead}  ", inner_module)
        if ends:
            yield f"{lead}-> {', '.join(ends)}"

    def _number_and_action(self, hop: _Hop) -> str:
        """The action of the changes at the end of a chain, with the number of changes if there are several: `updated`,
        `3 updated`."""
        number = f"{len(hop.steps)} " if len(hop.steps) > 1 else ""
        return f"{number}{words_for(self._planned[next(iter(hop.steps))]).done}"


_MOST_MODULE = 30
"""maximum length of a module name that is repeated in each line, in characters"""


def without_module(text: str, module: str) -> str:
    """The name. `module`: the module of the line above. If the name is in this module, and the module's name is long,
    `…` replaces the module: `….var.tag`."""
    is_left_out = len(module) > _MOST_MODULE and module_of(text).startswith(module)
    return f"…{text.removeprefix(module[:-1])}" if is_left_out else text


def module_of(text: str) -> str:
    """The module in which a name is read, with a final dot; "" for the root module. An output is read in the module
    that calls its module."""
    match = MODULES.match(text)
    if match is None:
        return ""
    if "." in text[match.end() :]:
        return match.group()
    return text[: [step.start() for step in MODULE.finditer(text)][-1]]
