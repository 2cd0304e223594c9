"""What there is to say of a piece of work: collected in one list on its way, with one way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors

T = TypeVar("T")


class Diagnostics(list[Diagnostic]):
    """The diagnostics of a command, in the order in which they came up. Whoever cannot go on raises Failure with what
    has not been told yet; `until_an_error` catches it, once for the whole command."""

    def check(self, problems: Iterable[Diagnostic] = ()) -> None:
        """Tell these, and end the work if there are errors among all that was told. Raises Failure."""
        self += problems
        if has_errors(self):
            raise Failure(())

    def take(self, answer: tuple[T | None, Iterable[Diagnostic]]) -> T:
        """The value of an answer whose problems are told. Raises Failure when there is none, or with an error."""
        value, problems = answer
        self.check(problems)
        if value is None:
            raise Failure(())
        return value

    @contextmanager
    def until_an_error(self) -> Iterator[None]:
        """Work that may end with Failure: what it carries is told."""
        try:
            yield
        except Failure as failure:
            self += failure.diagnostics
