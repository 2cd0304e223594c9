"""Our loop over the tables against Lark's own parser: the same grammar and tokens must give the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import lark
import pytest
from hypothesis import given, settings
from lark.lexer import Lexer
from random_tests import examples
from syntax_show import show
from syntax_strategies import cases, texts

from planner.foundation.support.assets import grammar_path
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.span import Source
from planner.language.syntax import lexer
from planner.language.syntax.build import Builder
from planner.language.syntax.lexer import simple_tokens, tokenize
from planner.language.syntax.parse import STARTS, parse_config, parse_expression, parse_template


class OurTokens(Lexer):
    """Feeds Lark our tokens; a keyword is a name where the grammar wants a name."""

    __future_interface__ = 2  # type: ignore[assignment]
    mode = lexer.BODY

    def __init__(self, _: Any) -> None: ...

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[lark.Token]:
        states = parser_state.parse_conf.states
        for token in tokenize(lexer_state.text.text, 0, self.mode)[:-1]:
            for kind, text, at in simple_tokens(token) if token[0] == "FOR_PATH" else [token]:
                accepted = states[parser_state.position]
                name = "NAME" if kind in ("FOR", "IN", "IF") and kind not in accepted else kind
                yield lark.Token(name, text, start_pos=at)


class Expressions(OurTokens):
    mode = lexer.BRACKETS


class Templates(OurTokens):
    mode = lexer.BARE


@cache
def _lark(start: str, tokens: type[Lexer]) -> lark.Lark:
    text = grammar_path("config.lark").read_text(encoding="utf-8")
    return lark.Lark(text, parser="lalr", lexer=tokens, start=start, keep_all_tokens=True, maybe_placeholders=False)


PARSERS = {
    "file": (OurTokens, parse_config),
    "expression": (Expressions, parse_expression),
    "template": (Templates, parse_template),
}


def _build(tree: Any, builder: Builder) -> Any:
    """The actions over Lark's tree, from the leaves up."""
    if isinstance(tree, lark.Token):
        return (tree.type, str(tree), tree.start_pos)
    return getattr(builder, tree.data)([_build(child, builder) for child in tree.children])


def by_lark(start: str, text: str) -> tuple[str, list[Diagnostic]] | None:
    tokens, _ = PARSERS[start]
    try:
        tree = _lark(start, tokens).parse(text)
    except lark.exceptions.UnexpectedInput:
        return None
    builder = Builder(Source("x.tf", text))
    return show(_build(tree, builder)), builder.diagnostics


def by_us(start: str, text: str) -> tuple[str, list[Diagnostic]]:
    _, parse = PARSERS[start]
    result, diagnostics = parse(Source("x.tf", text))  # type: ignore[operator]
    return show(result), diagnostics


def compare(start: str, text: str) -> None:
    lark_says, (tree, diagnostics) = by_lark(start, text), by_us(start, text)
    if lark_says is None:
        assert diagnostics, text
    else:
        assert [d.code for d in diagnostics] == [d.code for d in lark_says[1]]
        if start == "file" or not diagnostics:
            assert tree == lark_says[0]


@pytest.mark.parametrize("text", [text for text, _ in cases("expressions.json")])
def test_expressions(text: str) -> None:
    compare("expression", text)
    compare("file", f"a = {text}\n")


@pytest.mark.parametrize("text", [text for text, _ in cases("configurations.json")])
def test_files(text: str) -> None:
    compare("file", text)


@pytest.mark.parametrize(
    "text", ["for.x", "[for.x]", "[a, for.x.y]", "[for x in for.y : for.z]", "{for.x = 1}", "b[for.x]"]
)
def test_a_path_that_begins_with_a_keyword(text: str) -> None:
    compare("expression", text)


@settings(max_examples=examples(300))
@given(texts)
def test_any_text(text: str) -> None:
    for start in STARTS:
        compare(start, text)
