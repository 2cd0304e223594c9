"""LALR(1) tables of a grammar, built by Lark and kept in the cache, and linked to the actions that build nodes.

Our loop (parse.py) runs them: it is several times faster than Lark's own, and stops at a mistake with its stack whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from planner.support.assets import grammar_path
from planner.syntax import cache

Action: TypeAlias = Callable[[Any, list[Any]], Any]
# Of a symbol: the next state, or the reduction (size of the right side, action or None for `same`, left side).
Row: TypeAlias = dict[str, Any]

SYMBOL = "$symbol"  # a row names under this key the symbol that leads to its state
_SAME = "same"  # the action that passes on its first child


class Tables:
    """The first state for each start symbol. Reaching the end of the input shifts `$END`."""

    def __init__(self, starts: dict[str, Row]) -> None:
        self.starts = starts


def load_tables(grammar: str, starts: tuple[str, ...], actions: Any) -> Tables:
    """The tables of a grammar file, with the attributes of `actions` of the same names as its aliases as actions."""
    path = grammar_path(grammar)
    text = path.read_text(encoding="utf-8")
    name = cache.key("tables", text, *starts)
    plain = cache.load(name)
    if plain is None:
        plain = construct(text, starts)
        cache.store(name, plain)
    return _link(plain, actions)


def construct(text: str, starts: Iterable[str]) -> dict[str, Any]:
    """Plain data: `starts` (symbol to state), `rules` (left side, size, action's name), `symbols` (of each state), and
    `states` (symbol to next state, or ~rule)."""
    import lark
    from lark.parsers.lalr_analysis import Shift

    parser = lark.Lark(
        text, parser="lalr", lexer=_no_lexer(), start=list(starts), keep_all_tokens=True, maybe_placeholders=False
    )
    table = parser.parser.parser._parse_table
    numbers = {state: i for i, state in enumerate(table.states)}
    rules: dict[Any, int] = {}
    symbols = ["" for _ in numbers]
    states: list[dict[str, int]] = []
    for row in table.states.values():
        entries: dict[str, int] = {}
        for symbol, (action, target) in row.items():
            if action is Shift:
                entries[str(symbol)] = numbers[target]
                symbols[numbers[target]] = str(symbol)
            else:
                entries[str(symbol)] = ~rules.setdefault(target, len(rules))
        states.append(entries)
    for symbol, state in table.end_states.items():
        symbols[numbers[state]] = symbol
        states[numbers[state]]["$END"] = len(states)
    states.append({})  # where the end of the input leads
    symbols.append("$END")
    return {
        "starts": {symbol: numbers[state] for symbol, state in table.start_states.items()},
        "rules": [(str(r.origin.name), len(r.expansion), str(r.alias or r.origin.name)) for r in rules],
        "symbols": symbols,
        "states": states,
    }


def _link(plain: dict[str, Any], actions: Any) -> Tables:
    reductions = [
        (size, None if alias == _SAME and size == 1 else getattr(actions, alias), origin)
        for origin, size, alias in plain["rules"]
    ]
    rows: list[Row] = [{SYMBOL: symbol} for symbol in plain["symbols"]]
    for row, entries in zip(rows, plain["states"], strict=True):
        for symbol, target in entries.items():
            row[symbol] = rows[target] if target >= 0 else reductions[~target]
    return Tables({symbol: rows[state] for symbol, state in plain["starts"].items()})


def _no_lexer() -> Any:
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        """Only the tables are wanted."""

        __future_interface__ = 2

        def __init__(self, _: Any) -> None: ...

        def lex(self, *_: Any) -> Any:
            return iter(())

    return NoLexer
