"""Writing values as YAML the way go-cty-yaml (a libyaml of Go) does: block style, strings in double quotes or, when
they have several lines, as literals; long lines are folded at spaces after 80 columns."""

from __future__ import annotations

from itertools import pairwise

from planner.foundation.values.numbers import number_to_text
from planner.foundation.values.value import Map, Null, Value
from planner.language.functions.arguments import items

_WIDTH = 80
_STEP = 2
_SIMPLE_KEY = 128  # longest key, in bytes, that stands on the line of its value
_BREAKS = "\r\n\x85\u2028\u2029"
_ESCAPES = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e",
    '"': '"', "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip


def write(value: Value) -> str:
    """The YAML document for a known value without marks."""
    writer = _Writer()
    writer.node(value)
    writer.indent_line()
    if writer.open_ended:
        writer.indicator("...")
        writer.indent_line()
    return "".join(writer.out)


class _Writer:
    """State of libyaml's emitter: where the line stands, and whether only white space or indicators came before."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.column = 0
        self.indent = -1
        self.whitespace = True
        self.indention = True
        self.open_ended = False

    def put(self, string: str) -> None:
        self.out.append(string)
        self.column += len(string)

    def line_break(self, character: str = "\n") -> None:
        self.out.append(character)
        self.column = 0

    def indent_line(self) -> None:
        indent = max(self.indent, 0)
        if not self.indention or self.column > indent or (self.column == indent and not self.whitespace):
            self.line_break()
        self.put(" " * (indent - self.column))
        self.whitespace = self.indention = True

    def indicator(self, string: str, spaced: bool = True, is_space: bool = False, is_indention: bool = False) -> None:
        if spaced and not self.whitespace:
            self.put(" ")
        self.put(string)
        self.whitespace = is_space
        self.indention = self.indention and is_indention
        self.open_ended = False

    def node(self, value: Value, in_mapping: bool = False) -> None:
        cls = value.__class__
        if cls is str:
            self.string(value)
        elif cls is dict or cls is Map:
            self.mapping(value if cls is dict else value.items)
        elif cls is bool:
            self.plain("true" if value else "false")
        elif cls is Null:
            self.plain("null")
        elif cls is tuple or hasattr(value, "items"):
            self.sequence(items(value), in_mapping)
        else:
            self.plain(number_to_text(value))

    def sequence(self, elements: tuple[Value, ...], in_mapping: bool) -> None:
        if not elements:
            self.indicator("[", True, True)
            self.indicator("]", False)
            return
        outer = self.indent
        if outer < 0:
            self.indent = 0
        elif not (in_mapping and not self.indention):
            self.indent += _STEP
        for element in elements:
            self.indent_line()
            self.indicator("-", True, False, True)
            self.node(element)
        self.indent = outer

    def mapping(self, entries: dict[str, Value]) -> None:
        if not entries:
            self.indicator("{", True, True)
            self.indicator("}", False)
            return
        outer = self.indent
        self.indent = 0 if outer < 0 else outer + _STEP
        for key in sorted(entries):
            self.indent_line()
            if len(key.encode("utf-8", "surrogateescape")) <= _SIMPLE_KEY and not any(c in _BREAKS for c in key):
                self.string(key, is_key=True)
                self.indicator(":", False)
            else:
                self.indicator("?", True, False, True)
                self.string(key)
                self.indent_line()
                self.indicator(":", True, False, True)
            self.node(entries[key], in_mapping=True)
        self.indent = outer

    def plain(self, string: str) -> None:
        if not self.whitespace:
            self.put(" ")
        self.put(string)
        self.whitespace = self.indention = False
        self.open_ended = self.open_ended or self.indent < 0

    def string(self, string: str, is_key: bool = False) -> None:
        outer = self.indent
        self.indent = _STEP if outer < 0 else outer + _STEP
        if "\n" in string and not is_key and _may_be_literal(string):
            self.literal(string)
        else:
            self.quoted(string, not is_key)
        self.indent = outer

    def literal(self, string: str) -> None:
        self.indicator("|")
        if string[0] in " " + _BREAKS:
            self.indicator(str(_STEP), False)
        if string[-1] not in _BREAKS:
            self.indicator("-", False)
        elif len(string) == 1 or string[-2] in _BREAKS:
            self.indicator("+", False)
        self.line_break()
        self.indention = self.whitespace = True
        after_break = True
        for character in string:
            if character in _BREAKS:
                self.line_break(character)
                self.indention = after_break = True
                continue
            if after_break:
                self.indent_line()
            self.put(character)
            self.indention = after_break = False

    def quoted(self, string: str, may_break: bool) -> None:
        self.indicator('"')
        escape_all = string.startswith("\ufeff")  # a byte order mark at the start makes the writer mistrust all
        after_space = False
        last = len(string) - 1
        for position, character in enumerate(string):
            if escape_all or not _is_printable(character) or character in '"\\' or character in _BREAKS:
                self.put("\\" + _escaped(character))
                after_space = False
            elif character == " ":
                if may_break and not after_space and self.column > _WIDTH and 0 < position < last:
                    self.indent_line()
                    if string[position + 1] == " ":
                        self.put("\\")
                else:
                    self.put(character)
                after_space = True
            else:
                self.put(character)
                after_space = False
        self.indicator('"', False)
        self.indention = False


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    return f"x{code:02X}" if code < 0x100 else f"u{code:04X}" if code < 0x10000 else f"U{code:08X}"


def _is_printable(character: str) -> bool:
    code = ord(character)
    return (
        code == 0x0A or 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xD7FF or (0xE000 <= code <= 0xFFFD and code != 0xFEFF)
    )


def _may_be_literal(string: str) -> bool:
    """A literal can hold neither characters to escape, nor a space before a line break or at the end."""
    if not all(map(_is_printable, string)) or string.endswith(" "):
        return False
    return not any(a == " " and b in _BREAKS for a, b in pairwise(string))
