"""Diagnostics by code: title, cause and cure, from diagnostics.toml."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from planner.foundation.support.assets import PACKAGE

_FEW = 5
_WORD = re.compile(r"[a-z0-9]+")
_MINOR = {"a", "an", "the", "is", "was", "are", "of", "in", "for", "to", "not"}
_STEM = 4
"""how many first letters of words are compared"""


@dataclass(frozen=True)
class DiagnosticPage:
    """One code. `titles` are the headings of its messages, with … for varying parts; `is_specific`: the code has its
    own cause and cure, not those of its group."""

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


@cache
def groups() -> dict[str, tuple[str, str]]:
    """Prefix of codes -> cause and cure."""
    with open(os.path.join(PACKAGE, "cli", "diagnostics.toml"), "rb") as file:
        return {name: (cause, cure) for name, (cause, cure) in tomllib.load(file)["groups"].items()}


def find(words: str) -> list[DiagnosticPage]:
    """The pages that match a code, the title of a message, or a part of either; the best matches first."""
    pages, wanted = diagnostic_pages(), words.strip().removeprefix("Error: ").removeprefix("Warning: ").lower()
    typed = {word for word in _WORD.findall(wanted) if word not in _MINOR}
    if not typed:
        return []
    matches: tuple[Callable[[DiagnosticPage], bool], ...] = (
        lambda page: page.code == wanted,
        lambda page: any(title.lower() == wanted for title in page.titles),
        lambda page: any(_fits(title.lower(), wanted) for title in page.titles),
        lambda page: wanted in page.code or any(wanted in title.lower() for title in page.titles),
        lambda page: any(" " in title and title.lower() in wanted for title in page.titles),
        lambda page: _has_words(" ".join((page.code, *page.titles)), typed),
        lambda page: page.is_specific and _has_words(f"{page.code} {page.cause} {page.cure}", typed),
    )
    for is_match in matches:
        if fitting := [page for page in pages if is_match(page)]:
            return sorted(fitting, key=lambda page: not page.is_specific)[:_FEW]
    of_groups = [DiagnosticPage(f"{name}.*", (), *texts, False) for name, texts in groups().items()]
    return [page for page in of_groups if _has_words(f"{page.code} {page.cause} {page.cure}", typed)][:_FEW]


def _has_words(text: str, typed: set[str]) -> bool:
    """Whether a text contains all words in any form: deny, denies and denied have the same beginning."""
    words = set(_WORD.findall(text.lower()))
    return all(any(word[:_STEM] == one[:_STEM] for word in words) for one in typed)


def _fits(title: str, words: str) -> bool:
    """Whether a title with gaps fits a message."""
    parts = title.split("…")
    begin, *rest = parts
    is_telling = len(_WORD.findall(" ".join(parts))) > 1 or (begin.endswith(": ") and len(begin) > _FEW)
    pattern = ".+".join(map(re.escape, parts))
    return bool(rest) and is_telling and re.fullmatch(pattern, words) is not None
