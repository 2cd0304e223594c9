"""Literal text in Markdown: names and values are escaped, so that code hosts do not interpret markup, tags, links,
mentions or references in them."""

from __future__ import annotations

import re

LONGEST_CODE = 300
LONGEST_TEXT = 1_000
"""maximum length, in characters"""
_GAP = "\u200b"
"""an invisible character that prevents hosts from recognizing mentions, references and links, which they do even in
escaped text"""
_LINKS = re.compile(r"(?<=[@#!%$~])(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=GH)(?=-)", re.I)


def code(text: str, in_table: bool = False, most: int = LONGEST_CODE) -> str:
    """A code span, fenced with more backticks than the text contains. `in_table`: whether to escape pipes, so that they
    do not end the cell."""
    shown = plain(text, most) or " "
    if in_table:
        shown = re.sub(r"\\(?=\|)", rf"\\{_GAP}", shown).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def prose(text: str, most: int = LONGEST_TEXT) -> str:
    """The text, escaped for a position within a line of Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>()#|~!&$])", r"\\\1", _LINKS.sub(_GAP, plain(text, most)))


def line(text: str) -> str:
    """The text, escaped for the beginning of a line, where unescaped text could begin a list or turn the line above
    into a title."""
    return _GAP + prose(text)


def tag_text(text: str, most: int = LONGEST_CODE) -> str:
    """The text, escaped for a position between tags, where Markdown is not interpreted."""
    shown = plain(text, most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return re.sub(r"[@*`\[\]|~\\]", lambda match: f"&#{ord(match[0])};", shown)


def address(text: str) -> str:
    """The address of a link, escaped so that the link cannot end early."""
    return re.sub(r"[\s()<>\[\]\\\"'`|]", lambda match: f"%{ord(match[0]):02X}", text)


def plain(text: str, most: int) -> str:
    """The text on one line, shortened, with symbols for line breaks and without control characters."""
    short = text if len(text) <= most else f"{text[:most]}..."
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(short.replace("\n", " \u23ce ").split()))
