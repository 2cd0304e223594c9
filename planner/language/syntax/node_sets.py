"""Parses expressions for sets of vertices, as used on the command line:

    deps(module.net.*) & rdeps(terraform_data.a) - data.*

A name is an address, the name of a vertex (such as `module.net (close)`, optionally in quotes), or a pattern with `*`
(any text) and `?` (one character). Inside brackets, `*` and `?` are literal. `+` is the union, `&` the intersection and
`-` the difference; all have the same precedence and are evaluated from left to right. Because names may contain `-`,
the operator `-` requires a space before it. Verbs take sets as arguments; `deps` and `rdeps` also take a depth:
`deps(root, 2)`. If the caller allows it, a comma is a union, too: `deps(a, b)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source, Span

VERBS = {"deps": 1, "rdeps": 1, "somepath": 2, "allpaths": 2, "blast": 1}  # number of arguments of each verb
WITH_DEPTH = ("deps", "rdeps")
MAX_NESTED = 100


@frozen
class SetName:
    """The name of a vertex, an address, or a pattern."""

    text: str
    span: Span


@frozen
class SetCall:
    """The call of a verb such as `deps`. `depth`: the maximum number of edges to follow; None for no limit."""

    verb: str
    arguments: tuple[NodeSet, ...]
    depth: int | None
    span: Span


@frozen
class Combination:
    """The set `first`, to which the other sets are added (+), intersected (&) or subtracted (-) in order."""

    first: NodeSet
    others: tuple[tuple[str, NodeSet], ...]
    span: Span


NodeSet: TypeAlias = SetName | SetCall | Combination

_STRING = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(
    rf"""(?P<operator>[-+&(),])
    | (?P<quoted>{_STRING})
    | (?P<word>(?:[^\s()\[\]",&+]|\[(?:{_STRING}|[^\]"])*\])+)
    | (?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)
_SUFFIX = re.compile(r" \([a-z][a-z0-9, ]*\)")  # module.net (close)
_BLANK = re.compile(r"\s*")


def parse_node_set(
    text: str, what: str = "vertices", verbs: Mapping[str, int] = VERBS, commas_unite: bool = False
) -> NodeSet:
    """Parse an expression for a set. `what`: the plural of the sets' members, for messages. `verbs`: the allowed verbs.
    `commas_unite`: whether sets may be separated by commas, which denotes their union. Raises Failure with the position
    of the first mistake."""
    return _NodeSetReader(Source("<query>", text), what, verbs, commas_unite).read()


class _NodeSetReader:
    def __init__(self, source: Source, what: str, verbs: Mapping[str, int], commas_unite: bool) -> None:
        self.what, self.verbs, self.commas_unite = what, verbs, commas_unite
        self.source, self.text, self.at, self.nested = source, source.text, 0, 0
        self.kind, self.token, self.start = "", "", 0
        self.advance()

    def read(self) -> NodeSet:
        start, nodes = self.start, self.expression()
        while self.commas_unite and self.kind == ",":
            self.advance()
            nodes = Combination(nodes, (("+", self.expression()),), self.span(start))
        if self.kind != "end":
            detail = f"An operator (+, - or &) or the end is expected here, not {self.show()}."
            raise self.mistake(detail)
        return nodes

    def advance(self) -> None:
        self.end = self.at
        self.start = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]
        match = _TOKEN.match(self.text, self.start)
        if match is None:
            self.kind, self.token = "end", ""
            return
        self.kind, self.token, self.at = str(match.lastgroup), match[0], match.end()
        if self.kind == "operator":
            self.kind = self.token
        elif self.kind == "word" and self.token not in self.verbs:
            suffix = _SUFFIX.match(self.text, self.at)
            if suffix is not None:
                self.token, self.at = self.token + suffix[0], suffix.end()

    def show(self) -> str:
        return self.token if self.token else "the end"

    def span(self, start: int, end: int | None = None) -> Span:
        return Span(self.source, start, self.end if end is None else end)

    def mistake(self, detail: str) -> Failure:
        end = max(self.at, self.start) if self.kind != "end" else len(self.text)
        return Failure(error("query.syntax", f"Not a set of {self.what}", detail, self.span(self.start, end)))

    def expression(self) -> NodeSet:
        start, first = self.start, self.term()
        others = []
        while self.kind in ("+", "-", "&"):
            operator = self.kind
            self.advance()
            others.append((operator, self.term()))
        return Combination(first, tuple(others), self.span(start)) if others else first

    def term(self) -> NodeSet:
        start, token = self.start, self.token
        if self.kind == "(":
            self.advance()
            nodes = self.inside()
            self.expect(")", start)
            return nodes
        if self.kind == "quoted":
            self.advance()
            return SetName(re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL), self.span(start))
        if self.kind != "word":
            if self.token == '"':
                raise self.mistake("This quote is never closed.")
            if self.token == "[":
                raise self.mistake("This bracket is never closed.")
            raise self.mistake(f"A name, a verb or a parenthesis is expected here, not {self.show()}.")
        self.advance()
        if self.kind != "(" or (self.start != start + len(token) and token not in self.verbs):
            return SetName(token, self.span(start))
        return self.call(token, start)

    def call(self, verb: str, start: int) -> NodeSet:
        if verb not in self.verbs:
            detail = f"There is no verb {verb}.{did_you_mean(verb, self.verbs)} The verbs are {', '.join(self.verbs)}."
            raise Failure(error("query.verb", "Unknown verb", detail, self.span(start, start + len(verb))))
        opening, depth = self.start, None
        arguments: list[NodeSet] = []
        self.advance()
        while True:
            if arguments and verb in WITH_DEPTH and self.kind == "word" and self.token.isdecimal():
                depth = int(self.token[:9])
                self.advance()
                break
            if self.kind != ")":
                arguments.append(self.inside())
            if self.kind != ",":
                break
            self.advance()
        self.expect(")", opening)
        if self.commas_unite and len(arguments) > 1:
            others = tuple(("+", other) for other in arguments[1:])
            arguments = [Combination(arguments[0], others, self.span(opening + 1, self.at - 1))]
        if len(arguments) != self.verbs[verb]:
            one, two = f"one set of {self.what}", f"two sets of {self.what}: the start and the end of the paths"
            wanted = one if self.verbs[verb] == 1 else two
            if verb in WITH_DEPTH:
                wanted += ", and at most a depth (a whole number)"
            detail = f"{verb} takes {wanted}."
            raise Failure(error("query.arguments", "Wrong arguments for a graph operator", detail, self.span(start)))
        return SetCall(verb, tuple(arguments), depth, self.span(start))

    def inside(self) -> NodeSet:
        self.nested += 1
        if self.nested > MAX_NESTED:
            raise self.mistake(f"Parentheses are nested more than {MAX_NESTED} levels deep.")
        nodes = self.expression()
        self.nested -= 1
        return nodes

    def expect(self, kind: str, opening: int) -> None:
        if self.kind != kind:
            detail = f"The parenthesis in column {opening + 1} must be closed here, but {self.show()} follows."
            raise self.mistake(detail)
        self.advance()
