"""The known name that a misspelt one most likely meant, for messages."""

from __future__ import annotations

from collections.abc import Iterable


def distance(a: str, b: str) -> int:
    """Levenshtein distance: the least number of inserted, deleted and changed characters that turns a into b."""
    begin, most = 0, min(len(a), len(b))
    while begin < most and a[begin] == b[begin]:
        begin += 1
    end, most = 0, most - begin
    while end < most and a[-1 - end] == b[-1 - end]:
        end += 1
    a, b = a[begin : len(a) - end], b[begin : len(b) - end]  # what is equal at both ends costs nothing
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def nearest(name: str, candidates: Iterable[str], limit: int = 2) -> str | None:
    """The candidate closest to a name, at most `limit` edits away and not wholly different; the first among equals."""
    best, least = None, limit + 1
    for candidate in candidates:
        if abs(len(candidate) - len(name)) < least:
            edits = distance(name, candidate)
            if edits < least and edits < max(len(name), len(candidate)):
                best, least = candidate, edits
    return best


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """` Did you mean "x"?` for the nearest candidate, else an empty text; ready to append to a sentence."""
    similar = nearest(name, candidates)
    return f' Did you mean "{similar}"?' if similar else ""
