"""Unknown values in Python policies. A policy that uses an unknown value is undecided.

An operation on a value that is known only after apply raises UndecidedError. The operation is also recorded, so a
policy that catches the exception is still undecided. An object cannot detect a comparison with `is` or `match`, so
these are replaced by function calls when a policy file is compiled. Modules that a policy file imports are not
changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

from planner.api.values import NotKnown, Path, Sensitive, path_text
from planner.foundation.support.disk import read_whole


class UndecidedError(Exception):
    """A policy function used a value that is known only after apply."""


Uses = dict[tuple[str, str], bool]
"""{(address of the object, description of the unknown value): whether the value was used (True), or only tested by
is_unknown (False)}"""

_USES: ContextVar[Uses | None] = ContextVar("uses", default=None)


@contextmanager
def recorded_uses() -> Iterator[Uses]:
    """A context that records uses of unknown values."""
    uses: Uses = {}
    token = _USES.set(uses)
    try:
        yield uses
    finally:
        _USES.reset(token)


class _Refusing(type):
    """A metaclass whose classes raise UndecidedError when they are compared with other classes, because `type(value) ==
    str` also uses the value."""

    def __eq__(cls, other: object) -> bool:
        if cls is other:
            return True
        raise UndecidedError("the type of a value that is known only after apply")

    __hash__ = type.__hash__


class Undecidable(NotKnown, metaclass=_Refusing):
    """A value that is known only after apply, at a path of an object. Using the value raises UndecidedError."""

    __slots__ = ("_address", "_what")

    def __init__(self, address: str, path: Path) -> None:
        self._address = address
        self._what = f"{address}{path_text(path)}"

    def note(self, is_used: bool = True) -> str:
        """Record a use of the value. Returns the text of the exception."""
        text = f"{self._what} is known only after apply"
        uses = _USES.get()
        if uses is not None:
            key = self._address, text
            uses[key] = uses.get(key, False) or is_used
        return text

    def _refuse(self, *arguments: Any) -> NoReturn:
        raise UndecidedError(self.note())

    def __repr__(self) -> str:
        return self.note()

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __str__ = __len__ = __iter__ = _refuse
    __contains__ = __getitem__ = __add__ = __radd__ = __int__ = __float__ = __format__ = __getattr__ = _refuse
    # isinstance(value, str) reads __class__, which must raise the exception, because the result False would be a
    # decision
    __class__ = property(_refuse)


def is_unknown(value: Any) -> bool:
    """Whether a value is known only after apply. If the value is unknown, the policy is undecided about the object.
    Undecided objects must not pass, so the object is denied as undecided, unless the policy itself denies it. In a
    function that defines a relation, the test has no such effect, and the rows may depend on its result."""
    inner = value.reveal() if type(value) is Sensitive else value
    if type(inner) is Undecidable:
        inner.note(is_used=False)
        return True
    return type(inner) is NotKnown


def refuse_unknown(value: Any) -> None:
    """Raises UndecidedError if the value is unknown."""
    inner = value.reveal() if type(value) is Sensitive else value
    if type(inner) is Undecidable:
        raise UndecidedError(inner.note())
    if type(inner) is NotKnown:
        raise UndecidedError("a value that is known only after apply")


def strict(value: Any, address: str, path: Path = ()) -> Any:
    """A copy of a value, which is at `path` of the object `address`. Each unknown part of the copy raises
    UndecidedError when it is used."""
    if isinstance(value, NotKnown):
        return Undecidable(address, path)
    if isinstance(value, dict):
        return {name: strict(item, address, (*path, name)) for name, item in value.items()}
    if isinstance(value, list):
        return [strict(item, address, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, Sensitive):
        return Sensitive(strict(value.reveal(), address, path))
    return value


def run_file(path: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run a policy file, which can use `names`. Returns {name: value} of all global names of the file. Exceptions that
    the file raises propagate."""
    tree = _Identity().visit(ast.parse(read_whole(path), path))
    code = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    space = {**names, "__name__": "planner_policies", "__file__": path, _SAME: _same, _KNOWN: _check_known}
    exec(code, space)
    return space


_SAME, _KNOWN = "__planner_same__", "__planner_known__"


class _Identity(ast.NodeTransformer):
    """Rewrites code so that each `is`, each `is not` and the subject of each `match` is passed to a function that
    raises UndecidedError for unknown values."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if not any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops):
            return node
        if len(node.ops) == 1:
            call = ast.Call(ast.Name(_SAME, ast.Load()), [node.left, node.comparators[0]], [])
            made = call if isinstance(node.ops[0], ast.Is) else ast.UnaryOp(ast.Not(), call)
            return ast.copy_location(made, node)
        # in a chain of comparisons, each operand must be evaluated only once, so the operands of `is` are wrapped
        # instead
        node.left = self._checked_part(node.left)
        node.comparators = [self._checked_part(part) for part in node.comparators]
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        self.generic_visit(node)
        node.subject = self._checked_part(node.subject)
        return node

    def _checked_part(self, part: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(_KNOWN, ast.Load()), [part], []), part)


def _same(one: Any, other: Any) -> bool:
    for value in (one, other):
        if type(value) is Undecidable:
            raise UndecidedError(value.note())
        if value is Undecidable:
            raise UndecidedError("the type of a value that is known only after apply")
    return one is other


def _check_known(value: Any) -> Any:
    """The value. Raises UndecidedError if it has an unknown part."""
    kind = type(value)
    if kind is Undecidable:
        raise UndecidedError(value.note())
    if kind is dict or kind is list or kind is tuple:
        for part in value.values() if kind is dict else value:
            _check_known(part)
    elif kind is Sensitive:
        _check_known(value.reveal())
    return value
