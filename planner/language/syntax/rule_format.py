"""The standard format of rule files and files of cases.

The author decides where lines break, as long as they have at most 120 columns. Spaces and indentation are fixed: one
space between literals and around operators, none inside parentheses, four before the continuation of a statement. A
rule that exceeds 120 columns is broken after `:-`, then between literals. Comments are not changed. The result has the
same tokens as the text, and formatting it again does not change it."""

from __future__ import annotations

from collections.abc import Iterator

from planner.foundation.vocabulary.records import define
from planner.language.syntax.rule_parse import tokens_of

WIDTH = 120
INDENT = "    "
_OPENING, _CLOSING = frozenset("(["), frozenset(")]")
_BINARY = frozenset(("=", "!=", "<", "<=", ">", ">=", "++", "+", "-", "*", "/", "%", ":-", "<:", ";", "{", "}"))


@define
class _Piece:
    """A token or comment, and the line breaks and spaces before it."""

    kind: str
    text: str
    breaks: int
    blanks: int

    @property
    def is_comment(self) -> bool:
        return self.kind == "COMMENT"

    @property
    def is_directive(self) -> bool:
        return self.text[0] == "." and len(self.text) > 1


def format_rules(text: str) -> str:
    """Format a rule file or a file of cases, which must have no syntax errors."""
    return "".join(f"{line}\n" for line in _lines(list(_pieces(text))))


def _pieces(text: str) -> Iterator[_Piece]:
    at = 0
    for kind, word, start, end in tokens_of(text):
        between = text[at:start]
        yield _Piece(kind, word.rstrip() if kind == "COMMENT" else word, between.count("\n"), _blanks(between))
        at = end


def _blanks(between: str) -> int:
    return len(between) - between.rfind("\n") - 1


# ---------------------------------------------------------------- lines


def _lines(pieces: list[_Piece]) -> Iterator[str]:
    line: list[_Piece] = []
    state = _State()
    for piece in pieces:
        if piece.breaks and line:
            yield from _laid_out(line, state)
            line = []
        if piece.breaks > 1 and state.is_begun:
            yield ""
        line.append(piece)
    if line:
        yield from _laid_out(line, state)


@define
class _State:
    """The state at the beginning of a line. `is_inside`: whether the line continues a statement. `is_directive`:
    whether the statement has no final full stop. `depth`: the number of open brackets. `is_begun`: whether this is not
    the first line."""

    is_inside: bool = False
    is_directive: bool = False
    depth: int = 0
    is_begun: bool = False

    def follow(self, line: list[_Piece]) -> None:
        code = [piece for piece in line if not piece.is_comment]
        for number, piece in enumerate(code):
            if not self.is_inside:
                self.is_directive = piece.text == "import" or (piece.is_directive and piece.text != ".want")
            self.depth += (piece.text in "([{") - (piece.text in ")]}")
            self.is_inside = piece.text != "." or _is_dotted(code, number)
        if (not self.depth and (self.is_directive and code[-1].text not in (",", "="))) or _is_annotated(code):
            self.is_inside = False


def _is_annotated(code: list[_Piece]) -> bool:
    """Whether a line ends with an annotation such as `@name("...")`, so that the rule begins on a later line."""
    return len(code) > 4 and code[-5].text == "@" and code[-1].text == ")"


def _is_dotted(code: list[_Piece], number: int) -> bool:
    """Whether a full stop is part of a name, such as `acme.tags.kept`."""
    if not 0 < number < len(code) - 1:
        return False
    after = code[number + 1]
    adjacent = not (code[number].breaks or code[number].blanks or after.breaks or after.blanks)
    return adjacent and code[number - 1].kind == "NAME" and after.kind == "NAME"


def _laid_out(line: list[_Piece], state: _State) -> Iterator[str]:
    state.is_begun = True
    level = 1 if state.is_directive else 1 + _outdent(line, state.depth)
    indent = INDENT * level if state.is_inside else ""
    if len(line) == 1 and line[0].is_comment:
        first, *others = line[0].text.split("\n")
        yield indent + first
        yield from (other.rstrip() for other in others)
        return
    text = indent + _join_pieces(line)
    state.follow(line)
    if len(text) <= WIDTH or any(piece.is_comment for piece in line):
        yield from text.split("\n")
        return
    yield from _broken_line(line, indent)


def _outdent(line: list[_Piece], depth: int) -> int:
    """`depth` minus the number of closing brackets at the beginning of the line; at least 0."""
    for piece in line:
        if piece.text not in (")", "]", "}"):
            break
        depth -= 1
    return max(depth, 0)


def _broken_line(line: list[_Piece], indent: str) -> Iterator[str]:
    """Break a line that is too long: after `:-` and between literals, or between the expected rows of a case. Other
    lines are returned whole."""
    arrow = next((n for n, piece in enumerate(line) if piece.text == ":-"), None)
    body = line
    if arrow is not None:
        yield indent + _join_pieces(line[: arrow + 1])
        body, indent = line[arrow + 1 :], indent + INDENT
    elif not indent and line[0].text != ".want":
        yield _join_pieces(line)
        return
    row: list[_Piece] = []
    for part in _parts(body):
        if row and len(indent + _join_pieces([*row, *part])) > WIDTH:
            yield indent + _join_pieces(row)
            row, indent = [], indent or INDENT
        row += part
    if row:
        yield indent + _join_pieces(row)


def _parts(body: list[_Piece]) -> Iterator[list[_Piece]]:
    """The literals of a body, each with the comma that follows it."""
    depth, part = 0, []
    for piece in body:
        depth += (piece.text in "([{") - (piece.text in ")]}")
        part.append(piece)
        if piece.text == "," and depth == 0:
            yield part
            part = []
    if part:
        yield part


# ---------------------------------------------------------------- within a line


def _join_pieces(line: list[_Piece]) -> str:
    text = ""
    for number, piece in enumerate(line):
        text += _space(line, number) + piece.text if number else piece.text
    return text


def _space(line: list[_Piece], number: int) -> str:
    before, piece = line[number - 1], line[number]
    if piece.is_comment:
        return " " * max(piece.blanks, 1)  # comments of several lines may be aligned
    if before.is_comment:
        return " "
    if _is_tight(line, number, before, piece):
        return ""
    return " "


def _is_tight(line: list[_Piece], number: int, before: _Piece, piece: _Piece) -> bool:
    """Whether there is no space between two tokens."""
    if before.text in _OPENING or before.text == "@" or piece.text in _CLOSING or piece.text in (",", "."):
        return True
    if before.text == "." and _is_dotted(line, number - 1):
        return True
    if piece.text == "(":
        return before.kind in ("NAME", "QUALIFIED") and before.text != "import"
    if piece.text == ":":
        follows = line[number + 1].text if number + 1 < len(line) else ""
        return follows != "{"
    if before.text == "-" and piece.kind == "NUMBER":  # a sign, or a subtraction
        earlier = line[number - 2] if number > 1 else None
        return earlier is None or earlier.text in _BINARY or earlier.text in _OPENING or earlier.text == ","
    return False
