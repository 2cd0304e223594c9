"""Scopes define the names and functions that an expression can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from planner.foundation.values.value import Value
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.nodes import Traversal, Variable

if TYPE_CHECKING:
    from planner.language.functions import CallContext, Function


class Scope:
    """The base class of scopes. It defines no names, and has all functions of the language."""

    _context: CallContext | None = None
    functions_allowed = True
    deprecations = False  # whether values of names may be marked as deprecated

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        """The value of a reference, and the number of steps that are already applied to it: for `a.b.c`, (value of
        `a.b`, 1) leaves `.c` to the evaluator. Raises Failure for an invalid reference. The whole expression then
        fails, even if the reference is inside `try` or in a branch that is not taken."""
        name = node.name if node.__class__ is Variable else node.root  # type: ignore[union-attr]
        end = node.end if node.__class__ is Variable else node.root_end  # type: ignore[union-attr]
        raise Failure(
            error(
                "language.variables_not_allowed",
                "Variables not allowed",
                f'The name "{name}" is not available here: only constant values are allowed.',
                Span(source or Source("", ""), node.start, end),
            )
        )

    def function(self, name: str) -> Function | None:
        from planner.language.functions import lookup

        return lookup(name)

    @property
    def context(self) -> CallContext:
        if self._context is None:
            self._context = _new_context()
        return self._context


def _new_context() -> CallContext:
    from planner.language.functions import CallContext

    return CallContext()


class ConstantScope(Scope):
    """A scope without names and functions."""

    functions_allowed = False

    def function(self, name: str) -> Function | None:
        return None


class MappingScope(Scope):
    """A scope with the root names of a mapping, and with the functions that a lookup finds (by default all functions of
    the language)."""

    def __init__(
        self,
        variables: Mapping[str, Value] | None = None,
        function: Callable[[str], Any] | None = None,
        context: CallContext | None = None,
    ) -> None:
        self.variables = variables or {}
        self._function = function
        self._context = context

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        is_variable = node.__class__ is Variable
        name = node.name if is_variable else node.root  # type: ignore[union-attr]
        try:
            return self.variables[name], 0
        except KeyError:
            end = node.end if is_variable else node.root_end  # type: ignore[union-attr]
            raise Failure(unknown_variable(name, self.variables, source, node.start, end)) from None

    def function(self, name: str) -> Function | None:
        return self._function(name) if self._function is not None else super().function(name)


def unknown_variable(name: str, known: Mapping[str, Value], source: Source | None, start: int, end: int) -> Any:
    """The diagnostic for a root name that is not in scope."""
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(known), 1, 0.75)
    hint = f' Did you mean "{close[0]}"?' if close else ""
    return error(
        "language.unknown_variable",
        "Unknown variable",
        f'There is no variable named "{name}" here.{hint}',
        Span(source or Source("", ""), start, end),
    )
