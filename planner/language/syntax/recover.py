"""Recovery of the parser: after a mistake, it determines the position in the grammar, reports the mistake, and resumes.

The stack of the parser identifies the position. First, complete productions are reduced, although the next token does
not fit. The symbol on top of the stack then names the last part, and the nearest open bracket below it names the
surrounding part. To resume, the rest of each open bracket is skipped, from the inside out, and then the rest of the
line. Complete parts are kept in the tree."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.value import UNKNOWN
from planner.language.syntax import mistakes
from planner.language.syntax.body import Attribute
from planner.language.syntax.build import Builder
from planner.language.syntax.lexer import Token, line_breaks, simple_tokens
from planner.language.syntax.nodes import Literal, Splat
from planner.language.syntax.tables import SYMBOL, Row
from planner.language.syntax.template import Sequence

_MOST = 100  # the maximum number of mistakes reported for one source
_CLOSERS = {
    "LPAREN": "RPAREN",
    "LBRACKET": "RBRACKET",
    "LBRACE": "RBRACE",
    "LBODY": "RBRACE",
    "QUOTE_OPEN": "QUOTE_CLOSE",
    "HEREDOC_OPEN": "HEREDOC_CLOSE",
    **dict.fromkeys(("INTERPOLATE", "DIRECTIVE_IF", "DIRECTIVE_ELSE", "DIRECTIVE_ENDIF"), "TEMPLATE_CLOSE"),
    **dict.fromkeys(("DIRECTIVE_FOR", "DIRECTIVE_ENDFOR", "DIRECTIVE_UNKNOWN"), "TEMPLATE_CLOSE"),
}
_CLOSING = frozenset(_CLOSERS.values())
_BRACKETS = ("LPAREN", "LBRACKET", "LBRACE")

# The position in the grammar by the symbol on top of the stack; _place() distinguishes further cases.
_PLACES = {
    "": "body",
    "items": "body",
    "header": "header",
    "LBODY": "line_block",
    "block": "block_end",
    "EQUAL": "expression",
    "QUESTION": "expression",
    "COLON": "expression",
    "ARROW": "expression",
    "IN": "expression",
    "IF": "expression",
    "MINUS": "expression",
    "NOT": "expression",
    "operator": "expression",
    "LPAREN": "expression",
    "LBRACKET": "expression",
    "LBRACE": "expression",
    "separator": "expression",
    "INTERPOLATE": "expression",
    "DIRECTIVE_IF": "expression",
    "ELLIPSIS": "expand_end",
    "STAR": "splat_end",
    "pairs": "pairs_end",
    "DOT": "step",
    "SCOPE": "scope",
    "function": "scope_call",
    "FOR": "for_name",
    "DIRECTIVE_FOR": "for_name",
    "names": "for_in",
    "result": "for_end",
    "iteration": "for_end",
    "DIRECTIVE_ELSE": "directive_end",
    "DIRECTIVE_ENDIF": "directive_end",
    "DIRECTIVE_ENDFOR": "directive_end",
    "QUOTE_OPEN": "text",
    "HEREDOC_OPEN": "text",
    "parts": "text",
}
_AFTER_EXPRESSION = {
    "": "expression_end",
    "QUESTION": "conditional",
    "LPAREN": "parens_end",
    "LBRACKET": "index_end",
    "INTERPOLATE": "interpolation_end",
    "DIRECTIVE_IF": "directive_end",
}
# (left side, size) of productions that are not reduced before recovery: the complete input, and a name in a body, which
# is not necessarily the type of a block.
_NOT_FORCED = {("file", 1), ("file", 2), ("template", 1), ("header", 1)}


class ParseRecovery:
    """Handles the mistakes of one run of the parser, with the stacks and tokens of that run."""

    def __init__(self, builder: Builder, tokens: list[Token], states: list[Row], values: list[Any]) -> None:
        self.builder = builder
        self.tokens = tokens
        self.states = states
        self.values = values
        self.silent = False  # whether further mistakes are not reported, because they may only be consequences
        self.count = 0
        self.reported = -1  # offset of the last reported token
        self.last = (-1, -1)
        self.told_semicolon = False
        self.is_lost = False  # whether an earlier mistake may be the cause of further ones
        self.breaks: list[tuple[int, int]] = []  # line breaks inside quoted strings

    def at(self, index: int) -> int:
        """Handle the token at an index, which the current state does not accept. Returns the index of the next token,
        or -1 to stop."""
        token = self.tokens[index]
        parts = simple_tokens(token)
        if len(parts) > 1 or parts[0][0] != token[0]:  # look for the mistake inside a fused token
            self.tokens[index : index + 1] = parts
            return index
        self._reduce()
        if self._symbol() == "NAME" and token[0] == "QUOTE_OPEN" and "header" in self.states[-2]:
            self._push("header", self.builder.header([self._pop()]))
        here = (index, len(self.states))
        if self.last == here:  # no progress: only possible if this module has a defect
            return index + 1 if index + 1 < len(self.tokens) else -1
        self.last = here
        place = self._place()
        self._report(place, index)
        if self.count >= _MOST:
            return -1
        return self._resume(place, index)

    # ------------------------------------------------------------ position

    def _symbol(self, depth: int = 0) -> str:
        position = len(self.states) - 1 - depth
        return self.states[position][SYMBOL] if position >= 0 else ""

    def _reduce(self) -> None:
        """Reduce complete productions, although the next token does not fit, as long as another token would permit it.
        Of several possible reductions, make the one that most tokens permit."""
        while True:
            row = self.states[-1]
            counts: dict[int, int] = {}
            reductions: dict[int, tuple[int, Any, str]] = {}
            for action in row.values():
                if action.__class__ is tuple and action[0] and (action[2], action[0]) not in _NOT_FORCED:
                    counts[id(action)] = counts.get(id(action), 0) + 1
                    reductions[id(action)] = action
            if not counts:
                return
            size, make, origin = reductions[max(counts, key=counts.__getitem__)]
            children = self.values[-size:]
            del self.values[-size:], self.states[-size:]
            self._push(origin, make(self.builder, children) if make else children[0])

    def _pop(self) -> Any:
        self.states.pop()
        return self.values.pop()

    def _push(self, symbol: str, value: Any) -> None:
        self.states.append(self.states[-1][symbol])
        self.values.append(value)

    def _place(self) -> str:
        top, below = self._symbol(), self._symbol(1)
        if top == "expression":
            if below == "IN":
                return "for_colon" if self._opening()[0] in _BRACKETS else "directive_end"
            return _AFTER_EXPRESSION.get(below, "pair_equal")
        if top == "NAME":
            return {"LBODY": "line_name", "COMMA": "for_in", "FOR": "for_in", "DIRECTIVE_FOR": "for_in"}.get(
                below, "name"
            )
        if top == "attribute":
            return "line_end" if below == "LBODY" else "argument_end"
        if top == "arguments":
            return "arguments_end" if below == "LPAREN" else "items_end"
        if top == "NEWLINE":
            return "expression" if below == "LBRACE" else "body"
        if top == "COMMA":
            return "for_second" if below == "NAME" else "expression"
        if top == "":
            start = self.states[0]
            return "body" if "items" in start else "text" if "parts" in start else "expression"
        return _PLACES[top]

    def _opening(self) -> tuple[str, int]:
        """The nearest open bracket and its position in the stack; ("", 0) if no bracket is open."""
        for position in range(len(self.states) - 1, 0, -1):
            symbol = self.states[position][SYMBOL]
            if symbol in _CLOSERS:
                return symbol, position
        return "", 0

    def _in_quotes(self) -> bool:
        templates = ("QUOTE_OPEN", "HEREDOC_OPEN")
        symbols = [row[SYMBOL] for row in self.states if row[SYMBOL] in templates]
        return bool(symbols) and symbols[-1] == "QUOTE_OPEN"

    # ------------------------------------------------------------ mistake

    def _report(self, place: str, index: int) -> None:
        token = self.tokens[index]
        kind, text, _ = token
        if kind == "NEWLINE" and not text:
            kind = "$END"
        elif kind in ("FOR", "IN", "IF"):
            kind = "NAME"
        elif kind == "QUOTE_OPEN" and place == "interpolation_end" and not self._in_quotes():
            kind = "STRING"  # no template can end here
        if place == "header" and kind == "QUOTE_OPEN":  # look for the mistake in the label
            while self.tokens[index + 1][0] == "TEXT":
                index += 1
            token = self.tokens[index + 1]
            kind = token[0]
            if kind.startswith("DIRECTIVE"):
                kind = "INTERPOLATE"
                token = (kind, token[1][: 3 if token[1].startswith("~", 2) else 2], token[2])
        entry = mistakes.find(place, kind)
        if not self.count:
            self._broken_strings(index)
        if self.silent or token[2] == self.reported:
            return
        if self.breaks and token[2] >= self.breaks[0][0]:
            self.silent = True  # after this, it is uncertain whether text is inside a string
        if kind == "INVALID":  # tokens that are invalid at any position
            self.reported = token[2]
            if text != ";" or not self.told_semicolon:
                self.builder.report(*mistakes.invalid(text), *_token_extent(token))
            self.told_semicolon = self.told_semicolon or text == ";"
            if text == "*":  # a splat on several lines
                self.count += 1
                return
        # a line that does not begin with a name, a missing brace or an incomplete directive is most likely a
        # consequence of an earlier mistake; after a complete expression, an earlier missing colon is not the cause
        if entry.echo and (self.is_lost if place == "expression_end" else self.count):
            return
        self.count += 1
        self.is_lost = self.is_lost or entry.code != "syntax.expected_colon"
        if kind == "INVALID" and place == "text":
            return
        self.reported = token[2]
        if entry is mistakes.find("anywhere", "QUOTED_NEWLINE"):
            entry = mistakes.find("text", "*")
        start, end = self._subject(entry.subject, index, token)
        detail = entry.detail.replace("{token}", mistakes.describe(token))
        self.builder.report(entry.code, entry.summary, detail, start, end)

    def _broken_strings(self, index: int) -> None:
        """Report each line break in a string that is not closed on its line, and in later text that is read as a string
        because of this."""
        token = next((t for t in self.tokens[index:] if t[0] == "QUOTED_NEWLINE"), None)
        if token is None:
            return
        entry = mistakes.find("anywhere", "QUOTED_NEWLINE")
        self.breaks = line_breaks(self.builder.source.text, token[2])[:_MOST]
        for start, end in self.breaks:
            self.builder.report(entry.code, entry.summary, entry.detail, start, end)

    def _subject(self, subject: str, index: int, token: Token) -> tuple[int, int]:
        if subject == "token":
            if self._symbol() == "DOT" and self.values[-2].__class__ is Splat:
                splat = self.values[-2]
                if splat.kind == "attr":  # OpenTofu reports the place of the star in this case
                    return splat.marker_end - 1, splat.marker_end
            return _token_extent(token)
        if subject == "closing":  # OpenTofu reports the position of the continuation
            index, is_closed = self._skip(index, "LBRACKET")
            return _token_extent(self.tokens[index - 1 if is_closed else index])
        if subject == "next":
            following = self.tokens[index + 1]
            return _token_extent(simple_tokens(following)[0])
        if subject in ("name", "top"):
            return _token_extent(self.values[-1])
        if subject == "name_to_token":
            return self.values[-1][2], _token_extent(token)[1]
        _, position = self._opening()
        opening = self.values[position - 1]
        if subject == "call":
            return self.values[position - 2][1], opening[2] + 1
        if subject == "opening":
            return opening[2], opening[2] + 1
        # "text": the first token of the template around the interpolation
        while self.states[position][SYMBOL] not in ("QUOTE_OPEN", "HEREDOC_OPEN", ""):
            position -= 1
        after = self.values[position - 1][2] + len(self.values[position - 1][1]) if position else 0
        first = next(t for t in self.tokens if t[2] >= after and t[0] != "NEWLINE")
        return _token_extent(first)

    # ------------------------------------------------------------ resuming

    def _resume(self, place: str, index: int) -> int:
        kind = self.tokens[index][0]
        if place == "conditional":  # continue, with the condition as the value
            del self.states[-2:], self.values[-2:]
            return index
        if kind == "QUOTED_NEWLINE":
            return self._end_string(index)
        if place in ("argument_end", "block_end") and kind == "RBRACE" and self._closes(index):
            # `a = 1 }`: continue as if the brace were on the next line
            self.tokens.insert(index, ("NEWLINE", "", self.tokens[index][2]))
            return index
        if place == "text":
            if kind == "DIRECTIVE_UNKNOWN":
                return self._after(index + 1, "TEMPLATE_CLOSE")
            if kind == "INVALID":
                return index + 1
        while True:
            symbol, position = self._opening()
            if symbol in _BRACKETS:
                index, _ = self._skip(index, symbol)
                if self.states[position - 1][SYMBOL] in ("function", "term"):
                    position -= 1
                self._cut(position)
            elif symbol in ("QUOTE_OPEN", "HEREDOC_OPEN"):
                index = self._after(index, _CLOSERS[symbol])
                self._cut(position)
            elif symbol in _CLOSERS and symbol != "LBODY":
                return self._end_sequence(symbol, position, index)
            else:
                break
        if "items" in self.states[0]:
            return self._end_item(place, index)
        return -1

    def _closes(self, index: int) -> bool:
        """Whether a brace after an argument probably closes the block: the next line is not indented more than the
        block."""
        symbol, position = self._opening()
        if symbol != "LBODY" or self.tokens[index + 1][0] not in ("NEWLINE", "$END"):
            return False
        if self.tokens[index + 1][0] == "$END" or self.tokens[index + 2][0] == "$END":
            return True
        return self._column(self.tokens[index + 2][2]) <= self._column(self.values[position - 2][0][2])

    def _column(self, offset: int) -> int:
        return offset - self.builder.source.text.rfind("\n", 0, offset)

    def _cut(self, position: int) -> None:
        del self.states[position:], self.values[position - 1 :]

    def _end_string(self, index: int) -> int:
        """Drop a string that is not closed on its line, and everything around it on that line. The lexer has already
        returned to the object or body around the string."""
        while True:
            symbol, position = self._opening()
            if symbol in ("", "LBODY", "LBRACE", "HEREDOC_OPEN"):
                break
            self._cut(position)
        if symbol == "LBRACE":
            while self._symbol() not in ("LBRACE", "NEWLINE", "pairs", "separator"):
                self.states.pop()
                self.values.pop()
            if self._symbol() in ("NEWLINE", "separator") and self.tokens[index + 1][0] == "NEWLINE":
                return index + 2
            return index + 1
        if symbol == "HEREDOC_OPEN":
            return index + 1
        return self._end_item("", index + 1) if "items" in self.states[0] else -1

    def _end_sequence(self, symbol: str, position: int, index: int) -> int:
        """Continue in the template after the `${...}` or `%{...}` that contains the mistake. Returns the index of the
        next token."""
        opening = self.values[position - 1]
        closing = self.tokens[index]  # the span of messages about the sequence ends at its brace
        index = self._after(index, "TEMPLATE_CLOSE")
        named = symbol != "DIRECTIVE_FOR" or self._has_above(position, "IN")
        self._cut(position)
        if named:
            value: Any = _unreadable(opening[2])
            if symbol == "DIRECTIVE_FOR":
                value = ((None, ""), value)
            if self._symbol() != "parts":
                self._push("parts", [])
            self.values[-1].append(Sequence(opening, value, closing))
        return index

    def _has_above(self, position: int, symbol: str) -> bool:
        return any(row[SYMBOL] == symbol for row in self.states[position:])

    def _end_item(self, place: str, index: int) -> int:
        """Complete an argument or block as far as it was read, and skip to the end of its line."""
        symbols = [row[SYMBOL] for row in self.states]
        base = max((i for i, s in enumerate(symbols) if s in ("items", "NEWLINE", "LBODY")), default=0)
        above = symbols[base + 1 :]
        if symbols[base] == "LBODY" and (above or place == "line_block"):
            self.silent = self.silent or place != "line_end"  # OpenTofu resumes only after a later closing brace
            return self._end_line_block(base, index)
        if place == "body":
            return self._bad_item(index)
        if above[:2] == ["NAME", "EQUAL"]:
            attribute = self._unknown_attribute(*self.values[base][1:])
            self._cut(base + 1)
            self._push("attribute", attribute)
        elif above == ["header"]:
            header = self.values[base]
            self._cut(base + 1)
            at = header[0][2]
            self._push("block", self.builder.make_block(header, [], at, at + len(header[0][1])))
        elif above == ["NAME"]:
            self._cut(base + 1)
            index = self._line_end(index)
            return index + 1 if self.tokens[index][0] == "NEWLINE" else index
        index = self._line_end(index)
        if self.tokens[index][0] == "$END":
            self.tokens.insert(index, ("NEWLINE", "", self.tokens[index][2]))
        return index

    def _unknown_attribute(self, name: str, at: int) -> Attribute:
        value = _unreadable(at + len(name))
        return Attribute(name, at + len(name), value, self.builder.source, at, value.end)

    def _end_line_block(self, base: int, index: int) -> int:
        """Skip to the end of a one-line block that is invalid because it does not contain exactly one argument."""
        opening = self.values[base - 1]
        items = [v for v in self.values[base:] if v.__class__ is Attribute]
        if [row[SYMBOL] for row in self.states[base + 1 : base + 3]] == ["NAME", "EQUAL"]:
            items = [self._unknown_attribute(*self.values[base][1:])]
        index, _ = self._skip(index, "LBODY")
        header = self.values[base - 2]
        self._cut(base - 1)
        close = self.tokens[index - 1]
        self._push("block", self.builder.make_block(header, items, opening[2], close[2] + len(close[1])))
        if self.tokens[index][0] not in ("NEWLINE", "$END"):
            index = self._line_end(index)
        if self.tokens[index][0] == "$END":
            self.tokens.insert(index, ("NEWLINE", "", self.tokens[index][2]))
        return index

    def _bad_item(self, index: int) -> int:
        """Handle a token that cannot begin an item: skip the rest of the block or, outside of blocks, of the line. At
        the end of the file, close the open blocks."""
        if self._symbol() != "items":
            self._push("items", [])
        token = self.tokens[index]
        if token[0] == "$END":
            open_blocks = sum(row[SYMBOL] == "LBODY" for row in self.states)
            self.tokens[index:index] = [("RBRACE", "", token[2]), ("NEWLINE", "", token[2])] * open_blocks
            return index
        if self._opening()[0] == "LBODY":
            behind, is_closed = self._skip(index, "LBODY")
            if is_closed:
                return behind - 1
        self.silent = True  # OpenTofu stops here
        index = self._line_end(index)
        return index + 1 if self.tokens[index][0] == "NEWLINE" else index

    def _line_end(self, index: int) -> int:
        """The index of the token that ends the line. Brackets opened on this line are skipped with their content."""
        expected: list[str] = []
        while True:
            kind = self.tokens[index][0]
            if kind == "$END" or (kind == "NEWLINE" and not expected):
                return index
            if kind in _CLOSERS:
                expected.append(_CLOSERS[kind])
            elif kind in _CLOSING:
                while expected and expected.pop() != kind:
                    pass
            index += 1

    def _skip(self, index: int, opening: str) -> tuple[int, bool]:
        """The index after the bracket that closes `opening`, and True; if no bracket does so, the index of the end, and
        False."""
        closing, nested = _CLOSERS[opening], 0
        while True:
            kind = self.tokens[index][0]
            if kind == "$END":
                return index, False
            index += 1
            if kind == closing:
                if not nested:
                    return index, True
                nested -= 1
            elif _CLOSERS.get(kind) == closing:
                nested += 1

    def _after(self, index: int, closing: str) -> int:
        """The index after a closing quote, marker or template brace; the index of the end if it is missing."""
        nested = 0
        while True:
            kind = self.tokens[index][0]
            if kind == "$END":
                return index
            index += 1
            if kind == closing:
                if not nested:
                    return index
                nested -= 1
            elif _CLOSERS.get(kind) == closing:
                nested += 1


def _unreadable(at: int) -> Literal:
    return Literal(UNKNOWN, at, at)


def _token_extent(token: Token) -> tuple[int, int]:
    """Start and end of a token. If the token consists of several line breaks, only the first one counts."""
    kind, text, at = token
    if kind == "NEWLINE":
        newline = text.find("\n")
        return at, at + (newline + 1 if newline >= 0 else len(text))
    return at, at + len(text)
