"""The lexer of the configuration language.

A stack of modes determines the meaning of newlines and braces: body of a file or block, value of an argument, object,
brackets, `${...}`, and three kinds of template text. Two regular expressions (master expressions) match any token: one
with newlines as tokens, one without. Sequences of tokens that often occur together are combined into one token (see
grammar/config.lark).

A token is a tuple (type, text, offset). The lexer never fails: invalid text becomes a token that no grammar rule
accepts (INVALID, QUOTED_NEWLINE, DIRECTIVE_UNKNOWN), and the parser reports it."""

from __future__ import annotations

import re
import unicodedata
from typing import TypeAlias

Token: TypeAlias = tuple[str, str, int]

# Go's unicode.IsSpace, for strip markers and heredoc markers.
SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"

# Modes. Newlines are tokens in the first three modes.
BODY, VALUE, OBJECT, BRACKETS, FOR_OBJECT, INTERPOLATION, QUOTED, HEREDOC, BARE = range(9)

# Characters outside ASCII are checked one by one (`_name_end`), because `\w` differs from Unicode's definition of
# identifiers. The character classes are negated, because ranges up to U+10FFFF are slow to compile.
_NAME_GOES_ON = r"[^\x00-,./:-@\[-^`{-\x7f]"
_NAME = rf"[^\x00-@\[-^`{{-\x7f]{_NAME_GOES_ON}*"
# Possessive quantifiers (`++`, `*+`) prevent backtracking after an unclosed quote. If the last repetition of a group
# fails, Python before 3.11.5 has a bug: it does not return to the position where that repetition began, unless the last
# alternative of the group never matches.
_BACK = r"|(?!)"
_DOLLARS = (
    # `$${` and `%%{` are literal text, and so is a `$` or `%` that is not followed by `{`
    r"\$(?:\$\{~?|(?!\{))|%(?:%\{~?|(?!\{))"
)
_QUOTED = rf"(?:[^\"\\$%\r\n]+|\\[^\r\n]|{_DOLLARS}{_BACK})"
_LINE = rf"(?:[^$%\r\n]+|{_DOLLARS}{_BACK})*+(\r?\n)?"
_COMMENT = r"|/\*(?s:.*?)\*/"
_HEREDOC = rf"<<-?{_NAME}\r?\n"
_MARKS = rf"==|=>|!=|>=|<=|&&|\|\||::|~\}}|\.\.\.|[\[\](){{}},*%+\-=>!?:]|<(?!<-?{_NAME}\r?\n)"
_NUMBER = r"[0-9](?:\.*(?:[0-9]|[eE][+-]?[0-9]))*"

# Numbers of the groups in a master expression.
_G_NAME, _G_STRING, _G_MARK, _G_NEWLINE, _G_NUMBER, _G_STEPS, _G_HEREDOC, _G_QUOTE, _G_SLASH, _G_END = range(1, 11)

_TYPES = {
    **dict.fromkeys(("==", "!=", ">=", "<=", "&&", "||", "%", "+", "<", ">"), "OPERATOR"),
    "-": "MINUS",
    "*": "STAR",
    "!": "NOT",
    "?": "QUESTION",
    ":": "COLON",
    "::": "SCOPE",
    "=>": "ARROW",
    "...": "ELLIPSIS",
    ",": "COMMA",
    "=": "EQUAL",
    "(": "LPAREN",
    ")": "RPAREN",
    "[": "LBRACKET",
    "]": "RBRACKET",
    "{": "LBRACE",
    "}": "RBRACE",
    "~}": "TEMPLATE_CLOSE",
}
_BEFORE_SPLAT = tuple("*\r\n\t #/")  # characters that may follow the opening bracket of a splat
_KEYWORDS = {"for": "FOR", "in": "IN", "if": "IF"}


class _Patterns:
    """The master expressions, with or without block comments.

    After a `/*` that is never closed, the lexer continues without block comments, so that it does not search for the
    end again.
    """

    def __init__(self, comments: bool) -> None:
        comment = _COMMENT if comments else ""
        skip = rf"(?:[ \t]+{comment}{_BACK})*+"
        skip_lines = rf"(?:[ \t]+|\r?\n|(?:#|//)[^\n]*\n?{comment}{_BACK})*+"
        newline = rf"(?:\r?\n|(?:#|//)[^\n]*(?:\n|\Z)){skip_lines}"
        rest = rf"({_NUMBER})|(\.(?:{_NAME}(?:\.{_NAME})*)?)|({_HEREDOC})|(\")|(/(?!/))|(\Z)|((?s:.))"
        start = rf"(?:({_NAME}(?:\.{_NAME})*)|(\"{_QUOTED}*+\")|({_MARKS})"
        self.lines = re.compile(rf"{skip}{start}|({newline})|{rest})", re.ASCII).match
        self.no_lines = re.compile(rf"{skip_lines}{start}|((?!))|{rest})", re.ASCII).match
        self.for_follows = re.compile(rf"{skip_lines}for(?!{_NAME_GOES_ON})", re.ASCII).match
        self.splat = re.compile(rf"{skip_lines}(\*)(?={skip_lines}\])", re.ASCII).match
        self.star_in_line = re.compile(rf"{skip}\*", re.ASCII).match
        self.splat_in_line = re.compile(rf"{skip}\*{skip}\]", re.ASCII).match
        keywords = "if|else|endif|for|endfor"
        self.directive = re.compile(rf"%\{{~?{skip_lines}({keywords})(?!{_NAME_GOES_ON})", re.ASCII).match


# compiled on first use, because cached configurations do not need them
_with_comments: _Patterns | None = None
_without_comments: _Patterns | None = None
_quoted_text = re.compile(rf"{_QUOTED}++").match
_template_line = re.compile(_LINE).match


def _patterns(comments: bool) -> _Patterns:
    global _with_comments, _without_comments
    if comments:
        if _with_comments is None:
            _with_comments = _Patterns(True)
        return _with_comments
    if _without_comments is None:
        _without_comments = _Patterns(False)
    return _without_comments


def tokenize(text: str, start: int = 0, mode: int = BODY) -> list[Token]:
    """All tokens from an offset, ending with `$END`. `mode` is BODY for a file, BRACKETS for an expression, BARE for a
    template."""
    tokens: list[Token] = []
    add = tokens.append
    pos = start
    stack = [mode]
    markers: list[str] = []  # markers of the open heredocs
    line_start: list[bool] = []  # whether the marker of each open heredoc must be at the start of a line
    patterns = _patterns(True)
    match = patterns.lines if mode < BRACKETS else patterns.no_lines
    types, keywords, ascii_only = _TYPES, _KEYWORDS, text.isascii()
    if text.startswith("\ufeff", pos) and pos == 0:
        pos = 1
    while True:
        if mode < QUOTED:
            m = match(text, pos)
            assert m is not None  # the last groups match any text, even empty text
            group = m.lastindex
            at = m.start(group)  # type: ignore[arg-type]
            pos = m.end()
            value = m[group]  # type: ignore[index]
            if group == _G_NAME:
                if not ascii_only and not value.isascii():
                    end = _name_end(value)
                    if end < len(value):  # an invalid character inside a name: the part before it is a name
                        pos = at + max(end, 1)
                        value = value[: max(end, 1)]
                        if end == 0:
                            add(("INVALID", value, at))
                            continue
                if value in keywords:
                    add((keywords[value], value, at))
                elif "." in value:
                    # `[for.x` is the beginning of an incorrect for expression, not a path
                    add(("PATH" if value[:4] != "for." else "FOR_PATH", value, at))
                else:
                    add(("NAME", value, at))
            elif group == _G_MARK:
                kind = types[value]
                if kind == "EQUAL":
                    if mode == BODY:
                        mode = stack[-1] = VALUE
                elif kind == "LBRACE":
                    if mode == BODY:
                        kind = "LBODY"
                    elif patterns.for_follows(text, pos):
                        mode = FOR_OBJECT
                        match = patterns.no_lines
                    else:
                        mode = OBJECT
                        match = patterns.lines
                    stack.append(mode)
                elif kind == "LBRACKET" or kind == "LPAREN":
                    if mode != BODY:
                        if mode < BRACKETS and kind == "LBRACKET" and text[pos : pos + 1] in _BEFORE_SPLAT:
                            # unlike other brackets, `[*]` must not contain line breaks
                            splat = patterns.splat(text, pos)
                            if splat and not patterns.splat_in_line(text, pos):
                                add((kind, value, at))
                                star = splat.start(1)
                                at, pos = star, star + 1
                                if patterns.star_in_line(text, m.end()):
                                    add(("STAR", "*", at))
                                    kind, at = "NEWLINE", text.index("\n", pos)
                                    value = "\n"
                                else:
                                    kind, value = "INVALID", "*"
                        mode = BRACKETS
                        stack.append(mode)
                        match = patterns.no_lines
                elif kind == "RBRACE" or (kind == "TEMPLATE_CLOSE" and INTERPOLATION in stack):
                    # a closing brace also ends brackets that were opened, but not closed, inside the braces
                    while len(stack) > 1 and stack[-1] == BRACKETS:
                        stack.pop()
                    if stack[-1] == INTERPOLATION:
                        kind = "TEMPLATE_CLOSE"
                    if len(stack) > 1:
                        stack.pop()
                    mode = stack[-1]
                    match = patterns.lines if mode < BRACKETS else patterns.no_lines
                elif (kind == "RBRACKET" or kind == "RPAREN") and mode == BRACKETS and len(stack) > 1:
                    stack.pop()
                    mode = stack[-1]
                    match = patterns.lines if mode < BRACKETS else patterns.no_lines
                add((kind, value, at))
            elif group == _G_STRING:
                add(("STRING", value, at))
            elif group == _G_NEWLINE:
                if pos == len(text) and "\n" not in value:
                    continue  # a comment at the end of the file does not end a line
                if mode == VALUE:
                    mode = stack[-1] = BODY
                add(("NEWLINE", value, at))
            elif group == _G_STEPS:
                if not ascii_only and not value.isascii() and len(value) > 1:
                    end = _name_end(value[1:])
                    if end < len(value) - 1:
                        pos = at + 1 + end
                        value = value[: 1 + end]
                add(("STEPS" if len(value) > 1 else "DOT", value, at))
            elif group == _G_NUMBER:
                add(("NUMBER", value, at))
            elif group == _G_QUOTE:
                add(("QUOTE_OPEN", value, at))
                mode = QUOTED
                stack.append(mode)
            elif group == _G_HEREDOC:
                add(("HEREDOC_OPEN", value, at))
                markers.append(value.rstrip("\r\n")[2:].removeprefix("-"))
                line_start.append(True)
                mode = HEREDOC
                stack.append(mode)
            elif group == _G_SLASH:
                if text.startswith("*", pos):  # the comment is not closed
                    patterns = _patterns(False)
                    match = patterns.lines if mode < BRACKETS else patterns.no_lines
                add(("OPERATOR", value, at))
            elif group == _G_END:
                if mode <= VALUE and tokens and tokens[-1][0] != "NEWLINE":
                    add(("NEWLINE", "", at))  # the end of the file ends its last line
                add(("$END", "", len(text)))
                return tokens
            else:
                add(("INVALID", value, at))
            continue

        if mode == QUOTED:
            m = _quoted_text(text, pos)
            if m:
                add(("TEXT", m[0], pos))
                pos = m.end()
            char = text[pos : pos + 1]
            if char == '"':
                add(("QUOTE_CLOSE", char, pos))
                pos += 1
                stack.pop()
                mode = stack[-1]
                match = patterns.lines if mode < BRACKETS else patterns.no_lines
                continue
            if char == "\r" or char == "\n":
                end = pos
                while text[end : end + 1] in ("\r", "\n"):
                    end += 1
                add(("QUOTED_NEWLINE", text[pos:end], pos))
                # the string most likely ends here: continue in the nearest mode that permits newlines
                while len(stack) > 1 and stack[-1] not in (BODY, VALUE, OBJECT, HEREDOC, BARE):
                    stack.pop()
                mode = stack[-1]
                match = patterns.lines if mode < BRACKETS else patterns.no_lines
                continue
            if char == "\\":
                add(("INVALID", char, pos))
                pos += 1
                continue
        elif mode == HEREDOC:
            m = _template_line(text, pos)
            assert m is not None
            if m.end() > pos:
                line, ended = m[0], m[1] is not None
                if ended and line_start[-1] and line.strip(SPACE) == markers[-1]:
                    add(("HEREDOC_CLOSE", line.rstrip("\r\n"), pos))
                    pos = m.start(1)
                    markers.pop()
                    line_start.pop()
                    stack.pop()
                    mode = stack[-1]
                    match = patterns.lines if mode < BRACKETS else patterns.no_lines
                    continue
                add(("TEXT", line, pos))
                pos = m.end()
                line_start[-1] = ended
                if ended:
                    continue
            line_start[-1] = False
            char = text[pos : pos + 1]
            if char == "\r":  # without a line feed
                add(("INVALID", text[pos:], pos))
                pos = len(text)
                continue
        else:  # BARE
            m = _template_line(text, pos)
            assert m is not None
            if m.end() > pos:
                add(("TEXT", m[0], pos))
                pos = m.end()
                continue
            char = text[pos : pos + 1]
            if char == "\r":  # as in OpenTofu, everything after a carriage return without line feed is text
                add(("TEXT", text[pos:], pos))
                pos = len(text)
                continue

        if not char:
            add(("$END", "", len(text)))
            return tokens
        # `${` or `%{`
        if char == "$":
            value = text[pos : pos + 3] if text.startswith("~", pos + 2) else text[pos : pos + 2]
            add(("INTERPOLATE", value, pos))
        else:
            m = patterns.directive(text, pos)
            if m:
                value = m[0]
                add(("DIRECTIVE_" + m[1].upper(), value, pos))
            else:
                value = text[pos : pos + 3] if text.startswith("~", pos + 2) else text[pos : pos + 2]
                add(("DIRECTIVE_UNKNOWN", value, pos))
        pos += len(value)
        mode = INTERPOLATION
        stack.append(mode)
        match = patterns.no_lines


def simple_tokens(token: Token) -> list[Token]:
    """Split a combined token into simple tokens, so that a mistake inside it is reported at its position."""
    kind, value, at = token
    if kind in ("PATH", "STEPS", "FOR_PATH"):
        parts: list[Token] = []
        for i, name in enumerate(value.split(".")):
            if i:
                parts.append(("DOT", ".", at))
                at += 1
            if name:
                parts.append((_KEYWORDS.get(name, "NAME"), name, at))
                at += len(name)
        return parts
    if kind == "STRING":
        quotes = [("QUOTE_OPEN", '"', at), ("QUOTE_CLOSE", '"', at + len(value) - 1)]
        return quotes if len(value) == 2 else [quotes[0], ("TEXT", value[1:-1], at + 1), quotes[1]]
    return [token]


def _name_end(text: str) -> int:
    """The length of the longest prefix that consists of names joined by dots. Names are Unicode identifiers (ID_Start,
    ID_Continue, and `-`). A dot at the end of the string is included."""
    start = True
    for i, char in enumerate(text):
        if char == "." and not start:
            start = True
            continue
        if not _in_name(char, start):
            return i - 1 if start and i and text[i - 1] == "." else i
        start = False
    return len(text)


def _in_name(char: str, start: bool) -> bool:
    if char.isascii():
        return char.isalpha() or char == "_" or (not start and (char.isdigit() or char == "-"))
    category = unicodedata.category(char)
    if category in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nl") or char in "\u1885\u1886\u2118\u212e\u309b\u309c":
        return char not in "\u2e2f"
    return not start and (
        category in ("Mn", "Mc", "Nd", "Pc")
        or char in "\u00b7\u0387\u1369\u136a\u136b\u136c\u136d\u136e\u136f\u1370\u1371\u19da"
    )


# Unclosed strings.
#
# A string that is not closed on its line ends at the next quote in the file; after that, code is read as strings and
# strings as code. As in OpenTofu, every line break in these strings is reported.


_IN_STRING = re.compile(r'\\.|\$\$\{|%%\{|[$%]\{~?|"|(?:\r?\n)+', re.S)
_OUTSIDE = re.compile(
    r'"|[{}]|(?:#|//)[^\n]*|/\*.*?(?:\*/|\Z)|<<-?([\w-]+)[^\S\n]*\n(?:.*?\n)?[^\S\n]*\1[^\S\n]*(?=\n|\Z)', re.S
)


def line_breaks(text: str, start: int) -> list[tuple[int, int]]:
    """The ranges (start, end) of line breaks inside strings after `start`, on the assumption that a string is open at
    `start`."""
    breaks: list[tuple[int, int]] = []
    open_: list[str] = ['"']  # open quotes, sequences and braces
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
