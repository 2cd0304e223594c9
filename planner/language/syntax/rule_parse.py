"""Parses rule files into typed syntax.

Lark compiles `grammar/datalog.lark` once (tables.py). One regular expression, built from the grammar's terminals,
splits a file into tokens. The loop in tables.py parses these tokens. After a mistake, parsing continues, so that
several mistakes are reported."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.rule_productions import PRODUCTIONS
from planner.language.syntax.rule_syntax import RuleFile, Statement, Written
from planner.language.syntax.tables import END, Row, Tables, load_tables, run


def parse_rules(name: str, text: str) -> tuple[RuleFile, list[Diagnostic]]:
    """The statements of a rule file or a file of cases, and problems. Statements with a syntax error are left out and
    reported."""
    reader = _RuleReader(Source(name, text))
    return RuleFile(reader.source, reader.statements()), reader.diagnostics


def parse_query(text: str) -> tuple[list[Written], Source, list[Diagnostic]]:
    """The literals of a question, its source, and problems. An example is `edge(A, "b"), not pruned(A)`, optionally
    between `?-` and `.`."""
    reader = _RuleReader(Source("<query>", text))
    literals = reader.query()
    return literals, reader.source, [_about_question(problem) for problem in reader.diagnostics]


def _about_question(problem: Diagnostic) -> Diagnostic:
    """Reword a diagnostic about a rule file, so that it is about a question."""
    return evolve(problem, summary=problem.summary.replace("a rule file", "a question"))


Token = tuple[str, str, int, int]  # terminal, text, start, end


def tokens_of(text: str) -> list[Token]:
    """Tokens of a rule file including comments (COMMENT), without spaces and unreadable text."""
    terminals = tables().terminals
    results: list[Token] = []
    for match in _lexer().finditer(text):
        kind, word = str(match.lastgroup), match.group()
        if word.strip():
            kind = terminals.keywords.get(word, kind) if kind == "NAME" else kind
            results.append((kind, word, match.start(), match.end()))
    return results


_MAX_PROBLEMS = 25  # the maximum number of reported mistakes per file; further ones are probably consequences


@cache
def tables() -> Tables:
    return load_tables("datalog.lark", ("file", "query"), PRODUCTIONS.__getitem__)


@cache
def _lexer() -> re.Pattern[str]:
    """One expression that matches any terminal; `lastgroup` is its name."""
    return re.compile(tables().terminals.pattern)


class _RuleReader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.docs: dict[int, tuple[str, int, int]] = {}  # doc comment (text, start, end) by start of the next token
        self.unread: list[int] = []  # positions of characters that cannot begin a token
        self.found: list[Statement] = []
        self.done = 0  # the end of the last complete statement, or the position at which parsing resumed
        self.tokens = self._scan()
        self.begun = self.failed = 0  # indexes of the first token of the incomplete statement, and of the wrong token

    # -------- tokens

    def _scan(self) -> list[Token]:
        """The tokens, ending with `$END`. Characters that are not part of a token are reported and skipped."""
        text, terminals = self.source.text, tables().terminals
        keywords, ignored = terminals.keywords, set(terminals.ignored)
        tokens: list[Token] = []
        position = 0
        doc: list[tuple[int, int]] = []
        for match in _lexer().finditer(text):
            kind, start, end = match.lastgroup, match.start(), match.end()
            assert kind is not None
            if start != position:
                self._bad_characters(position, start)
            position = end
            if kind in ignored:
                if text.startswith("///", start) and not text.startswith("////", start):
                    if doc and text.count("\n", doc[-1][1], start) > 1:
                        self._dangling(doc[0][0], doc[-1][1])
                        doc = []
                    doc.append((start, end))
                continue
            word = match.group()
            if doc:
                self._attach(doc, start)
                doc = []
            if kind == "NAME" and word in keywords:
                kind = keywords[word]
            tokens.append((kind, word, start, end))
        if position != len(text):
            self._bad_characters(position, len(text))
        if doc:
            self._attach(doc, len(text))
        tokens.append(("$END", "", len(text), len(text)))
        return tokens

    def _attach(self, doc: list[tuple[int, int]], start: int) -> None:
        text = self.source.text
        lines = [text[a + 3 : b].rstrip() for a, b in doc]
        margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        self.docs[start] = "\n".join(line[margin:] for line in lines).strip("\n"), doc[0][0], doc[-1][1]

    def _bad_characters(self, start: int, end: int) -> None:
        text = self.source.text[start:end]
        self.unread.append(start)
        if len(self.unread) > _MAX_PROBLEMS:
            return
        if text.startswith('"'):
            detail = "A string must end with a double quote on the line on which it begins. Write a line break as \\n."
            self.report("rules.syntax", "Unfinished string", detail, start, end)
        else:
            detail = f"The rule language does not allow {text.split()[0] if text.split() else text!r} here."
            detail += _OTHERWISE.get(text[:1], "")
            self.report("rules.syntax", "Unknown character", detail, start, end)

    def _dangling(self, start: int, end: int) -> None:
        detail = (
            "A doc comment (///) belongs directly before the .decl, .native or .type that it describes. "
            "Use // for other comments."
        )
        self.report("rules.dangling_doc", "Doc comment without a declaration", detail, start, end)

    def report(self, code: str, summary: str, detail: str, start: int, end: int) -> None:
        self.diagnostics.append(error(code, summary, detail, Span(self.source, start, end)))

    # -------- statements

    def statements(self) -> list[Statement]:
        run(self.tokens, tables().starts["file"], self, self._mistake)
        for _text, start, end in self.docs.values():
            self._dangling(start, end)
        self.diagnostics.sort(key=lambda d: d.subject.start if d.subject else 0)
        return self.found

    def add(self, statement: Statement) -> None:
        self.found.append(statement)
        self.done = statement.end

    def query(self) -> list[Written]:
        return run(self.tokens, tables().starts["query"], self, self._mistake_in_query) or []

    def _mistake_in_query(self, number: int, states: list[Row], values: list[Any]) -> int:
        self.begun, self.failed = 0, number
        self.diagnostics.append(self._unexpected_token(number, states[-1]))
        return -1

    def _mistake(self, number: int, states: list[Row], values: list[Any]) -> int:
        """Report a wrong token, and continue with the next statement."""
        self.begun, self.failed = bisect_left(self.tokens, self.done, key=lambda token: token[2]), number
        begin, failed = self.tokens[self.begun][2], self.tokens[number][2]
        # an unreadable character in the same statement is the cause, and is already reported
        if not any(begin <= place <= failed for place in self.unread):
            self.diagnostics.append(self._unexpected_token(number, states[-1]))
        at = self._resume()
        for token in self.tokens[self.begun : at]:
            self.docs.pop(token[2], None)  # the doc comment of a declaration that is already reported
        if at >= len(self.tokens) or len(self.diagnostics) >= _MAX_PROBLEMS:
            return -1
        del states[1:], values[:]
        self.done = self.tokens[at][2]
        return at

    def _resume(self) -> int:
        """The index of the first token of the next statement; the number of tokens if there is none. A statement begins
        after a full stop, or with a directive, an annotation or a name at the left margin."""
        at = self.failed + 2 if self._begins_directive(self.failed) else max(self.failed, self.begun + 1)
        while self.tokens[at][0] != "$END":
            kind, word, start, _ = self.tokens[at]
            if (word[0] == "." and len(word) > 1) or kind == "AT":
                return at
            if word == ".":
                return at + 1
            # a name at the left margin also begins a statement, because the full stop before it may be missing
            if kind in ("NAME", "QUALIFIED", "IMPORT") and start and self.source.text[start - 1] == "\n":
                return at
            at += 1
        return len(self.tokens)

    def _begins_directive(self, number: int) -> bool:
        """Whether a token is a full stop that is the first character of its line and is immediately followed by a name
        (`.inputs edge`)."""
        _, word, start, end = self.tokens[number]
        if word != "." or self.tokens[number + 1][0] != "NAME" or self.tokens[number + 1][2] != end:
            return False
        return self.source.text[:start].rpartition("\n")[2].strip() == ""

    def _unknown_directive(self, word: str, start: int, end: int) -> Diagnostic:
        known = sorted(w for w in tables().terminals.words.values() if w[0] == "." and len(w) > 1)
        detail = f"There is no directive .{word}. The directives are {', '.join(known)}."
        return error("rules.syntax", "Unknown directive", detail, Span(self.source, start, end))

    def _unexpected_token(self, number: int, row: Row) -> Diagnostic:
        kind, word, start, end = self.tokens[number]
        words = tables().terminals.words
        before = self.tokens[number - 1] if number else None
        expected = {k for k in row if k.isupper() or k == END}
        stop = next(n for n, w in words.items() if w == ".")
        text = self.source.text
        if before and stop in expected and (kind == "$END" or "\n" in text[before[3] : start]):
            span = Span(self.source, before[2], before[3])
            detail = f"A full stop is missing after {before[1]}, at the end of a statement."
            return error("rules.syntax", "Missing full stop", detail, span)
        first = self.tokens[self.begun][2] - 1
        if text[first : first + 1] == "." and text[:first].rpartition("\n")[2].strip() == "":
            return self._unknown_directive(self.tokens[self.begun][1], first, self.tokens[self.begun][3])
        if self._begins_directive(number):
            return self._unknown_directive(self.tokens[number + 1][1], start, self.tokens[number + 1][3])
        if self.tokens[self.begun][0] == "IMPORT":
            detail = "Write an import as: import acme.tags as t. The imported names are then t.NAME."
            return error("rules.syntax", "Syntax error in an import", detail, Span(self.source, start, end))
        if text.startswith("/*", start):
            detail = "This comment begins with /* and has no closing */."
            return error("rules.syntax", "Unfinished comment", detail, Span(self.source, start, start + 2))
        if word in ("=", "!=", "<", "<=", ">", ">=") and "IN" in expected and kind not in expected:
            negation = max(n for n in range(number) if self.tokens[n][1] == "not")
            detail = "`not` must precede a predicate or a test. For a comparison, write A != B instead of `not A = B`."
            place = Span(self.source, self.tokens[negation][2], self.tokens[number - 1][3])
            return error("rules.syntax", "Negated comparison", detail, place)
        if kind == "VARIABLE" and "NAME" in expected:
            detail = (
                f"{word} begins like a variable. Names of predicates, types and columns begin with a lowercase letter."
            )
            return error("rules.syntax", "Expected a name", detail, Span(self.source, start, end))
        names = {
            "NAME": "a name",
            "QUALIFIED": "a name",
            "VARIABLE": "a variable",
            "STRING": "a string",
            "NUMBER": "a number",
            "$END": "the end",
        }
        options = sorted({names.get(k) or words.get(k, k) for k in expected})
        detail = "Unexpected end of input." if kind == "$END" else f"Unexpected {_quote(word)}."
        if len(options) <= 9:
            detail += f" Expected {_either([one if one in names.values() else _quote(one) for one in options])}."
        detail += _OTHERWISE.get(word if before is None or before[1] != word else word * 2, "")
        if before and before[0] == "NAME" and before[1] == "null":
            detail += " Rules have no null. A null value has no row, so use `not` to test for it, as in `not a(X, _)`."
        elif before and before[0] == "NAME" and options == ["("]:
            detail += f" If {before[1]} is meant as a variable, begin it with a capital letter; if it is meant as a"
            detail += f' string, put it in double quotes: "{before[1]}".'
        elif before and before[0] == "QUALIFIED" and "(" in options:
            detail += f' Put strings, such as addresses, in double quotes: "{before[1]}".'
        if kind in tables().terminals.keywords.values() and "NAME" in expected:
            detail += f" The word {word} is part of the language and cannot be a name."
        span = Span(self.source, before[2], before[3]) if kind == "$END" and before else Span(self.source, start, end)
        return error("rules.syntax", "Syntax error in a rule file", detail, span)

    def doc(self, start: int) -> str | None:
        attached = self.docs.pop(start, None)
        return attached[0] if attached else None


_OTHERWISE = {
    "'": " Strings use double quotes.",
    "&": " A comma means and.",
    "and": " A comma means and.",
    "|": " A semicolon means or, as in (a(X) ; b(X)).",
    "or": " A semicolon means or, as in (a(X) ; b(X)).",
    "!": " Negation is written as not, as in not a(X).",
    "#": " Comments begin with //.",
    "~": ' To match a pattern use matches(X, "^a").',
    "==": " To compare two values use a single =.",
}
"""hints for notations of other languages"""


def _quote(word: str) -> str:
    return word if word.startswith('"') else f'"{word}"'


def _either(options: list[str]) -> str:
    return options[0] if len(options) == 1 else ", ".join(options[:-1]) + " or " + options[-1]
