"""RuleProgram: rule files that are parsed, checked, stratified and compiled. planner.logic.datalog.engine.cache loads
programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import CodeType
from typing import Any, NamedTuple

from planner.foundation.vocabulary.records import evolve
from planner.logic.datalog.language.model import Predicate, Rule, Stratum
from planner.logic.datalog.language.values import FALSE, TRUE, Fraction, Row, Rows


class RuleProgram:
    """Checked rules. `predicates`: {name: predicate}. `strata`: the lowest first. `compiled`: the compiled rules.
    `files`: (name, text) of the files from which the rules were loaded. A program is never changed."""

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
        """All rules, in the order of their numbers and of the files."""
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
        """A copy that also contains the predicates `others` of another program, so that queries can use the predicates
        of both programs. The added predicates are inputs, whose rows the caller provides (Database.beside)."""
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
        if self._functions is None:
            globals_ = namespace(self.compiled.uses)
            exec(self.code, globals_)
            self._functions = globals_
        return self._functions

    def needed(self, want: Iterable[str]) -> frozenset[int]:
        """The numbers of the predicates `want` and of all predicates on which they depend. Raises KeyError for an
        undeclared name."""
        key = frozenset(want)
        known = self._needed.get(key)
        if known is None:
            starts = [self.predicates[name].number for name in key]
            known = self._needed[key] = frozenset(reached(starts, self.compiled.reads.__getitem__))
        return known


def reached(starts: Iterable[int], reads: Callable[[int], Iterable[int]]) -> set[int]:
    """The numbers of the predicates `starts`, and of all predicates that they read, directly or indirectly."""
    waiting = list(starts)
    numbers = set(waiting)
    while waiting:
        for number in reads(waiting.pop()):
            if number not in numbers:
                numbers.add(number)
                waiting.append(number)
    return numbers


# The output of the compiler.


class CompiledIndex(NamedTuple):
    """An index of the rows of a predicate by the columns `keys`. It is a dictionary {key: rows} or, if rules use only
    these columns (not `has_rows`), a set of keys. If `keys` is only one column, a key is the value of this column,
    otherwise a tuple."""

    predicate: int
    arity: int
    keys: tuple[int, ...]
    has_rows: bool


class CompiledFunction(NamedTuple):
    """A compiled rule: the function `f<number>(R, I, D, O)`. `head`: the derived predicate. `delta`: the predicate
    whose new rows D contains (-1: none). `needs`: the indexes that the rule reads. `reads`: all predicates that the
    rule reads. `positives`: the predicates of positive atoms; if one of them has no rows, the rule derives no rows.
    `constants`: for each positive atom with constants, (predicate, ((column, value), ...)). `head_columns`: for each
    column of the head, (value,) if it is a constant, otherwise None."""

    number: int
    rule: int
    head: int
    delta: int
    needs: tuple[int, ...]
    positives: tuple[int, ...]
    reads: tuple[int, ...]
    constants: tuple[tuple[int, tuple[tuple[int, Any], ...]], ...]
    head_columns: tuple[tuple[Any, ...] | None, ...]


class CompiledStratum(NamedTuple):
    """A compiled stratum. `native`: the name of the native operator; "" if rules derive the stratum. `inputs`: the
    predicates that the operator reads."""

    predicates: tuple[int, ...]
    is_recursive: bool
    functions: tuple[CompiledFunction, ...]
    native: str
    inputs: tuple[int, ...]


class Look(NamedTuple):
    """The use of a column by the rules. `constants`: the constants with which rules compare its values. `compared`:
    whether its values are compared with other values, used in computations or counted, here or in a relation to which
    rules pass them. `shown`: whether its values occur in a result."""

    constants: frozenset[object] = frozenset()
    compared: bool = False
    shown: bool = False


UNSEEN = Look()


class CompiledRules(NamedTuple):
    """A compiled program. `source`: Python code that defines the functions f0, f1... of the rules, and the functions
    x0, x1... that add rows to indexes. `reads`: for each predicate, the numbers of the predicates on which it directly
    depends. `looks`: {input predicate: use of each of its columns}. `uses`: (module, name) of the built-in functions
    that must be loaded."""

    source: str
    steps: list[CompiledStratum]
    indexes: list[CompiledIndex]
    reads: list[tuple[int, ...]]
    looks: dict[str, tuple[Look, ...]]
    uses: tuple[tuple[str, str], ...] = ()


def rows_like(rows: Rows, passed: list[Row]) -> Rows:
    """The rows that passed a test, as a relation; the original relation `rows` if all its rows passed."""
    return rows if len(passed) == len(rows) else dict.fromkeys(passed)


def builtin_name(module: str, attribute: str) -> str:
    """The name in generated code of a built-in function that is not in functions.py."""
    return f"b_{module}_{attribute}"


def namespace(uses: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The global names of generated code: the functions of functions.py, the functions in `uses`, and a few
    constants."""
    from planner.logic.datalog.language import functions

    names: dict[str, Any] = {n: getattr(functions, n) for n in dir(functions) if n.islower() and n[0] != "_"}
    for module, attribute in uses:
        names[builtin_name(module, attribute)] = getattr(
            import_module(f"planner.logic.datalog.language.{module}"), attribute
        )
    return {**names, "chosen": rows_like, "E": (), "ONE": (0,), "Fraction": Fraction, "TRUE": TRUE, "FALSE": FALSE}
