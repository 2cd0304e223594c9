"""What the compiler makes and the evaluator runs."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from planner.logic.datalog.language.values import FALSE, TRUE, Fraction, Row, Rows


class CompiledIndex(NamedTuple):
    """The rows of a predicate by some columns (`keys`): a dictionary to the list of the rows, or, when none of their
    other columns is used (not `has_rows`), a set of keys. One column stands for itself, several as a tuple."""

    predicate: int
    arity: int
    keys: tuple[int, ...]
    has_rows: bool


class CompiledFunction(NamedTuple):
    """A compiled rule: `f<number>(R, I, D, O)`. `head` is the predicate it derives, `delta` the one that D belongs to
    (-1: none), `needs` the indexes it reads, `positives` the predicates without whose rows it derives nothing, `reads`
    all that it reads; `constants` are its positive atoms with constants: the predicate, columns and values;
    `head_columns` are the constants of its head, None for a column that any value may stand in."""

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
    """A stratum, compiled. `native` is the operator's name or empty, then `inputs` are its predicates."""

    predicates: tuple[int, ...]
    is_recursive: bool
    functions: tuple[CompiledFunction, ...]
    native: str
    inputs: tuple[int, ...]


class Look(NamedTuple):
    """What the rules look at in a column: the `constants` that stand there; whether its values are `compared` with
    others, computed with or counted, directly or further on; whether they are `shown` in a result."""

    constants: frozenset[object] = frozenset()
    compared: bool = False
    shown: bool = False


UNSEEN = Look()


class CompiledRules(NamedTuple):
    """The program as code: `source` defines the functions f0, f1... and the index builders x0, x1... `reads` are the
    numbers of the predicates that each predicate, by number, depends on directly; `looks` says of inputs, by name, what
    the rules look at in their columns; `uses` are the built-in functions (module, name) that it needs loaded."""

    source: str
    steps: list[CompiledStratum]
    indexes: list[CompiledIndex]
    reads: list[tuple[int, ...]]
    looks: dict[str, tuple[Look, ...]]
    uses: tuple[tuple[str, str], ...] = ()


def chosen(rows: Rows, passed: list[Row]) -> Rows:
    """The rows that passed, as a relation: that which they were taken from, when all did."""
    return rows if len(passed) == len(rows) else dict.fromkeys(passed)


def called(module: str, attribute: str) -> str:
    """What generated code calls a built-in function of another module than functions.py."""
    return f"b_{module}_{attribute}"


def namespace(uses: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The globals of generated code: the functions of functions.py, those of `uses`, and a few constants."""
    from planner.logic.datalog.language import functions

    names: dict[str, Any] = {n: getattr(functions, n) for n in dir(functions) if n.islower() and n[0] != "_"}
    for module, attribute in uses:
        names[called(module, attribute)] = getattr(import_module(f"planner.logic.datalog.language.{module}"), attribute)
    return {**names, "chosen": chosen, "E": (), "ONE": (0,), "Fraction": Fraction, "TRUE": TRUE, "FALSE": FALSE}
