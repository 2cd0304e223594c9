"""What comes out alike in all calls of one module, so that it is worked out for the first of them alone.

To validation every variable of a called module is unknown, whatever its call gives. So what is made of variables and
local values only is the same in each call.
"""

from __future__ import annotations

from planner.engine.evaluation.context import ModuleInstance
from planner.foundation.values.value import Value
from planner.language.config.model import Expr, LocalDecl, ModuleConfig, OutputDecl, VariableDecl
from planner.language.config.references import parse_reference
from planner.language.syntax.nodes import Call
from planner.language.syntax.references import references

_Foundations = tuple["dict[str, VariableDecl]", "dict[str, LocalDecl]"]


class Alike:
    """The values of outputs and local values, by declaration; only of those about which there was nothing to say."""

    def __init__(self) -> None:
        self._first: dict[int, tuple[OutputDecl | LocalDecl, ModuleConfig, Value]] = {}
        self._foundations: dict[int, _Foundations | None] = {}

    def keep(self, module: ModuleInstance, decl: OutputDecl | LocalDecl, value: Value) -> None:
        """The declaration has this value here, and all is well with it."""
        if module.parent is not None:
            self._first.setdefault(id(decl), (decl, module.config, value))

    def value(self, module: ModuleInstance, decl: OutputDecl | LocalDecl, expr: Expr) -> Value:
        """The value of the declaration, which has this expression; None when it has to be worked out."""
        first = self._first.get(id(decl))
        if first is None:
            return None
        _, config, value = first
        if id(decl) not in self._foundations:
            self._foundations[id(decl)] = _foundations(config, expr)
        foundations, here = self._foundations[id(decl)], module.config
        if foundations is None or here.directory != config.directory:
            return None
        variables, locals = foundations
        if any(here.variables.get(name) is not it for name, it in variables.items()):
            return None
        if any(here.locals.get(name) is not it for name, it in locals.items()):
            return None
        return value


def _foundations(config: ModuleConfig, expr: Expr) -> _Foundations | None:
    """The variables and local values that an expression is made of; None when there is more to it."""
    variables: dict[str, VariableDecl] = {}
    locals: dict[str, LocalDecl] = {}
    left = [expr]
    while left:
        for node in references(left.pop().node):
            if isinstance(node, Call):
                return None
            ref = parse_reference(node)
            if ref.kind == "var" and ref.name in config.variables:
                variables[ref.name] = config.variables[ref.name]
            elif ref.kind == "local" and ref.name in config.locals:
                if ref.name not in locals:
                    locals[ref.name] = config.locals[ref.name]
                    left.append(locals[ref.name].expr)
            elif ref.kind not in ("path", "terraform"):
                return None
    return variables, locals
