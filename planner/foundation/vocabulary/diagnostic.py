"""Diagnostics: errors and warnings as values, formatted only for output.

planner.render.diagnostics prints them for people, planner.render.diagnostics_json as the ecosystem's JSON (`validate
-json`, lines of `plan -json`)."""

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
    """The object whose condition failed. `kind`: input_variable, output_value, resource or check. `rule`: validation,
    precondition, postcondition, output, assertion, or data (the data source of a check). `was_error`: whether an error
    was turned into this warning because it belongs to a check."""

    kind: str
    address: str
    rule: str
    was_error: bool = False


@frozen
class Deprecation:
    """A deprecated object (`module.a.old`), the message of its author, and whether the object belongs to a remote
    module. A value with this mark depends on the deprecated object."""

    by: str
    message: str = ""
    is_remote: bool = False


@frozen
class Diagnostic:
    """One problem. `code` is short and stable (`config.duplicate_resource`). `summary` is a title without a full stop.
    `detail` explains the problem, its cause and its remedy. `subject` is the span that is underlined, `context` a
    larger span that is shown. `address`: the object with the problem. `values`: pairs (expression, value) of operands,
    shown as `var.x is 5`. `called`: the function whose call failed. `is_check`: whether the diagnostic belongs to a
    check block; then it is never combined with other diagnostics. `checked`: the object whose condition failed.
    `difference`: both sides of a comparison `==` that is false. `because`: the origin of the values, step by step
    (planner.answers.explain.assertions). `deprecation`: the deprecated object; a warning about it is reported once.
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
        """Position, summary and the first line of the detail."""
        place = f"{self.subject.place}: " if self.subject is not None else ""
        first = self.detail.partition("\n")[0]
        return f"{place}{self.summary}{': ' if first else ''}{first}"

    def at(self, address: str) -> Diagnostic:
        """A copy with this address; the diagnostic itself if it already has an address."""
        return self if self.address else evolve(self, address=address)


def error(code: str, summary: str, detail: str = "", subject: Span | None = None, **more: Any) -> Diagnostic:
    return Diagnostic("error", code, summary, detail, subject, **more)


def warning(code: str, summary: str, detail: str = "", subject: Span | None = None, **more: Any) -> Diagnostic:
    return Diagnostic("warning", code, summary, detail, subject, **more)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    for d in diagnostics:  # noqa: SIM110 -- nearly always empty, called several times for every object
        if d.is_error:
            return True
    return False


class Failure(Exception):
    """An exception with diagnostics. Public functions of the other packages catch it and return the diagnostics."""

    def __init__(self, diagnostics: Iterable[Diagnostic] | Diagnostic) -> None:
        self.diagnostics = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        super().__init__()

    def __reduce__(self) -> tuple[Any, ...]:
        """Makes pickles contain the diagnostics: by default, an exception is created again from `args`, which lack
        them."""
        return type(self), (self.diagnostics,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __str__(self) -> str:
        """One line for each error or, without errors, for each warning."""
        shown = [d for d in self.diagnostics if d.is_error] or self.diagnostics
        return "\n".join(d.line for d in shown)


T = TypeVar("T")


class Diagnostics(list[Diagnostic]):
    """The diagnostics of a command in order. Code that cannot continue raises Failure with the diagnostics that are not
    reported yet; `until_an_error` catches it once for the whole command."""

    def check(self, problems: Iterable[Diagnostic] = ()) -> None:
        """Report problems. Raises Failure if anything reported so far is an error."""
        self += problems
        if has_errors(self):
            raise Failure(())

    def take(self, answer: tuple[T | None, Iterable[Diagnostic]]) -> T:
        """Report the problems of a result and return its value. Raises Failure if there is no value, or if a problem is
        an error."""
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


# Diagnostics for unexpected exceptions: defects in planner, errors of the machine, and values nested too deeply.


_REFUSED = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
)
"""errors that the program does not cause: a full or broken disk, missing permissions, limits"""


def defect(problem: Exception, address: str = "") -> Diagnostic:
    """The diagnostic for an unexpected exception. With PLANNER_DEBUG, it includes the traceback. `address`: the object
    that was processed."""
    debugging = os.environ.get("PLANNER_DEBUG")
    if isinstance(problem, RecursionError) and not debugging:
        detail = "Something in the configuration or in the state is nested deeper than planner can follow."
        return error("cli.too_deep", "Nested too deeply", detail, address=address)
    if isinstance(problem, FileNotFoundError) and problem.filename is None and not debugging:  # from os.getcwd
        detail = (
            "The working directory was removed. If it was created again, change into it again and start planner there."
        )
        return error("cli.no_directory", "The working directory does not exist", detail, address=address)
    if isinstance(problem, OSError) and problem.errno in _REFUSED and not debugging:
        where = f"{problem.filename}: " if problem.filename is not None else ""
        detail = f"{where}{problem.strerror or problem}."
        return error("cli.system", "Error of the operating system", detail, address=address)
    what = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
    advice = "Run again with PLANNER_DEBUG=1 to see where it happened."
    if debugging:
        import traceback

        advice = "".join(traceback.format_exception(problem))
    detail = f"{what}\n\nThis is a defect of planner, not a mistake in your configuration: please report it. {advice}"
    return error("cli.internal_error", "Internal error", detail, address=address)


class ServiceError(OSError):
    """A request to a service failed. `text` is the reason, possibly several lines. `place` is the object of the
    request, if known. `code` is the service's error code ("AccessDenied"). `may_pass`: whether a later retry can help,
    because the service is unavailable or busy."""

    def __init__(self, text: str, place: str = "", code: str = "", may_pass: bool = False) -> None:
        super().__init__(0, text, place or None)
        self.text, self.place, self.code, self.may_pass = text, place, code, may_pass

    def __str__(self) -> str:
        return self.text


class InstallError(Exception):
    """An installation failed; planner.world.install converts the error to diagnostics. The message is a sentence
    without a full stop. `kind`: not_found (the source does not know the provider or module), no_platform (no package
    for this platform), or ""."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind
