"""Rule text to typed syntax.

`grammar/datalog.lark` is compiled by Lark (LALR) once; the tables are kept in the user's cache. Reading a file is one
regular expression made of the grammar's own terminals and a short loop over Lark's tables: three times as fast as
Lark's own loop, and it goes on behind a mistake so that several are reported at a time.
"""

from __future__ import annotations

import hashlib
import marshal
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from planner.assets import cache_dir, grammar_path
from planner.syntax.rule_syntax import (
    Aggregate,
    Atom,
    Call,
    CaseSyntax,
    ColumnSyntax,
    Comparison,
    Constant,
    Declaration,
    Directive,
    Literal,
    Name,
    Negation,
    RuleFile,
    RuleSyntax,
    Statement,
    TypeDeclaration,
    Variable,
    Want,
    Wildcard,
)
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.span import Source, Span


def parse_rules(name: str, text: str) -> tuple[RuleFile, list[Diagnostic]]:
    """The statements of a rule file or a file of cases. Statements with a syntax error are left out and reported."""
    reader = _Reader(Source(name, text))
    return RuleFile(reader.source, reader.statements()), reader.diagnostics


def parse_query(text: str) -> tuple[list[Literal], Source, list[Diagnostic]]:
    """The literals of a question: `edge(A, "b"), not pruned(A)`, with or without `?-` before and `.` behind."""
    reader = _Reader(Source("<query>", text))
    return reader.query(), reader.source, reader.diagnostics


# ---------------------------------------------------------------- tables


class _Tables(NamedTuple):
    """`rows[state][symbol]` is the next state, or `-1 - n` to reduce by production n; `productions` are (left side,
    length, function); `keywords` maps a text to its terminal, `words` a terminal to its text."""

    rows: list[dict[str, int]]
    productions: list[tuple[str, int, str]]
    starts: dict[str, tuple[int, int]]
    lexer: str
    ignored: list[str]
    keywords: dict[str, str]
    words: dict[str, str]


def compile_grammar(text: str) -> _Tables:
    """Lark's LALR tables for the grammar, in plain values."""
    from lark import Lark
    from lark.lexer import PatternRE
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(text, parser="lalr", start=["file", "query"], keep_all_tokens=True, maybe_placeholders=False)
    table: Any = lark.parser.parser._parse_table  # type: ignore[attr-defined]
    numbers = {state: number for number, state in enumerate(table.states)}
    productions: list[tuple[str, int, str]] = []
    known: dict[int, int] = {}
    rows: list[dict[str, int]] = []
    for actions in table.states.values():
        row: dict[str, int] = {}
        for symbol, (action, argument) in actions.items():
            if action is Shift:
                row[str(symbol)] = numbers[argument]
            else:
                if id(argument) not in known:
                    known[id(argument)] = len(productions)
                    left = str(argument.origin.name)
                    productions.append((left, len(argument.expansion), str(argument.alias or left)))
                row[str(symbol)] = -1 - known[id(argument)]
        rows.append(row)
    starts = {s: (numbers[table.start_states[s]], numbers[table.end_states[s]]) for s in ("file", "query")}
    patterns = [t for t in lark.terminals if isinstance(t.pattern, PatternRE)]
    words = {str(t.name): str(t.pattern.value) for t in lark.terminals if not isinstance(t.pattern, PatternRE)}
    keywords = {w: n for n, w in words.items() if any(re.fullmatch(t.pattern.to_regexp(), w) for t in patterns)}
    signs = sorted((n for n, w in words.items() if w not in keywords), key=lambda n: (-len(words[n]), n))
    # Comments come before signs: `//` is not two divisions.
    ignored = [t for t in patterns if t.name in lark.ignore_tokens]
    others = [t for t in patterns if t.name not in lark.ignore_tokens]
    parts = [f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in (*ignored, *others)]
    boundary = r"\b"  # `.inputs` is not `.input` and an s
    parts += [f"(?P<{n}>{re.escape(words[n])}{boundary if words[n][-1].isalpha() else ''})" for n in signs]
    return _Tables(rows, productions, starts, "|".join(parts), [str(t.name) for t in ignored], keywords, words)


@cache
def _tables() -> _Tables:
    text = grammar_path("datalog.lark").read_text(encoding="utf-8")
    folder = cache_dir()
    if folder is None:
        return compile_grammar(text)
    digest = hashlib.sha256(f"1 {sys.version} {text}".encode()).hexdigest()[:24]
    path = folder / f"datalog-tables-{digest}"
    try:
        return _Tables(*marshal.loads(path.read_bytes()))
    except (OSError, ValueError, EOFError, TypeError):
        tables = compile_grammar(text)
    try:
        draft = path.with_suffix(f".{id(tables)}")
        draft.write_bytes(marshal.dumps(tuple(tables)))
        draft.replace(path)
    except OSError:
        pass  # a cache that cannot be written costs time, not correctness
    return tables


# ---------------------------------------------------------------- reading

Token = tuple[str, str, int, int]  # terminal, text, start, end

_DOC = re.compile(r"[ \t]*///[^\n]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


class _SyntaxError(Exception):
    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.docs: dict[int, tuple[str, int, int]] = {}  # start of the token behind it -> text, start, end
        self.tokens = self._scan()

    # -------- tokens

    def _scan(self) -> list[Token]:
        """The tokens, `$END` last. A character that belongs to none is reported and skipped."""
        tables = _tables()
        text, keywords, ignored = self.source.text, tables.keywords, set(tables.ignored)
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
        if text.startswith('"'):
            detail = "A string ends with a double quote on the line it begins on. Write a line break as \\n."
            self._report("rules.syntax", "Unfinished string", detail, start, end)
        else:
            detail = f"The rule language has no use for {text.split()[0] if text.split() else text!r} here."
            self._report("rules.syntax", "Unknown character", detail, start, end)

    def _report(self, code: str, summary: str, detail: str, start: int, end: int) -> None:
        self.diagnostics.append(error(code, summary, detail, Span(self.source, start, end)))

    # -------- statements

    def statements(self) -> list[Statement]:
        found: list[Statement] = []
        at = 0
        while at < len(self.tokens):
            try:
                self._run("file", at, found)
                break
            except _SyntaxError as problem:
                self.diagnostics.append(problem.diagnostic)
                at = self._resume(problem.diagnostic)
        for text, start, end in self.docs.values():
            detail = (
                "A doc comment (///) belongs directly before the .decl, .native or .type that it describes. "
                "Use // for other comments."
            )
            del text
            self._report("rules.dangling_doc", "Doc comment without a declaration", detail, start, end)
        self.diagnostics.sort(key=lambda d: d.subject.start if d.subject else 0)
        return found

    def query(self) -> list[Literal]:
        try:
            return list(self._run("query", 0, []))
        except _SyntaxError as problem:
            self.diagnostics.append(problem.diagnostic)
            return []

    def _resume(self, problem: Diagnostic) -> int:
        """The token where the next statement begins: behind a full stop, or at a directive or annotation."""
        assert problem.subject is not None
        at = next(i for i, t in enumerate(self.tokens) if t[2] >= problem.subject.start or t[0] == "$END")
        at = max(at, self.begun + 1)
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

    def _run(self, start: str, at: int, found: list[Statement]) -> Any:
        """Read tokens from `at`; statements go to `found`. Raises _SyntaxError; `begun` is then the token that the
        unfinished statement began with."""
        tables, functions = _tables(), _functions()
        rows, productions = tables.rows, tables.productions
        state, end = tables.starts[start]
        states, values = [state], []
        row = rows[state]
        self.begun = at
        for number in range(at, len(self.tokens)):
            token = self.tokens[number]
            kind = token[0]
            while True:
                action = row.get(kind)
                if action is None:
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
                    value = None
                else:
                    value = functions[name](self, arguments)
                values.append(value)
                state = rows[states[-1]][left]
                if kind == "$END" and state == end:
                    return value
                states.append(state)
                row = rows[state]
        raise AssertionError("the grammar accepts nothing behind $END")

    def _unexpected(self, number: int, row: dict[str, int]) -> Diagnostic:
        kind, word, start, end = self.tokens[number]
        words = _tables().words
        before = self.tokens[number - 1] if number else None
        expected = {k for k in row if k.isupper() or k == "$END"}
        stop = next(n for n, w in words.items() if w == ".")
        text = self.source.text
        if before and stop in expected and (kind == "$END" or "\n" in text[before[3] : start]):
            span = Span(self.source, before[2], before[3])
            detail = f"A statement ends with a full stop; the one that ends with {before[1]} here has none."
            return error("rules.syntax", "Missing full stop", detail, span)
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
        if kind in _tables().keywords.values() and "NAME" in expected:
            detail += f" The word {word} is part of the language and cannot be a name."
        return error("rules.syntax", "Syntax error in a rule file", detail, Span(self.source, start, max(end, start)))

    def doc(self, start: int) -> str | None:
        found = self.docs.pop(start, None)
        return found[0] if found else None


def _either(options: list[str]) -> str:
    return options[0] if len(options) == 1 else ", ".join(options[:-1]) + " or " + options[-1]


@cache
def _lexer() -> re.Pattern[str]:
    return re.compile(_tables().lexer)


# ---------------------------------------------------------------- productions

# One function an alias of the grammar: (reader, values of the right side) -> value of the left side.
_Function = Callable[[_Reader, list[Any]], Any]


@cache
def _functions() -> dict[str, _Function]:
    return {name[1:]: value for name, value in globals().items() if name in _PRODUCTIONS}


def _file(_: _Reader, v: list[Any]) -> Any:
    return v[0]


def _query(_: _Reader, v: list[Any]) -> list[Literal]:
    return next(x for x in v if type(x) is list)  # type: ignore[no-any-return]


def _none(_: _Reader, v: list[Any]) -> list[Any]:
    return []


def _same(_: _Reader, v: list[Any]) -> Any:
    return v[0]


def _list(_: _Reader, v: list[Any]) -> list[Any]:
    return [_named(v[0])]


def _list_more(_: _Reader, v: list[Any]) -> list[Any]:
    v[0].append(_named(v[2]))
    return v[0]  # type: ignore[no-any-return]


def _named(value: Any) -> Any:
    return Name(value[1], value[2], value[3]) if type(value) is tuple else value


def _type(r: _Reader, v: list[Any]) -> TypeDeclaration:
    return TypeDeclaration(_named(v[1]), _named(v[3]), r.doc(v[0][2]), r.source, v[0][2], v[3][3])


def _declaration(r: _Reader, v: list[Any]) -> Declaration:
    return Declaration(_named(v[1]), tuple(v[3]), None, (), r.doc(v[0][2]), r.source, v[0][2], v[4][3])


def _native(r: _Reader, v: list[Any]) -> Declaration:
    name, columns, operator, inputs = _named(v[1]), tuple(v[3]), _named(v[6]), tuple(v[8])
    return Declaration(name, columns, operator, inputs, r.doc(v[0][2]), r.source, v[0][2], v[9][3])


def _directive(r: _Reader, v: list[Any]) -> Directive:
    return Directive(v[0][1][1:], tuple(v[1]), r.source, v[0][2], v[1][-1].end)


def _case(r: _Reader, v: list[Any]) -> CaseSyntax:
    return CaseSyntax(_text(r, v[1]), r.source, v[0][2], v[1][3])


def _want(r: _Reader, v: list[Any]) -> Want:
    return Want(tuple(v[1]), (), r.source, v[0][2], v[2][3])


def _want_none(r: _Reader, v: list[Any]) -> Want:
    if v[1][1] != "none":
        detail = f'After .want stands a tuple, as in .want edge("a", "b"). or the word none, not {v[1][1]}.'
        r._report("rules.syntax", "Syntax error in a case", detail, v[1][2], v[1][3])
    return Want((), tuple(v[2]), r.source, v[0][2], v[3][3])


def _fact(r: _Reader, v: list[Any]) -> RuleSyntax:
    return _make_rule(r, v[0], v[1], [], v[2])


def _rule(r: _Reader, v: list[Any]) -> RuleSyntax:
    return _make_rule(r, v[0], v[1], v[3], v[4])


def _make_rule(r: _Reader, annotations: list[Any], head: Call, body: list[Literal], stop: Token) -> RuleSyntax:
    start = annotations[0][0].start - 1 if annotations else head.start
    return RuleSyntax(tuple(annotations), _atom(head), tuple(body), r.source, start, stop[3])


def _annotation(r: _Reader, v: list[Any]) -> list[Any]:
    v[0].append((_named(v[2]), _string(r, v[4:5])))
    return v[0]  # type: ignore[no-any-return]


def _column(_: _Reader, v: list[Any]) -> ColumnSyntax:
    return ColumnSyntax(v[0][1], _named(v[2]), v[0][2], v[2][3])


def _atom(call: Call) -> Atom:
    return Atom(call.function, call.arguments, call.start, call.end)


def _positive(_: _Reader, v: list[Any]) -> Atom:
    return _atom(v[0])


def _negation(_: _Reader, v: list[Any]) -> Negation:
    return Negation(_atom(v[1]), v[0][2], v[1].end)


def _comparison(_: _Reader, v: list[Any]) -> Comparison:
    return Comparison(v[1][1], v[0], v[2], v[0].start, v[2].end)


def _aggregation(_: _Reader, v: list[Any]) -> Aggregate:
    function, expression, body, end = v[2]
    return Aggregate(v[0], function, expression, tuple(body), v[0].start, end)


def _count(_: _Reader, v: list[Any]) -> Any:
    return v[0][1], None, v[3], v[4][3]


def _fold(_: _Reader, v: list[Any]) -> Any:
    return v[0][1], v[1], v[4], v[5][3]


def _operation(_: _Reader, v: list[Any]) -> Call:
    return Call(v[1][1], (v[0], v[2]), v[0].start, v[2].end)


def _variable(_: _Reader, v: list[Any]) -> Variable | Wildcard:
    _kind, word, start, end = v[0]
    return Wildcard(start, end) if word == "_" else Variable(word, start, end)


def _string(r: _Reader, v: list[Any]) -> Constant:
    return Constant(_text(r, v[0]), v[0][2], v[0][3])


def _number(_: _Reader, v: list[Any]) -> Constant:
    return Constant(_numeral(v[0][1]), v[0][2], v[0][3])


def _negative(_: _Reader, v: list[Any]) -> Constant:
    return Constant(-_numeral(v[1][1]), v[0][2], v[1][3])


def _truth(_: _Reader, v: list[Any]) -> Constant:
    return Constant(v[0][1] == "true", v[0][2], v[0][3])


def _parenthesised(_: _Reader, v: list[Any]) -> Any:
    return v[1]


def _call_empty(_: _Reader, v: list[Any]) -> Call:
    return Call(v[0][1], (), v[0][2], v[2][3])


def _call(_: _Reader, v: list[Any]) -> Call:
    return Call(v[0][1], tuple(v[2]), v[0][2], v[3][3])


_PRODUCTIONS = frozenset(
    "_file _query _none _same _list _list_more _type _declaration _native _directive _case _want _want_none _fact _rule"
    " _annotation _column _positive _negation _comparison _aggregation _count _fold _operation _variable _string"
    " _number _negative _truth _parenthesised _call_empty _call".split()
)


def _numeral(word: str) -> int | float:
    if "." in word:
        return float(word)
    if len(word) > 4000:  # Python refuses longer ones with an exception of its own
        raise Failure(error("rules.syntax", "Number too long", "A whole number has at most 4,000 digits."))
    return int(word)


def _text(r: _Reader, token: Token) -> str:
    """The value of a string token."""
    body = token[1][1:-1]
    if "\\" not in body:
        return body

    def replace(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) > 1:
            number = int(escape[1:], 16)
            if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF:
                return chr(number)
        elif escape in _ESCAPES:
            return _ESCAPES[escape]
        start = token[2] + 1 + match.start()
        detail = 'The escapes of a string are \\n, \\t, \\r, \\", \\\\, \\uXXXX and \\UXXXXXXXX.'
        r._report("rules.syntax", "Unknown escape", detail, start, start + len(match[0]))
        return ""

    return _ESCAPE.sub(replace, body)
