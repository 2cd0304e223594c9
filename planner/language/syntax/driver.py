"""The loop that runs LALR tables over tokens, for both languages: configuration and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.language.syntax.tables import Row

NOTHING: Mapping[str, str] = {}


def run(
    tokens: list[Any],
    start: Row,
    builder: Any,
    mistake: Callable[[int, list[Row], list[Any]], int],
    instead: Mapping[str, str] = NOTHING,
) -> Any:
    """What the last production made of tokens, which begin with their kind: shift, or reduce with the production's
    action. None when nothing could be read.

    `mistake` is told the number of a token that does not fit, the stack of states and that of values; it brings them to
    where reading goes on, and gives the number of the token to go on with, or -1. `instead` says for some kinds which
    other one a token also is where the first does not fit."""
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
