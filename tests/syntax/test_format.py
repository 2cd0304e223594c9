"""The standard layout: what it makes of every construct, and what holds for every file."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from random_tests import examples
from syntax_strategies import CONFIGURATIONS, texts

from planner.foundation.vocabulary.diagnostic import has_errors
from planner.foundation.vocabulary.span import Source
from planner.language.syntax.format import format_text
from planner.language.syntax.parse import parse_config

# What OpenTofu 1.12.6 makes of these.
LAYOUT = {
    "columns": (
        "a = 1 # x\nbbb = 22 // y\n# z\nc = { # q\nd=1\neeee= [ # r\n1,2]\n}\n",
        "a   = 1  # x\nbbb = 22 // y\n# z\nc = { # q\n  d = 1\n  eeee = [ # r\n  1, 2]\n}\n",
    ),
    "columns of wide characters": ('é = "日本" # a\nb = 1 # c\n', 'é = "日本" # a\nb = 1    # c\n'),
    "columns of characters that join what is before them": (
        'a = {\n"\u0301b" = 1 # x\n"ab" = a.\u0e33b # y\n"c"=a[0].\u0e33 # z\n}\n',
        'a = {\n  "\u0301b" = 1      # x\n  "ab" = a.\u0e33b   # y\n  "c"  = a[0].\u0e33 # z\n}\n',
    ),
    "blank lines and ends": ("a=1\t\n\n\n\tb\t=\t2   \n   ", "a = 1\n\n\nb = 2\n   "),
    "no line break at the end": ("a=1 /* x */\nbb=2/*e*/", "a  = 1 /* x */\nbb = 2 /*e*/"),
    "carriage returns": ("a\t{\r\n b=1\r\n}\r\n", "a {\r\n  b = 1\r\n}\r\n"),
    "byte order mark": ("\ufeffa=1\n", "a = 1\n"),
    "blocks in a line": ('a { b = 1 }\nc "d" { }\n', 'a { b = 1 }\nc "d" {}\n'),
    "labels": ('a b "\\u0041" /*d*/ {/*e*/}\n', 'a "b" "A" /*d*/ { /*e*/ }\n'),
    "signs": (
        "a = b -1\nc=[ - 1,- a ]\nd=k==- 1\ne=!a&&-b>- 1\n",
        "a = b - 1\nc = [-1, -a]\nd = k == -1\ne = !a && -b > -1\n",
    ),
    "steps": ("x = a [ 0 ] . b[*].c.*.d\n", "x = a[0].b[*].c.*.d\n"),
    "for": ("x = [for k,v in[1,2]:v if k==1]\n", "x = [for k, v in [1, 2] : v if k == 1]\n"),
    "calls": ("x = f (a ...)\ny=provider::a::b (1)\n", "x = f(a...)\ny = provider::a::b(1)\n"),
    "brackets over lines": ("x=f([{\na=1},\n{\nb=2}])\n", "x = f([{\n  a = 1 },\n  {\nb = 2 }])\n"),
    "heredoc": (
        "x = <<EOT\n  ${ a }%{ if b }q%{ else }  z%{ endif ~}\n  EOT\n",
        "x = <<EOT\n  ${a}%{if b}q%{else}  z%{endif~}\n  EOT\n",
    ),
    "heredoc in a call": ("y=[\nf(<<A\n q\nA\n,1)\n]\n", "y = [\n  f(<<A\n q\nA\n  , 1)\n]\n"),
    "object in a template": ('x = "a${{a=1}}"\n', 'x = "a${ { a = 1 } }"\n'),
    "interpolation alone": ('x = "${a}" /* c */\ny = /* d */ "${~ b ~}"\n', "x = a /* c */\ny = /* d */ b\n"),
    "interpolation over lines": ('x = "${\n a ?\n b : c\n}"\n', "x = (a ?\nb : c)\n"),
    "interpolation in parentheses": ('x = "${(\n a\n)}"\n', "x = (\n  a\n)\n"),
    "interpolation with a nested text": ('x = "${f("${a}b")}"\n', 'x = f("${a}b")\n'),
    "two interpolations": ('x = "${a}${b}"\ny = "a" == "${b}"\n', 'x = "${a}${b}"\ny = "a" == "${b}"\n'),
    "types": (
        'variable a {\n type="string"\n}\nvariable b {\n type=list\n}\nvariable c {\n type="map"\n}\n',
        'variable "a" {\n  type = string\n}\nvariable "b" {\n  type = list(any)\n}\nvariable "c" {\n'
        "  type = map(string)\n}\n",
    ),
    "type of something else": ('a {\n  type = "string"\n}\n', 'a {\n  type = "string"\n}\n'),
}

# Where OpenTofu loses a label, writes what it cannot read, or wants to be run twice, the layout does not.
SAFER = {
    "label with a dollar": ('a "x$y" "\\u200b$${x}" {}\n', 'a "x$y" "\\u200b$${x}" {}\n'),
    "wrapped twice": ('x = "${"${a}"}"\n', "x = a\n"),
    "comment inside": ('x = "${a + # c\n b}"\n', "x = (a + # c\nb)\n"),
    "parentheses that are not pair": ('x = "${(a) +\n (b)}"\n', "x = ((a) +\n(b))\n"),
}


@pytest.mark.parametrize("name", [*LAYOUT, *SAFER])
def test_layout(name: str) -> None:
    given, expected = (LAYOUT | SAFER)[name]
    assert not has_errors(parse_config(Source("x.tf", given))[1])
    assert format_text(given) == expected


def check(text: str) -> None:
    formatted = format_text(text)
    assert not has_errors(parse_config(Source("x.tf", formatted))[1])
    assert format_text(formatted) == formatted


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_formatting_again_changes_nothing(text: str) -> None:
    if has_errors(parse_config(Source("x.tf", text))[1]):
        pytest.skip("has mistakes")
    check(text)


@pytest.mark.slow
@settings(max_examples=examples(100), suppress_health_check=list(HealthCheck))
@given(texts)
def test_what_parses_still_does(text: str) -> None:
    assume(not has_errors(parse_config(Source("x.tf", text))[1]))
    check(text)
