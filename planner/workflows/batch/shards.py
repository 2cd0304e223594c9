"""One command whose units are distributed among jobs that share only the configuration (-shard=3/20).

Every job computes the units of all shards on its own: the selected units form a line, in which connected ones are
adjacent, and rules/batch/shards.dl cut it. A unit whose outputs another shard's unit reads is planned there as well,
for its values alone, without a lock and without a report; joining (join.py) checks that both saw the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from planner.foundation.support.fast_json import orjson
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.release import RELEASE
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import batch_program
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.model import FinishedUnit, ShardSummary, Share
from planner.workflows.batch.saved_plan import files_of


def share(analysis: Analysis, number: int, count: int) -> Share:
    """The work of the job with a number, according to the rules."""
    line, groups = in_line(analysis)
    facts = FactBuilder()
    facts.add("command", analysis.command)
    facts.add("shard_count", count)
    facts.add("this_shard", number)
    for position, unit in enumerate(line):
        facts.add("in_line", unit, position)
        facts.add("connected", unit, *groups[unit])
        for other in analysis.reads_from.get(unit, ()):
            if other in groups:
                facts.add("sees_outputs", unit, other)
    result = evaluate(batch_program(), facts.build(), ("in_shard", "planned_beside"))
    own, beside = (frozenset(str(unit) for (unit,) in result[name]) for name in ("in_shard", "planned_beside"))
    return Share(number, count, own, beside)


def in_line(analysis: Analysis) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """The selected units in a line, and for each the place of the first that it is connected with, and how many these
    are. Connected units are adjacent, by the first name; each unit comes behind the one that it depends on (the latest
    of them), so that units with a common dependency are separated as rarely as possible."""
    before = {unit: [o for o in analysis.before.get(unit, ()) if o in analysis.selected] for unit in analysis.selected}
    followers: dict[str, list[str]] = {unit: [] for unit in before}
    for unit, others in before.items():
        if others:
            followers[min(others, key=lambda other: (-analysis.waves.get(other, 0), other))].append(unit)
    trees = {unit: _tree(unit, followers) for unit, others in before.items() if not others}
    root_of = {unit: root for root, units in trees.items() for unit in units}
    joined: dict[str, str] = {root: root for root in trees}

    def first(root: str) -> str:
        while joined[root] != root:
            joined[root] = root = joined[joined[root]]
        return root

    for unit, others in before.items():
        for other in others:
            a, b = sorted((first(root_of[unit]), first(root_of[other])))
            joined[b] = a
    members: dict[str, list[str]] = {}
    for root in sorted(trees):
        members.setdefault(first(root), []).extend(trees[root])
    line: list[str] = []
    groups: dict[str, tuple[int, int]] = {}
    for name in sorted(members):
        groups |= dict.fromkeys(members[name], (len(line), len(members[name])))
        line += members[name]
    return line, groups


def _tree(root: str, followers: Mapping[str, list[str]]) -> list[str]:
    result, waiting = [], [root]
    while waiting:
        unit = waiting.pop()
        result.append(unit)
        waiting += sorted(followers[unit], reverse=True)
    return result


def part_of(
    analysis: Analysis,
    own: Share,
    done: Mapping[str, FinishedUnit],
    asked: object,
    surveyed: Mapping[str, Iterable[str]],
) -> ShardSummary:
    """The data for joining. `asked`: the other options of the command line, as plain data without values; `surveyed`:
    the files of units' configurations."""
    units = analysis.fleet.units
    files = {unit: files_of(analysis.fleet.root, surveyed[unit], ()) for unit in sorted(analysis.selected)}
    said = [
        [RELEASE, analysis.command, own.count, asked],
        [[u, units[u].folder, units[u].workspace, sorted(analysis.before.get(u, ())), files[u]] for u in files],
    ]
    digest = blake2b(orjson.dumps(said), digest_size=16).hexdigest()
    beside = {unit: done[unit] for unit in sorted(own.beside) if unit in done}
    before = {unit: tuple(sorted(analysis.before.get(unit, ()))) for unit in sorted(own.units)}
    return ShardSummary(own.number, own.count, len(analysis.selected), digest, beside, before)


def share_analysis(analysis: Analysis, number: int, count: int) -> Analysis:
    """An analysis that knows what the job does."""
    return evolve(analysis, share=share(analysis, number, count))
