"""The typed syntax of the configuration language: what `parse` gives and every later stage reads.

Nodes are slotted, compared by identity and never changed after parsing. `start` and `end` are code point offsets into
the text of the file (`Source`), end exclusive. An expression does not know its file: the `Attribute` or `Block` that
holds it does (`source`).
"""

# ruff: noqa: RUF023  (slots stand in the order of the constructor's arguments)

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from planner.vocabulary.span import Source, Span


class Node:
    """Base: slots, positional construction in slot order, and a compact pickled form for the parse cache.

    `compiled` is the evaluator's: unset until an expression is first evaluated, and never pickled."""

    __slots__ = ("start", "end", "compiled")
    start: int
    end: int
    compiled: Any

    if TYPE_CHECKING:  # generated for each class by _node

        def __init__(self, *values: Any) -> None: ...

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        return (*cls.__slots__, "start", "end") if cls is not Node else ("start", "end")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(getattr(self, f)) for f in self.fields())})"


def _node(cls: type) -> type:
    """Give a node class a generated __init__(slots..., start, end), and the __reduce__ that pickles its arguments: an
    order of magnitude cheaper than generic code."""
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


@_node
class Literal(Node):
    """`true`, `false`, `null`, a number, or a quoted string without interpolation. `value` is a language value
    (planner.values.value): bool, str, number, or NULL."""

    __slots__ = ("value",)
    value: Any


@_node
class Variable(Node):
    """A root name, alone: `x`. Longer traversals are Traversal nodes."""

    __slots__ = ("name",)
    name: str


class GetAttr(Node):
    """A step `.name` of a traversal; start at the dot."""

    __slots__ = ("name",)
    name: str


class GetIndex(Node):
    """A step `[key]` with a literal key (str or number), or legacy `.0`; start at the bracket or dot."""

    __slots__ = ("key",)
    key: Any


_node(GetAttr)
_node(GetIndex)
Step: TypeAlias = GetAttr | GetIndex


@_node
class Traversal(Node):
    """`root.a.b[0]["k"]`: a root name and at least one constant step (a variable index is an Index node)."""

    __slots__ = ("root", "root_end", "steps")
    root: str
    root_end: int
    steps: tuple[Step, ...]


@_node
class Relative(Node):
    """Constant steps after any other expression: `f(x).a[0]`."""

    __slots__ = ("source", "steps")
    source: Expression
    steps: tuple[Step, ...]


@_node
class Index(Node):
    """`collection[key]` where key is not a literal."""

    __slots__ = ("collection", "key", "bracket")
    collection: Expression
    key: Expression
    bracket: int  # offset of the bracket


@_node
class Splat(Node):
    """`source.*rest` (kind "attr") or `source[*]rest` (kind "full"). `each` is the expression applied to every
    element; inside it the element is an `Element` node. `marker` is the span offset of the star's step."""

    __slots__ = ("source", "each", "kind", "marker_start", "marker_end")
    source: Expression
    each: Expression
    kind: str
    marker_start: int
    marker_end: int


@_node
class Element(Node):
    """The current element inside a Splat's `each`."""

    __slots__ = ()


@_node
class Template(Node):
    """A quoted template or heredoc with at least one interpolation or directive (or several literal parts). Heredocs
    arrive with flush indentation and strip markers already applied."""

    __slots__ = ("parts",)
    parts: tuple[Expression, ...]  # Literal strings, and expressions to convert to string


@_node
class Wrap(Node):
    """`"${expr}"` alone: the value of expr, whatever its type."""

    __slots__ = ("expr",)
    expr: Expression


@_node
class TemplateIf(Node):
    """`%{ if c }a%{ else }b%{ endif }` as a template part."""

    __slots__ = ("condition", "then", "otherwise")
    condition: Expression
    then: Template
    otherwise: Template | None


@_node
class TemplateFor(Node):
    """`%{ for k, v in c }body%{ endfor }` as a template part."""

    __slots__ = ("key", "value", "collection", "body")
    key: str | None
    value: str
    collection: Expression
    body: Template


@_node
class Parens(Node):
    """`(expr)`: kept because `{(k) = v}` and error ranges depend on it."""

    __slots__ = ("expr",)
    expr: Expression


@_node
class Unary(Node):
    """`-x` or `!x`."""

    __slots__ = ("operator", "operand")
    operator: str
    operand: Expression


@_node
class Binary(Node):
    """`left operator right`."""

    __slots__ = ("operator", "left", "right")
    operator: str
    left: Expression
    right: Expression


@_node
class Conditional(Node):
    """`condition ? then : otherwise`."""

    __slots__ = ("condition", "then", "otherwise")
    condition: Expression
    then: Expression
    otherwise: Expression


@_node
class Call(Node):
    """`name(args)`; `provider::a::f(x)` has the whole name. `expand`: the last argument is followed by `...`."""

    __slots__ = ("name", "name_end", "arguments", "expand", "open", "close")
    name: str
    name_end: int
    arguments: tuple[Expression, ...]
    expand: bool
    open: int  # offset of "("
    close: int  # offset of ")"


@_node
class Tuple(Node):
    """`[a, b]`."""

    __slots__ = ("items",)
    items: tuple[Expression, ...]


class ObjectItem(Node):
    """`key = value` in an object constructor. A bare identifier as key is a Literal string with `bare` True."""

    __slots__ = ("key", "bare", "value")
    key: Expression
    bare: bool
    value: Expression


_node(ObjectItem)


@_node
class Object(Node):
    """`{ k = v, ... }`."""

    __slots__ = ("items",)
    items: tuple[ObjectItem, ...]


@_node
class For(Node):
    """`[for k, v in c : value if cond]` (key_expr None) or `{for k, v in c : key_expr => value... if cond}`."""

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


# ---------------------------------------------------------------- structure


@_node
class Attribute(Node):
    """`name = expr`. start/end cover the whole; the name is [start, name_end).

    In JSON syntax the expression is made on first use, and a malformed template in it raises Failure then."""

    __slots__ = ("name", "name_end", "expr", "source")
    name: str
    name_end: int
    expr: Expression
    source: Source
    is_json: ClassVar[bool] = False

    @property
    def literal(self) -> Expression:
        """The value where templates have no meaning (variable values, references written as strings): in JSON syntax
        every string verbatim as a Literal, in native syntax `expr`."""
        return self.expr

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)

    @property
    def name_span(self) -> Span:
        return Span(self.source, self.start, self.name_end)

    @property
    def expr_span(self) -> Span:
        return Span(self.source, self.expr.start, self.expr.end)


@_node
class Label(Node):
    """A block label, quoted or bare, with its span (quotes included)."""

    __slots__ = ("value",)
    value: str


@_node
class Block(Node):
    """`type "label" { ... }`. start is the type, header_end the end of the last label (or type), end after `}`."""

    __slots__ = ("type", "type_end", "labels", "header_end", "body", "source")
    type: str
    type_end: int
    labels: tuple[Label, ...]
    header_end: int
    body: Body
    source: Source

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)

    @property
    def header_span(self) -> Span:
        """From the block type to the last label: what diagnostics point at."""
        return Span(self.source, self.start, self.header_end)


from planner.syntax.body import Body  # noqa: E402  (Body names Attribute and Block)
