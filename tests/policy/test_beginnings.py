"""What is said of a text by its beginning holds of every text that begins so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.answers.policy.string_prefixes import is_found, known_parts, known_result, known_truth, prefix_of_result
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS

TEXTS = ["", "arn:aws:", "arn:aws:kms:eu-west-1:1:key/a", "acme-web-", "acme-web-7", "t2.", "t2.micro", "10.1.0.0/1"]
TEXTS += ["2026-11-2", "2026-11-23T09:30:00Z", "1.2", "1.2.0-rc1", "72h", "P30", "{", '{"a": "b"}', "\u00a0{}"]
TEXTS += [" 10.0.0.0/8 ", "aGFs", "\x1caGFsbG8=", "~> 1.", "xyz", "--a--", "a\nb", "/x"]
PATTERNS = ["^arn:aws", "^[a-z]+-[a-z]+$", "^[a-z]+-[a-z]+-[0-9]+$", "web", "^acme-(web|db)-", "^(a|x)", "z$"]
PATTERNS += ["^.*$", "^[^-]+$", "^a.b$", "(?i)^ACME", "^\\d+\\.\\d+", "^(ab)*", "\\bweb\\b", "[[:alpha:]]+$", "^a?x"]
PATTERNS += ["^acme-[a-z0-9-]{3,}$", "^t2\\.(micro|small)$", "^t2\\.[a-z]+$"]
PARTS = ["-", ":", ".", "a", "--", "aws", "arn:aws:kms", "x", "acme-w", "b-"]
BEGIN = st.sampled_from(TEXTS) | st.text('acme-:.2{"/ ', max_size=6)
REST = st.sampled_from(TEXTS) | st.text('acmex-:.0123{}"/\n ', max_size=8)
KINDS = ("is_cidr", "is_version", "is_constraint", "is_base64", "is_json", "is_time", "is_duration")
OF_TEXTS: list[tuple[str, int]] = [("lower", 0), ("upper", 0), ("trim", 0), ("base64_decode", 0), ("length", 0)]
OF_TEXTS += [("before", 1), ("after", 1), ("before_last", 1), ("after_last", 1), ("trim_prefix", 1), ("trim_suffix", 1)]
OF_TEXTS += [("replace", 2)]


@settings(max_examples=examples(400))
@given(BEGIN, REST, st.sampled_from(PATTERNS), st.sampled_from(PARTS), st.sampled_from(PARTS), st.integers(0, 5))
def test_what_is_said_holds(begin: str, rest: str, pattern: str, part: str, other: str, number: int) -> None:
    text = begin + rest
    tests: list[tuple[str, tuple[Any, ...]]] = [(kind, ()) for kind in KINDS]
    for name, arguments in (*tests, ("contains", (part,)), ("matches", (pattern,))):
        said = known_truth(name, begin, arguments)
        assert said in (None, bool(TESTS[name].function(text, *arguments))), (name, arguments)
    calls: list[tuple[str, tuple[Any, ...]]] = [(name, (part, other)[:count]) for name, count in OF_TEXTS]
    for name, arguments in (*calls, ("substring", (number, 2))):
        found = FUNCTIONS[name].function(text, *arguments)
        assert known_result(name, begin, arguments) in (None, found), (name, arguments)
        assert found is not None or not is_found(name, begin, arguments), (name, arguments)
        how = prefix_of_result(name, begin, arguments)
        assert found is None or how == "" or found.startswith(how), (name, arguments)
    *whole, last = known_parts(begin, part)
    rows = dict(RELATIONS["split"].function(text, part))
    assert [rows[n] for n in range(len(whole))] == whole and rows[len(whole)].startswith(last)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (known_truth("is_time", "2026-1", ()), None),
        (known_truth("is_time", "acme", ()), False),
        (known_truth("is_duration", "7", ()), None),
        (known_truth("is_duration", "7x", ()), False),
        (known_truth("is_cidr", "10.", ()), None),
        (known_truth("is_cidr", "sg-", ()), False),
        (known_truth("is_version", "1.2.", ()), None),
        (known_truth("is_version", "t2.", ()), False),
        (known_truth("is_json", "arn:", ()), False),
        (known_truth("is_base64", "arn:", ()), False),
        (known_truth("contains", "arn:aws:", ("aws",)), True),
        (known_truth("contains", "arn:aws:", ("kms",)), None),
        (known_truth("matches", "acme-web-", ("^[a-z]+-[a-z]+$",)), False),
        (known_truth("matches", "acme-web", ("^[a-z]+-[a-z]+$",)), None),
        (known_truth("matches", "acme-web-", ("^acme-(web|db)-",)), True),
        (known_truth("matches", "other", ("^[^-]+-[0-9]+",)), None),
        (known_truth("matches", "other-a", ("^[^-]+-[0-9]+",)), False),
        (known_result("before", "t2.", (".",)), "t2"),
        (known_result("substring", "eu-", (0, 2)), "eu"),
        (known_result("substring", "eu-", (2, 2)), None),
        (prefix_of_result("replace", "acme-web-", ("-", "_")), "acme_web_"),
        (prefix_of_result("replace", "acme-", ("-w", "_")), "acme"),
        (prefix_of_result("trim_prefix", "arn:aws:", ("arn:",)), "aws:"),
        (prefix_of_result("trim_prefix", "ar", ("arn:",)), ""),
        (known_parts("arn:aws:", ":"), ["arn", "aws", ""]),
    ],
)
def test_what_is_said(said: Any, wanted: Any) -> None:
    assert said == wanted and type(said) is type(wanted)
