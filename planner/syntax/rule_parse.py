"""Rule text to typed syntax.

Lark compiles `grammar/datalog.lark` once (rule_tables.py). Reading a file is one regular expression of the grammar's
own terminals and a short loop over Lark's tables: several times as fast as Lark's own loop, and it goes on behind a
mistake, so that several are reported at a time.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve

from planner.syntax.rule_productions import PRODUCTIONS
from planner.syntax.rule_syntax import Literal, RuleFile, Statement
from planner.syntax.rule_tables import lexer, tables
from planner.vocabulary.diagnostic import Diagnostic, error
from planner.vocabulary.span import Source, Span


def parse_rules(name: str, text: str) -> tuple[RuleFile, list[Diagnostic]]:
    """The statements of a rule file or a file of cases. Statements with a syntax error are left out and reported."""
    reader = _Reader(Source(name, text))
    return RuleFile(reader.source, reader.statements()), reader.diagnostics


def parse_query(text: str) -> tuple[list[Literal], Source, list[Diagnostic]]:
    """The literals of a question: `edge(A, "b"), not pruned(A)`, with or without `?-` before and `.` behind."""
    reader = _Reader(Source("<query>", text))
    literals = reader.query()
    return literals, reader.source, [_about_question(problem) for problem in reader.diagnostics]


def _about_question(problem: Diagnostic) -> Diagnostic:
    """What is said of rule files, said of a question."""
    summary, detail = problem.summary.replace("a rule file", "a question"), problem.detail
    return evolve(problem, summary=summary, detail=detail.replace("The rule cannot", "The question cannot"))


Token = tuple[str, str, int, int]  # terminal, text, start, end


_MOST_PROBLEMS = 25  # in one file; more would only be echoes


class _SyntaxError(Exception):
    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.docs: dict[int, tuple[str, int, int]] = {}  # start of the token behind it -> text, start, end
        self.unread: list[int] = []  # where characters stand that begin no token
        self.tokens = self._scan()
        self.begun = self.failed = 0

    # -------- tokens

    def _scan(self) -> list[Token]:
        """The tokens, `$END` last. A character that belongs to none is reported and skipped."""
        text, keywords, ignored = self.source.text, tables().keywords, set(tables().ignored)
        tokens: list[Token] = []
        position = 0
        doc: list[tuple[int, int]] = []
        for match in lexer().finditer(text):
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
        if len(self.unread) > _MOST_PROBLEMS:
            return
        if text.startswith('"'):
            detail = "A string ends with a double quote on the line it begins on. Write a line break as \\n."
            self.report("rules.syntax", "Unfinished string", detail, start, end)
        else:
            detail = f"The rule language has no use for {text.split()[0] if text.split() else text!r} here."
            if text.startswith("'"):
                detail += " Strings stand in double quotes."
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
        found: list[Statement] = []
        at = 0
        while at < len(self.tokens) and len(self.diagnostics) < _MOST_PROBLEMS:
            try:
                self._run("file", at, found)
                break
            except _SyntaxError as problem:
                begin, failed = self.tokens[self.begun][2], self.tokens[self.failed][2]
                # A character that could not be read in the same statement is the cause.
                if not any(begin <= place <= failed for place in self.unread):
                    self.diagnostics.append(problem.diagnostic)
                at, begun = self._resume(), self.begun
                for token in self.tokens[begun:at]:
                    self.docs.pop(token[2], None)  # of a declaration that is reported already
        for _text, start, end in self.docs.values():
            self._dangling(start, end)
        self.diagnostics.sort(key=lambda d: d.subject.start if d.subject else 0)
        return found

    def query(self) -> list[Literal]:
        try:
            return list(self._run("query", 0, []))
        except _SyntaxError as problem:
            self.diagnostics.append(problem.diagnostic)
            return []

    def _resume(self) -> int:
        """The token where the next statement begins: behind a full stop, or at a directive or annotation."""
        at = self.failed + 2 if self._begins_directive(self.failed) else max(self.failed, self.begun + 1)
        while self.tokens[at][0] != "$END":
            kind, word, start, _ = self.tokens[at]
            if (word[0] == "." and len(word) > 1) or kind == "AT":
                return at
            if word == ".":
                return at + 1
            # A name at the left margin begins a statement too: the full stop before it may be what is missing.
            if kind == "NAME" and start and self.source.text[start - 1] == "\n":
                return at
            at += 1
        return len(self.tokens)

    def _begins_directive(self, number: int) -> bool:
        """Whether a full stop begins the line and a name follows it at once, as in `.inputs edge`."""
        _, word, start, end = self.tokens[number]
        if word != "." or self.tokens[number + 1][0] != "NAME" or self.tokens[number + 1][2] != end:
            return False
        return self.source.text[:start].rpartition("\n")[2].strip() == ""

    def _unknown_directive(self, word: str, start: int, end: int) -> Diagnostic:
        known = sorted(w for w in tables().words.values() if w[0] == "." and len(w) > 1)
        detail = f"There is no directive .{word}. There are {', '.join(known)}."
        return error("rules.syntax", "Unknown directive", detail, Span(self.source, start, end))

    def _run(self, start: str, at: int, found: list[Statement]) -> Any:
        """Read tokens from `at`; statements go to `found`. Raises _SyntaxError; `failed` is then the token that does
        not fit, `begun` the one that the unfinished statement began with."""
        rows, productions = tables().rows, tables().productions
        state, end = tables().starts[start]
        states: list[int] = [state]
        values: list[Any] = []
        row = rows[state]
        self.begun = at
        for number in range(at, len(self.tokens)):
            token = self.tokens[number]
            kind = token[0]
            while True:
                action = row.get(kind)
                if action is None:
                    self.failed = number
                    raise _SyntaxError(self._unexpected(number, row))
                if action >= 0:
                    states.append(action)
                    values.append(token)
                    row = rows[action]
                    break
                left, length, name = productions[-1 - action]
                if length:
                    arguments = values[-length:]
                    del values[-length:], states[-length:]
                else:
                    arguments = []
                if name == "append":
                    found.append(arguments[1])
                    self.begun = number
                    value: Any = None
                else:
                    value = PRODUCTIONS[name](self, arguments)
                values.append(value)
                state = rows[states[-1]][left]
                if kind == "$END" and state == end:
                    return value
                states.append(state)
                row = rows[state]
        raise AssertionError("the grammar accepts nothing behind $END")

    def _unexpected(self, number: int, row: dict[str, int]) -> Diagnostic:
        kind, word, start, end = self.tokens[number]
        words = tables().words
        before = self.tokens[number - 1] if number else None
        expected = {k for k in row if k.isupper() or k == "$END"}
        stop = next(n for n, w in words.items() if w == ".")
        text = self.source.text
        if before and stop in expected and (kind == "$END" or "\n" in text[before[3] : start]):
            span = Span(self.source, before[2], before[3])
            detail = f"A statement ends with a full stop; the one that ends with {before[1]} here has none."
            return error("rules.syntax", "Missing full stop", detail, span)
        first = self.tokens[self.begun][2] - 1
        if text[first : first + 1] == "." and text[:first].rpartition("\n")[2].strip() == "":
            return self._unknown_directive(self.tokens[self.begun][1], first, self.tokens[self.begun][3])
        if self._begins_directive(number):
            return self._unknown_directive(self.tokens[number + 1][1], start, self.tokens[number + 1][3])
        if text.startswith("/*", start):
            detail = "A comment that begins with /* ends with */, and this one has no end."
            return error("rules.syntax", "Unfinished comment", detail, Span(self.source, start, start + 2))
        if kind == "VARIABLE" and before and before[1] == "not":
            detail = "The word not stands before a predicate or a test. Turn a comparison around: A != B, not A = B."
            return error("rules.syntax", "Negated comparison", detail, Span(self.source, before[2], end))
        if kind == "VARIABLE" and "NAME" in expected:
            detail = f"{word} begins like a variable. Names of predicates, types and columns begin with a small letter."
            return error("rules.syntax", "Expected a name", detail, Span(self.source, start, end))
        names = {
            "NAME": "a name",
            "VARIABLE": "a variable",
            "STRING": "a string",
            "NUMBER": "a number",
            "$END": "the end",
        }
        options = sorted({names.get(k) or words.get(k, k) for k in expected})
        what = "the end of the text" if kind == "$END" else word
        if len(options) > 7:
            detail = f"The rule cannot go on with {what} here."
        else:
            detail = f"The rule cannot go on with {what} here. Expected " + _either(options) + "."
        if before and before[0] == "NAME" and options == ["("]:
            detail += f" If {before[1]} is a variable, it begins with a capital letter; a string has double quotes."
        if kind in tables().keywords.values() and "NAME" in expected:
            detail += f" The word {word} is part of the language and cannot be a name."
        span = Span(self.source, before[2], before[3]) if kind == "$END" and before else Span(self.source, start, end)
        return error("rules.syntax", "Syntax error in a rule file", detail, span)

    def doc(self, start: int) -> str | None:
        found = self.docs.pop(start, None)
        return found[0] if found else None


def _either(options: list[str]) -> str:
    return options[0] if len(options) == 1 else ", ".join(options[:-1]) + " or " + options[-1]
