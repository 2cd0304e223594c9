"""Tokens, where they are not obvious."""

from __future__ import annotations

from collections.abc import Iterator
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from planner.language.syntax import lexer
from planner.language.syntax.lexer import tokenize


def kinds(text: str, mode: int = lexer.BODY) -> str:
    return " ".join(kind for kind, _, _ in tokenize(text, 0, mode))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "$END"),
        ("# x", "$END"),
        ("a = 1", "NAME EQUAL NUMBER NEWLINE $END"),
        ("b { // c\n}", "NAME LBODY NEWLINE RBRACE NEWLINE $END"),
        ("a = b / c // d\n", "NAME EQUAL NAME OPERATOR NAME NEWLINE $END"),
        ("a = 1 # c\n\n # d\n b = 2\n", "NAME EQUAL NUMBER NEWLINE NAME EQUAL NUMBER NEWLINE $END"),
        ("a = [\n1\n]\n", "NAME EQUAL LBRACKET NUMBER RBRACKET NEWLINE $END"),
        ("a = {\nb = 1\n}\n", "NAME EQUAL LBRACE NEWLINE NAME EQUAL NUMBER NEWLINE RBRACE NEWLINE $END"),
        (
            "a = {\nfor x in y : x => x\n}\n",
            "NAME EQUAL LBRACE FOR NAME IN NAME COLON NAME ARROW NAME RBRACE NEWLINE $END",
        ),
        ("b {\n for = 1\n}\n", "NAME LBODY NEWLINE FOR EQUAL NUMBER NEWLINE RBRACE NEWLINE $END"),
        ("a = <<EOT\n", "NAME EQUAL HEREDOC_OPEN $END"),
        ("a = b < <<EOT\nx\nEOT\n", "NAME EQUAL NAME OPERATOR HEREDOC_OPEN TEXT HEREDOC_CLOSE NEWLINE $END"),
        ("a = << b\n", "NAME EQUAL OPERATOR OPERATOR NAME NEWLINE $END"),
        ("a = b.c.d[0].e . f\n", "NAME EQUAL PATH LBRACKET NUMBER RBRACKET STEPS DOT NAME NEWLINE $END"),
        ("a = b...\n", "NAME EQUAL NAME ELLIPSIS NEWLINE $END"),
        ("a = 1.2.3\n", "NAME EQUAL NUMBER NEWLINE $END"),
        ("a = 1.x\n", "NAME EQUAL NUMBER STEPS NEWLINE $END"),
        ("a = 1e5e\n", "NAME EQUAL NUMBER NAME NEWLINE $END"),
        ('a = "x"\n', "NAME EQUAL STRING NEWLINE $END"),
        ('a = "$${x} $ %%{y} \\" \\\\"\n', "NAME EQUAL STRING NEWLINE $END"),
        ('a = "${x}"\n', "NAME EQUAL QUOTE_OPEN INTERPOLATE NAME TEMPLATE_CLOSE QUOTE_CLOSE NEWLINE $END"),
        ('a = "${ {} }"\n', "NAME EQUAL QUOTE_OPEN INTERPOLATE LBRACE RBRACE TEMPLATE_CLOSE QUOTE_CLOSE NEWLINE $END"),
        ('a = "${f(}"\n', "NAME EQUAL QUOTE_OPEN INTERPOLATE NAME LPAREN TEMPLATE_CLOSE QUOTE_CLOSE NEWLINE $END"),
        ('a = "%{~ if x ~}"\n', "NAME EQUAL QUOTE_OPEN DIRECTIVE_IF NAME TEMPLATE_CLOSE QUOTE_CLOSE NEWLINE $END"),
        ('a = "%{ iffy }"\n', "NAME EQUAL QUOTE_OPEN DIRECTIVE_UNKNOWN NAME TEMPLATE_CLOSE QUOTE_CLOSE NEWLINE $END"),
        ('a = "x\nb = 1\n', "NAME EQUAL QUOTE_OPEN TEXT QUOTED_NEWLINE NEWLINE NAME EQUAL NUMBER NEWLINE $END"),
        ("a = 1 /* x\n */ + 2\n", "NAME EQUAL NUMBER OPERATOR NUMBER NEWLINE $END"),
        ("a = 1 /* x\n", "NAME EQUAL NUMBER OPERATOR STAR NAME NEWLINE $END"),
        ("/**/ a /***/ = /* * / */ 1", "NAME EQUAL NUMBER NEWLINE $END"),
        ("a\u0301\u0661 = é-ü\n", "NAME EQUAL NAME NEWLINE $END"),
        ("a² = 1\n", "NAME INVALID EQUAL NUMBER NEWLINE $END"),
        ("\u0301 = 1\n", "INVALID EQUAL NUMBER NEWLINE $END"),
        ("a = x\u00a0\n", "NAME EQUAL NAME INVALID NEWLINE $END"),
        ("a = b.é².c\n", "NAME EQUAL PATH INVALID STEPS NEWLINE $END"),
        ("a \r= 1\n", "NAME INVALID EQUAL NUMBER NEWLINE $END"),
        ("\ufeffa = 1\n", "NAME EQUAL NUMBER NEWLINE $END"),
        ("a = \ufeff1\n", "NAME EQUAL INVALID NUMBER NEWLINE $END"),
    ],
)
def test_tokens(text: str, expected: str) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x\n${y}\n z", "TEXT INTERPOLATE NAME TEMPLATE_CLOSE TEXT TEXT $END"),
        ("${\n y\n}", "INTERPOLATE NAME TEMPLATE_CLOSE $END"),
        ("%{ endfor }$", "DIRECTIVE_ENDFOR TEMPLATE_CLOSE TEXT $END"),
        ('"${y}"', "TEXT INTERPOLATE NAME TEMPLATE_CLOSE TEXT $END"),
    ],
)
def test_bare_templates(text: str, expected: str) -> None:
    assert kinds(text, lexer.BARE) == expected


def test_heredoc_markers() -> None:
    text = "a = <<-X\n X2\n  X \nb = <<Y\nX\n\tY\n"
    tokens = [(kind, value) for kind, value, _ in tokenize(text) if kind.startswith(("TEXT", "HEREDOC"))]
    assert tokens == [
        ("HEREDOC_OPEN", "<<-X\n"),
        ("TEXT", " X2\n"),
        ("HEREDOC_CLOSE", "  X "),
        ("HEREDOC_OPEN", "<<Y\n"),
        ("TEXT", "X\n"),
        ("HEREDOC_CLOSE", "\tY"),
    ]


@pytest.mark.parametrize("comments", [True, False])
def test_repetitions_go_back_to_where_they_failed(comments: bool) -> None:
    """Python before 3.11.5 reads `${` as text otherwise, also if the tests run with a later one."""
    patterns = [*vars(lexer._patterns(comments)).values(), lexer._quoted_text, lexer._template_line]
    bodies = [body for one in patterns for body in possessive(_parser.parse(one.__self__.pattern))]
    assert bodies
    for body in bodies:
        kind, argument = body[0]
        assert str(kind) == "BRANCH" and str(argument[1][-1]) in ("[(FAILURE, ())]", "[(ASSERT_NOT, (1, []))]"), body


def possessive(pattern: Any) -> Iterator[Any]:
    """The repeated parts of a parsed expression that never backtrack and are more than one character."""
    if isinstance(pattern, _parser.SubPattern):
        for kind, argument in pattern:
            if str(kind) == "POSSESSIVE_REPEAT" and str(argument[2][0][0]) not in ("IN", "LITERAL", "NOT_LITERAL"):
                yield argument[2]
            yield from possessive(argument)
    elif isinstance(pattern, (list, tuple)):
        for part in pattern:
            yield from possessive(part)
