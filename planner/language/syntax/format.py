"""The standard format of configuration files.

Formatting has three steps. `_pieces` converts the text to simple tokens, including comments and newlines. `_renew`
replaces old notations: block labels get quotes, `"${x}"` becomes `x`, types lose their quotes. `_lay_out` sets the
spaces before each token: indentation, gaps within a line, then the columns of `=` and of comments in adjacent lines.
Other quoted strings, heredocs, comments and line breaks are not changed, except that comments between block labels are
dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.language.syntax.files import decode
from planner.language.syntax.lexer import Token, simple_tokens, tokenize
from planner.language.syntax.literals import normal, quoted_text
from planner.language.syntax.parse import parse_config

NEWLINE, COMMENT, NAME, STRING = "NEWLINE", "COMMENT", "NAME", "STRING"
_TRIVIA = re.compile(r"([ \t]+)|(\r?\n)|((?:#|//)[^\n]*\n?|/\*(?s:.*?)\*/)").match
_ALIKE = {"FOR": NAME, "IN": NAME, "IF": NAME, "LBRACE": "{", "LBODY": "{", "LBRACKET": "[", "LPAREN": "("}
_PLAIN = {
    kind: _ALIKE.get(kind, kind)
    for kind in (
        *("NAME", "NUMBER", "TEXT", "EQUAL", "COMMA", "COLON", "DOT", "STRING", "STEPS", "OPERATOR", "MINUS", "STAR"),
        *("QUESTION", "FOR", "IN", "IF"),
        *("LBODY", "LBRACE", "RBRACE", "LPAREN", "RPAREN", "LBRACKET", "RBRACKET"),
    )
}
"""the kind of simple token for each kind of token that is treated as one simple token"""
_PLAIN["PATH"] = NAME  # `a.b` has the same gaps as a name; STEPS begin with a dot and end with a name
_FUSED = ("PATH", "STEPS")
"""kinds of tokens that consist of several simple tokens. They are split only if they have characters outside ASCII,
because a grapheme cluster may then include characters of two simple tokens"""
_CHANGE = {"{": 1, "[": 1, "(": 1, "TEMPLATE_OPEN": 1, "RBRACE": -1, "RBRACKET": -1, "RPAREN": -1, "TEMPLATE_CLOSE": -1}
# a minus after these is a sign; after other tokens it subtracts
_BEFORE_SIGN = frozenset(("", "(", "{", "[", "EQUAL", "COLON", "COMMA", "QUESTION", "OPERATOR", "STAR", "MINUS", "NOT"))
_TIGHT_AFTER = frozenset(("TEXT", "QUOTE_OPEN", "HEREDOC_OPEN"))
_TIGHT_BEFORE = frozenset(("TEXT", "QUOTE_CLOSE", "HEREDOC_CLOSE"))
_ANY, _OF_STRINGS = ("list", "map", "set"), ("list", "map")


class FormatToken:
    """A simple token: kind, text, and the number of spaces before it."""

    __slots__ = ("blanks", "kind", "text")

    def __init__(self, kind: str, text: str, blanks: int = 0) -> None:
        self.kind = kind
        self.text = text
        self.blanks = blanks


Pieces = list[FormatToken]


def format_file(data: bytes, name: str) -> tuple[str | None, list[Diagnostic]]:
    """The formatted text (None if there are mistakes), and the problems."""
    source, problems = decode(data, name)
    if problems:
        return None, problems
    tokens = tokenize(source.text)
    _, problems = parse_config(source, tokens)
    return (None if has_errors(problems) else _format_tokens(source.text, tokens)), problems


def format_text(text: str) -> str:
    """The formatted text. `text` must have no mistakes. Formatting the result again does not change it."""
    return _format_tokens(text, tokenize(text))


def _format_tokens(text: str, tokens: list[Token]) -> str:
    pieces = list(_renew(_pieces(text, tokens)))
    _lay_out(pieces)
    parts = []
    for piece in pieces:
        if piece.blanks:
            parts.append(" " * piece.blanks)
        parts.append(piece.text)
    return "".join(parts)


def _pieces(text: str, tokens: list[Token]) -> Pieces:
    """The whole text as simple tokens, ending with a token of kind $END."""
    pieces: Pieces = []
    done = 1 if text.startswith("\ufeff") else 0
    blanks = 0

    def trivia(end: int) -> None:
        nonlocal done, blanks
        while done < end and (item := _TRIVIA(text, done, end)):
            done = item.end()
            if item[1]:
                blanks += len(item[1])
            else:
                pieces.append(FormatToken(NEWLINE if item[2] else COMMENT, item[0], blanks))
                blanks = 0

    def add(kind: str, value: str) -> None:
        nonlocal done, blanks
        pieces.append(FormatToken(_ALIKE.get(kind, kind), value, blanks))
        done += len(value)
        blanks = 0

    put = pieces.append
    plain_kinds, fused = _PLAIN, () if text.isascii() else _FUSED
    for token in tokens:
        kind, value, at = token
        if kind == NEWLINE:
            continue  # comments and blank lines in the gap are handled at the next token
        if done < at:
            between = text[done:at]
            if between == " " or not between.strip(" \t"):
                blanks += at - done
                done = at
            elif between[0] == "\n" and not between[1:].strip(" \t"):
                put(FormatToken(NEWLINE, "\n", blanks))
                blanks = at - done - 1
                done = at
            else:
                trivia(at)
        plain = plain_kinds.get(kind)
        if plain is not None and (kind not in fused or value.isascii()):
            put(FormatToken(plain, value, blanks))
            done += len(value)
            blanks = 0
            continue
        for kind, value, at in simple_tokens(token):
            trivia(at)
            if kind == "INTERPOLATE":
                add("TEMPLATE_OPEN", value)
            elif kind.startswith("DIRECTIVE_"):
                add("TEMPLATE_OPEN", value[: 3 if value[2] == "~" else 2])
                keyword = kind.removeprefix("DIRECTIVE_").lower()
                trivia(at + len(value) - len(keyword))
                add(NAME, keyword)
            else:
                add(kind, value)
    return pieces


def _ends_line(piece: FormatToken) -> bool:
    return piece.kind == NEWLINE or (piece.kind == COMMENT and piece.text.endswith("\n"))


def _renew(pieces: Pieces) -> Iterator[FormatToken]:
    """The tokens with old notations replaced."""
    blocks: list[str] = []
    at = 0
    count = len(pieces)
    while at < count:
        piece = pieces[at]
        at += 1
        yield piece
        if piece.kind != NAME:
            if piece.kind == "RBRACE":
                blocks.pop()
            continue
        start = at
        while pieces[at].kind not in ("EQUAL", "{"):
            at += 1
        at += 1
        if pieces[at - 1].kind == "{":
            blocks.append(piece.text)
            yield from _labels(pieces[start : at - 1])
            yield pieces[at - 1]
            continue
        yield from pieces[start:at]
        start, at = at, _end_of_value(pieces, at)
        first, last = start, at
        while pieces[first].kind == COMMENT:
            first += 1
        while pieces[last - 1].kind == COMMENT:
            last -= 1
        yield from pieces[start:first]
        value = pieces[first:last]
        yield from _type(value) if blocks == ["variable"] and piece.text == "type" else _unwrap(value)
        yield from pieces[last:at]


def _end_of_value(pieces: Pieces, at: int) -> int:
    depth = 0
    while True:
        piece = pieces[at]
        kind = piece.kind
        if kind in _CHANGE:
            depth += _CHANGE[kind]
            if depth < 0:
                return at
        elif kind == "$END" or (depth == 0 and _ends_line(piece)):
            return at
        at += 1


def _labels(header: Pieces) -> Iterator[FormatToken]:
    """All labels of a block in quotes, with special characters escaped. Comments between labels are dropped."""
    last = max((i for i, piece in enumerate(header) if piece.kind != COMMENT), default=-1)
    for piece in header[: last + 1]:
        if piece.kind == STRING:
            inside = piece.text[1:-1]
            plain = inside.isascii() and inside.isprintable() and not any(map(inside.__contains__, "\\$%"))
            yield piece if plain else _label(quoted_text(inside, 0, lambda *_: None))
        elif piece.kind == NAME:
            yield _label(piece.text)
    yield from header[last + 1 :]


def _label(text: str) -> FormatToken:
    return FormatToken(STRING, f'"{_escape(normal(text))}"')


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def _escape(text: str) -> str:
    parts = []
    for i, char in enumerate(text):
        if char in _ESCAPES:
            parts.append(_ESCAPES[char])
        elif char in "$%" and text.startswith("{", i + 1):
            parts.append(char * 2)
        elif char.isprintable():
            parts.append(char)
        else:
            parts.append(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")
    return "".join(parts)


def _type(value: Pieces) -> Pieces:
    """A variable's type without quotes, and with element types: `list` becomes list(any). A quoted "list" becomes
    list(string), because this notation is older than the type any."""
    kinds = [piece.kind for piece in value]
    if kinds == [NAME] and value[0].text in _ANY:
        return [*value, FormatToken("(", "("), FormatToken(NAME, "any"), FormatToken("RPAREN", ")")]
    if kinds == [STRING]:
        name = value[0].text[1:-1]
        if name == "string":
            return [FormatToken(NAME, name)]
        if name in _OF_STRINGS:
            return [
                FormatToken(NAME, name),
                FormatToken("(", "("),
                FormatToken(NAME, "string"),
                FormatToken("RPAREN", ")"),
            ]
    return value


def _unwrap(value: Pieces) -> Pieces:
    """The expression in a string that consists of one interpolation; other values are returned unchanged. An expression
    of several lines gets parentheses, because otherwise the first line break would end it."""
    while (
        len(value) >= 5
        and [value[i].kind for i in (0, 1, -2, -1)] == ["QUOTE_OPEN", "TEMPLATE_OPEN", "TEMPLATE_CLOSE", "QUOTE_CLOSE"]
        and _is_single(inside := value[2:-2])
    ):
        first, last = 0, len(inside)
        while first < last and inside[first].kind == NEWLINE:
            first += 1
        while first < last and inside[last - 1].kind == NEWLINE:
            last -= 1
        value = inside[first:last]
        if any(map(_ends_line, value[:-1])) and not _in_parentheses(value):
            value = [FormatToken("(", "("), *value, FormatToken("RPAREN", ")")]
    return value


def _is_single(inside: Pieces) -> bool:
    """Whether the quotes contain one interpolation and no other text."""
    quotes = 0
    for piece in inside:
        if piece.kind == "QUOTE_OPEN":
            quotes += 1
        elif piece.kind == "QUOTE_CLOSE":
            quotes -= 1
        elif quotes == 0 and piece.kind in ("TEMPLATE_OPEN", "TEMPLATE_CLOSE"):
            return False
    return True


def _in_parentheses(value: Pieces) -> bool:
    """Whether the tokens are enclosed in one pair of parentheses."""
    if value[0].kind != "(" or value[-1].kind != "RPAREN":
        return False
    depth = 0
    for piece in value[:-1]:
        depth += _CHANGE.get(piece.kind, 0)
        if depth == 0:
            return False
    return True


class _Line:
    """A line in three cells: the text at the beginning, an assignment from `=` on (if it ends on this line), and a
    comment at the end."""

    __slots__ = ("assign", "comment", "lead")

    def __init__(self, pieces: Pieces, equal: int) -> None:
        """`equal`: the position of the first `=` that is not the first token of the line, 0 for none."""
        self.assign: Pieces = []
        self.comment: Pieces = []
        if len(pieces) > 1 and pieces[-1].kind == COMMENT:
            self.comment = [pieces.pop()]
        if equal and _net(assign := pieces[equal:]) == 0:
            self.assign = assign
            del pieces[equal:]
        self.lead = pieces


def _lay_out(pieces: Pieces) -> None:
    """Set the spaces before each token. Spaces at the end of the file are kept."""
    lines: list[_Line] = []
    current: Pieces = []
    equal = 0
    for piece in pieces[:-1]:
        kind = piece.kind
        if kind == "EQUAL" and not equal:
            equal = len(current)
        current.append(piece)
        if kind == NEWLINE or (kind == COMMENT and _ends_line(piece)):
            lines.append(_Line(current, equal))
            current = []
            equal = 0
    if current:
        lines.append(_Line(current, equal))
    _indent(lines, any(piece.kind == "HEREDOC_OPEN" for piece in pieces))
    for line in lines:
        if len(line.lead) > 1:
            _space(line.lead)
        if len(line.assign) > 1:
            _space(line.assign)
    _align([(line.lead, line.assign) for line in lines])
    _align([([*line.lead, *line.assign] if line.comment else [], line.comment) for line in lines])


def _net(pieces: Pieces) -> int:
    net = 0
    for piece in pieces:
        kind = piece.kind
        if kind in _CHANGE:
            net += _CHANGE[kind]
    return net


def _indent(lines: list[_Line], has_heredocs: bool) -> None:
    """Indent each line by two spaces for each earlier line that is still open, because it opens more brackets than it
    closes."""
    opened: list[int] = []  # the number of open brackets of each open line
    for line in lines:
        first = line.lead[0]
        if first.kind == NEWLINE:
            first.blanks = 0
            continue
        lead = line.lead
        if has_heredocs:
            lead = lead[: next((i for i, piece in enumerate(lead) if piece.kind == "HEREDOC_OPEN"), len(lead))]
        net = _net(lead)  # an assignment cell closes all brackets that it opens
        closed = -net
        while closed > 0 and opened:
            if closed < opened[-1]:
                opened[-1] -= closed
                break
            closed -= opened.pop()
        first.blanks = 2 * len(opened)
        if net > 0:
            opened.append(net)


_GAPS: dict[tuple[str, str, str], int] = {}  # results of `_gap` by kinds of tokens, except for the name `in`


def _space(cell: Pieces) -> None:
    before = ""
    for subject, after in pairwise(cell):
        kind = subject.kind
        if kind == NAME and subject.text == "in":
            after.blanks = int(_gap(before, subject, after.kind))
        else:
            key = (before, kind, after.kind)
            gap = _GAPS.get(key)
            if gap is None:
                gap = _GAPS[key] = int(_gap(before, subject, after.kind))
            after.blanks = gap
        before = kind


def _gap(before: str, subject: FormatToken, after: str) -> bool:
    """Whether there is a space between a token and the next one. The first matching rule decides."""
    kind = NAME if subject.kind == "STEPS" else subject.kind
    if after == NEWLINE or (kind == NAME and after in ("(", "SCOPE")) or (kind == "SCOPE" and after == NAME):
        return False
    if kind == "DOT" or after in ("DOT", "STEPS", "COMMA", "ELLIPSIS"):
        return False
    if kind == "COMMA":
        return True
    if kind in _TIGHT_AFTER or after in _TIGHT_BEFORE:
        return False
    if kind == NAME and subject.text == "in" and before == NAME:
        return True  # `for x in [1]` is not an index
    if after == "[" and (kind in (NAME, "NUMBER") or _CHANGE.get(kind, 0) < 0):
        return False
    if kind == "NOT":
        return False
    if kind == "MINUS":
        return before not in _BEFORE_SIGN
    if kind == "{" or after == "RBRACE":
        return not (kind == "{" and after == "RBRACE")
    if (kind == "TEMPLATE_OPEN" and after == "{") or (kind == "RBRACE" and after == "TEMPLATE_CLOSE"):
        return True
    if kind == "TEMPLATE_CLOSE" and after == "TEMPLATE_OPEN":
        return False
    return _CHANGE.get(kind, 0) <= 0 and _CHANGE.get(after, 0) >= 0


def _align(rows: list[tuple[Pieces, Pieces]]) -> None:
    """Align the second cells of adjacent rows, one space after the widest first cell."""
    chain: list[tuple[int, FormatToken]] = []
    for left, right in [*rows, ([], [])]:
        if right:
            right[0].blanks = 1
            width = 0
            for piece in left:
                width += piece.blanks + _columns(piece)
            chain.append((width, right[0]))
        elif chain:
            if len(chain) > 1:
                widest = max([width for width, _ in chain])
                for width, piece in chain:
                    piece.blanks = widest - width + 1
            chain = []


def _columns(piece: FormatToken) -> int:
    """The width of a token in grapheme clusters. Each quote of a string counts as a cluster of its own."""
    text = piece.text
    if text.isascii():
        return len(text) - text.count("\r\n") if "\r" in text else len(text)
    return 2 + _clusters(text[1:-1]) if piece.kind == STRING else _clusters(text)


def _clusters(text: str) -> int:
    import regex

    return len(regex.findall(r"\X", text))
