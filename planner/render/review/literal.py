"""Literal text in Markdown: whatever a name or a value contains, it is shown and means nothing to a renderer or to a
code host. No markup, tag, link, mention or reference comes of it."""

from __future__ import annotations

import re

LONGEST_CODE = 300
LONGEST_TEXT = 1_000
"""characters"""
_GAP = "\u200b"
"""shown as nothing: separates what hosts would join to a mention, a reference or a link, even within escapes"""
_LINKS = re.compile(r"(?<=[@#!%$~])(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=GH)(?=-)", re.I)


def code(text: str, in_table: bool = False, most: int = LONGEST_CODE) -> str:
    """A code span, with longer fences than any run of backticks in it. `in_table`: pipes do not end its cell."""
    shown = plain(text, most) or " "
    if in_table:
        shown = re.sub(r"\\(?=\|)", rf"\\{_GAP}", shown).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def prose(text: str, most: int = LONGEST_TEXT) -> str:
    """Text between other text."""
    return re.sub(r"([\\`*_{}\[\]<>()#|~!&$])", r"\\\1", _LINKS.sub(_GAP, plain(text, most)))


def line(text: str) -> str:
    """Text at the beginning of a line, where it would begin a list or underline a title."""
    return _GAP + prose(text)


def tag_text(text: str, most: int = LONGEST_CODE) -> str:
    """Text between tags, where Markdown is not read."""
    shown = plain(text, most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return re.sub(r"[@*`\[\]|~\\]", lambda match: f"&#{ord(match[0])};", shown)


def address(text: str) -> str:
    """The address of a link, which ends where it ends."""
    return re.sub(r"[\s()<>\[\]\\\"'`|]", lambda match: f"%{ord(match[0]):02X}", text)


def plain(text: str, most: int) -> str:
    """The text on one line, with the signs of line breaks, and without characters that steer."""
    short = text if len(text) <= most else f"{text[:most]}..."
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(short.replace("\n", " \u23ce ").split()))
