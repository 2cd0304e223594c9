"""Answers requests of the language server about rule files: completion, hover, declarations, references and outline.
rule_answers.py converts the answers to LSP JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from planner.answers.policy.shapes import PATHS, Shapes, paths
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_parse import parse_rules, tables, tokens_of
from planner.language.syntax.rule_syntax import CaseSyntax, Declaration, RuleSyntax
from planner.workflows.editor.rule_index import Book, IndexedRelation, functions, signature

_TYPE = re.compile(r'\b(?:change|stays)\(\s*([A-Z_]\w*)\s*,\s*"([^"]*)"')
_MODES = {"data_value": "data"}


@frozen
class Choice:
    """A completion. `kind`: relation, function, directive, variable, path (of an attribute) or word. `insert`: the text
    to insert; "" to insert the label."""

    label: str
    kind: str
    detail: str = ""
    doc: str = ""
    insert: str = ""


def completions(book: Book, text: str, offset: int, shapes: Callable[[], Shapes]) -> list[Choice]:
    """The completions at an offset of a rule file; [] in comments. `shapes`: a function that returns provider schemas;
    it is called only to complete resource types and paths of attributes."""
    at = cursor_at(text, offset)
    relation = book.relations.get(at.relation)
    if at.is_in_text:
        subject = re.findall(rf"\b{re.escape(at.relation)}\(\s*([A-Z_]\w*)", text[:offset]) if at.relation else []
        return list(_within_text(book, at, relation, shapes, subject[-1] if subject else ""))
    if at.kind == "COMMENT":
        return []
    if text[:offset].rpartition("\n")[2].strip().startswith((".", "@")):
        return [*_directives()]
    result = [*_variables(at)] if relation is not None or at.relation else []
    result += [
        Choice(r.name, "relation", r.declaration, r.doc, f"{r.name}({', '.join(_placeholders(r))})")
        for _, r in sorted(book.relations.items())
    ]
    result += [Choice(name, "function", _shown(name), "", f"{name}(") for name in sorted(functions())]
    return result


def _placeholders(relation: IndexedRelation) -> Iterator[str]:
    """A distinct variable name for each column of a relation."""
    taken: set[str] = set()
    for name, _ in relation.columns:
        word = name[:1].upper() + name[1:]
        while word in taken:
            word += "2"
        taken.add(word)
        yield word


def _within_text(
    book: Book, at: Cursor, relation: IndexedRelation | None, shapes: Callable[[], Shapes], subject: str
) -> Iterator[Choice]:
    """The completions inside a string that is an argument of a relation. `subject`: the variable in the relation's
    first column."""
    if relation is None:
        return
    for word in book.words(relation, at.column):
        yield Choice(word, "word", f"{relation.name}.{relation.columns[at.column][0]}", relation.doc)
    if relation.columns[at.column][0] == "type" and relation.name in ("change", "stays", "resource"):
        names = {name for mode in ("managed", "data") for name in shapes().types(mode)}
        yield from (Choice(name, "word", "resource type") for name in sorted(names) if name.startswith(at.typed))
    if (relation.name in PATHS or relation.name in _MODES) and at.column == 1:
        type = dict(_TYPE.findall(at.statement)).get(subject, "")
        shape = shapes()(_MODES.get(relation.name, "managed"), type) if type else None
        if shape is not None:
            yield from (Choice(path, "path", type) for path in paths(shape) if path.startswith(at.typed))


def _directives() -> Iterator[Choice]:
    words = tables().terminals.words.values()
    yield from (Choice(word, "directive", "", "", word) for word in sorted(words) if word[0] == "." and len(word) > 1)
    yield from (Choice(f"@{name}", "directive", "", "", f'@{name}("")') for name in ("name", "reason"))


def _variables(at: Cursor) -> Iterator[Choice]:
    items = sorted({name for name in re.findall(r"\b[A-Z]\w*", at.statement) if name != at.word})
    yield from (Choice(name, "variable", "", "", name) for name in items)


def _shown(name: str) -> str:
    result = signature(name)
    return result.declaration if result is not None else ""


def hover(book: Book, text: str, offset: int) -> tuple[str, int, int] | None:
    """The documentation of the relation or built-in function at an offset, as (Markdown, start, end) with the range of
    its name; None if there is neither."""
    at = cursor_at(text, offset)
    relation = book.relations.get(at.word)
    if relation is not None:
        return f"```\n{relation.declaration}\n```\n\n{relation.doc}", at.start, at.end
    result = signature(at.word)
    if result is not None:
        doc = f"{result.meaning}. Example: `{result.example}`\n\n{result.failing}".strip()
        return f"```\n{result.declaration}\n```\n\n{doc}", at.start, at.end
    return None


def declaration(book: Book, text: str, offset: int) -> Span | None:
    relation = book.relations.get(cursor_at(text, offset).word)
    return relation.span if relation is not None else None


def mentions(book: Book, text: str, offset: int) -> list[Span]:
    """The places where the relation whose name is at an offset is declared and used, in all rule files of the
    directory. [] if no relation is named there."""
    word = cursor_at(text, offset).word
    if word not in book.relations:
        return []
    result = []
    for file in book.files:
        result += [
            Span(file.source, start, end) for _, token, start, end in tokens_of(file.source.text) if token == word
        ]
    return result


def outline(name: str, text: str) -> Iterator[tuple[str, str, Span]]:
    """(kind, name, place) for each declaration, rule and case of a file. `kind`: relation, rule or case."""
    for statement in parse_rules(name, text)[0].statements:
        if isinstance(statement, Declaration):
            yield "relation", statement.name.text, statement.span
        elif isinstance(statement, CaseSyntax):
            yield "case", statement.name, statement.span
        elif isinstance(statement, RuleSyntax) and statement.body:
            given = next((str(value.value) for key, value in statement.annotations if key.text == "name"), "")
            yield "rule", given or str(statement.head), statement.span


# Positions in a rule file that is being edited: the token at the cursor and the literal around it.


@frozen
class Cursor:
    """A position in a rule file. `word`: the token there, with `kind`, `start` and `end`; "" between tokens.
    `relation`: the name before the innermost open parenthesis. `column`: the index of the argument. `is_in_text`:
    whether the position is in a string. `typed`: the part of the string before the position."""

    kind: str
    word: str
    start: int
    end: int
    relation: str
    column: int
    typed: str
    is_in_text: bool
    statement: str
    """the statement that contains the position; it may be incomplete"""


def cursor_at(text: str, offset: int) -> Cursor:
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
    """Whether an offset is in a string, and the part of the string before the offset. Only the line of the offset is
    examined, because the string may be unterminated."""
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
    """The statement that begins at `begin`. It ends with a full stop, before an empty line, or at the end of the
    text."""
    for _, token, start, end in tokens_of(text[begin:]):
        if token == ".":
            return text[begin : begin + end]
        if "\n\n" in text[begin : begin + start].strip("\n"):
            return text[begin : begin + start]
    return text[begin:]
