"""Words of a command line, as Go programs read theirs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.cli.flags import Flag, UsageError, duration, parse

FLAGS = (
    Flag("out", "string", "Where to.", value="FILE"),
    Flag("refresh", "bool", "Look.", True),
    Flag("destroy", "bool", "Destroy."),
    Flag("parallelism", "int", "How many.", 10),
    Flag("lock-timeout", "duration", "How long.", 0.0),
    Flag("target", "list", "Only this."),
    Flag("var", "ordered", "A value."),
    Flag("var-file", "ordered", "A file."),
)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["-out=p"], "out", "p"),
        (["-out", "p"], "out", "p"),
        (["--out=p"], "out", "p"),
        (["--out", "p"], "out", "p"),
        (["-out="], "out", ""),
        (["-out=a=b"], "out", "a=b"),
        (["-out", "-x"], "out", "-x"),
        (["-refresh"], "refresh", True),
        (["-refresh=false"], "refresh", False),
        (["--refresh=F"], "refresh", False),
        (["-destroy=1"], "destroy", True),
        ([], "destroy", False),
        (["-parallelism=3"], "parallelism", 3),
        (["--parallelism", "4"], "parallelism", 4),
        ([], "parallelism", 10),
        (["-lock-timeout=1m30s"], "lock-timeout", 90.0),
        (["-target=a.b", "-target", "c.d"], "target", ("a.b", "c.d")),
        (["-out=a", "-out=b"], "out", "b"),
        (["-no-color"], "no-color", True),
    ],
)
def test_value(words, name, value):
    assert parse(words, FLAGS)[name] == value


def test_flags_may_follow_words_and_an_optional_boolean_takes_no_word():
    found = parse(["NAME", "-refresh", "other", "-out", "p", "--", "-destroy"], FLAGS)
    assert found.words == ["NAME", "other", "-destroy"]
    assert found["out"] == "p"
    assert not found["destroy"]
    assert found.given == {"refresh", "out"}


def test_variables_keep_their_order():
    words = ["-var", "a=1", "-var-file=f", "-var=a=2"]
    assert parse(words, FLAGS).ordered == [("var", "a=1"), ("var-file", "f"), ("var", "a=2")]


@pytest.mark.parametrize(
    ("words", "needle"),
    [
        (["-otu=x"], "Did you mean -out?"),
        (["-zzzzzz"], ""),
        (["-out"], "-out=FILE"),
        (["-refresh=maybe"], "'maybe'"),
        (["-parallelism=x"], "'x'"),
        (["-lock-timeout=soon"], "30s"),
        (["---out=x"], ""),
    ],
)
def test_what_makes_no_sense(words, needle):
    with pytest.raises(UsageError) as caught:
        parse(words, FLAGS)
    assert needle in caught.value.detail


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0.0), ("0s", 0.0), ("10s", 10.0), ("1h2m3.5s", 3723.5), ("300ms", 0.3), ("-2m", -120.0), ("1.5h", 5400.0)],
)
def test_duration(text, seconds):
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "5", "5x", "1..5s", "s5", "1h 2m"])
def test_no_duration(text):
    assert duration(text) is None


@given(st.lists(st.text(alphabet="-=about rfesh1", max_size=8), max_size=6))
@settings(max_examples=examples(60))
def test_any_words_are_read_or_refused(words):
    try:
        found = parse(words, FLAGS)
    except UsageError:
        return
    assert len(found.words) <= len(words)
