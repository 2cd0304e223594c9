"""The layout of rule files: what it changes, and that it changes nothing else."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import thinned

from planner.foundation.support.assets import rules_path
from planner.language.syntax.rule_format import format_rules
from planner.language.syntax.rule_parse import parse_rules, tokens_of

LAID_OUT = [
    ("blanks", 'a( X,Y ):-b(X ,"c" ) ,not c( Y),X!=Y.', 'a(X, Y) :- b(X, "c"), not c(Y), X != Y.'),
    (
        "numbers and signs",
        "a(X) :- b(X),X> -1, X=3-1,Y=X - 2,Z= -X1.",
        "a(X) :- b(X), X > -1, X = 3 - 1, Y = X - 2, Z = - X1.",
    ),
    (
        "calls",
        'a(X) :- b(Y), X=length( lower(Y) )+1, X = Y++"z".',
        'a(X) :- b(Y), X = length(lower(Y)) + 1, X = Y ++ "z".',
    ),
    (
        "aggregates",
        "a(N) :- N=count:{b(_) ,c(_)}, M = sum V :{ d(V)}.",
        "a(N) :- N = count : { b(_), c(_) }, M = sum V : { d(V) }.",
    ),
    ("declarations", ".decl a( x:any , y : number )\n.output  a,b", ".decl a(x: any, y: number)\n.output a, b"),
    (
        "what a case wants",
        f'.case "x"\n.want {", ".join(40 * ["a(1)"])}. .want none b.',
        f'.case "x"\n.want {", ".join(19 * ["a(1)"])},\n    {", ".join(19 * ["a(1)"])},\n    a(1), a(1). .want none b.',
    ),
    ("types", ".type  node<:symbol    // a kind", ".type node <: symbol    // a kind"),
    ("annotations", '@name( "x" )  @reason("y")\na(X):-b(X).', '@name("x") @reason("y")\na(X) :- b(X).'),
    ("continuations", "a(X) :-\nb(X),\n  c(X).\nd(1).", "a(X) :-\n    b(X),\n    c(X).\nd(1)."),
    (
        "a declaration of several lines",
        ".decl a(\n  x: any,\n  y: any)\n.output a",
        ".decl a(\n    x: any,\n    y: any)\n.output a",
    ),
    ("an aggregate of several lines", "a(N) :- N = count : {\nb(_)\n}.", "a(N) :- N = count : {\n        b(_)\n    }."),
    ("empty lines", "\n\na(1).\n\n\n\nb(1).  \n\n", "a(1).\n\nb(1)."),
    (
        "comments",
        "// one\n\n\n//two   \na(1).   // three\n/* four\n  five */\nb(1).",
        "// one\n\n//two\na(1).   // three\n/* four\n  five */\nb(1).",
    ),
    ("a comment within a rule", "a(X) :-\n// why\nb(X).", "a(X) :-\n    // why\n    b(X)."),
    (
        "cases",
        '.case   "x"\na(1).b(2).\n.want a( 1 ) ,\n a(2).\n.want none  b,c.',
        '.case "x"\na(1). b(2).\n.want a(1),\n    a(2).\n.want none b, c.',
    ),
    (
        "what is too long",
        f"a(X) :- b(X), {', '.join(f'condition_{i}(X, Y)' for i in range(8))}.",
        "a(X) :-\n    b(X), condition_0(X, Y), condition_1(X, Y), condition_2(X, Y), condition_3(X, Y), "
        "condition_4(X, Y),\n"
        "    condition_5(X, Y), condition_6(X, Y), condition_7(X, Y).",
    ),
    ("what cannot be broken", f'a("{"x" * 130}").', f'a("{"x" * 130}").'),
]


@pytest.mark.parametrize(("text", "wanted"), [case[1:] for case in LAID_OUT], ids=[case[0] for case in LAID_OUT])
def test_layout(text: str, wanted: str) -> None:
    assert format_rules(text) == f"{wanted}\n"
    assert format_rules(f"{wanted}\n") == f"{wanted}\n"


def words(text: str) -> list[tuple[str, str]]:
    """Tokens and comments, without where they stand."""
    return [(kind, word.rstrip()) for kind, word, _, _ in tokens_of(text)]


FILES = sorted((*rules_path().rglob("*.dl"), *rules_path().rglob("*.case"), *Path("tests/rules").rglob("*.case")))


@pytest.mark.parametrize("folder", thinned(sorted({path.parent for path in FILES}), 3), ids=lambda path: path.name)
def test_files_keep_their_meaning(folder: Path) -> None:
    for path in FILES:
        if path.parent == folder:
            text = path.read_text(encoding="utf-8")
            once = format_rules(text)
            assert words(once) == words(text), path
            assert format_rules(once) == once, path
            assert not parse_rules(path.name, once)[1]


STATEMENTS = [
    ".decl edge(dependent: node, dependency: node)\n.output edge, other",
    '@name("a.b") @reason("{A} is {B}")\nedge(A, B) :- reference(A, B, P), not pruned(A), A != B, P > -1.',
    'a(N, "x") :- b(_), N = count : { c(X), d(X, Y) }, M = sum X * (Y - 1) : { c(X), d(X, Y) }, M >= N.',
    '.want edge("a", "b"), edge("b", "c").',
    '.case "what holds"\nfact(1). fact(-2.5). fact(true).',
]


@pytest.mark.slow
@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_any_spacing(statements: list[str], random: Random) -> None:
    """However the tokens are spaced, what comes out has the same ones, and stays as it is."""
    spaces = [" ", "  ", "\n", "\n\n", "\n   ", "\t", " // why\n"]
    text = "\n".join(
        "".join(word + random.choice(spaces) for _, word, _, _ in tokens_of(statement)) for statement in statements
    )
    once = format_rules(text)
    assert words(once) == words(text)
    assert format_rules(once) == once
