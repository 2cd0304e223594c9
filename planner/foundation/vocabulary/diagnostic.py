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
    the mark of a value, it means that the value depends on the object."""

    by: str
    message: str = ""
    is_remote: bool = False


@frozen
class Diagnostic:
    """One problem. `code` is stable and short (`config.duplicate_resource`). `summary` is a title without a full
    stop. `detail` explains the problem, its cause and its remedy. `subject` is the span that is underlined;
    `context` is a larger span that is shown. `address`: the object that has the problem. `values`: lines like
    `var.x is 5` about expression operands. `called`: the function whose call failed. `is_check`: whether the
    diagnostic comes from a check block; it is never combined with others. `checked`: the object whose condition
    failed. `difference`: two values that should be equal. `because`: the origin of the values, step by step
    (planner.answers.explain.assertions). `deprecation`: the subject of the warning, which is reported once.
    `group`: only diagnostics with the same summary and group are combined."""

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
        """The diagnostic on one line: its position, summary, and the first line of its detail."""
        place = f"{self.subject.place}: " if self.subject is not None else ""
        first = self.detail.partition("\n")[0]
        return f"{place}{self.summary}{': ' if first else ''}{first}"

    def at(self, address: str) -> Diagnostic:
        """This diagnostic with this address, unless it already has one."""
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
    """An exception with diagnostics. Each stage catches it in its public functions and returns the diagnostics."""

    def __init__(self, diagnostics: Iterable[Diagnostic] | Diagnostic) -> None:
        self.diagnostics = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        super().__init__()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling for process pools: by default an exception is recreated from its `args`, which do not contain the
        diagnostics."""
        return type(self), (self.diagnostics,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __str__(self) -> str:
        """A line for each error, or for each warning if there are no errors. Shown if the exception is not caught."""
        shown = [d for d in self.diagnostics if d.is_error] or self.diagnostics
        return "\n".join(d.line for d in shown)


# Diagnostics collected during an operation.


T = TypeVar("T")


class Diagnostics(list[Diagnostic]):
    """The diagnostics of a command, in order. Code that cannot continue raises Failure with the diagnostics that it has
    not reported yet; `until_an_error` catches it, once for the whole command."""

    def check(self, problems: Iterable[Diagnostic] = ()) -> None:
        """Report problems. Raises Failure if any diagnostic reported so far is an error."""
        self += problems
        if has_errors(self):
            raise Failure(())

    def take(self, answer: tuple[T | None, Iterable[Diagnostic]]) -> T:
        """Report the problems of a result and return its value. Raises Failure if there is no value or if any problem
        is an error."""
        value, problems = answer
        self.check(problems)
        if value is None:
            raise Failure(())
        return value

    @contextmanager
    def until_an_error(self) -> Iterator[None]:
        """A context that catches Failure and reports its diagnostics."""
        try:
            yield
        except Failure as failure:
            self += failure.diagnostics


# Unexpected exceptions as diagnostics: defects in planner itself, errors of the machine, and values nested too deeply.


_REFUSED = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
)
"""errors outside a program's control: a full or broken disk, missing permissions, limits"""


def defect(problem: Exception, address: str = "") -> Diagnostic:
    """A diagnostic for an exception; with PLANNER_DEBUG, it includes the position in the program. `address`: the object
    that was being processed."""
    debugging = os.environ.get("PLANNER_DEBUG")
    if isinstance(problem, RecursionError) and not debugging:
        detail = "Something in the configuration or in the state is nested deeper than planner can follow."
        return error("cli.too_deep", "Nested too deeply", detail, address=address)
    if isinstance(problem, FileNotFoundError) and problem.filename is None and not debugging:  # of os.getcwd
        detail = (
            "The working directory was removed. If it was created again, change into it again and start planner there."
        )
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
    detail = f"{what}\n\nThis is a defect of planner, not a mistake in your configuration: please report it. {advice}"
    return error("cli.internal_error", "Internal error", detail, address=address)


# Errors of services.


class ServiceError(OSError):
    """A request to a service failed. `text` contains the reason, on one or more lines; `place` names the object of the
    request, if known. `code` is the service's error code ("AccessDenied"). `may_pass`: the service is unavailable or
    busy, so a later retry can help."""

    def __init__(self, text: str, place: str = "", code: str = "", may_pass: bool = False) -> None:
        super().__init__(0, text, place or None)
        self.text, self.place, self.code, self.may_pass = text, place, code, may_pass

    def __str__(self) -> str:
        return self.text


# The exception for errors during installation. planner.world.install converts it to diagnostics.


class InstallError(Exception):
    """Something could not be installed; the message is a sentence without a full stop. `kind` distinguishes errors that
    callers treat differently: "" for all other errors, not_found (the source does not know the provider or module),
    no_platform (no package for this platform)."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind
