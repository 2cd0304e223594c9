"""The syntax of the command line tool's settings: version 1 of HCL, in which names may be quoted.

name = "value"      block "label" { "some/name" = "value" }      list = ["a", "b"]      { "json": "too" }"""

from __future__ import annotations

import re
from typing import Any

_TOKEN = re.compile(
    r"""(?P<skip>[\s,]+|\#[^\n]*|//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
      | (?P<name>[A-Za-z_][\w.-]*)
      | (?P<sign>[{}\[\]=:])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/"}

_DEEPEST = 100  # the maximum nesting depth of values
Items = list[tuple[tuple[str, ...], Any]]
"""a body as pairs: (("name",), value) for an attribute, (("type", "label"), body) for a block"""


class SettingsError(ValueError):
    """The syntax or the content of the settings is invalid."""


def read_settings(text: str) -> Items:
    """Parse settings in HCL or JSON. Raises SettingsError."""
    reader = _SettingsReader(text)
    if reader.kind == "{":  # as JSON
        items = reader.value()
    else:
        items = reader.body("")
    if reader.kind:
        raise reader.wrong("the end of the file")
    return items  # type: ignore[no-any-return]


class _SettingsReader:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self.kind, self.content = "", ""
        self._next()

    def _next(self) -> None:
        while self._at < len(self._text):
            match = _TOKEN.match(self._text, self._at)
            if match is None:
                self.content = self._text[self._at]
                raise self.wrong("a name or a value")
            self._at = match.end()
            if match.lastgroup != "skip":
                self.content = match[0]
                self.kind = match[0] if match.lastgroup == "sign" else str(match.lastgroup)
                return
        self.kind = self.content = ""

    def _take(self, kind: str) -> str:
        if self.kind != kind:
            raise self.wrong(f'"{kind}"' if len(kind) == 1 else f"a {kind}")
        content = self.content
        self._next()
        return content

    def wrong(self, wanted: str) -> SettingsError:
        line = self._text.count("\n", 0, self._at) + 1
        here = f'"{self.content}"' if self.content else "the end"
        return SettingsError(f"line {line}: expected {wanted}, not {here}")

    def body(self, end: str) -> Items:
        items: Items = []
        while self.kind != end:
            names = [self._key()]
            while self.kind in ("string", "name"):
                names.append(self._key())
            if self.kind in ("=", ":") and len(names) == 1:
                self._next()
            elif self.kind != "{":
                raise self.wrong('"=" or "{"')
            items.append((tuple(names), self.value()))
        return items

    def _key(self) -> str:
        return self._take("name") if self.kind == "name" else _unquote(self._take("string"))

    def value(self) -> Any:
        if self._depth == _DEEPEST:
            raise SettingsError(f"line {self._text.count(chr(10), 0, self._at) + 1}: nested too deeply")
        self._depth += 1
        read = self._value()
        self._depth -= 1
        return read

    def _value(self) -> Any:
        if self.kind == "{":
            self._next()
            items = self.body("}")
            self._take("}")
            return items
        if self.kind == "[":
            self._next()
            values = []
            while self.kind != "]":
                values.append(self.value())
            self._next()
            return values
        if self.kind == "string":
            return _unquote(self._take("string"))
        if self.kind == "number":
            return float(self._take("number"))
        if self.kind == "name" and self.content in ("true", "false"):
            return self._take("name") == "true"
        raise self.wrong("a value")


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text[1:-1], flags=re.DOTALL)
