"""Words that select units, as facts for rules/batch/selection.dl: names, patterns, `tag:X`, `group:X`, `changed:REV`,
and `deps(...)` and `rdeps(...)` of these."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from attrs import frozen

from planner.batch.git import changed_files
from planner.batch.model import Fleet
from planner.datalog.engine.fact_base import FactBuilder
from planner.model.sources import CommandLine
from planner.vocabulary.diagnostic import Failure, error
from planner.vocabulary.nearest import did_you_mean

_REACH = re.compile(r"(deps|rdeps)\((.*)\)$")
_REACH_FACTS = {"deps": "asks_dependencies", "rdeps": "asks_dependents"}


@frozen
class Selection:
    """What a command line selects: selectors are united; the others narrow what they give."""

    selectors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    changed: str = ""
    excludes: tuple[str, ...] = ()


def select(facts: FactBuilder, fleet: Fleet, selection: Selection) -> bool:
    """Add the facts of a selection; whether it asks about changes. Raises Failure for a word that names nothing."""
    if not selection.selectors:
        facts.add("asks_all", source=CommandLine("all units"))
    revisions = {selection.changed} - {""}
    for word in selection.selectors:
        revisions |= _selector(facts, fleet, word)
    if len(revisions) > 1:
        detail = f"Changes can be asked for since one revision at a time, not since {' and '.join(sorted(revisions))}."
        raise Failure(error("batch.revisions", "Several revisions", detail))
    for tag in selection.tags:
        _known("tag", tag, (tag for unit in fleet.units.values() for tag in unit.tags))
        facts.add("only_tag", tag, source=CommandLine(f"-tag={tag}"))
    for group in selection.groups:
        _known("group", group, (group for unit in fleet.units.values() for group in unit.groups))
        facts.add("only_group", group, source=CommandLine(f"-group={group}"))
    if selection.changed:
        facts.add("only_changed", source=CommandLine(f"-changed={selection.changed}"))
    for pattern in selection.excludes:
        for name in _matching(fleet, pattern):
            facts.add("excluded_unit", name, pattern, source=CommandLine(f"-exclude={pattern}"))
    for revision in sorted(revisions):
        for file in changed_files(fleet.root, revision):
            facts.add("changed_file", file, source=CommandLine(f"git diff {revision}"))
    return bool(revisions)


def _selector(facts: FactBuilder, fleet: Fleet, word: str) -> set[str]:
    """The facts of one selector; the revisions that it asks about."""
    inner, source = word, CommandLine(word)
    match = _REACH.match(word)
    if match is not None:
        facts.add(_REACH_FACTS[match[1]], word, source=source)
        inner = match[2].strip()
    kind, colon, value = inner.partition(":")
    if colon and kind == "tag":
        _known("tag", value, (tag for unit in fleet.units.values() for tag in unit.tags))
        facts.add("asks_tag", word, value, source=source)
    elif colon and kind == "group":
        _known("group", value, (group for unit in fleet.units.values() for group in unit.groups))
        facts.add("asks_group", word, value, source=source)
    elif colon and kind == "changed":
        facts.add("asks_changed", word, source=source)
        return {value}
    else:
        for part in inner.split(","):
            for name in _matching(fleet, part.strip()):
                facts.add("names", word, name, source=source)
    return set()


def _known(kind: str, name: str, names: Iterable[str]) -> None:
    """Raises Failure for a tag or group that no unit has."""
    known = set(names)
    if name not in known:
        detail = f"No unit has the {kind} {name}.{did_you_mean(name, known)}"
        raise Failure(error(f"batch.unknown_{kind}", f"Unknown {kind}", detail))


def _matching(fleet: Fleet, pattern: str) -> Iterable[str]:
    """The units that a name or pattern stands for. Raises Failure when there is none."""
    if pattern in fleet.units:
        return [pattern]
    units = [name for name in fleet.units if fnmatchcase(name, pattern)]
    if not units:
        detail = f"No unit is called {pattern}.{did_you_mean(pattern, fleet.units)}"
        raise Failure(error("batch.unknown_unit", "Unknown unit", detail))
    return units
