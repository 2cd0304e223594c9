"""Selectors of units as facts for rules/batch/selection.dl. A selector is a name or pattern of units or directories,
`tag:X`, `group:X`, `changed:REV`, `reading:FILE`, `outcome:WORD`, `deps(SET)` or `rdeps(SET)` with an optional depth,
or a combination of these with `+`, `&`, `-` and parentheses (planner/language/syntax/node_sets.py).

The rules derive the units of each set. For `A - B`, the units of B are derived first and become facts."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping
from fnmatch import fnmatchcase

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.node_sets import Combination, NodeSet, SetCall, SetName, parse_node_set
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.model.graph import CommandLine
from planner.workflows.batch import FOLDER
from planner.workflows.batch.facts import file_facts
from planner.workflows.batch.model import OUTCOMES, Fleet, Survey
from planner.workflows.batch.record import Record, is_run
from planner.world.git import revisions

_REACH = {"deps": "deps_of", "rdeps": "rdeps_of"}
_VERBS = dict.fromkeys(_REACH, 1)


@frozen
class Selection:
    """The selection of a command line: the union of the selectors (all units, if there are none), restricted by the
    other fields."""

    selectors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    changed: str = ""
    excludes: tuple[str, ...] = ()


def select(
    facts: FactBuilder, fleet: Fleet, surveys: Mapping[str, Survey], selection: Selection, program: RuleProgram
) -> bool:
    """Add the facts about a selection to `facts`. Returns whether facts about files that units read were also added.
    Raises Failure for a selector that matches nothing."""
    return _Selecting(facts, fleet, surveys, program).all(selection)


class _Selecting:
    def __init__(self, facts: FactBuilder, fleet: Fleet, surveys: Mapping[str, Survey], program: RuleProgram) -> None:
        self.facts, self.fleet, self.surveys, self.program = facts, fleet, surveys, program
        self.revisions: set[str] = set()
        self.has_files = False
        self.has_outcomes = False

    def all(self, selection: Selection) -> bool:
        facts, units = self.facts, self.fleet.units
        if selection.changed:
            self._select_changed(selection.changed)
            facts.add("only_changed", source=CommandLine(f"-changed={selection.changed}"))
        if not selection.selectors:
            facts.add("asks_all", source=CommandLine("all units"))
        for word in selection.selectors:
            facts.add("selector", self._word(word), source=CommandLine(word))
        for tag in selection.tags:
            _check_known("tag", tag, (tag for unit in units.values() for tag in unit.tags))
            facts.add("only_tag", tag, source=CommandLine(f"-tag={tag}"))
        for group in selection.groups:
            _check_known("group", group, (group for unit in units.values() for group in unit.groups))
            facts.add("only_group", group, source=CommandLine(f"-group={group}"))
        for word in selection.excludes:
            facts.add("excludes", self._word(word), source=CommandLine(f"-exclude={word}"))
        if selection != Selection():
            self._outcomes()
        return self.has_files

    # ------------------------------------------------------------ sets

    def _word(self, word: str) -> str:
        """Add the facts about a selector, and return the name of its set in these facts. Raises Failure."""
        if word in self.fleet.units:
            self.facts.add("name_matches", word, word, source=CommandLine(word))
            return word
        return self._set(parse_node_set(word, "units", _VERBS, commas_unite=True))

    def _set(self, node: NodeSet) -> str:
        if isinstance(node, SetName):
            self._leaf(node.text)
            return node.text
        if isinstance(node, SetCall):
            return self._call(node)
        return self._combination(node)

    def _call(self, node: SetCall) -> str:
        inner, name = self._set(node.arguments[0]), node.span.text
        source = CommandLine(name)
        self.facts.add(_REACH[node.verb], name, inner, source=source)
        if node.depth is None:
            self.facts.add("goes_far", name, source=source)
        else:
            for number in range(min(node.depth, len(self.fleet.units))):
                self.facts.add("depth_step", name, number, number + 1, source=source)
        return name

    def _combination(self, node: Combination) -> str:
        name, start = self._set(node.first), node.span.start
        for operator, other in node.others:
            second = self._set(other)
            whole = node.span.source.text[start : other.span.end]
            source = CommandLine(whole)
            if operator == "+":
                self.facts.add("unites", whole, name, source=source)
                self.facts.add("unites", whole, second, source=source)
            elif operator == "&":
                self.facts.add("in_both", whole, name, second, source=source)
            else:
                for item, unit in evaluate(self.program, self.facts.build(), ("in_set",))["in_set"]:
                    if item == second:
                        self.facts.add("taken_away", whole, unit, source=CommandLine(second))
                self.facts.add("takes_from", whole, name, source=source)
            name = whole
        return name

    # ------------------------------------------------------------ leaves

    def _leaf(self, text: str) -> None:
        kind, colon, value = text.partition(":")
        asked = _ASKED.get(kind) if colon and text not in self.fleet.units else None
        if asked is None:
            for name in _matching(self.fleet, text):
                self.facts.add("name_matches", text, name, source=CommandLine(text))
            return
        asked(self, text, value)

    def _tag(self, text: str, value: str) -> None:
        _check_known("tag", value, (tag for unit in self.fleet.units.values() for tag in unit.tags))
        self.facts.add("asks_tag", text, value, source=CommandLine(text))

    def _group(self, text: str, value: str) -> None:
        _check_known("group", value, (group for unit in self.fleet.units.values() for group in unit.groups))
        self.facts.add("asks_group", text, value, source=CommandLine(text))

    def _revision(self, text: str, value: str) -> None:
        self._select_changed(value)
        self.facts.add("asks_changed", text, source=CommandLine(text))

    def _select_changed(self, revision: str) -> None:
        if revision in self.revisions:
            return
        self.revisions.add(revision)
        if len(self.revisions) > 1:
            names = " and ".join(sorted(self.revisions))
            detail = f"Only one revision can be used to select changes, not {names}."
            raise Failure(error("batch.revisions", "Several revisions", detail))
        self._files()
        for file in changed_files(self.fleet.root, revision):
            self.facts.add("changed_file", file, source=CommandLine(f"git diff {revision}"))

    def _files(self) -> None:
        if not self.has_files:
            self.has_files = True
            file_facts(self.facts, self.fleet, self.surveys)

    def _reading(self, text: str, value: str) -> None:
        self._files()
        files = {row[1] for row in self.facts.build().relation("reads_file")}
        wanted = value.removeprefix("./")
        items = sorted(file for file in files if file == wanted or fnmatchcase(file, wanted))
        if not items:
            detail = f"No unit reads a file {value}.{did_you_mean(wanted, files)}"
            raise Failure(error("batch.unknown_file", "Unknown file", detail))
        for file in items:
            self.facts.add("asks_file", text, file, source=CommandLine(text))

    def _outcome(self, text: str, value: str) -> None:
        if value not in OUTCOMES:
            detail = f"{value} is not an outcome.{did_you_mean(value, OUTCOMES)} Outcomes are {', '.join(OUTCOMES)}."
            raise Failure(error("batch.unknown_outcome", "Unknown outcome", detail))
        self._outcomes()
        self.facts.add("asks_outcome", text, value, source=CommandLine(text))

    def _outcomes(self) -> None:
        if self.has_outcomes:
            return
        self.has_outcomes = True
        for unit, (outcome, run) in sorted(last_outcomes(self.fleet.root, self.fleet.units).items()):
            self.facts.add("last_outcome", unit, outcome, source=CommandLine(f"run {run}"))


_ASKED: dict[str, Callable[[_Selecting, str, str], None]] = {
    "tag": _Selecting._tag,
    "group": _Selecting._group,
    "changed": _Selecting._revision,
    "reading": _Selecting._reading,
    "outcome": _Selecting._outcome,
}


def _check_known(kind: str, name: str, names: Iterable[str]) -> None:
    """Raises Failure if no unit has the tag or group."""
    known = set(names)
    if name not in known:
        detail = f"No unit has the {kind} {name}.{did_you_mean(name, known)}"
        raise Failure(error(f"batch.unknown_{kind}", f"Unknown {kind}", detail))


def _matching(fleet: Fleet, pattern: str) -> Iterable[str]:
    """The units that a name or pattern matches. The name of a block with for_each matches all of its units. Raises
    Failure if no unit matches."""
    if pattern in fleet.units:
        return [pattern]
    repeated = [name for name, unit in fleet.units.items() if unit.called and unit.called[0] == pattern]
    wanted = pattern.removeprefix("./").rstrip("/")
    units = repeated or [
        name for name, unit in fleet.units.items() if fnmatchcase(name, pattern) or fnmatchcase(unit.folder, wanted)
    ]
    if not units:
        kind, colon, _ = pattern.partition(":")
        hint = did_you_mean(kind, _ASKED) if colon else did_you_mean(pattern, fleet.units)
        raise Failure(error("batch.unknown_unit", "Unknown unit", f"No unit matches {pattern}.{hint}"))
    return units


# Files that differ from a revision according to git, including untracked files.


def changed_files(root: str, revision: str) -> list[str]:
    """The sorted paths, relative to `root`, of the files in the git repository of `root` that differ from the revision
    or are untracked. Raises Failure if git fails, or if the revision begins with "-"."""
    if revision.startswith("-"):
        raise Failure(error("batch.revision", "Not a revision", f'"{revision}" is an option, not a revision.'))
    top = _git(root, "rev-parse", "--show-toplevel").rstrip("\n")
    differing = _git(root, "diff", "--no-ext-diff", *_DIFF, revision, "--", top)
    unknown = _git(top, "ls-files", "--others", "--exclude-standard", "-z")
    names = {name for name in (*differing.split("\0"), *unknown.split("\0")) if name}
    return sorted(os.path.relpath(os.path.join(os.path.realpath(top), n), os.path.realpath(root)) for n in names)


_DIFF = ("--no-textconv", "--ignore-submodules=dirty", "--name-only", "--no-renames", "-z")


def _git(folder: str, *words: str) -> str:
    try:
        return revisions.run(folder, words)[0]
    except revisions.GitError as problem:
        raise Failure(error("batch.git", "Cannot determine changes", f"git {words[0]} failed: {problem}")) from None


# Outcomes of units in recent runs, from the records of a fleet.


MOST = 50
"""maximum number of runs to read, newest first"""
_TELLING = ("plan", "apply", "destroy")


def last_outcomes(root: str, units: Container[str]) -> dict[str, tuple[str, str]]:
    """{unit: (last outcome, run)} for these units in the newest MOST runs; runs of `batch validate` are ignored."""
    result: dict[str, tuple[str, str]] = {}
    try:
        names = sorted((n for n in os.listdir(os.path.join(root, FOLDER)) if is_run(n)), reverse=True)
    except OSError:
        return result
    for name in names[:MOST]:
        record = Record(root, name)
        try:
            if record.asked().get("command") not in _TELLING:
                continue
        except Failure:
            continue  # interrupted before it began
        ended: dict[str, str] = {}
        for event in record.events():
            if event["event"] == "finished":
                ended[event["unit"]] = event.get("outcome", "")
        for unit, outcome in ended.items():
            if unit in units:
                result.setdefault(unit, (outcome, name))
    return result
