"""Actions of `grammar/datalog.lark`: each converts the values of a production's right side to a node."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Protocol

from planner.foundation.vocabulary.span import Source
from planner.language.syntax import rule_syntax as syntax

Token = tuple[str, str, int, int]  # terminal, text, start, end


class ProductionReader(Protocol):
    """The methods of the reader that actions use."""

    source: Source

    def doc(self, start: int) -> str | None:
        """The doc comment before the token at `start`, None if there is none; marks the comment as attached."""

    def report(self, code: str, summary: str, detail: str, start: int, end: int) -> None: ...

    def add(self, statement: syntax.Statement) -> None:
        """Add a complete statement."""


def _as_name(value: Any) -> Any:
    return syntax.Name(value[1], value[2], value[3]) if type(value) is tuple else value


def _make_rule(
    r: ProductionReader, annotations: list[Any], head: syntax.RuleCall, body: list[syntax.Written], stop: Token
) -> syntax.RuleSyntax:
    start = annotations[0][0].start - 1 if annotations else head.start
    return syntax.RuleSyntax(tuple(annotations), _atom(head), tuple(body), r.source, start, stop[3])


def _atom(call: syntax.RuleCall) -> syntax.Atom:
    return syntax.Atom(call.function, call.arguments, call.start, call.end)


def file(_: ProductionReader, v: list[Any]) -> Any:
    return v[0]


def query(_: ProductionReader, v: list[Any]) -> list[syntax.Written]:
    return _body(next(x for x in v if type(x) is list))


def none(_: ProductionReader, v: list[Any]) -> list[Any]:
    return []


def append(r: ProductionReader, v: list[Any]) -> None:
    r.add(v[1])


def same(_: ProductionReader, v: list[Any]) -> Any:
    return v[0]


def list_(_: ProductionReader, v: list[Any]) -> list[Any]:
    return [_as_name(v[0])]


def list_more(_: ProductionReader, v: list[Any]) -> list[Any]:
    v[0].append(_as_name(v[2]))
    return v[0]  # type: ignore[no-any-return]


def type_(r: ProductionReader, v: list[Any]) -> syntax.TypeDeclaration:
    return syntax.TypeDeclaration(_as_name(v[1]), _as_name(v[3]), r.doc(v[0][2]), r.source, v[0][2], v[3][3])


def declaration(r: ProductionReader, v: list[Any]) -> syntax.Declaration:
    return syntax.Declaration(_as_name(v[1]), tuple(v[3]), None, (), r.doc(v[0][2]), r.source, v[0][2], v[4][3])


def native(r: ProductionReader, v: list[Any]) -> syntax.Declaration:
    name, columns, operator, inputs = _as_name(v[1]), tuple(v[3]), _as_name(v[6]), tuple(v[8])
    return syntax.Declaration(name, columns, operator, inputs, r.doc(v[0][2]), r.source, v[0][2], v[9][3])


def directive(r: ProductionReader, v: list[Any]) -> syntax.Directive:
    return syntax.Directive(v[0][1][1:], tuple(v[1]), r.source, v[0][2], v[1][-1].end)


def import_(r: ProductionReader, v: list[Any]) -> syntax.ImportSyntax:
    if v[2][1] != "as":
        detail = f"Write the import like this: import {v[1][1]} as {v[1][1].rpartition('.')[2]}"
        r.report("rules.syntax", "Syntax error in an import", detail, v[0][2], v[2][3])
    return syntax.ImportSyntax(_as_name(v[1]), _as_name(v[3]), r.source, v[0][2], v[3][3])


def case(r: ProductionReader, v: list[Any]) -> syntax.CaseSyntax:
    return syntax.CaseSyntax(_text(r, v[1]), r.source, v[0][2], v[1][3])


def given(r: ProductionReader, v: list[Any]) -> syntax.GivenSyntax:
    return syntax.GivenSyntax(_text(r, v[1]), r.source, v[0][2], v[1][3])


def want(r: ProductionReader, v: list[Any]) -> syntax.Want:
    return syntax.Want(tuple(map(_atom, v[1])), (), r.source, v[0][2], v[2][3])


def want_none(r: ProductionReader, v: list[Any]) -> syntax.Want:
    if v[1][1] != "none":
        detail = f'Expected a tuple after .want, as in .want edge("a", "b"), or the word none, not {v[1][1]}.'
        r.report("rules.syntax", "Syntax error in a case", detail, v[1][2], v[1][3])
    return syntax.Want((), tuple(v[2]), r.source, v[0][2], v[3][3])


def fact(r: ProductionReader, v: list[Any]) -> syntax.RuleSyntax:
    return _make_rule(r, v[0], v[1], [], v[2])


def rule(r: ProductionReader, v: list[Any]) -> syntax.RuleSyntax:
    return _make_rule(r, v[0], v[1], _body(v[3]), v[4])


def annotation(r: ProductionReader, v: list[Any]) -> list[Any]:
    v[0].append((_as_name(v[2]), string(r, v[4:5])))
    return v[0]  # type: ignore[no-any-return]


def column(_: ProductionReader, v: list[Any]) -> syntax.ColumnSyntax:
    return syntax.ColumnSyntax(v[0][1], _as_name(v[2]), v[0][2], v[2][3])


def positive(_: ProductionReader, v: list[Any]) -> syntax.Atom:
    return _atom(v[0])


def negation(_: ProductionReader, v: list[Any]) -> syntax.Negation:
    return syntax.Negation(_atom(v[1]), v[0][2], v[1].end)


def comparison(_: ProductionReader, v: list[Any]) -> syntax.Comparison:
    return syntax.Comparison(v[1][1], v[0], v[2], v[0].start, v[2].end)


def first(_: ProductionReader, v: list[Any]) -> list[Any]:
    return [v[0]]


def another(_: ProductionReader, v: list[Any]) -> list[Any]:
    v[0].append(v[2])
    return v[0]  # type: ignore[no-any-return]


def member(_: ProductionReader, v: list[Any]) -> syntax.Builtin:
    negated = len(v) > 5
    return syntax.Builtin(syntax.MEMBER, tuple(v[-2]), (v[0],), negated, v[0].start, v[-1][3])


def no_member(_: ProductionReader, v: list[Any]) -> syntax.Builtin:
    return syntax.Builtin(syntax.MEMBER, tuple(v[4]), (v[1],), True, v[0][2], v[5][3])


def group_and(r: ProductionReader, v: list[Any]) -> syntax.Either:
    (first, *others) = v[3]
    return _either([[v[1], *first], *others], v[0][2], v[4][3])


def group_or(r: ProductionReader, v: list[Any]) -> syntax.Either:
    return _either([[v[1]], *v[3]], v[0][2], v[4][3])


def _either(alternatives: list[list[syntax.Written]], start: int, end: int) -> syntax.Either:
    return syntax.Either(tuple(map(tuple, alternatives)), start, end)


def _body(alternatives: list[list[syntax.Written]]) -> list[syntax.Written]:
    """The literals of a body; a single Either if the body has several alternatives."""
    if len(alternatives) == 1:
        return alternatives[0]
    return [_either(alternatives, alternatives[0][0].start, alternatives[-1][-1].end)]


def aggregation(_: ProductionReader, v: list[Any]) -> syntax.Aggregate:
    function, expression, body, end = v[2]
    return syntax.Aggregate(v[0], function, expression, tuple(body), v[0].start, end)


def count(_: ProductionReader, v: list[Any]) -> Any:
    return v[0][1], None, v[3], v[4][3]


def fold_(_: ProductionReader, v: list[Any]) -> Any:
    return v[0][1], v[1], v[4], v[5][3]


def operation(r: ProductionReader, v: list[Any]) -> syntax.RuleCall | syntax.Constant:
    return _limit_depth(r, syntax.RuleCall(v[1][1], (v[0], v[2]), v[0].start, v[2].end))


def variable(_: ProductionReader, v: list[Any]) -> syntax.RuleVariable | syntax.Wildcard:
    _kind, word, start, end = v[0]
    return syntax.Wildcard(start, end) if word == "_" else syntax.RuleVariable(word, start, end)


def string(r: ProductionReader, v: list[Any]) -> syntax.Constant:
    return syntax.Constant(_text(r, v[0]), v[0][2], v[0][3])


def number(r: ProductionReader, v: list[Any]) -> syntax.Constant:
    return syntax.Constant(_numeral(r, v[0]), v[0][2], v[0][3])


def negative(r: ProductionReader, v: list[Any]) -> syntax.Constant:
    number = _numeral(r, v[1])
    return syntax.Constant(-number if isinstance(number, int) else number.copy_negate(), v[0][2], v[1][3])


def truth(_: ProductionReader, v: list[Any]) -> syntax.Constant:
    return syntax.Constant(v[0][1] == "true", v[0][2], v[0][3])


def parenthesised(_: ProductionReader, v: list[Any]) -> Any:
    return v[1]


def call_empty(_: ProductionReader, v: list[Any]) -> syntax.RuleCall:
    return syntax.RuleCall(v[0][1], (), v[0][2], v[2][3])


def call(r: ProductionReader, v: list[Any]) -> syntax.RuleCall | syntax.Constant:
    return _limit_depth(r, syntax.RuleCall(v[0][1], tuple(v[2]), v[0][2], v[3][3]))


PRODUCTIONS: dict[str, Callable[[ProductionReader, list[Any]], Any]] = {
    "file": file,
    "query": query,
    "none": none,
    "append": append,
    "same": same,
    "list": list_,
    "list_more": list_more,
    "type": type_,
    "declaration": declaration,
    "native": native,
    "directive": directive,
    "import": import_,
    "case": case,
    "given": given,
    "want": want,
    "want_none": want_none,
    "fact": fact,
    "rule": rule,
    "annotation": annotation,
    "column": column,
    "positive": positive,
    "negation": negation,
    "comparison": comparison,
    "first": first,
    "another": another,
    "member": member,
    "no_member": no_member,
    "group_and": group_and,
    "group_or": group_or,
    "aggregation": aggregation,
    "count": count,
    "fold": fold_,
    "operation": operation,
    "variable": variable,
    "string": string,
    "number": number,
    "negative": negative,
    "truth": truth,
    "parenthesised": parenthesised,
    "call_empty": call_empty,
    "call": call,
}


_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_MAX_DIGITS = 1000  # Python does not read numbers with more than 4,300 digits
_DEEPEST = 50  # later stages are recursive


def _limit_depth(r: ProductionReader, made: syntax.RuleCall) -> syntax.RuleCall | syntax.Constant:
    """The call, if it is not nested too deeply. Otherwise an error is reported. The result is then a constant for an
    operation, and a call without arguments for a function."""
    if made.depth <= _DEEPEST:
        return made
    detail = (
        f"Expressions can be nested at most {_DEEPEST} levels deep. Assign a part of this one to a variable (X = "
        "...), and use X."
    )
    r.report("rules.syntax", "Expression nested too deeply", detail, made.start, made.end)
    operator = not made.function.isidentifier()
    return (
        syntax.Constant(0, made.start, made.end)
        if operator
        else syntax.RuleCall(made.function, (), made.start, made.end)
    )


def _numeral(r: ProductionReader, token: Token) -> int | Decimal:
    word = token[1]
    if len(word) > _MAX_DIGITS:
        detail = f"A number has at most {_MAX_DIGITS} digits."
        r.report("rules.syntax", "Number too long", detail, token[2], token[3])
        return 0
    if "." not in word:
        return int(word)
    return Decimal(word)


def _text(r: ProductionReader, token: Token) -> str:
    body = token[1][1:-1]
    if "\\" not in body:
        return body

    def replace(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) > 1:
            number = int(escape[1:], 16)
            if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF:
                return chr(number)
        elif escape in _ESCAPES:
            return _ESCAPES[escape]
        start = token[2] + 1 + match.start()
        detail = 'The escapes of a string are \\n, \\t, \\r, \\", \\\\, \\uXXXX and \\UXXXXXXXX.'
        r.report("rules.syntax", "Unknown escape", detail, start, start + len(match[0]))
        return ""

    return _ESCAPE.sub(replace, body)
