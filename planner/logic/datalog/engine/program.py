"""Program: rule files, parsed, checked, put into strata and compiled (planner.logic.datalog.engine.cache loads
them)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any

from planner.foundation.vocabulary.records import evolve
from planner.logic.datalog.engine.compiled import CompiledRules, namespace
from planner.logic.datalog.language.model import Predicate, Rule, Stratum


class RuleProgram:
    """Checked rules. `predicates` by name, `strata` lowest first, `files` (name, text) as loaded. Does not change."""

    def __init__(
        self,
        predicates: dict[str, Predicate],
        strata: list[Stratum],
        compiled: CompiledRules,
        code: CodeType,
        rules: Callable[[], list[Rule]],
    ) -> None:
        self.predicates, self.strata, self.compiled, self.code = predicates, strata, compiled, code
        self.files: tuple[tuple[str, str], ...] = ()
        self._load_rules = rules
        self._rules: list[Rule] | None = None
        self._by_head: dict[str, list[Rule]] = {}
        self._functions: dict[str, Any] | None = None
        self._needed: dict[frozenset[str], frozenset[int]] = {}

    @property
    def rules(self) -> list[Rule]:
        """The rules by number, in the order of the files."""
        if self._rules is None:
            self._rules = self._load_rules()
        return self._rules

    def rule(self, name: str) -> Rule:
        """The rule with this name. Raises KeyError."""
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(name)

    def rules_for(self, predicate: str) -> Sequence[Rule]:
        """The rules that derive a predicate, in the order of the files."""
        if not self._by_head:
            for rule in self.rules:
                self._by_head.setdefault(rule.head.predicate, []).append(rule)
        return self._by_head.get(predicate, [])

    def beside(self, others: Mapping[str, Predicate]) -> RuleProgram:
        """The same with predicates of another program, under these names: for questions about what both derive. They
        are inputs here; whoever asks brings their rows (Database.beside)."""
        predicates = dict(self.predicates)
        for name, predicate in others.items():
            number = len(predicates)
            predicates[name] = evolve(predicate, number=number, name=name, is_input=True, operator=None, inputs=())
        reads = [*self.compiled.reads, *(() for _ in others)]
        compiled = self.compiled._replace(reads=reads)
        program = RuleProgram(predicates, self.strata, compiled, self.code, lambda: self.rules)
        program.files = self.files
        return program

    @property
    def functions(self) -> dict[str, Any]:
        """The compiled functions by name."""
        if self._functions is None:
            globals_ = namespace(self.compiled.uses)
            exec(self.code, globals_)
            self._functions = globals_
        return self._functions

    def needed(self, want: Iterable[str]) -> frozenset[int]:
        """The numbers of the predicates that have to be known to derive those in `want`. Raises KeyError for a name
        that is not declared."""
        key = frozenset(want)
        known = self._needed.get(key)
        if known is None:
            starts = [self.predicates[name].number for name in key]
            known = self._needed[key] = frozenset(reached(starts, self.compiled.reads.__getitem__))
        return known


def reached(starts: Iterable[int], reads: Callable[[int], Iterable[int]]) -> set[int]:
    """Predicates, by number, with all that they read, directly or through others."""
    waiting = list(starts)
    numbers = set(waiting)
    while waiting:
        for number in reads(waiting.pop()):
            if number not in numbers:
                numbers.add(number)
                waiting.append(number)
    return numbers
