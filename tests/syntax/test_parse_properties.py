"""What holds for every text, right or wrong."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples
from syntax_show import show
from syntax_strategies import PIECES, texts

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.span import Source
from planner.language.syntax import lexer
from planner.language.syntax.body import NativeBody, variables
from planner.language.syntax.json_body import parse_json
from planner.language.syntax.lexer import simple_tokens, tokenize
from planner.language.syntax.parse import parse_config, parse_expression, parse_template

relaxed = settings(max_examples=examples(300))


def check(diagnostics: list[Diagnostic], text: str) -> None:
    for diagnostic in diagnostics:
        assert diagnostic.subject is not None
        assert 0 <= diagnostic.subject.start <= diagnostic.subject.end <= len(text)
        assert diagnostic.subject.start_position.line <= text.count("\n") + 1
        assert diagnostic.detail.endswith((".", "?"))
    assert len({(d.subject, d.code) for d in diagnostics if d.subject}) == len(diagnostics)


@relaxed
@given(texts)
def test_any_text_is_answered(text: str) -> None:
    body, diagnostics = parse_config(Source("x.tf", text))
    check(diagnostics, text)
    for parse in (parse_expression, parse_template):
        expression, found = parse(Source("x.tf", text))
        check(found, text)
        assert (expression is None) == bool(found)
    variables(body)


@relaxed
@given(texts)
def test_parsing_is_repeatable_and_pickles(text: str) -> None:
    first, problems = parse_config(Source("x.tf", text))
    second, again = parse_config(Source("x.tf", text))
    assert repr(first) == repr(second)
    assert problems == again
    assert repr(pickle.loads(pickle.dumps(first))) == repr(first)


@relaxed
@given(texts, st.sampled_from([lexer.BODY, lexer.BRACKETS, lexer.BARE]))
def test_tokens_are_pieces_of_the_text_in_order(text: str, mode: int) -> None:
    end = 0
    for token in tokenize(text, 0, mode):
        kind, value, at = token
        assert text[at : at + len(value)] == value
        assert at >= end or kind in ("NEWLINE", "QUOTED_NEWLINE")
        end = max(end, at + len(value)) if kind != "QUOTED_NEWLINE" else at
        parts = simple_tokens(token)
        assert "".join(part[1] for part in parts) == value
    assert (kind, at) == ("$END", len(text))


@relaxed
@given(st.text(alphabet='{}[]:,"\\ \n0123456789.eE+-truefalsn/u\ud83d', max_size=40))
def test_any_json_is_answered(text: str) -> None:
    body, diagnostics = parse_json(Source("x.tf.json", text))
    check(diagnostics, text)
    assert body is not None or diagnostics


@relaxed
@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_added_lines_do_not_change_the_first_item(noise: str) -> None:
    """Whatever follows it, a block that is complete stays in the tree as it is."""
    body, _ = parse_config(Source("x.tf", 'b "x" {\n  a = [1, 2]\n}\n' + noise))
    assert isinstance(body, NativeBody)
    assert show(body).startswith('{b "x" {a=[1 2]}')
