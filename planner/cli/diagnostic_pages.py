"""Diagnostics by code: title, cause and cure, from diagnostics.toml."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache

from planner.foundation.support.assets import PACKAGE

_FEW = 5


@dataclass(frozen=True)
class DiagnosticPage:
    """One code. `titles` are the headings of its messages, with … for what differs; `is_specific`: the code has a cause
    and a cure of its own, not those of its group."""

    code: str
    titles: tuple[str, ...]
    cause: str
    cure: str
    is_specific: bool


@cache
def diagnostic_pages() -> tuple[DiagnosticPage, ...]:
    """All codes, sorted."""
    with open(os.path.join(PACKAGE, "cli", "diagnostics.toml"), "rb") as file:
        tables = tomllib.load(file)
    groups, codes, titles = tables["groups"], tables["codes"], tables["titles"]
    pages = []
    for code in sorted({*codes, *titles}):
        cause, cure, *more = codes.get(code) or groups[code.partition(".")[0]]
        pages.append(DiagnosticPage(code, tuple(titles.get(code) or more), cause, cure, code in codes))
    return tuple(pages)


def groups() -> dict[str, tuple[str, str]]:
    """Prefix of codes -> cause and cure."""
    with open(os.path.join(PACKAGE, "cli", "diagnostics.toml"), "rb") as file:
        return {name: (cause, cure) for name, (cause, cure) in tomllib.load(file)["groups"].items()}


def find(words: str) -> list[DiagnosticPage]:
    """The pages that a code, the group of a code, or the title of a message means; the best ones first."""
    pages, wanted = diagnostic_pages(), words.strip().removeprefix("Error: ").removeprefix("Warning: ").lower()
    for matches in (
        [page for page in pages if page.code == wanted],
        [page for page in pages if wanted in (title.lower() for title in page.titles)],
        [page for page in pages if any(_fits(title.lower(), wanted) for title in page.titles)],
        [page for page in pages if wanted and any(wanted in title.lower() for title in page.titles)],
    ):
        if matches:
            return sorted(matches, key=lambda page: not page.is_specific)[:_FEW]
    return []


def _fits(title: str, words: str) -> bool:
    """Whether a title with gaps fits a message."""
    begin, gap, end = title.partition("…")
    is_telling = len(re.findall(r"\w+", begin + end)) > 1 or (begin.endswith(": ") and len(begin) > _FEW)
    return bool(gap) and is_telling and words.startswith(begin) and words.endswith(end.rpartition("…")[2])
