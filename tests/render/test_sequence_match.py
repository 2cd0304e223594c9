"""Items of two lists that belong together."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.render import diff
from planner.render.diff import aligned, common

LISTS = st.lists(st.sampled_from("abcd"), max_size=9)


def longest(a, b):
    """The length of a longest common subsequence, by the textbook."""
    if not a or not b:
        return 0
    if a[-1] == b[-1]:
        return longest(a[:-1], b[:-1]) + 1
    return max(longest(a[:-1], b), longest(a, b[:-1]))


@given(LISTS, LISTS)
@settings(max_examples=examples(80))
def test_common_is_a_longest_common_subsequence(a, b):
    pairs = common(a, b)
    assert [a[i] for i, _ in pairs] == [b[j] for _, j in pairs]
    assert pairs == sorted(pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert len(pairs) == longest(a[:7], b[:7]) if len(a) <= 7 and len(b) <= 7 else True


@given(LISTS, LISTS, st.booleans())
@settings(max_examples=examples(80))
def test_every_item_appears_once_in_order(a, b, pair):
    rows = aligned(a, b, lambda i, j: pair)
    assert [i for i, _ in rows if i is not None] == list(range(len(a)))
    assert [j for _, j in rows if j is not None] == list(range(len(b)))


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ("ab", "ab", [(0, 0), (1, 1)]),
        ("abc", "axc", [(0, 0), (1, None), (None, 1), (2, 2)]),
        ("a", "aa", [(None, 0), (0, 1)]),
        ("", "a", [(None, 0)]),
        ("a", "", [(0, None)]),
    ],
)
def test_rows(before, after, rows):
    assert aligned(before, after, lambda i, j: False) == rows


def test_long_lists_are_not_compared_cell_by_cell(monkeypatch):
    monkeypatch.setattr(diff, "LARGEST", 10)
    before, after = list("aabcdz"), list("aaxywz")
    found = common(before, after)
    assert found == [(0, 0), (1, 1), (5, 5)]
    assert len(found) == sum(m.size for m in SequenceMatcher(None, before, after, False).get_matching_blocks())
