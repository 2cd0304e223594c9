"""The content of literals: escapes, normalization of strings, and numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from planner.foundation.values.value import UNKNOWN, number_from_text

# reports a mistake: its kind (a key of mistakes.LITERAL), the text, start and end
Complain = Callable[[str, str, int, int], None]

_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,4}|U[0-9a-fA-F]{0,8}|.)|\$\$\{|%%\{", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def quoted_text(raw: str, at: int, complain: Complain) -> str:
    """Resolve the escapes in the text between quotes. `at`: the offset of the text, for reports."""

    def resolve(match: re.Match[str]) -> str:
        sequence = match[0]
        if sequence[0] != "\\":
            return sequence[1:]  # `$${` or `%%{`
        selector = sequence[1]
        if selector in _SIMPLE:
            return _SIMPLE[selector]
        start, end = at + match.start(), at + match.end()
        if selector in "uU":
            if len(sequence) != (6 if selector == "u" else 10):
                complain("short_escape", sequence, start, end)
                return sequence
            code = int(sequence[2:], 16)
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                complain("no_character", sequence, start, end)
                return sequence
            return chr(code)
        complain("unknown_escape", sequence, start, end)
        return selector

    if "\\" in raw or "{" in raw:
        raw = _ESCAPE.sub(resolve, raw)
    return raw


def heredoc_text(raw: str) -> str:
    """Resolve `$${` and `%%{`, the only escapes in heredocs and template files."""
    return raw.replace("$${", "${").replace("%%{", "%{") if "{" in raw else raw


def normal(text: str) -> str:
    """Normalize to NFC, the normal form of strings in the language."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def number(text: str, at: int, complain: Complain) -> Any:
    """A number literal; UNKNOWN if its dots and exponents are invalid (reported)."""
    try:
        return number_from_text(text)
    except ValueError:
        complain("number", text, at, at + len(text))
        return UNKNOWN
