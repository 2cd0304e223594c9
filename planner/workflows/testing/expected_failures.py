"""Failures that a run expects."""

from __future__ import annotations

from collections.abc import Iterable

from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, warning
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Reference
from planner.language.config.reading import steps_of
from planner.language.config.references import BadReference, Ref, parse_reference
from planner.language.config.test_files.model import TestRun
from planner.language.syntax.nodes import Traversal
from planner.workflows.testing.decisions import counts_as

_ALLOWED = (
    "You can only expect failures from checkable objects such as input variables, output values, check blocks, managed "
    "resources and data sources."
)


@frozen
class Expectation:
    """An object that is expected to fail. `text`: its name in messages. `covers_instances`: whether the object is a
    resource, so that a failure of any of its instances is expected."""

    address: str
    text: str
    span: Span
    covers_instances: bool = False

    def covers(self, address: str) -> bool:
        """Whether a failure of the object with this address is expected."""
        return address == self.address or (self.covers_instances and address.startswith(f"{self.address}["))


def expectations(run: TestRun) -> tuple[tuple[Expectation, ...], list[Diagnostic]]:
    """The expected failures of a run, and errors for objects that cannot be expected to fail."""
    table: dict[str, Expectation] = {}
    problems: list[Diagnostic] = []
    for reference in run.expected:
        expected = _expectation(reference)
        if isinstance(expected, Diagnostic):
            problems.append(expected)
        else:
            table[expected.address] = expected
    return tuple(table.values()), problems


def _expectation(reference: Reference) -> Expectation | Diagnostic:
    node = reference.node
    steps = steps_of(node)
    root = str(steps[0].value)
    if root in ("output", "check"):
        if len(steps) < 2 or steps[1].is_index:
            detail = f'The "{root}" object cannot be accessed directly. Instead, access one of its attributes.'
            return error("test.reference", "Invalid reference", detail, reference.span)
        assert isinstance(node, Traversal)
        address = f"{root}.{steps[1].value}"
        return Expectation(address, address, Span(reference.source, node.start, node.steps[0].end))
    ref = parse_reference(node)
    if isinstance(ref, BadReference):
        return error("test.reference", ref.summary, ref.detail, Span(reference.source, ref.start, ref.end))
    span = Span(reference.source, ref.start, ref.end)
    if ref.kind == "var":
        return Expectation(f"var.{ref.name}", f"var.{ref.name}", span)
    if ref.kind == "resource" and ref.mode != "ephemeral":
        address = ref.name + format_key(ref.key)
        return Expectation(address, address, span, covers_instances=ref.key is None)
    detail = f"You cannot expect failures from {_name(ref)}. {_ALLOWED}"
    return error("test.expectation", "Invalid `expect_failures` reference", detail, span)


def _name(ref: Ref) -> str:
    if ref.kind == "resource":
        return ref.name + format_key(ref.key)
    if ref.kind == "output":
        return f"module.{ref.name}{format_key(ref.key)}.{ref.output}"
    return f"{ref.kind}.{ref.name}{format_key(ref.key)}"


def settle(problems: Iterable[Diagnostic], expected: tuple[Expectation, ...]) -> list[Diagnostic]:
    """The diagnostics to report. Expected failures are removed, and the rules decide the severity of other problems. An
    error is added for each object that was expected to fail and did not fail."""
    met: set[str] = set()
    left: list[Diagnostic] = []
    for problem in problems:
        checked = problem.checked
        mine = [e for e in expected if checked is not None and e.covers(checked.address)]
        kind = counts_as(problem, bool(mine))
        if kind == "nothing":
            met.update(e.address for e in mine[:1])
        else:
            left.append(evolve(problem, severity="error" if kind == "error" else "warning"))
    for e in expected:
        if e.address not in met:
            detail = f"The checkable object, {e.text}, was expected to report an error but did not."
            left.append(error("test.no_failure", "Missing expected failure", detail, e.span))
    return left


def spoils_apply(problems: Iterable[Diagnostic], expected: tuple[Expectation, ...]) -> list[Diagnostic]:
    """Warnings that the run cannot be applied, one for each variable that failed as expected."""
    diagnostics = []
    for problem in problems:
        checked = problem.checked
        if checked is None or checked.kind != "input_variable":
            continue
        if any(e.covers(checked.address) for e in expected):
            detail = (
                f"Variable {checked.address}, has an invalid value within the test. Although this was an expected "
                "failure, it has meant the apply stage was unable to run so the overall test will fail."
            )
            diagnostics.append(warning("test.invalid_variable", "Invalid Variable in test file", detail))
    return diagnostics
