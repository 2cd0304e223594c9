"""The base class of calls about a configuration, with the options and the environment of the calls."""

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
    """Calls about one configuration. Configuration has the calls of all subclasses; a command creates only an instance
    of the subclass that it needs. A command owns its process (`owns_process`), and uses the process's directory,
    interrupts and limits. A library call runs in its own session (planner.api.session)."""

    def __init__(self, options: OperationOptions, owns_process: bool = False) -> None:
        self.options = options
        self._owns_process = owns_process

    @classmethod
    def of_command(cls, **options: Any) -> Self:
        """The object whose calls a command uses, with these fields of OperationOptions."""
        return cls(OperationOptions(**options), owns_process=True)

    def having(self, **options: Any) -> Self:
        """A copy of these calls with other options."""
        return type(self)(evolve(self.options, **options), self._owns_process)

    def _session(self, stop: Stop | None = None) -> AbstractContextManager[None]:
        if self._owns_process:
            return nullcontext()
        from planner.api.session import session

        return session(self.options.directory, stop)

    def _run(
        self, work: Callable[[Hooks], T], on_event: Callable[[Event], None] | Hooks | None, stop: Stop | None = None
    ) -> T:
        """The result of `work`. `on_event`: a function that receives the events of the work, or the hooks of a
        command."""
        if isinstance(on_event, Hooks):
            return work(on_event)
        from planner.api.events import with_events

        def in_session(hooks: Hooks, stop: Stop) -> T:
            with self._session(stop):
                return work(hooks)

        return with_events(in_session, on_event, stop)


def require(value: Any, problems: Sequence[Diagnostic]) -> Any:
    """The value. Raises Failure if the value is None, or if one of the problems is an error."""
    if value is None or has_errors(problems):
        raise Failure(problems)
    return value


def usable(outcome: tuple[T | None, list[Diagnostic]]) -> tuple[T, list[Diagnostic]]:
    """The value and the warnings. Raises Failure as `require` does."""
    return require(*outcome), outcome[1]


def warnings(problems: list[Diagnostic]) -> list[Diagnostic]:
    """The problems, if all of them are warnings. Raises Failure otherwise."""
    require(True, problems)
    return problems
