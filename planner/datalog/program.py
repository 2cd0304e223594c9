"""Program: rule files, parsed, checked, put into strata and compiled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from planner.datalog import checks
from planner.datalog.compile import Compiled, compile_program, namespace
from planner.datalog.link import Linker
from planner.datalog.model import Predicate, Rule, Stratum
from planner.datalog.strata import dependencies, stratify
from planner.datalog.types import column_types
from planner.syntax.rule_parse import parse_rules
from planner.vocabulary.diagnostic import Diagnostic, has_errors

if TYPE_CHECKING:
    from planner.datalog.point import Point


class Program:
    """Checked rules. `predicates` by name, `rules` by number, `strata` lowest first. Does not change."""

    def __init__(self, predicates: dict[str, Predicate], rules: list[Rule], strata: list[Stratum]) -> None:
        self.predicates, self.rules, self.strata = predicates, rules, strata
        self._compiled: Compiled | None = None
        self._code: CodeType | None = None
        self._functions: dict[str, Any] | None = None
        self._needed: dict[frozenset[str] | None, frozenset[int]] = {}

    @classmethod
    def load(
        cls, files: Sequence[tuple[str, str]], core: Collection[str] | None = None
    ) -> tuple[Program | None, list[Diagnostic]]:
        """Parse, check and stratify rule files given as (name, text). Names are as diagnostics print them; without
        `.dl` they begin the names of rules (`graph/references.dl` gives `graph/references.1`...).

        `core` are the names of the files that belong to the product: other files may not change what those declare,
        except by adding rules to predicates declared `.open`. None: all files are equal.

        The program is None if a diagnostic is an error."""
        diagnostics: list[Diagnostic] = []
        linker = Linker(core)
        parsed = []
        for name, text in files:
            file, problems = parse_rules(name, text)
            parsed.append(file)
            diagnostics += problems
        linker.link(parsed)
        diagnostics += linker.diagnostics
        diagnostics += checks.unknown_predicates(linker.rules, linker.predicates)
        diagnostics += checks.arity(linker.rules, linker.predicates)
        diagnostics += checks.form(linker.rules)
        diagnostics += checks.rule_names(linker.rules)
        diagnostics += checks.reasons(linker.rules)
        if not has_errors(diagnostics):
            diagnostics += checks.derived(linker.rules, linker.predicates)
            diagnostics += checks.unsafe(linker.rules)
            diagnostics += column_types(linker.rules, linker.predicates)
            strata, problems = stratify(list(linker.predicates.values()), linker.rules)
            diagnostics += problems
            if not has_errors(diagnostics):
                diagnostics += checks.computed_recursion(linker.rules, strata)
        if has_errors(diagnostics):
            return None, _in_order(diagnostics)
        diagnostics += checks.single_use(linker.rules)
        diagnostics += checks.unread(linker.rules, linker.predicates)
        diagnostics += checks.unproduced(linker.rules, linker.predicates)
        return cls(linker.predicates, linker.rules, strata), _in_order(diagnostics)

    def point(self, want: Iterable[str]) -> Point:
        """A function that evaluates the rules for `want` over a handful of facts in some ten microseconds; for rules
        without recursion. See point.py."""
        from planner.datalog.point import compile_point

        return compile_point(self, want)

    # -------- names

    def rule(self, name: str) -> Rule:
        """The rule with this name. Raises KeyError."""
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(name)

    def rules_for(self, predicate: str) -> list[Rule]:
        """The rules that derive a predicate, in the order of the files."""
        return [rule for rule in self.rules if rule.head.predicate == predicate]

    # -------- code

    @property
    def compiled(self) -> Compiled:
        if self._compiled is None:
            self._compiled = compile_program(self.predicates, self.rules, self.strata)
        return self._compiled

    @property
    def functions(self) -> dict[str, Any]:
        """The compiled functions by name."""
        if self._functions is None:
            if self._code is None:
                self._code = compile(self.compiled.source, "<rules>", "exec")
            found = namespace()
            exec(self._code, found)
            self._functions = found
        return self._functions

    def needed(self, want: Iterable[str] | None) -> frozenset[int]:
        """The numbers of the predicates that have to be known to derive those in `want` (None: all). Raises KeyError
        for a name that is not declared."""
        key = None if want is None else frozenset(want)
        known = self._needed.get(key)
        if known is None:
            known = self._needed[key] = self._search(key)
        return known

    def _search(self, want: frozenset[str] | None) -> frozenset[int]:
        if want is None:
            return frozenset(p.number for p in self.predicates.values())
        graph = dependencies(self.predicates.values(), self.rules)
        waiting = [self.predicates[name].name for name in want]
        found = set(waiting)
        while waiting:
            for name in graph[waiting.pop()]:
                if name not in found:
                    found.add(name)
                    waiting.append(name)
        return frozenset(self.predicates[name].number for name in found)


def _in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """By file in the order given, then by place; each once."""
    files: dict[str, int] = {}
    for d in diagnostics:
        if d.subject:
            files.setdefault(d.subject.filename, len(files))

    def place(d: Diagnostic) -> tuple[int, int, str]:
        return (files[d.subject.filename], d.subject.start, d.code) if d.subject else (-1, 0, d.code)

    unique = {(d.code, d.detail, place(d)): d for d in diagnostics}
    return sorted(unique.values(), key=place)
