"""Extended grapheme clusters (Unicode Standard Annex 29), the unit of columns and of the language's string lengths."""

from __future__ import annotations


def graphemes(text: str) -> list[str]:
    """The grapheme clusters of a text, in order."""
    if text.isascii():
        return list(text) if "\r" not in text else _clusters(text)
    return _clusters(text)


def count_graphemes(text: str) -> int:
    """How many grapheme clusters a text has."""
    if text.isascii() and "\r" not in text:
        return len(text)
    return len(_clusters(text))


def _clusters(text: str) -> list[str]:
    import regex  # imported late: only texts outside ASCII need its tables

    clusters = regex.findall(r"\X", text)
    if _may_have_conjuncts(text):
        # Before Unicode 15.1, whose rules the ecosystem does not follow yet, conjuncts of Indic scripts were no unit.
        breaks = regex.compile(r"(?V1)(?<=[\p{GCB=Extend}\p{GCB=ZWJ}])(?=\p{InCB=Consonant})")
        return [part for cluster in clusters for part in breaks.split(cluster)]
    return clusters


def _may_have_conjuncts(text: str) -> bool:
    """Whether there are letters of the scripts from Devanagari to Malayalam."""
    return any("\u0900" <= character <= "\u0d7f" for character in text)
