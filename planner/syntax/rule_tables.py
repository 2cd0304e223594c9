"""The LALR tables of the rule language: made by Lark from `grammar/datalog.lark`, kept in the user's cache."""

from __future__ import annotations

import hashlib
import marshal
import re
import sys
from functools import cache
from typing import Any, NamedTuple

from planner import own_cache
from planner.support.assets import grammar_path


class Tables(NamedTuple):
    """`rows[state][symbol]` is the next state, or `-1 - n` to reduce by production n; `productions` are (left side,
    length, function); `keywords` maps a text to its terminal, `words` a terminal to its text."""

    rows: list[dict[str, int]]
    productions: list[tuple[str, int, str]]
    starts: dict[str, tuple[int, int]]
    lexer: str
    ignored: list[str]
    keywords: dict[str, str]
    words: dict[str, str]


def compile_grammar(text: str) -> Tables:
    """Lark's LALR tables for the grammar, in plain values."""
    from lark import Lark
    from lark.lexer import PatternRE
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(text, parser="lalr", start=["file", "query"], keep_all_tokens=True, maybe_placeholders=False)
    table: Any = lark.parser.parser._parse_table
    # Lark's own order is that of sets: number states and productions as they are reached, symbols by name.
    numbers = {table.start_states[s]: number for number, s in enumerate(("file", "query"))}
    waiting = list(numbers)
    productions: list[tuple[str, int, str]] = []
    known: dict[int, int] = {}
    rows: list[dict[str, int]] = []
    for state in waiting:
        row: dict[str, int] = {}
        for symbol, (action, argument) in sorted(table.states[state].items()):
            if action is Shift:
                if argument not in numbers:
                    numbers[argument] = len(numbers)
                    waiting.append(argument)
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
    return Tables(rows, productions, starts, "|".join(parts), [str(t.name) for t in ignored], keywords, words)


@cache
def tables() -> Tables:
    text = grammar_path("datalog.lark").read_text(encoding="utf-8")
    digest = hashlib.sha256(f"2 {sys.version} {text}".encode()).hexdigest()[:24]
    name = f"datalog-tables-{digest}"
    found = own_cache.load("", name)
    if found is not None:
        return Tables(*marshal.loads(found))
    made = compile_grammar(text)
    own_cache.store("", name, marshal.dumps(tuple(made)))
    return made


@cache
def lexer() -> re.Pattern[str]:
    """One expression that matches any terminal; `lastgroup` names it."""
    return re.compile(tables().lexer)
