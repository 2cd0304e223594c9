"""Typed syntax of expressions. planner.language.syntax.body has attributes and blocks.

Nodes are slotted, compared by identity and never changed after parsing. `start` and `end` are code point offsets into
the text of the file (`Source`); the end is exclusive. An expression does not refer to its file; the `Attribute` or
`Block` around it does (`source`)."""

# ruff: noqa: RUF023 (slots are in the order of the constructor's arguments)

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias


class SyntaxNode:
    """The base class of nodes. `node_class` generates its constructor, whose parameters are the slots in order, then
    `start` and `end`. It also generates a compact pickled form for the parse cache.

    `compiled` is set by the evaluator on first evaluation, and is never pickled.
    """

    __slots__ = ("start", "end", "compiled")
    start: int
    end: int
    compiled: Any

    if TYPE_CHECKING:  # __init__ and __reduce__ are generated for each class by node_class

        def __init__(self, *values: Any) -> None: ...

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        return (*cls.__slots__, "start", "end") if cls is not SyntaxNode else ("start", "end")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(getattr(self, f)) for f in self.fields())})"


def node_class(cls: type) -> type:
    """Generate __init__(slots..., start, end), and a __reduce__ that pickles these arguments. The generated code is ten
    times as fast as generic code."""
    fields = (*cls.__slots__, "start", "end")  # type: ignore[attr-defined]
    body = "".join(f"    self.{f} = {f}\n" for f in fields)
    values = ", ".join(f"self.{f}" for f in fields)
    namespace: dict[str, Any] = {}
    exec(
        f"def __init__(self, {', '.join(fields)}):\n{body}"
        f"def __reduce__(self):\n    return (self.__class__, ({values}))\n",
        namespace,
    )
    cls.__init__ = namespace["__init__"]  # type: ignore[misc]
    cls.__reduce__ = namespace["__reduce__"]  # type: ignore[method-assign]
    return cls


# ---------------------------------------------------------------- expressions


@node_class
class Literal(SyntaxNode):
    """`true`, `false`, `null`, a number, or a quoted string without interpolation. `value`: bool, str, number or NULL
    (planner.foundation.values.value)."""

    __slots__ = ("value",)
    value: Any


@node_class
class Variable(SyntaxNode):
    """A root name without steps: `x`. A name with steps is a Traversal."""

    __slots__ = ("name",)
    name: str


class GetAttr(SyntaxNode):
    """A step `.name` of a traversal, starting at the dot."""

    __slots__ = ("name",)
    name: str


class GetIndex(SyntaxNode):
    """A step `[key]` with a literal key (str or number), or the legacy form `.0`, starting at the bracket or dot."""

    __slots__ = ("key",)
    key: Any


node_class(GetAttr)
node_class(GetIndex)
Step: TypeAlias = GetAttr | GetIndex


@node_class
class Traversal(SyntaxNode):
    """`root.a.b[0]["k"]`: a root name and at least one constant step. A step whose index is not a literal is an
    Index."""

    __slots__ = ("root", "root_end", "steps")
    root: str
    root_end: int
    steps: tuple[Step, ...]


@node_class
class Relative(SyntaxNode):
    """Constant steps after an expression that is not a root name: `f(x).a[0]`."""

    __slots__ = ("source", "steps")
    source: Expression
    steps: tuple[Step, ...]


@node_class
class Index(SyntaxNode):
    """An index expression `collection[key]` with a key that is not a literal."""

    __slots__ = ("collection", "key", "bracket")
    collection: Expression
    key: Expression
    bracket: int  # offset of the bracket


@node_class
class Splat(SyntaxNode):
    """A splat expression: `source.*rest` (kind "attr") or `source[*]rest` (kind "full"). `each` is evaluated for every
    element; in it, the node `Element` represents the element. [marker_start, marker_end) is the step with the star."""

    __slots__ = ("source", "each", "kind", "marker_start", "marker_end")
    source: Expression
    each: Expression
    kind: str
    marker_start: int
    marker_end: int


@node_class
class Element(SyntaxNode):
    """The current element inside a Splat's `each`."""

    __slots__ = ()


@node_class
class Template(SyntaxNode):
    """A quoted template, heredoc or template file that has a directive, or an interpolation together with other parts.
    Bodies of directives are templates, too. Strip markers and the indentation of heredocs are already processed."""

    __slots__ = ("parts",)
    parts: tuple[Expression, ...]  # Literal strings, and expressions whose values are converted to strings


@node_class
class Wrap(SyntaxNode):
    """A template that consists of one interpolation: `"${expr}"`. Its value is the value of `expr`, of any type."""

    __slots__ = ("expr",)
    expr: Expression


@node_class
class TemplateIf(SyntaxNode):
    """An `if` directive as a part of a template: `%{ if c }a%{ else }b%{ endif }`."""

    __slots__ = ("condition", "then", "otherwise")
    condition: Expression
    then: Template
    otherwise: Template | None


@node_class
class TemplateFor(SyntaxNode):
    """A `for` directive as a part of a template: `%{ for k, v in c }body%{ endfor }`."""

    __slots__ = ("key", "value", "collection", "body")
    key: str | None
    value: str
    collection: Expression
    body: Template


@node_class
class Parens(SyntaxNode):
    """An expression in parentheses, `(expr)`. The tree contains the parentheses, because `{(k) = v}` and error ranges
    depend on them."""

    __slots__ = ("expr",)
    expr: Expression


@node_class
class Unary(SyntaxNode):
    """A unary operation: `-x` or `!x`."""

    __slots__ = ("operator", "operand")
    operator: str
    operand: Expression


@node_class
class Binary(SyntaxNode):
    """A binary operation: `left operator right`."""

    __slots__ = ("operator", "left", "right")
    operator: str
    left: Expression
    right: Expression


@node_class
class Conditional(SyntaxNode):
    """A conditional expression: `condition ? then : otherwise`."""

    __slots__ = ("condition", "then", "otherwise")
    condition: Expression
    then: Expression
    otherwise: Expression


@node_class
class Call(SyntaxNode):
    """A function call, `name(args)`. In `provider::a::f(x)`, the name is `provider::a::f`. `expand`: whether `...`
    follows the last argument."""

    __slots__ = ("name", "name_end", "arguments", "expand", "open", "close")
    name: str
    name_end: int
    arguments: tuple[Expression, ...]
    expand: bool
    open: int  # offset of "("
    close: int  # offset of ")"


@node_class
class Tuple(SyntaxNode):
    """A tuple constructor: `[a, b]`."""

    __slots__ = ("items",)
    items: tuple[Expression, ...]


class ObjectItem(SyntaxNode):
    """An item `key = value` of an object constructor. If the key is a bare identifier, `key` is a Literal string and
    `bare` is True."""

    __slots__ = ("key", "bare", "value")
    key: Expression
    bare: bool
    value: Expression


node_class(ObjectItem)


@node_class
class Object(SyntaxNode):
    """An object constructor: `{ k = v, ... }`."""

    __slots__ = ("items",)
    items: tuple[ObjectItem, ...]


@node_class
class For(SyntaxNode):
    """A `for` expression: `[for k, v in c : value if cond]` (key_expr is None) or
    `{for k, v in c : key_expr => value... if cond}`. `group`: whether `...` follows the value."""

    __slots__ = (
        "key",
        "value",
        "collection",
        "key_expr",
        "value_expr",
        "condition",
        "group",
        "open_end",
        "close_start",
    )
    key: str | None
    value: str
    collection: Expression
    key_expr: Expression | None
    value_expr: Expression
    condition: Expression | None
    group: bool
    open_end: int
    close_start: int


Expression: TypeAlias = (
    Literal
    | Variable
    | Traversal
    | Relative
    | Index
    | Splat
    | Element
    | Template
    | Wrap
    | TemplateIf
    | TemplateFor
    | Parens
    | Unary
    | Binary
    | Conditional
    | Call
    | Tuple
    | Object
    | For
)
