"""Diagnostic: an error or warning as a value, which is formatted only for output.

The shape of `to_json` is the ecosystem's (`validate -json`, the UI lines of `plan -json`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.span import Span

Severity = Literal["error", "warning"]


@frozen
class CheckedObject:
    """The object with conditions in a diagnostic: `kind` is input_variable, output_value, resource or check, `rule`
    which of its conditions (validation, precondition, postcondition, output, assertion; data: the data source of a
    check). `was_error`: an error that became a warning because it belongs to a check."""

    kind: str
    address: str
    rule: str
    was_error: bool = False


@frozen
class Deprecation:
    """A deprecated object (`module.a.old`), its author's message, if any, and whether it belongs to a remote module. As
    the mark of a value: the value depends on the object."""

    by: str
    message: str = ""
    is_remote: bool = False


@frozen
class Diagnostic:
    """One problem. `code` is stable and short (`config.duplicate_resource`). `summary` is a title without a full stop.
    `detail` explains the problem, its cause and its remedy. `subject` is the span the caret points at; `context` is the
    wider block shown. `address`: the object concerned. `values`: lines like `var.x is 5` about expression operands.
    `called`: the function whose call failed. `is_check`: the diagnostic comes from a check block, and never represents
    others. `checked`: the object whose condition failed. `difference`: two values that should be equal. `because`: the
    origin of the values, step by step (planner.answers.explain.assertions). `deprecation`: the subject of the warning,
    which is reported once. `group`: only diagnostics with the same summary and group are combined."""

    severity: Severity
    code: str
    summary: str
    detail: str = ""
    subject: Span | None = None
    context: Span | None = None
    address: str | None = None
    values: tuple[tuple[str, str], ...] = ()
    called: str = ""
    is_check: bool = False
    checked: CheckedObject | None = None
    deprecation: Deprecation | None = None
    group: str = ""
    difference: tuple[Any, Any] | None = field(default=None, eq=False, repr=False)
    because: tuple[Any, ...] = field(default=(), eq=False, repr=False)

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    @property
    def line(self) -> str:
        """The diagnostic in one line: its place, title and the first sentence of its detail."""
        place = f"{self.subject.place}: " if self.subject is not None else ""
        first = self.detail.partition("\n")[0]
        return f"{place}{self.summary}{': ' if first else ''}{first}"

    def at(self, address: str) -> Diagnostic:
        """This diagnostic, about the object with this address unless it already names one."""
        return self if self.address else evolve(self, address=address)


def error(code: str, summary: str, detail: str = "", subject: Span | None = None, **more: Any) -> Diagnostic:
    return Diagnostic("error", code, summary, detail, subject, **more)


def warning(code: str, summary: str, detail: str = "", subject: Span | None = None, **more: Any) -> Diagnostic:
    return Diagnostic("warning", code, summary, detail, subject, **more)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    for d in diagnostics:  # noqa: SIM110 -- nearly always empty, and called several times for every object
        if d.is_error:
            return True
    return False


class Failure(Exception):
    """Carries diagnostics out of a deep call; each stage catches it at its border and returns the diagnostics."""

    def __init__(self, diagnostics: Iterable[Diagnostic] | Diagnostic) -> None:
        self.diagnostics = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        super().__init__()

    def __reduce__(self) -> tuple[Any, ...]:
        """For process pools, which pass exceptions on: by default an exception is made again from its `args`."""
        return type(self), (self.diagnostics,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __str__(self) -> str:
        """A line for each error, for programs that do not catch the exception; without errors, a line for each
        warning."""
        shown = [d for d in self.diagnostics if d.is_error] or self.diagnostics
        return "\n".join(d.line for d in shown)


# Diagnostics collected during an operation.


T = TypeVar("T")


class Diagnostics(list[Diagnostic]):
    """The diagnostics of a command, in order. Code that cannot continue raises Failure with the diagnostics not
    reported yet; `until_an_error` catches it, once for the whole command."""

    def check(self, problems: Iterable[Diagnostic] = ()) -> None:
        """Report problems, and end the work if any reported diagnostic is an error. Raises Failure."""
        self += problems
        if has_errors(self):
            raise Failure(())

    def take(self, answer: tuple[T | None, Iterable[Diagnostic]]) -> T:
        """The value of a result; its problems are reported first. Raises Failure if there is none, or if there was an
        error."""
        value, problems = answer
        self.check(problems)
        if value is None:
            raise Failure(())
        return value

    @contextmanager
    def until_an_error(self) -> Iterator[None]:
        """Inside, a Failure ends the work, and its diagnostics are reported."""
        try:
            yield
        except Failure as failure:
            self += failure.diagnostics


# Unexpected exceptions as diagnostics: mistakes in planner itself, errors of the machine, and values nested too deeply.


_REFUSED = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
)
"""errors outside of a program's control: a disk that is full or broken, permissions, limits"""


def defect(problem: Exception, address: str = "") -> Diagnostic:
    """A diagnostic for an exception; with PLANNER_DEBUG, including the place in the program. `address`: the object
    being worked on."""
    debugging = os.environ.get("PLANNER_DEBUG")
    if isinstance(problem, RecursionError) and not debugging:
        detail = "Something in the configuration or in the state is nested deeper than planner can follow."
        return error("cli.too_deep", "Nested too deeply", detail, address=address)
    if isinstance(problem, FileNotFoundError) and problem.filename is None and not debugging:  # of os.getcwd
        detail = "The working directory was removed. If it was made again, enter it again, and start planner there."
        return error("cli.no_directory", "The working directory does not exist", detail, address=address)
    if isinstance(problem, OSError) and problem.errno in _REFUSED and not debugging:
        where = f"{problem.filename}: " if problem.filename is not None else ""
        detail = f"{where}{problem.strerror or problem}."
        return error("cli.system", "Operation not permitted by the system", detail, address=address)
    what = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
    advice = "Run again with PLANNER_DEBUG=1 to see where it happened."
    if debugging:
        import traceback

        advice = "".join(traceback.format_exception(problem))
    detail = f"{what}\n\nThis is a mistake in planner, not in your configuration: please report it. {advice}"
    return error("cli.internal_error", "Internal error", detail, address=address)


# Errors of services.


class ServiceError(OSError):
    """A request to a service failed. `text` gives the reason, on one line or several; `place` is its subject, when that
    is known. `code` is the service's own word for it ("AccessDenied"). `may_pass`: the service is unavailable or busy,
    so a later retry can help."""

    def __init__(self, text: str, place: str = "", code: str = "", may_pass: bool = False) -> None:
        super().__init__(0, text, place or None)
        self.text, self.place, self.code, self.may_pass = text, place, code, may_pass

    def __str__(self) -> str:
        return self.text


# Errors of installing, as an exception inside this package; the package converts it to diagnostics.


class InstallError(Exception):
    """Something could not be installed; the text is a sentence without a full stop. `kind` distinguishes errors that
    callers treat differently: "" for anything, not_found (the source does not know the provider or module), no_platform
    (no package for this platform)."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind
