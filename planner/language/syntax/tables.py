"""LALR(1) tables of grammars. Lark builds them; they are stored in the user's cache and linked to the actions that
build nodes. planner's own loop runs them: it is several times faster than Lark's, and keeps its stack after a
mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from planner.foundation.support.assets import grammar_path
from planner.foundation.support.store import Shelf

Action: TypeAlias = Callable[[Any, list[Any]], Any]
# symbol -> next state, or reduction (size of the right side, action or None for `same`, left side)
Row: TypeAlias = dict[str, Any]

SYMBOL = "$symbol"  # the key for the symbol that leads to this state
END = "$END"
_SAME = "same"  # the action that returns the first child unchanged


class Terminals(NamedTuple):
    """The tokens of a grammar. `pattern` has a group for each terminal except keywords. `keywords`: {keyword:
    terminal}. `words`: {terminal with a fixed text: this text}."""

    pattern: str
    ignored: list[str]
    keywords: dict[str, str]
    words: dict[str, str]


class PlainTables(NamedTuple):
    """Tables in their stored form. `starts`: start symbol -> state. `rules`: left side, size, name of the action.
    `symbols`: the symbol that leads to each state. `states`: for each state, symbol -> next state, or ~(number of the
    rule to reduce). `terminals` is None for a grammar that only declares its terminals."""

    starts: dict[str, int]
    rules: list[tuple[str, int, str]]
    symbols: list[str]
    states: list[dict[str, int]]
    terminals: Terminals | None


class Tables:
    """Tables that are linked to actions. `starts`: the first state for each start symbol; the other states are reached
    from it. At the end of the input, `$END` is shifted."""

    def __init__(self, starts: dict[str, Row], terminals: Terminals | None) -> None:
        self.starts, self._terminals = starts, terminals

    @property
    def terminals(self) -> Terminals:
        assert self._terminals is not None, "the grammar only declares its tokens, because planner has its own lexer"
        return self._terminals


def load_tables(grammar: str, starts: tuple[str, ...], action: Callable[[str], Action]) -> Tables:
    """The tables of a grammar file. `action` returns the action for an alias in the grammar."""
    shelf = Shelf("grammars", 16, made_by=("language/syntax", grammar))
    text = grammar_path(grammar).read_text(encoding="utf-8")
    name = shelf.name(text, *starts)
    plain: PlainTables | None = shelf.value(name)
    if plain is None:
        plain = construct(text, starts)
        shelf.keep(name, plain)
    return _link(plain, action)


def construct(text: str, starts: tuple[str, ...]) -> PlainTables:
    """Lark's tables as plain data. Lark's order varies, because it depends on Python's sets. Therefore states and rules
    are numbered in the order in which they are reached, and symbols in the order of their names."""
    import lark
    from lark.parsers.lalr_analysis import Shift

    made = lark.Lark(
        text, parser="lalr", lexer=_no_lexer(), start=list(starts), keep_all_tokens=True, maybe_placeholders=False
    )
    table: Any = made.parser.parser._parse_table
    numbers = {table.start_states[symbol]: number for number, symbol in enumerate(starts)}
    waiting = list(numbers)
    symbols = ["" for _ in waiting]
    rules: dict[Any, int] = {}
    states: list[dict[str, int]] = []
    for state in waiting:
        entries: dict[str, int] = {}
        for symbol, (action, target) in sorted(table.states[state].items()):
            if action is not Shift:
                entries[str(symbol)] = ~rules.setdefault(target, len(rules))
                continue
            if target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
                symbols.append(str(symbol))
            entries[str(symbol)] = numbers[target]
        states.append(entries)
    for symbol, state in table.end_states.items():
        symbols[numbers[state]] = str(symbol)
        states[numbers[state]][END] = len(states)
    states.append({})  # the state after the end of the input
    symbols.append(END)
    return PlainTables(
        {str(symbol): numbers[state] for symbol, state in table.start_states.items()},
        [(str(r.origin.name), len(r.expansion), str(r.alias or r.origin.name)) for r in rules],
        symbols,
        states,
        _terminals(made),
    )


def _terminals(made: Any) -> Terminals | None:
    from lark.lexer import PatternRE

    if any(t.pattern is None for t in made.terminals):
        return None
    patterns = [t for t in made.terminals if isinstance(t.pattern, PatternRE)]
    words = {str(t.name): str(t.pattern.value) for t in made.terminals if not isinstance(t.pattern, PatternRE)}
    keywords = {w: n for n, w in words.items() if any(re.fullmatch(t.pattern.to_regexp(), w) for t in patterns)}
    signs = sorted((n for n, w in words.items() if w not in keywords), key=lambda n: (-len(words[n]), n))
    # ignored tokens are tried before operators, so that `//` is not read as two divisions
    ignored = [t for t in patterns if t.name in made.ignore_tokens]
    others = [t for t in patterns if t.name not in made.ignore_tokens]
    parts = [f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in (*ignored, *others)]
    boundary = r"\b"  # follows a word, so that `.inputs` is not read as `.input` and `s`
    parts += [f"(?P<{n}>{re.escape(words[n])}{boundary if words[n][-1].isalpha() else ''})" for n in signs]
    return Terminals("|".join(parts), [str(t.name) for t in ignored], keywords, words)


def _link(plain: PlainTables, action: Callable[[str], Action]) -> Tables:
    reductions = [
        (size, None if alias == _SAME and size == 1 else action(alias), origin) for origin, size, alias in plain.rules
    ]
    rows: list[Row] = [{SYMBOL: symbol} for symbol in plain.symbols]
    for row, entries in zip(rows, plain.states, strict=True):
        for symbol, target in entries.items():
            row[symbol] = rows[target] if target >= 0 else reductions[~target]
    return Tables({symbol: rows[state] for symbol, state in plain.starts.items()}, plain.terminals)


def _no_lexer() -> Any:
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        """Replaces Lark's lexer, because only the tables are needed."""

        __future_interface__ = 2

        def __init__(self, _: Any) -> None: ...

        def lex(self, *_: Any) -> Any:
            return iter(())

    return NoLexer


NOTHING: Mapping[str, str] = {}


def run(
    tokens: list[Any],
    start: Row,
    builder: Any,
    mistake: Callable[[int, list[Row], list[Any]], int],
    instead: Mapping[str, str] = NOTHING,
) -> Any:
    """Parse tokens, which are tuples that begin with the token's kind. Returns the result of the last production; None
    if `mistake` ended the parsing.

    `mistake` receives the index of a wrong token, the stack of states and the stack of values. It changes the stacks so
    that parsing can continue, and returns the index of the next token, or -1 to end the parsing. `instead` maps a kind
    of token to another kind, which is tried if the parser does not accept the first one.
    """
    row = start
    states: list[Row] = [row]
    values: list[Any] = []
    iterator: Any = iter(tokens)
    for token in iterator:
        kind = token[0]
        while True:
            try:
                action = row[kind]
            except KeyError:
                other = instead.get(kind)
                if other is not None and other in row:
                    kind = other
                    continue
                number = mistake(len(tokens) - iterator.__length_hint__() - 1, states, values)
                if number < 0:
                    return None
                iterator.__setstate__(number)
                row = states[-1]
                break
            if action.__class__ is dict:
                row = action
                states.append(row)
                values.append(token)
                break
            size, make, origin = action
            if size == 1:
                if make is not None:
                    values[-1] = make(builder, [values[-1]])
                states[-1] = row = states[-2][origin]
            elif size:
                children = values[-size:]
                del values[-size:], states[-size:]
                values.append(make(builder, children))
                row = states[-1][origin]
                states.append(row)
            else:
                values.append(make(builder, []))
                row = row[origin]
                states.append(row)
    return values[-2]
