"""The hops between a cause and its changes as an indented tree, those of alike instances in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from planner.answers.explain.causes import Because, CauseStep, RootCause
from planner.foundation.vocabulary.records import evolve
from planner.logic.programs.actions import does, words_for
from planner.render.alike import alike
from planner.render.cause_line import INSIDE, folded, hops_of, inside_text, name_of, place_of, presence, words_of

MODULE = re.compile(r'module\.[\w-]+(?:\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\])?\.')
MODULES = re.compile(rf"(?:{MODULE.pattern})+")
_KEYS = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[[0-9*]+\]')
_NAMED_VALUE = re.compile(rf"(?:{MODULE.pattern})*(?:var|local)\.[\w-]+")
_LAST_KEY = re.compile(rf"(?:{_KEYS.pattern})$")
END = "end"
"""the kind of the last step of a chain, the change itself"""


class _Hop:
    """A step between a cause and its changes, of several instances at once, and the steps that follow."""

    def __init__(self) -> None:
        self.steps: dict[str, CauseStep] = {}
        self.below: dict[tuple[str, ...], _Hop] = {}

    @property
    def is_inside(self) -> bool:
        """Whether the steps are inside an installed module."""
        return any(step.kind == INSIDE for step in self.steps.values())

    @property
    def words(self) -> tuple[list[str], CauseStep]:
        """The names of the steps, those that differ in their keys alone together, and one step for the rest. Of several
        parts of one variable or local value the whole is named."""
        steps = list(self.steps.values())
        whole = {_KEYS.sub("[*]", step.what) for step in steps if "[*]" in step.what}
        steps = [one for one in steps if "[*]" in one.what or _KEYS.sub("[*]", one.what) not in whole]
        if len({_KEYS.sub("[*]", step.what) for step in steps}) > 1:
            steps = [evolve(step, what=_whole(step), before="", value="") for step in steps]
        texts = [one.text for one in alike(map(name_of, steps))]
        if len(texts) > 1 and all(step.kind == END for step in steps):
            texts = [one.text for one in alike(_LAST_KEY.sub("", step.what) for step in steps)]
        return texts, min(steps, key=lambda step: step.kind == END)


def hop_lines(
    group: RootCause,
    chains: Mapping[str, Because],
    planned: Mapping[str, str],
    folds: bool = False,
    is_whole: bool = False,
    named: set[str] | None = None,
) -> list[str]:
    """The hops between a cause and its changes, one a line, each indented below the one before. `folds`: those inside
    an installed module are one; `is_whole`: names have their
    modules, also below a name in the same module; `named`: with the changes that use the last of several steps, and the
    names of all changes in these lines are added."""
    root = _Hop()
    for name, _ in group.changes:
        because = chains[name]
        if because.is_guess or (because.steps[0].what, because.steps[0].kind) not in group.parts:
            continue
        at, before = root, ("",)
        steps = hops_of(because, name, planned)
        end = _end(because, name, planned) if named is not None else None
        for step in [*(folded(steps, name_of(group.root)) if folds else steps), *([end] if end is not None else [])]:
            key = (
                _KEYS.sub("[*]", _whole(step) if folds else step.what),
                f"{place_of(step.source)}{presence(step, planned)}{planned.get(step.what, '')}",
                *(before if step.kind == INSIDE else ()),
            )
            before = key
            at = at.below.setdefault(key, _Hop())
            if step.kind != END or step.what not in at.steps:  # it leads to others, too
                at.steps[step.what] = step
            if named is not None and step.what in planned:
                named.add(step.what)
    return list(_Lines(planned, is_whole).below(root, "", ""))


def _whole(step: CauseStep) -> str:
    """The variable or local value that a step is a part of; the step itself for others."""
    match = _NAMED_VALUE.match(step.what) if not step.kind else None
    return step.what if match is None else match.group()


def _end(because: Because, name: str, planned: Mapping[str, str]) -> CauseStep | None:
    """The change itself, at the line that uses the value of the step before it; None where that step is as close."""
    own = [step for step in because.steps if step.what.startswith((f"{name}.", f"{name}["))]
    if own and own[0] is not because.steps[0]:
        return CauseStep(name, END, own[0].source)
    last = because.steps[-1]
    is_object = last.what in planned or last.what.rpartition(".")[0] in planned
    if is_object and not own and last.what != name and does(planned[name], "replaces"):
        return CauseStep(name, END, "replace_triggered_by")
    return None


class _Lines:
    """Prints hops. `planned`: the actions of everything that changes, by name."""

    def __init__(self, planned: Mapping[str, str], is_whole: bool) -> None:
        self._planned, self._is_whole = planned, is_whole

    def below(self, hop: _Hop, lead: str, module: str) -> Iterator[str]:
        """The lines of the hops below one, in a module whose name is not repeated."""
        ends = []
        shown = {step.what for one in hop.below.values() for step in one.steps.values() if step.kind != END}
        for below in hop.below.values():
            if not below.below and all(step.kind == END and step.what in shown for step in below.steps.values()):
                continue
            if below.is_inside:
                if below.below:  # something of the user's follows
                    yield f"{lead}-> {', '.join(one.text for one in alike(step.what for step in below.steps.values()))}"
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
                texts = [
                    one.text for one in alike(inside_text(name_of(step), modules) for step in below.steps.values())
                ]
            text = ", ".join(without_module(text, module) for text in texts)
            if first.kind == END and not below.below:
                ends.append(f"{text} ({place_of(first.source)}, {self._number_and_action(below)})")
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
        """`updated`, `3 updated`: the action of the changes at the end of a chain."""
        number = f"{len(hop.steps)} " if len(hop.steps) > 1 else ""
        return f"{number}{words_for(self._planned[next(iter(hop.steps))]).done}"


_MOST_MODULE = 30
"""characters of a module that are repeated in each line"""


def without_module(text: str, module: str) -> str:
    """A name without the module of the name before it, if that is long: `….var.tag`."""
    is_left_out = len(module) > _MOST_MODULE and module_of(text).startswith(module)
    return f"…{text.removeprefix(module[:-1])}" if is_left_out else text


def module_of(text: str) -> str:
    """The module that a name is read in, with a dot behind it; an output is read where its module is called."""
    match = MODULES.match(text)
    if match is None:
        return ""
    if "." in text[match.end() :]:
        return match.group()
    return text[: [step.start() for step in MODULE.finditer(text)][-1]]
