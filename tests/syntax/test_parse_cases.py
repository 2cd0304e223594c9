"""What right texts mean. The expected trees agree with those that OpenTofu's own parser gives for the same texts."""

from __future__ import annotations

from typing import Any

import pytest
from syntax_show import show
from syntax_strategies import cases

from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax import nodes
from planner.language.syntax.body import NativeBody
from planner.language.syntax.parse import parse_config, parse_expression, parse_template


@pytest.mark.parametrize(("text", "tree"), cases("expressions.json"))
def test_expressions(text: str, tree: str) -> None:
    expression, diagnostics = parse_expression(Source("x.tf", text))
    assert (show(expression), diagnostics) == (tree, [])


@pytest.mark.parametrize(("text", "tree"), cases("expressions.json"))
def test_expressions_in_a_file(text: str, tree: str) -> None:
    body, diagnostics = parse_config(Source("x.tf", f"b {{\n  a = [\n{text}\n]\n}}\n"))
    assert (show(body), diagnostics) == (f"{{b {{a=[{tree}]}}}}", [])


@pytest.mark.parametrize(("text", "tree"), cases("configurations.json"))
def test_configurations(text: str, tree: str) -> None:
    body, diagnostics = parse_config(Source("x.tf", text))
    assert (show(body), diagnostics) == (tree, [])


@pytest.mark.parametrize(("text", "tree"), cases("templates.json"))
def test_templates(text: str, tree: str) -> None:
    expression, diagnostics = parse_template(Source("x.tf", text))
    assert (show(expression), diagnostics) == (tree, [])


def test_an_expression_may_begin_anywhere() -> None:
    expression, diagnostics = parse_expression(Source("x.tf", "+ + a.b"), 4)
    assert diagnostics == []
    assert isinstance(expression, nodes.Traversal)
    assert (expression.start, expression.root_end, expression.end) == (4, 5, 7)


def _pieces(node: Any) -> list[nodes.SyntaxNode]:
    """The expressions that stand in the text as such (not inside a splat or template)."""
    found = [node]
    for name in node.__slots__:
        child = getattr(node, name)
        for item in child if isinstance(child, tuple) else (child,):
            inside_text = isinstance(node, nodes.Template | nodes.TemplateIf | nodes.TemplateFor)
            if isinstance(item, nodes.Literal) and (inside_text or getattr(node, "bare", False)):
                continue
            skip = isinstance(
                item, nodes.GetAttr | nodes.GetIndex | nodes.ObjectItem | nodes.TemplateIf | nodes.TemplateFor
            )
            if isinstance(item, nodes.SyntaxNode) and not (isinstance(node, nodes.Splat) and name == "each"):
                found += (
                    _pieces(item)[1:] if skip or (inside_text and isinstance(item, nodes.Template)) else _pieces(item)
                )
    return found


@pytest.mark.parametrize("text", [text for text, _ in cases("expressions.json") if "<<" not in text])
def test_spans_are_those_of_the_text(text: str) -> None:
    """Every expression, cut out of the text by its span and parsed alone, is the same expression."""
    expression, _ = parse_expression(Source("x.tf", text))
    for piece in _pieces(expression):
        again, diagnostics = parse_expression(Source("x.tf", text[piece.start : piece.end]))
        assert diagnostics == []
        assert show(again) == show(piece)
        assert again is not None
        assert (again.start, again.end) == (0, piece.end - piece.start)


def test_spans_of_what_is_no_expression() -> None:
    text = 'block "label" bare { # c\n  name = f ( a.b [0], x[*].y, [for k, v in m : v] )\n}\n'
    source = Source("x.tf", text)
    body, _ = parse_config(source)

    def cut(start: int, end: int) -> str:
        return Span(source, start, end).text

    (block,) = body.blocks
    assert block.header_span.text == 'block "label" bare'
    assert block.span.text == text.rstrip("\n")
    assert cut(block.start, block.type_end) == "block"
    assert [cut(label.start, label.end) for label in block.labels] == ['"label"', "bare"]
    assert isinstance(block.body, NativeBody)
    assert cut(block.body.start, block.body.end) == text[text.index("{") :].rstrip("\n")
    assert (block.body.missing_span.start, block.body.missing_span.end) == (text.index("{"), text.index("{"))
    attribute = block.body.attributes["name"]
    assert attribute.name_span.text == "name"
    assert attribute.span.text == "name = f ( a.b [0], x[*].y, [for k, v in m : v] )"
    call: Any = attribute.expr
    assert (cut(call.start, call.name_end), text[call.open], text[call.close]) == ("f", "(", ")")
    path, splat, loop = call.arguments
    assert [cut(step.start, step.end) for step in path.steps] == [".b", "[0]"]
    assert cut(splat.marker_start, splat.marker_end) == "[*]"
    assert cut(splat.each.start, splat.each.end) == "[*].y"
    assert (cut(loop.start, loop.open_end), text[loop.close_start]) == ("[", "]")


def test_indented_heredoc_keeps_offsets() -> None:
    text = "a = <<-A\n    x${y}\n    A\n"
    body, _ = parse_config(Source("x.tf", text))
    template: Any = body.attributes["a"].expr
    assert [text[p.start : p.end] for p in template.parts] == ["x", "y", "\n"]
    assert text[template.start : template.end] == "<<-A\n    x${y}\n    A"


def test_positions_after_a_byte_order_mark() -> None:
    body, diagnostics = parse_config(Source("x.tf", "\ufeffa = 1\n"))
    position = body.attributes["a"].span.start_position
    assert (diagnostics, position.line, position.column, position.byte) == ([], 1, 1, 3)
