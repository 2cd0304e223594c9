"""Typed syntax of the rule language, created by `rule_parse`.

Nodes are slotted, compared by identity and never changed after parsing. `start` and `end` are code point offsets into
the text of the file; the end is exclusive. `str(node)` is the node as rule text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from planner.foundation.vocabulary.span import Source, Span

if TYPE_CHECKING:
    from decimal import Decimal


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'


class RuleNode:
    """The base class of nodes, with the position of the node."""

    __slots__ = ("end", "start")
    start: int
    end: int

    def __init__(self, *values: Any) -> None:
        for name, value in zip((*self.__slots__, "start", "end"), values, strict=True):
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


class RulePart(RuleNode):
    """The base class of terms and literals. `fields`: the names of the constructor's arguments, without `start` and
    `end`."""

    __slots__ = ()
    fields: ClassVar[tuple[str, ...]] = ()

    def children(self) -> list[Any]:
        """The terms and literals directly within this one, in source order."""
        nodes: list[Any] = []
        for name in self.fields:
            value = getattr(self, name)
            if type(value) is tuple:
                nodes += value
            elif isinstance(value, RulePart):
                nodes.append(value)
        return nodes

    def mapped(self, change: Callable[[Any], Any]) -> Self:
        """A copy in which each child is replaced by the result of `change` for it."""
        values = (_map_parts(getattr(self, name), change) for name in self.fields)
        return type(self)(*values, self.start, self.end)


def _map_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, RulePart):
        return change(value)
    return tuple(_map_parts(one, change) for one in value) if type(value) is tuple else value


# ---------------------------------------------------------------- terms


class RuleVariable(RulePart):
    """A variable, `A`."""

    __slots__ = ("name",)
    fields = ("name",)
    name: str

    def __init__(self, name: str, start: int, end: int) -> None:
        self.name, self.start, self.end = name, start, end

    def __str__(self) -> str:
        return self.name


class Wildcard(RulePart):
    """`_` matches any value. Each `_` is a variable of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        return "_"


class Constant(RulePart):
    """A string, a whole number, a number with a decimal point (Decimal) or a bool, as a plain Python value."""

    __slots__ = ("value",)
    fields = ("value",)
    value: str | int | Decimal | bool

    def __init__(self, value: str | int | Decimal | bool, start: int, end: int) -> None:
        self.value, self.start, self.end = value, start, end

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return quote(self.value)
        if isinstance(self.value, int):
            return str(self.value).lower()
        text = format(self.value, "f")  # the language has no exponents
        return text if "." in text else text + ".0"


_BINDING = {"++": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}


class RuleCall(RulePart):
    """The application of a function to values: `length(S)`, or a binary operator (`+`, `-`, `*`, `/`, `%`, `++`).
    `depth`: the nesting depth of calls, 1 if the arguments contain no call."""

    __slots__ = ("arguments", "depth", "function")
    fields = ("function", "arguments")
    function: str
    arguments: tuple[Term, ...]
    depth: int

    def __init__(self, function: str, arguments: tuple[Term, ...], start: int, end: int) -> None:
        self.function, self.arguments, self.start, self.end = function, arguments, start, end
        self.depth = 1 + max((a.depth for a in arguments if isinstance(a, RuleCall)), default=0)

    def __str__(self) -> str:
        level = _BINDING.get(self.function)
        if level is None:
            return f"{self.function}({', '.join(map(str, self.arguments))})"
        left, right = self.arguments
        return f"{_in_parentheses(left, level)} {self.function} {_in_parentheses(right, level + 1)}"


def _in_parentheses(term: Term, level: int) -> str:
    inner = _BINDING.get(term.function, 9) if isinstance(term, RuleCall) else 9
    return f"({term})" if inner < level else str(term)


Term: TypeAlias = RuleVariable | Wildcard | Constant | RuleCall


# ---------------------------------------------------------------- literals


class Atom(RulePart):
    """An atom such as `edge(A, "b")`: a positive literal, the head of a rule, or the content of a Negation."""

    __slots__ = ("arguments", "predicate")
    fields = ("predicate", "arguments")
    predicate: str
    arguments: tuple[Term, ...]

    def __init__(self, predicate: str, arguments: tuple[Term, ...], start: int, end: int) -> None:
        self.predicate, self.arguments, self.start, self.end = predicate, arguments, start, end

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(map(str, self.arguments))})"


class Negation(RulePart):
    """`not edge(A, _)`: true if the predicate has no such tuple."""

    __slots__ = ("atom",)
    fields = ("atom",)
    atom: Atom

    def __str__(self) -> str:
        return f"not {self.atom}"


class Comparison(RulePart):
    """A comparison such as `A != B`. With `=`, a variable that no other literal binds is bound to the value of the
    other side."""

    __slots__ = ("left", "operator", "right")
    fields = ("operator", "left", "right")
    operator: str
    left: Term
    right: Term

    def __init__(self, operator: str, left: Term, right: Term, start: int, end: int) -> None:
        self.operator, self.left, self.right, self.start, self.end = operator, left, right, start, end

    @property
    def sides(self) -> tuple[tuple[Term, Term], tuple[Term, Term]]:
        """The two sides in both orders: (left, right) and (right, left)."""
        return (self.left, self.right), (self.right, self.left)

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


class Test(RulePart):
    """A built-in test of values such as `starts_with(A, "module.")`, optionally after `not`."""

    __slots__ = ("arguments", "function", "negated")
    fields = ("function", "arguments", "negated")
    function: str
    arguments: tuple[Term, ...]
    negated: bool

    def __init__(self, function: str, arguments: tuple[Term, ...], negated: bool, start: int, end: int) -> None:
        self.function, self.arguments, self.negated, self.start, self.end = function, arguments, negated, start, end

    def __str__(self) -> str:
        return f"{'not ' if self.negated else ''}{self.function}({', '.join(map(str, self.arguments))})"


class Aggregate(RulePart):
    """An aggregate: `N = count : { edge(M, _) }` or `S = sum X : { size(M, X) }`; `min` and `max` are written like
    `sum`.

    Aggregates range over the distinct assignments to all variables and wildcards of `body`; variables that also occur
    outside of it have fixed values. `expression` is None for `count`. If there is no assignment, literals with `min`
    and `max` are false.
    """

    __slots__ = ("body", "expression", "function", "result")
    fields = ("result", "function", "expression", "body")
    result: Term
    function: str
    expression: Term | None
    body: tuple[Literal, ...]

    def __init__(
        self, result: Term, function: str, expression: Term | None, body: tuple[Literal, ...], start: int, end: int
    ) -> None:
        self.result, self.function, self.expression, self.body = result, function, expression, body
        self.start, self.end = start, end

    @property
    def formula(self) -> str:
        of = "" if self.expression is None else f" {self.expression}"
        return f"{self.function}{of} : {{ {', '.join(map(str, self.body))} }}"

    def __str__(self) -> str:
        return f"{self.result} = {self.formula}"


class Builtin(RulePart):
    """`json(Text, Path, Value)`: a built-in relation, optionally negated. Its first columns (`inputs`) must be bound,
    and determine the other columns (`outputs`). `X in ["a", "b"]` is the relation `in` with the list as inputs."""

    __slots__ = ("inputs", "negated", "outputs", "relation")
    fields = ("relation", "inputs", "outputs", "negated")
    relation: str
    inputs: tuple[Term, ...]
    outputs: tuple[Term, ...]
    negated: bool

    def __init__(
        self, relation: str, inputs: tuple[Term, ...], outputs: tuple[Term, ...], negated: bool, start: int, end: int
    ) -> None:
        self.relation, self.inputs, self.outputs, self.negated = relation, inputs, outputs, negated
        self.start, self.end = start, end

    def children(self) -> list[Any]:
        return [*self.outputs, *self.inputs] if self.relation == MEMBER else [*self.inputs, *self.outputs]

    def __str__(self) -> str:
        if self.relation == MEMBER:
            return f"{self.outputs[0]} {'not ' if self.negated else ''}in [{', '.join(map(str, self.inputs))}]"
        return f"{'not ' if self.negated else ''}{self.relation}({', '.join(map(str, self.children()))})"


MEMBER = "in"  # the built-in relation of the values in a list


class Either(RulePart):
    """`(p(X), q(X) ; r(X))`: at least one of several bodies is true. When rules are linked, a rule with this node
    becomes one rule for each alternative."""

    __slots__ = ("alternatives",)
    fields = ("alternatives",)
    alternatives: tuple[tuple[Written, ...], ...]

    def children(self) -> list[Any]:
        return [literal for body in self.alternatives for literal in body]

    def __str__(self) -> str:
        return f"({' ; '.join(', '.join(map(str, body)) for body in self.alternatives)})"


Literal: TypeAlias = Atom | Negation | Comparison | Test | Aggregate | Builtin
Written: TypeAlias = Literal | Either  # a literal in a rule file


# ---------------------------------------------------------------- statements


class Statement(RuleNode):
    """The base class of top-level statements."""

    __slots__ = ("source",)
    source: Source

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)

    def within(self, node: RuleNode) -> Span:
        return Span(self.source, node.start, node.end)


class Name(RuleNode):
    __slots__ = ("text",)
    text: str

    def __str__(self) -> str:
        return self.text


class ColumnSyntax(RuleNode):
    """A column in a declaration: `dependent: node`."""

    __slots__ = ("name", "type")
    name: str
    type: Name


class TypeDeclaration(Statement):
    """The declaration of a type: `.type node <: symbol`."""

    __slots__ = ("base", "doc", "name")

    def __init__(self, name: Name, base: Name, doc: str | None, source: Source, start: int, end: int) -> None:
        self.name, self.base, self.doc, self.source, self.start, self.end = name, base, doc, source, start, end


class Declaration(Statement):
    """The declaration of a predicate: `.decl edge(dependent: node, dependency: node)`, or `.native name(columns) =
    operator(predicates)`."""

    __slots__ = ("columns", "doc", "inputs", "name", "operator")

    def __init__(
        self,
        name: Name,
        columns: tuple[ColumnSyntax, ...],
        operator: Name | None,
        inputs: tuple[Name, ...],
        doc: str | None,
        source: Source,
        start: int,
        end: int,
    ) -> None:
        self.name, self.columns, self.operator, self.inputs, self.doc = name, columns, operator, inputs, doc
        self.source, self.start, self.end = source, start, end


class Directive(Statement):
    """A directive about predicates: `.input a, b`, `.output a`, `.open a` or `.export a`. `kind` is the word without
    the dot."""

    __slots__ = ("kind", "names")

    def __init__(self, kind: str, names: tuple[Name, ...], source: Source, start: int, end: int) -> None:
        self.kind, self.names, self.source, self.start, self.end = kind, names, source, start, end


class ImportSyntax(Statement):
    """`import acme.tags as t`: in this file, `t.NAME` is an export of that namespace."""

    __slots__ = ("alias", "space")

    def __init__(self, space: Name, alias: Name, source: Source, start: int, end: int) -> None:
        self.space, self.alias, self.source, self.start, self.end = space, alias, source, start, end


class RuleSyntax(Statement):
    """A rule or a fact: `@name("n") @reason("r") head :- body.` A fact has no body. If a body consists only of
    alternatives, it contains one Either."""

    __slots__ = ("annotations", "body", "head")

    def __init__(
        self,
        annotations: tuple[tuple[Name, Constant], ...],
        head: Atom,
        body: tuple[Written, ...],
        source: Source,
        start: int,
        end: int,
    ) -> None:
        self.annotations, self.head, self.body = annotations, head, body
        self.source, self.start, self.end = source, start, end


class CaseSyntax(Statement):
    """The beginning of a case: `.case "name"`."""

    __slots__ = ("name",)

    def __init__(self, name: str, source: Source, start: int, end: int) -> None:
        self.name, self.source, self.start, self.end = name, source, start, end


class GivenSyntax(Statement):
    """`.given "plan.json"`: the case uses the facts of this file or directory."""

    __slots__ = ("path",)

    def __init__(self, path: str, source: Source, start: int, end: int) -> None:
        self.path, self.source, self.start, self.end = path, source, start, end


class Want(Statement):
    """`.want edge("a", "b").` lists expected tuples, not necessarily all. `.want none edge.` means that `edge` has no
    tuples; then `atoms` is empty, and `none` contains the names of such predicates."""

    __slots__ = ("atoms", "none")

    def __init__(self, atoms: tuple[Atom, ...], none: tuple[Name, ...], source: Source, start: int, end: int) -> None:
        self.atoms, self.none, self.source, self.start, self.end = atoms, none, source, start, end


class RuleFile:
    """The statements of one file in order. `is_whole`: whether names in the file include their namespace
    (`acme.tags.kept`)."""

    __slots__ = ("is_whole", "source", "statements")

    def __init__(self, source: Source, statements: list[Statement], is_whole: bool = False) -> None:
        self.source, self.statements, self.is_whole = source, statements, is_whole
