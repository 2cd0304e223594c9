"""The environment in which compiled expressions run, and the compiler's state.

Errors do not stop an evaluation: a part that fails is unknown and adds its error to a list, so that all problems of an
expression are reported at once. Code that does not need the part (a branch that is not taken, or `try`) drops its
errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from planner.foundation.values.value import Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.span import Source, Span
from planner.language.expressions.scope import Scope
from planner.language.functions.protocol import EvaluateTemplate
from planner.language.syntax import nodes

NO_SOURCE = Source("<expression>", "")


parse_type: Callable[[Any, Any], tuple[Any, list[Diagnostic]]] | None = None
"""parses type constraints in expressions; set by planner.language.expressions.constraints"""


class Environment:
    """The state of one evaluation. `node`: the expression; `program` does not refer to it, because this would create a
    reference cycle. `errors`: problems so far. `refused`: errors of invalid references, which must never be dropped.
    `slots`: current values of `for` variables and splat elements, by slot number. `evaluate_template`: renders
    templates, for functions such as `templatefile`."""

    __slots__ = ("errors", "evaluate_template", "node", "program", "refused", "scope", "slots", "source")

    def __init__(
        self, node: Any, program: Program, scope: Scope, source: Source | None, evaluate_template: EvaluateTemplate
    ) -> None:
        self.node = node
        self.program = program
        self.scope = scope
        self.source = source or NO_SOURCE
        self.errors: list[Diagnostic] = []
        self.refused: list[Diagnostic] = []
        self.slots: list[Value] = [None] * program.slots
        self.evaluate_template = evaluate_template

    def report(self, code: str, summary: str, detail: str, start: int, end: int, called: str = "") -> None:
        """Add an error about the text from start to end, with the values of the names in this text. `called`: the
        function whose call failed."""
        from planner.language.expressions.operands import operands_at

        values = operands_at(self, start, end)
        span = Span(self.source, start, end)
        self.errors.append(error(f"language.{code}", summary, detail, span, values=values, called=called))

    def take(self, before: int) -> list[Diagnostic]:
        """Remove and return the errors after the first `before`."""
        errors = self.errors
        if len(errors) == before:
            return []
        taken = errors[before:]
        del errors[before:]
        return taken

    def visit(self, *runs: Run) -> None:
        """Evaluate parts of a failed expression, only to find invalid references; other errors are dropped."""
        before = len(self.errors)
        for run in runs:
            run(self)
        del self.errors[before:]


Run = Callable[[Environment], Value]
Reference = nodes.Traversal | nodes.Variable


class Program:
    """A compiled expression. `references`: all references that the scope resolves. `lazy`: the references that an
    evaluation may skip. `local_names`: (start, end, {name: slot}) of each range with local names, outer before
    inner."""

    __slots__ = ("lazy", "local_names", "references", "run", "slots")

    def __init__(
        self,
        run: Run,
        slots: int,
        references: list[Reference],
        lazy: list[Reference],
        local_names: list[tuple[int, int, dict[str, int]]],
    ) -> None:
        self.run = run
        self.slots = slots
        self.references = references
        self.lazy = lazy
        self.local_names = local_names


def constant(value: Value) -> Run:
    """A closure that returns a constant."""

    def run(env: Environment) -> Value:
        return value

    run.constant = value  # type: ignore[attr-defined]
    return run


def constants(runs: Sequence[Run]) -> list[Value] | None:
    """The values of the closures if all are constant, otherwise None."""
    try:
        return [run.constant for run in runs]  # type: ignore[attr-defined]
    except AttributeError:
        return None


def start_range(node: Any, source: Source) -> tuple[int, int]:
    """The beginning of an expression: the position of an error about a function's argument (StartRange in HCL)."""
    cls = node.__class__
    if cls is nodes.Literal and node.value.__class__ is str and source.text.startswith('"', node.start):
        return (node.start + 1, node.end - 1) if node.value else (node.end, node.end)  # inside the quotes
    if cls is nodes.Call:
        return node.start, node.open + 1
    if cls is nodes.Conditional or cls is nodes.TemplateIf:
        return start_range(node.condition, source)
    if cls is nodes.Index:
        return node.bracket, node.bracket + 1
    if cls is nodes.Tuple or cls is nodes.Object:
        return node.start, node.start + 1
    if cls is nodes.For:
        return node.start, node.open_end
    if cls is nodes.TemplateFor:
        return node.start, source.text.find("}", node.collection.end) + 1
    if cls is nodes.Splat:
        return node.marker_start, node.marker_end
    if cls is nodes.Template and node.parts:
        return start_range(node.parts[0], source)
    if cls is nodes.Binary:
        return start_range(node.left, source)
    if cls is nodes.Unary:
        return node.start, node.start + 1
    if cls is nodes.Parens:
        return start_range(node.expr, source)
    return node.start, node.end


# The state of a compilation, and a table with the compile function of each kind of node.


class Compiler:
    """Compiles one expression, and tracks the local names in scope, each of which has a slot."""

    def __init__(self) -> None:
        self.slots = 0
        self.locals: dict[str, int] = {}
        # slots of the name K in `for K, V in ...`; the value of K is an index if the collection is a list
        self.index_slots: set[int] = set()
        self.element = -1  # the slot of the innermost splat's current element
        self.laziness = 0
        self.references: list[Reference] = []
        self.lazy: list[Reference] = []
        self.local_names: list[tuple[int, int, dict[str, int]]] = []

    def compile(self, node: Any) -> Run:
        return COMPILERS[node.__class__](self, node)

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def note_reference(self, node: Reference) -> None:
        self.references.append(node)
        if self.laziness:
            self.lazy.append(node)


Compile: TypeAlias = Callable[[Compiler, Any], Run]
COMPILERS: dict[type, Compile] = {}
"""compile functions by node class; planner.language.expressions.evaluate registers them"""
