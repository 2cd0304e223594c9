"""The typed syntax of the rule language: what `rule_parse` gives and the rule engine reads.

Nodes are slotted, compared by identity and never changed after parsing. `start` and `end` are code point offsets into
the text of the file, end exclusive. `str(node)` is the node as rule text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from planner.foundation.vocabulary.span import Source, Span

if TYPE_CHECKING:
    from decimal import Decimal


def quote(text: str) -> str:
    """A string as rule text: in double quotes, with escapes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'


class RuleNode:
    """Base: the node's position."""

    __slots__ = ("end", "start")
    start: int
    end: int

    def __init__(self, *values: Any) -> None:
        for name, value in zip((*self.__slots__, "start", "end"), values, strict=True):
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


# ---------------------------------------------------------------- terms


class RuleVariable(RuleNode):
    """A variable, `A`. The wildcard `_` is a Wildcard."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str, start: int, end: int) -> None:
        self.name, self.start, self.end = name, start, end

    def __str__(self) -> str:
        return self.name


class Wildcard(RuleNode):
    """`_`: any value, used nowhere else."""

    __slots__ = ()

    def __str__(self) -> str:
        return "_"


class Constant(RuleNode):
    """A string, a whole number, a number with a point (Decimal) or a truth value (bool), as a plain Python value."""

    __slots__ = ("value",)
    value: str | int | Decimal | bool

    def __init__(self, value: str | int | Decimal | bool, start: int, end: int) -> None:
        self.value, self.start, self.end = value, start, end

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return quote(self.value)
        if isinstance(self.value, int):
            return str(self.value).lower()
        text = format(self.value, "f")  # the language writes no exponents
        return text if "." in text else text + ".0"


_BINDING = {"++": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}


class RuleCall(RuleNode):
    """A function of values: `length(S)`, or an operator with two arguments (`+`, `-`, `*`, `/`, `%`, `++`).
    `depth` is how deep calls nest in it."""

    __slots__ = ("arguments", "depth", "function")
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
        return f"{_within(left, level)} {self.function} {_within(right, level + 1)}"


def _within(term: Term, level: int) -> str:
    inner = _BINDING.get(term.function, 9) if isinstance(term, RuleCall) else 9
    return f"({term})" if inner < level else str(term)


Term: TypeAlias = RuleVariable | Wildcard | Constant | RuleCall


# ---------------------------------------------------------------- literals


class Atom(RuleNode):
    """`edge(A, "b")`: as a positive literal, as the head of a rule, or inside a Negation."""

    __slots__ = ("arguments", "predicate")
    predicate: str
    arguments: tuple[Term, ...]

    def __init__(self, predicate: str, arguments: tuple[Term, ...], start: int, end: int) -> None:
        self.predicate, self.arguments, self.start, self.end = predicate, arguments, start, end

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(map(str, self.arguments))})"


class Negation(RuleNode):
    """`not edge(A, _)`: no such tuple holds."""

    __slots__ = ("atom",)
    atom: Atom

    def __str__(self) -> str:
        return f"not {self.atom}"


class Comparison(RuleNode):
    """`A != B`. With `=`, a variable on one side that nothing else binds gets the value of the other."""

    __slots__ = ("left", "operator", "right")
    operator: str
    left: Term
    right: Term

    def __init__(self, operator: str, left: Term, right: Term, start: int, end: int) -> None:
        self.operator, self.left, self.right, self.start, self.end = operator, left, right, start, end

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


class Test(RuleNode):
    """`starts_with(A, "module.")`: a built-in test of values, possibly under `not`."""

    __slots__ = ("arguments", "function", "negated")
    function: str
    arguments: tuple[Term, ...]
    negated: bool

    def __init__(self, function: str, arguments: tuple[Term, ...], negated: bool, start: int, end: int) -> None:
        self.function, self.arguments, self.negated, self.start, self.end = function, arguments, negated, start, end

    def __str__(self) -> str:
        return f"{'not ' if self.negated else ''}{self.function}({', '.join(map(str, self.arguments))})"


class Aggregate(RuleNode):
    """`N = count : { edge(M, _) }`, `S = sum X : { size(M, X) }`, `min`, `max`.

    Ranges over the distinct assignments to all variables and wildcards of `body`; variables that also occur outside
    are fixed. `expression` is None for count. `min` and `max` of nothing do not hold.
    """

    __slots__ = ("body", "expression", "function", "result")
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
        """The text after `=`."""
        of = "" if self.expression is None else f" {self.expression}"
        return f"{self.function}{of} : {{ {', '.join(map(str, self.body))} }}"

    def __str__(self) -> str:
        return f"{self.result} = {self.formula}"


class Builtin(RuleNode):
    """`json(Text, Path, Value)`: a built-in relation, whose first columns (`inputs`) have to have values and give the
    rows of the others (`outputs`); possibly under `not`. `X in ["a", "b"]` is one: `in`, whose inputs are the list."""

    __slots__ = ("inputs", "negated", "outputs", "relation")
    relation: str
    inputs: tuple[Term, ...]
    outputs: tuple[Term, ...]
    negated: bool

    def __init__(
        self, relation: str, inputs: tuple[Term, ...], outputs: tuple[Term, ...], negated: bool, start: int, end: int
    ) -> None:
        self.relation, self.inputs, self.outputs, self.negated = relation, inputs, outputs, negated
        self.start, self.end = start, end

    def __str__(self) -> str:
        if self.relation == MEMBER:
            return f"{self.outputs[0]} {'not ' if self.negated else ''}in [{', '.join(map(str, self.inputs))}]"
        arguments = ", ".join(map(str, (*self.inputs, *self.outputs)))
        return f"{'not ' if self.negated else ''}{self.relation}({arguments})"


MEMBER = "in"
"""the built-in relation of the values in a list"""


class Either(RuleNode):
    """`(p(X), q(X) ; r(X))`: one of several bodies holds. Rules are written with these and linked without."""

    __slots__ = ("alternatives",)
    alternatives: tuple[tuple[Written, ...], ...]

    def __str__(self) -> str:
        return f"({' ; '.join(', '.join(map(str, body)) for body in self.alternatives)})"


Literal: TypeAlias = Atom | Negation | Comparison | Test | Aggregate | Builtin
Written: TypeAlias = Literal | Either
"""a literal as rule files have it"""


# ---------------------------------------------------------------- statements


class Statement(RuleNode):
    """Base of statements at the top level of a file; it has its file."""

    __slots__ = ("source",)
    source: Source

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)

    def within(self, node: RuleNode) -> Span:
        """The span of a node inside this statement."""
        return Span(self.source, node.start, node.end)


class Name(RuleNode):
    """A name with its place."""

    __slots__ = ("text",)
    text: str

    def __str__(self) -> str:
        return self.text


class ColumnSyntax(RuleNode):
    """`dependent: node`."""

    __slots__ = ("name", "type")
    name: str
    type: Name


class TypeDeclaration(Statement):
    """`.type node <: symbol`."""

    __slots__ = ("base", "doc", "name")

    def __init__(self, name: Name, base: Name, doc: str | None, source: Source, start: int, end: int) -> None:
        self.name, self.base, self.doc, self.source, self.start, self.end = name, base, doc, source, start, end


class Declaration(Statement):
    """`.decl edge(dependent: node, dependency: node)`, or `.native name(columns) = operator(predicates)`."""

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
    """`.input a, b`, `.output a`, `.open a`, `.export a`: `kind` is the word without the dot."""

    __slots__ = ("kind", "names")

    def __init__(self, kind: str, names: tuple[Name, ...], source: Source, start: int, end: int) -> None:
        self.kind, self.names, self.source, self.start, self.end = kind, names, source, start, end


class ImportSyntax(Statement):
    """`import acme.tags as t`: what the name space exports is called `t.NAME` in this file."""

    __slots__ = ("alias", "space")

    def __init__(self, space: Name, alias: Name, source: Source, start: int, end: int) -> None:
        self.space, self.alias, self.source, self.start, self.end = space, alias, source, start, end


class RuleSyntax(Statement):
    """`@name("n") @reason("r") head :- body.`; a fact has no body. Alternatives of the whole body are one Either."""

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
    """`.case "name"`: a case begins."""

    __slots__ = ("name",)

    def __init__(self, name: str, source: Source, start: int, end: int) -> None:
        self.name, self.source, self.start, self.end = name, source, start, end


class GivenSyntax(Statement):
    """`.given "plan.json"`: the content of a file or directory is given in a case."""

    __slots__ = ("path",)

    def __init__(self, path: str, source: Source, start: int, end: int) -> None:
        self.path, self.source, self.start, self.end = path, source, start, end


class Want(Statement):
    """`.want edge("a", "b").` (some of the tuples wanted) or `.want none edge.` (`atoms` empty, `none` the names)."""

    __slots__ = ("atoms", "none")

    def __init__(self, atoms: tuple[Atom, ...], none: tuple[Name, ...], source: Source, start: int, end: int) -> None:
        self.atoms, self.none, self.source, self.start, self.end = atoms, none, source, start, end


class RuleFile:
    """One parsed file: its statements in order. `is_whole`: it was made with whole names, such as `acme.tags.kept`."""

    __slots__ = ("is_whole", "source", "statements")

    def __init__(self, source: Source, statements: list[Statement], is_whole: bool = False) -> None:
        self.source, self.statements, self.is_whole = source, statements, is_whole
