"""Facts to Graph: evaluate the graph rules for one walk."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from planner.foundation.support.disk import read_text
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.graph.from_relations import WANTED, read_graph
from planner.logic.graph.vertex_names import SPOKEN, SPOKEN_AT_FIRST
from planner.logic.model.graph import Graph
from planner.logic.programs.rule_files import Files, load

if TYPE_CHECKING:
    from pathlib import Path

_SMALL = 5000
"""facts; so few are dealt with in less time than it takes to find out which rules they leave aside"""


def graph_program(own: Files = ()) -> RuleProgram:
    """The rules of rules/inputs, rules/graph and rules/apply, together with the user's own. Raises Failure when a file
    is broken."""
    return _graph_program(own)


@cache
def _graph_program(own: Files) -> RuleProgram:  # without a default: one entry for no rules, given or left out
    program, diagnostics = load("graph", own)
    if program is None:
        raise Failure([d for d in diagnostics if d.is_error])
    return program


def user_files(folders: tuple[str, ...]) -> Files:
    """(path, text) of the rule files in users' folders, sorted within each. Raises Failure for what cannot be read."""
    found: list[tuple[str, str]] = []
    problems: list[Diagnostic] = []
    for folder in folders:
        for path in _rule_files(folder, problems):
            try:
                found.append((str(path), read_text(path)))
            except (OSError, ValueError) as problem:
                problems.append(error("rules.unreadable", "Cannot read a rule file", f"{path}: {problem}."))
    if problems:
        raise Failure(problems)
    return tuple(found)


def _rule_files(folder: str, problems: list[Diagnostic]) -> list[Path]:
    from pathlib import Path

    if not Path(folder).is_dir():
        problems.append(error("rules.no_folder", "No such folder of rules", f"{folder} is not a directory."))
    return sorted(Path(folder).glob("*.dl"))


def _try_out(program: RuleProgram, facts: FactBase, want: Iterable[str] | None, name: str) -> None:
    from planner.logic.datalog.tools.suite import try_out

    try_out(program, facts, want, name)


ASKED = (*SPOKEN, *SPOKEN_AT_FIRST, "waits_for")
"""the relations that only questions need"""


def build_graph(facts: FactBase, everything: bool = False, own: Files = (), more: tuple[str, ...] = ()) -> Graph:
    """The graph that the rules derive from the facts of one walk, with `more` relations than a walk needs; with
    `everything`, all of them. `own`: rule files of the user's."""
    program = graph_program(own)
    want = None if everything else (*WANTED, *more)
    if own:
        _try_out(program, facts, want, ", ".join(name for name, _ in own))
    if len(facts) > _SMALL:
        return read_graph(program, evaluate(program, facts, want, let_go=True))
    return _lately_built(program, facts, want) or _remember(read_graph(program, evaluate(program, facts, want)), want)


def graph_with(program: RuleProgram, facts: FactBase, predicate: str) -> Graph:
    """The graph together with a relation that no walk needs."""
    return read_graph(program, evaluate(program, facts, (*WANTED, *SPOKEN, predicate)))


_lately: deque[tuple[tuple[str, ...] | None, Graph]] = deque(maxlen=4)
"""small graphs, each with what was wanted: many root modules of a fleet look alike"""


def _lately_built(program: RuleProgram, facts: FactBase, want: tuple[str, ...] | None) -> Graph | None:
    """A graph that was derived from the same facts of another root module."""
    for wanted, graph in tuple(_lately):
        if wanted == want and graph.program is program and graph.database.facts.says_the_same(facts):
            return evolve(graph, database=graph.database.of_same_facts(facts))
    return None


def _remember(graph: Graph, want: tuple[str, ...] | None) -> Graph:
    _lately.append((want, graph))
    return graph
