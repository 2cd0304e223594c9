"""The base class of the objects whose methods work on a configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.operations.options import OperationOptions as OperationOptions
from planner.operations.options import Requirement as Requirement

if TYPE_CHECKING:
    from typing import Self

    from planner.api.events import Event
    from planner.api.session import Stop

T = TypeVar("T")


class Work:
    """Methods that work on one configuration, with the options in `options`. Each subclass has the methods for one
    purpose, and a command creates an instance of the subclass that it needs. `owns_process`: whether the methods use
    the directory, the interrupts and the limits of the process, as a command does. Otherwise each call runs in its own
    session (planner.api.session)."""

    def __init__(self, options: OperationOptions, owns_process: bool = False) -> None:
        self.options = options
        self._owns_process = owns_process

    @classmethod
    def of_command(cls, **options: Any) -> Self:
        """An object for a command, which owns its process. `options`: fields of OperationOptions."""
        return cls(OperationOptions(**options), owns_process=True)

    def having(self, **options: Any) -> Self:
        """A copy of this object with these options changed."""
        return type(self)(evolve(self.options, **options), self._owns_process)

    def _session(self, stop: Stop | None = None) -> AbstractContextManager[None]:
        if self._owns_process:
            return nullcontext()
        from planner.api.session import session

        return session(self.options.directory, stop)

    def _run(
        self, work: Callable[[Hooks], T], on_event: Callable[[Event], None] | Hooks | None, stop: Stop | None = None
    ) -> T:
        """Call `work` and return its result. `on_event`: a function that receives the events, or the Hooks of a
        command, which are passed to `work` unchanged."""
        if isinstance(on_event, Hooks):
            return work(on_event)
        from planner.api.events import with_events

        def in_session(hooks: Hooks, stop: Stop) -> T:
            with self._session(stop):
                return work(hooks)

        return with_events(in_session, on_event, stop)


def require(value: Any, problems: Sequence[Diagnostic]) -> Any:
    """Returns the value. Raises Failure with the problems if the value is None, or if one of the problems is an
    error."""
    if value is None or has_errors(problems):
        raise Failure(problems)
    return value


def usable(outcome: tuple[T | None, list[Diagnostic]]) -> tuple[T, list[Diagnostic]]:
    """The value and the warnings in an outcome (value or None, diagnostics). Raises Failure if the value is None or a
    diagnostic is an error."""
    return require(*outcome), outcome[1]


def warnings(problems: list[Diagnostic]) -> list[Diagnostic]:
    """Returns the problems. Raises Failure if one of them is an error."""
    require(True, problems)
    return problems
