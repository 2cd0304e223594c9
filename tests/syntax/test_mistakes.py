"""What wrong texts are told, and where. The positions agree with those that OpenTofu reports for the same texts."""

from __future__ import annotations

import json
import time

import pytest
from syntax_show import show
from syntax_strategies import CASES

from planner.foundation.values.value import UNKNOWN
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.span import Source
from planner.language.syntax import mistakes, nodes
from planner.language.syntax.mistakes import MISTAKES, Mistake
from planner.language.syntax.parse import parse_config, parse_expression


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: f"{m.place}-{'-'.join(m.tokens)}")
def test_every_entry_of_the_table_by_its_example(mistake: Mistake) -> None:
    start, end = mistake.example.index("«"), mistake.example.index("»") - 1
    source = Source("x.tf", mistake.example.replace("«", "").replace("»", ""))
    parse = parse_expression if mistake.place == "expression_end" else parse_config
    _, diagnostics = parse(source)
    first = next(d for d in diagnostics if d.code == mistake.code)
    assert first.subject is not None
    assert (first.code, first.summary, first.subject.start, first.subject.end) == (
        mistake.code,
        mistake.summary,
        start,
        end,
    )
    assert "{" not in first.detail.replace("`${", "").replace("%{", "").replace("$${", "").replace('"{"', "")


def test_no_two_entries_claim_the_same() -> None:
    claims = [(place, kind) for m in MISTAKES for place in m.place.split() for kind in m.tokens]
    assert len(claims) == len(set(claims))
    assert {place for place, _ in claims if (place, "*") not in claims} == {"anywhere"}


def test_sentences() -> None:
    for mistake in MISTAKES:
        assert not mistake.summary.endswith(".")
        assert mistake.detail.endswith(".")


@pytest.mark.parametrize(("text", "expected"), json.loads((CASES / "mistakes.json").read_text(encoding="utf-8")))
def test_mistakes(text: str, expected: list[list[object]]) -> None:
    _, diagnostics = parse_config(Source("x.tf", text))
    found = [[d.code.removeprefix("syntax."), d.subject.start, d.subject.end] for d in diagnostics if d.subject]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1 b = 2\nc = 3\n", "{a=1 c=3}"),
        ("a = [1 2]\nb {\n  c = 1\n}\n", "{a=unknown b {c=1}}"),
        ("b {\n  a = = 1\n  c = 2\n}\n", "{b {a=unknown c=2}}"),
        ("b {\n  a = 1 }\nc = 2\n", "{b {a=1} c=2}"),
        ("b { a = 1, c = 2 }\nd = 1\n", "{b {a=1} d=1}"),
        ('b "x" 1 {\n  c = 1\n}\nd = 1\n', '{b "x" {} d=1}'),
        ("b\nc = 1\n", "{c=1}"),
        ("a = 1\n)\nb = 2\n", "{a=1 b=2}"),
        ("b {\n  c {\n    a = 1\n", "{b {c {a=1}}}"),
        ('a = "x\nb = 2\n', "{a=unknown b=2}"),
        ('a = { b = "x\n  c = 1\n}\nd = 2\n', "{a={c=1} d=2}"),
        ('a = "${1 2}x"\nb = 1\n', '{a=(template unknown "x") b=1}'),
        ("a = <<A\n${1 2}\nA\nb = 1\n", '{a=(template unknown "\\n") b=1}'),
        ("a = x ? 1\nb = 2\n", "{a=x b=2}"),
    ],
)
def test_what_was_whole_is_kept(text: str, tree: str) -> None:
    body, diagnostics = parse_config(Source("x.tf", text))
    assert all(d.subject and d.subject.start >= diagnostics[0].subject.start for d in diagnostics)
    assert show(body) == tree


def test_an_expression_with_a_mistake_is_unknown() -> None:
    body, _ = parse_config(Source("x.tf", "a = )\n"))
    expression = body.attributes["a"].expr
    assert isinstance(expression, nodes.Literal)
    assert expression.value == UNKNOWN


def test_of_later_mistakes_only_those_that_no_earlier_one_can_have_caused_are_told() -> None:
    text = "".join(f"r{i} {{\n  a = [1 2]\n  b = f(\n    1,,2)\n  c\n}}\n" for i in range(10))
    _, diagnostics = parse_config(Source("x.tf", text))
    assert [d.subject.line for d in diagnostics if d.subject] == [2, *(6 * i + 5 for i in range(10))]


def test_reports_end_at_a_hundred() -> None:
    for text in ("a\n" * 1000, 'a = "' + "b\n" * 1000):
        _, diagnostics = parse_config(Source("x.tf", text))
        assert 100 <= len(diagnostics) <= 101


DEEP = 5000


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "(" * DEEP + "1" + ")" * DEEP + "\n",
        "a = " + "[" * DEEP,
        "a = " + "{a=" * DEEP + "1" + "}" * DEEP + "\n",
        "a {\n" * DEEP,
        "}\n" * DEEP,
        "a = " + "+".join(["x"] * DEEP) + "\n",
        "a = " + "a?b:" * DEEP + "c\n",
        "a = " + '"${' * DEEP + "x" + '}"' * DEEP + "\n",
        "a = " + '"${' * DEEP,
        "a = b" + "[*]" * 1000 + "\n",
        "a = b" + ".*" * 1000 + "\n",
        "/*" * DEEP,
        '"' * DEEP,
        'a = "' * DEEP,
        "a = <<E\n" * DEEP,
        'a = "' + "%{if x}" * DEEP + '"\n',
        "a = 1" + ".1" * DEEP + "\n",
        "a = " + "[for x in " * DEEP,
        "a" + ' "x"' * DEEP + " {}\n",
        'a = "' + "\\" * DEEP + "\n",
        "a = f(\n" * DEEP,
        "\0" * DEEP,
        "a = x[" * DEEP,
    ],
    ids=lambda text: repr(text[:16]),
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    """Seconds for what takes milliseconds: anything worse than linear takes much longer."""
    start = time.process_time()
    parse_config(Source("x.tf", text))
    assert time.process_time() - start < 5


@pytest.mark.parametrize("char", ["'", "`", ";", "&", "|", "~", "^", "“", "$", "@", "\\", "\x00", "²", "\ue000"])
def test_characters_without_meaning(char: str) -> None:
    _, (found, *_) = parse_config(Source("x.tf", f"a = {char}1\n"))
    assert found.code == "syntax.invalid_character"
    assert found.subject is not None
    assert found.subject.text == char


def test_details_name_what_was_met() -> None:
    def detail(text: str) -> str:
        diagnostics: list[Diagnostic] = parse_config(Source("x.tf", text))[1]
        return diagnostics[0].detail

    assert 'not "b".' in detail("a = 1 b\n")
    assert "not the end of the line." in detail("a = b ? c\n")
    assert "not a quoted string." in detail('a = b."x"\n')
    assert "not the end." in detail("a = 1 ? 2")
    assert mistakes.describe(("NAME", "x" * 100, 0)) == '"' + "x" * 37 + '..."'
