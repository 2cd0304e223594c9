"""Reading rule text: what comes out, that printing it gives the same text again, and that no text makes it fall."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from engine_helpers import shown
from random_programs import RandomProgram

from planner.foundation.support.assets import grammar_path, rules_path
from planner.language.syntax.rule_parse import parse_query, parse_rules
from planner.language.syntax.rule_syntax import Constant, Declaration, RuleSyntax, Want
from planner.language.syntax.tables import construct
from planner.logic.datalog.engine.cache import load_program
from planner.logic.datalog.engine.compile import build_program
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase

LITERALS = [
    'edge(A, "b", _)',
    "not edge(A, _)",
    "A != B",
    'A = B ++ " (expand)"',
    "N = (M + 1) * 2",
    "N = M - (K - 1)",
    "N = M - K - 1",
    "N = -3",
    "X < 1.5",
    "X = true",
    'starts_with(A, "module.")',
    'not matches(A, "^a.*z$")',
    "N = count : { edge(A, _), not pruned(A) }",
    "N = sum M + 1 : { edge(A, M), M > 1 }",
    'A = "tab\\tquote\\"backslash\\\\line\\n"',
    'A = before(after(B, "."), "[")',
    "done()",
]


@pytest.mark.parametrize("text", LITERALS)
def test_printing_gives_the_text_again(text: str) -> None:
    literals, _source, diagnostics = parse_query(text)
    assert diagnostics == []
    assert ", ".join(map(str, literals)) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"\\u00e9\\U0001F600\\n\\t\\r\\"\\\\"', 'é😀\n\t\r"\\'),
        ("1", 1),
        ("-1", -1),
        ("1.0", Decimal("1.0")),
        ("-1.50", Decimal("-1.5")),
        ("true", True),
        ("false", False),
        ('"1"', "1"),
        ("100000000000000000000.5", Decimal("100000000000000000000.5")),
    ],
)
def test_constants(text: str, value: object) -> None:
    file, diagnostics = parse_rules("x.dl", f"p({text}).")
    assert diagnostics == []
    (rule,) = file.statements
    assert isinstance(rule, RuleSyntax)
    (constant,) = rule.head.arguments
    assert isinstance(constant, Constant)
    assert (type(constant.value), constant.value) == (type(value), value)
    again, _ = parse_rules("x.dl", f"p({constant}).")
    (rule,) = again.statements
    assert isinstance(rule, RuleSyntax)
    assert rule.head.arguments[0].value == value  # type: ignore[union-attr]


def test_docs_and_places() -> None:
    text = "// head\n\n///  edge(a):\n///    indented\n.decl edge(a: symbol)\n"
    text += '@reason("r")\nedge( "x" ) :-\n  b(). /* c */\n'
    file, diagnostics = parse_rules("x.dl", text)
    assert diagnostics == []
    declaration, rule = file.statements
    assert isinstance(declaration, Declaration)
    assert declaration.doc == "edge(a):\n  indented"
    assert isinstance(rule, RuleSyntax)
    assert rule.span.text == '@reason("r")\nedge( "x" ) :-\n  b().'
    assert rule.within(rule.head).text == 'edge( "x" )'


def test_cases_are_read() -> None:
    file, diagnostics = parse_rules("x.case", '.case "c" p("a"). .want q("b"), q("c"). .want none r, s.')
    assert diagnostics == []
    _case, _fact, want, none = file.statements
    assert isinstance(want, Want)
    assert [str(a) for a in want.atoms] == ['q("b")', 'q("c")']
    assert isinstance(none, Want)
    assert [n.text for n in none.none] == ["r", "s"]


def test_tables_are_made_alike_every_time() -> None:
    text = grammar_path("datalog.lark").read_text(encoding="utf-8")
    assert construct(text, ("file", "query")) == construct(text, ("file", "query"))


def test_larks_own_loop_accepts_the_same_rules() -> None:
    """The grammar is stock Lark: its own lexer and loop agree with ours on every rule file."""
    from lark import Lark

    text = grammar_path("datalog.lark").read_text(encoding="utf-8")
    lark = Lark(text, parser="lalr", start=["file", "query"])
    for path in sorted(rules_path().rglob("*.dl")):
        tree = lark.parse(path.read_text(encoding="utf-8"), start="file")
        file, diagnostics = parse_rules(path.name, path.read_text(encoding="utf-8"))
        assert diagnostics == [], path
        assert len(list(tree.find_data("append"))) == len(file.statements)


def test_the_example_of_the_readme() -> None:
    readme = (rules_path() / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```datalog\n(// A comment.*?)```", readme, re.DOTALL)
    assert code is not None
    program, diagnostics = load_program([("example.dl", code[1])])
    assert program is not None
    assert list(map(shown, diagnostics)) == []


NOISE = [
    '"',
    "\\",
    "/*",
    "///",
    "\0",
    "é",
    ".",
    "not",
    "count",
    ":-",
    "1.5",
    '"\\u0041"',
    "@",
    "{",
    "}",
    "_",
    "-",
    "9" * 99,
]


@pytest.mark.parametrize("seed", range(8))
def test_damaged_text_gives_diagnostics(seed: int) -> None:
    """Whatever the text: a program or diagnostics with places, never an exception."""
    random = Random(seed)
    goldens = [p.read_text(encoding="utf-8") for p in sorted((Path(__file__).parent / "diagnostics").glob("*.dl"))]
    accepted = 0
    for number in range(60):
        text = RandomProgram(seed * 1000 + number).text if random.random() < 0.7 else random.choice(goldens)
        tokens = re.findall(r'\s+|"[^"\n]*"|\w+|[^\w\s]', text)
        for _ in range(random.choice([1, 1, 2, 4])):
            i, j = random.randrange(len(tokens)), random.randrange(len(tokens))
            action = random.random()
            if action < 0.3:
                del tokens[i]
            elif action < 0.6:
                tokens.insert(i, tokens[j])
            elif action < 0.8:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            else:
                tokens.insert(i, random.choice(NOISE))
        program, diagnostics = build_program([("damaged.dl", "".join(tokens))], None)
        for diagnostic in diagnostics:
            assert diagnostic.subject is not None
            assert shown(diagnostic)
        assert program is not None or diagnostics
        if program is not None:
            evaluate(program, FactBase.build({}))
            accepted += 1
    assert accepted
