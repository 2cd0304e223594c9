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

    return regex.findall(r"\X", text)
