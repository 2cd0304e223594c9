"""Finding the end of a quoted string that is not closed on its line.

Such a string ends at the next quote, wherever that is, and the intended strings become the gaps between strings. Every
line break within a string on the way is a mistake of its own, reported at the position where OpenTofu reports it.
"""

from __future__ import annotations

import re

_IN_STRING = re.compile(r'\\.|\$\$\{|%%\{|[$%]\{~?|"|(?:\r?\n)+', re.S)
_OUTSIDE = re.compile(
    r'"|[{}]|(?:#|//)[^\n]*|/\*.*?(?:\*/|\Z)|<<-?([\w-]+)[^\S\n]*\n(?:.*?\n)?[^\S\n]*\1[^\S\n]*(?=\n|\Z)', re.S
)


def line_breaks(text: str, start: int) -> list[tuple[int, int]]:
    """The line breaks within strings [start, end), in a text that is within a string at `start`."""
    breaks: list[tuple[int, int]] = []
    open_: list[str] = ['"']  # what is open: quotes, sequences and braces
    at = start
    while True:
        in_string = bool(open_) and open_[-1] == '"'
        match = (_IN_STRING if in_string else _OUTSIDE).search(text, at)
        if match is None:
            return breaks
        piece, at = match[0], match.end()
        if in_string:
            if piece.endswith("\n") and piece[0] != "\\":
                breaks.append(match.span())
            elif piece == '"':
                open_.pop()
            elif piece[0] in "$%" and piece[:2] not in ("$$", "%%"):
                open_.append("{")
        elif piece in ('"', "{"):
            open_.append(piece)
        elif piece == "}" and open_:
            open_.pop()
