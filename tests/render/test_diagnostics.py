"""Diagnostics for people and as JSON."""

from __future__ import annotations

import pytest
from cli.conftest import make_terminal
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.vocabulary.diagnostic import Deprecation, error, warning
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source, Span
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import MappingScope
from planner.language.syntax.parse import parse_expression
from planner.render import source_context
from planner.render.diagnostics import consolidate, render, show, together
from planner.render.diagnostics_json import diagnostic_json, validate_json
from planner.render.source_context import enclosing_block
from planner.render.terminal import Paint, wrap

TEXT = """variable "x" {}

resource "terraform_data" "ä" {
  input = "ö${var.nope}"

  provisioner "local-exec" {
    command = <<EOT
}
EOT
  }
}
output "o" { value = 1 }
"""
MAIN = Source("main.tf", TEXT)


def at(piece, source=MAIN):
    start = source.text.index(piece)
    return Span(source, start, start + len(piece))


def test_json_counts_columns_in_characters_and_offsets_in_bytes():
    found = diagnostic_json(error("x.y", "Unknown", "No such variable.", at("var.nope"), values=(("var.x", "is 5"),)))
    assert found == {
        "severity": "error",
        "summary": "Unknown",
        "detail": "No such variable.",
        "range": {
            "filename": "main.tf",
            "start": {"line": 4, "column": 15, "byte": 65},
            "end": {"line": 4, "column": 23, "byte": 73},
        },
        "snippet": {
            "context": 'resource "terraform_data" "ä"',
            "code": '  input = "ö${var.nope}"',
            "start_line": 4,
            "highlight_start_offset": 15,
            "highlight_end_offset": 23,
            "values": [{"traversal": "var.x", "statement": "is 5"}],
        },
        "code": "x.y",
    }


def test_json_snippet_covers_the_context():
    found = diagnostic_json(error("x", "S", "D", at("var.nope"), context=at(TEXT[17:75])))
    assert found["snippet"]["start_line"] == 3
    assert found["snippet"]["code"].startswith('resource "terraform_data" "ä" {\n  input')


def test_json_stretches_an_empty_place():
    found = diagnostic_json(error("x", "S", "", Span(MAIN, 0, 0)))
    assert found["range"]["end"] == {"line": 1, "column": 2, "byte": 1}


def test_json_without_a_place():
    assert diagnostic_json(warning("x", "S", address="a.b")) == {
        "severity": "warning",
        "summary": "S",
        "detail": "",
        "address": "a.b",
        "code": "x",
    }


def test_validate_json():
    found = validate_json([error("x", "S"), warning("y", "W")])
    assert (found["valid"], found["error_count"], found["warning_count"]) == (False, 1, 1)
    assert [d["severity"] for d in found["diagnostics"]] == ["warning", "error"]
    assert validate_json([])["valid"]


@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
@settings(max_examples=examples(80))
def test_the_highlight_is_the_subject(a, b):
    start, end = min(a, b), max(a, b)
    snippet = diagnostic_json(error("x", "S", "", Span(MAIN, start, end)))["snippet"]
    code = snippet["code"].encode()
    marked = code[snippet["highlight_start_offset"] : snippet["highlight_end_offset"]].decode()
    assert TEXT[start:end].strip("\n").startswith(marked.strip("\n")) or start == end


PLAIN = """
Error: Unknown

  with a.b,
  on main.tf line 4, in resource "terraform_data" "ä":
   4:   input = "ö${var.nope}"
    ├────────────────
    │ var.x is 5

No such variable."""
BOXED = """╷
│ Error: Unknown
│
│   with a.b,
│   on main.tf line 4, in resource "terraform_data" "ä":
│    4:   input = "ö${var.nope}"
│     ├────────────────
│     │ var.x is 5
│
│ No such variable.
│
│ planner explain x
╵"""


@pytest.mark.parametrize(("boxed", "text"), [(False, PLAIN), (True, BOXED)])
def test_text(boxed, text):
    problem = error("x", "Unknown", "No such variable.", at("var.nope"), values=(("var.x", "is 5"),), address="a.b")
    assert render(problem, Paint(False), 78, boxed) == text


def test_the_subject_is_underlined_in_colour():
    assert "${\x1b[4mvar.nope\x1b[0m}" in render(error("x", "S", "", at("var.nope")), Paint(True), 78, True)


@pytest.mark.parametrize("piece", ["here", "here" + "b" * 90_000])
def test_of_a_very_long_line_what_is_around_the_subject_is_shown(piece):
    source = Source("long", "first\n" + "a" * 90_000 + piece + "c" * 90_000 + "\nlast")
    shown = render(error("x", "S", "", at(piece, source)), Paint(False), 78, True)
    assert len(shown) < 2_000 and "...aaa" in shown and "ahere" in shown and "ccc..." in shown


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in render(error("x", "a\x1b[2J", "b\x07"), Paint(False), 78, False)


def test_errors_and_warnings_go_apart():
    screen = make_terminal()
    show([error("x", "Bad"), warning("y", "Odd")], screen)
    assert screen.stderr.getvalue() == "\nError: Bad\n"
    assert screen.stdout.getvalue() == "\nWarning: Odd\n"


def test_similar_warnings_stand_together():
    problems = [warning("x", "Old", "Use new.", at(p)) for p in ("var.nope", "local-exec", "input")]
    apart = [evolve(problems[0], group="other"), evolve(problems[0], severity="error")]
    found = consolidate([*problems, *apart, problems[0]], ["warning"])
    assert [len(group) for group in found] == [4, 1, 1]
    assert together(*found[0][:3]).detail == "Use new.\n\n(and 2 more similar warnings elsewhere)"
    assert together(*found[0][:2]).detail == "Use new.\n\n(and one more similar warning elsewhere)"


@pytest.mark.parametrize(("level", "shown"), [("all", ["b", "a"]), ("local", ["b"]), ("none", [])])
def test_each_deprecation_is_shown_once(level, shown):
    screen = make_terminal()
    screen.deprecation = level
    causes = [Deprecation("a", is_remote=True), Deprecation("b")]
    problems = [
        warning("x", "Old", cause.by, at(place), deprecation=cause, group=cause.by)
        for place in ("input", "var.nope")
        for cause in causes
    ]
    show(problems, screen)
    text = screen.stdout.getvalue()
    assert text.count("Warning: Old") == len(shown)
    assert all(f"\n{name}\n" in text for name in shown)


def test_compact_warnings():
    screen = make_terminal()
    screen.compact_warnings = True
    show([warning("x", "Old", "Use new.", at(p)) for p in ("input", "var.nope")], screen)
    assert "- Old\n  on main.tf line 4 (and 1 more)\n" in screen.stdout.getvalue()
    assert "Use new." not in screen.stdout.getvalue()


@pytest.mark.parametrize(
    ("piece", "block"),
    [
        ("var.nope", 'resource "terraform_data" "ä"'),
        ("EOT\n  }", 'resource "terraform_data" "ä"'),
        ("value = 1", 'output "o"'),
        ("{}", 'variable "x"'),
    ],
)
def test_enclosing_block(piece, block):
    assert enclosing_block(MAIN, TEXT.index(piece)) == block


def test_the_mark_of_an_encoding_is_in_no_block():
    text = '\ufeffrun "x" {\n  a = 1\n}\n'
    assert enclosing_block(Source("t.tftest.hcl", text), text.index("a =")) == 'run "x"'


def test_blocks_are_looked_for_once_in_a_file(monkeypatch):
    ends = []
    real = source_context._item_end
    monkeypatch.setattr(source_context, "_item_end", lambda *words: ends.append(words) or real(*words))
    source = Source("many.tf", 'check "c" {\n}\nx = 1\n' * 100)
    found = [enclosing_block(source, offset) for offset in range(len(source.text))]
    assert len(ends) == 200
    assert found == [*['check "c"'] * 13, *[None] * 7] * 100


def test_no_enclosing_block():
    assert enclosing_block(MAIN, -1) is None
    assert enclosing_block(MAIN, TEXT.index("\n\nresource") + 1) is None
    assert enclosing_block(Source("a.tf", "a = {\n b = 1\n}\n"), 8) is None
    assert enclosing_block(Source("a.tf.json", '{"resource": {}}'), 5) is None


def test_the_way_into_json():
    text = '{"run": {"a": {"assert": [{"condition": 1}]}}, "x": 2}'
    source = Source("a.tftest.json", text)
    assert enclosing_block(source, text.index("condition")) == "run.a.assert[0]"
    assert enclosing_block(source, text.index("2}")) is None
    assert enclosing_block(Source("b.tf.json", '{"a": {'), 6) is None


@given(st.text(alphabet='{}[]()"$\\<E\n#/* ab=', max_size=40), st.integers(0, 40))
@settings(max_examples=examples(150))
def test_the_scan_ends_on_any_text(text, offset):
    enclosing_block(Source("a.tf", text), offset)


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=9), max_size=12), st.integers(2, 20))
@settings(max_examples=examples(60))
def test_wrap_keeps_the_words(words, width):
    wrapped = wrap(" ".join(words), width)
    assert wrapped.split() == words
    assert all(len(line) <= width or " " not in line for line in wrapped.split("\n"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("upper()", {"called_as": "upper", "signature": ("upper", ["str string"], None, "string")}),
        ("core::max([]...)", {"called_as": "core::max", "signature": ("max", [], "numbers number", "number")}),
        ("lower([])", {"called_as": "lower", "signature": ("lower", ["str string"], None, "string")}),
        ("nothing(0)", None),
    ],
)
def test_function_call(text, expected):
    node, _ = parse_expression(Source("x.tf", text))
    _, diagnostics = try_evaluate(node, MappingScope({}), Source("x.tf", text))
    call = diagnostic_json(diagnostics[0])["snippet"].get("function_call")
    if call is not None:
        found = call["signature"]
        parts = [f"{p['name']} {p['type']}" for p in (*found["params"], found.get("variadic_param")) if p is not None]
        count = len(found["params"])
        variadic = parts[count] if len(parts) > count else None
        call["signature"] = (found["name"], parts[:count], variadic, found["return_type"])
    assert call == expected
