"""What stands where in a rule file that is being written: the token under the cursor, the literal around it."""

from __future__ import annotations

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_parse import tokens_of


@frozen
class Cursor:
    """A place in a text. `word` is the token at it (with `kind`, `start` and `end`), or "" between tokens; `relation`
    the name before the innermost open parenthesis, `column` which argument this is; `is_in_text` whether it is within
    a string, then `typed` is what stands of it before the cursor."""

    kind: str
    word: str
    start: int
    end: int
    relation: str
    column: int
    typed: str
    is_in_text: bool
    statement: str
    """the text of the statement, as far as it is there"""


def cursor_at(text: str, offset: int) -> Cursor:
    """The surroundings of an offset."""
    tokens = tokens_of(text)
    stack: list[tuple[str, int]] = []
    relation, column = "", 0
    kind = word = ""
    start = end = offset
    before, begin = "", 0
    for token_kind, token, token_start, token_end in tokens:
        if token_start <= offset <= token_end and (
            offset < token_end or token_kind in ("NAME", "VARIABLE", "QUALIFIED")
        ):
            kind, word, start, end = token_kind, token, token_start, token_end
        if token_start >= offset or (token_end > offset and token_kind == "STRING"):
            break
        if token_kind == "COMMENT":
            continue
        if token in ("(", "{", "["):
            stack.append((relation, column))
            relation, column = (before, 0) if token == "(" else ("", 0)
        elif token in (")", "}", "]") and stack:
            relation, column = stack.pop()
        elif token == "," and stack:
            column += 1
        elif token == "." and not stack:
            begin = token_end
        before = token
    is_in_text, typed = _string(text, offset)
    return Cursor(kind, word, start, end, relation, column, typed, is_in_text, _statement(text, begin))


def _string(text: str, offset: int) -> tuple[bool, str]:
    """Whether an offset is within a string of its line, closed or not, and what stands of it before."""
    at = text.rfind("\n", 0, offset) + 1
    start = -1
    while at < offset:
        if text[at] == "\\" and start >= 0:
            at += 1
        elif text[at] == '"':
            start = -1 if start >= 0 else at + 1
        elif text.startswith("//", at) and start < 0:
            return False, ""
        at += 1
    return start >= 0, text[start:offset] if start >= 0 else ""


def _statement(text: str, begin: int) -> str:
    """The statement that begins at an offset: up to its full stop, or an empty line."""
    for _, token, start, end in tokens_of(text[begin:]):
        if token == ".":
            return text[begin : begin + end]
        if "\n\n" in text[begin : begin + start].strip("\n"):
            return text[begin : begin + start]
    return text[begin:]
