"""Calls of the language's functions with random arguments, many of them of the right types."""

from __future__ import annotations

from random import Random

from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, SetType, Type
from planner.language.functions import lookup, names

# These depend on the machine or the time, or their results are not comparable as text.
LEFT_OUT = {"abspath", "base64gzip", "bcrypt", "pathexpand", "plantimestamp", "timestamp", "uuid"}
WORDS = [
    "", "a", "b", "hello", "Hello World", "x,y,z", "1", "-2", "3.5", "true", "false", "null", "héllo", "ÀÉ", "ß",
    "日本語", "👨‍👩‍👧", "  pad  ", "line1\nline2", "\r\n", "\t", "10.0.0.0/8", "192.168.1.0/24", "2001:db8::/32", "::1",
    "10.1.2.3", "2018-05-13T07:44:12Z", "2023-01-01T00:00:00+02:00", "1h30m", "-10s", "/a/b/../c", "aGVsbG8=", "!!!!",
    '{"a":1}', '[1,2,{"b":null}]', "a: 1\nb: [x, y]\n", "- 1\n- yes\n", "a,b\n1,2\n3,4\n", "%s", "%d items", "%5.2f",
    "%v", "%#v", "%[2]s %[1]s", "(\\w+)", "(?P<x>a+)b", "$1", "/l+/", "UTF-16LE", "ISO-8859-1", "dns",
    "a+b c%20", "%zz", "İ", "Σ", "YYYY-MM-DD", "DD MMM YYYY hh:mm ZZZ", "EEE, 'quoted' AA", "<&>", "a/b", "..",
]  # fmt: skip
NUMBERS = [
    "0", "1", "2", "3", "10", "-1", "-2", "0.5", "1.5", "-3.7", "100", "1e3", "1e20", "0.1", "64", "32", "16", "8",
    "62", "36", "255", "9007199254740993", "1e-7", "123456789012345678901234567890", "1/3", "18446744073709551615",
    "1e100",
]  # fmt: skip
ON_MAPS = {"keys", "values", "lookup", "merge"}
ON_SEQUENCES = {
    "concat", "flatten", "reverse", "slice", "element", "contains", "index", "one", "sum", "length", "setproduct",
    "coalescelist", "zipmap", "distinct", "matchkeys", "chunklist",
}  # fmt: skip


class Calls:
    """A stream of calls, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.functions = [n for n in names() if ":" not in n and n not in LEFT_OUT]

    def call(self) -> str:
        """The text of a call."""
        name = self.random.choice(self.functions)
        function = lookup(name)
        assert function is not None
        params = list(function.params)
        if function.variadic is not None:
            params += [function.variadic] * self.random.choice([0, 1, 1, 2, 2, 3])
        return f"{name}({', '.join(self._argument(name, p.type) for p in params)})"

    def _argument(self, name: str, t: Type) -> str:
        if t is DYNAMIC and self.random.random() < 0.85:
            if name in ON_MAPS:
                return self._mapping()
            if name in ON_SEQUENCES:
                return self._sequence(self.random.choice([self._string, self._number, self._number]))
        return self._of_type(t)

    def _of_type(self, t: Type) -> str:
        if self.random.random() < 0.1:
            return self._anything()
        if t is STRING:
            return self._string()
        if t is NUMBER:
            return self._number()
        if t is BOOL:
            return self.random.choice(["true", "false", '"true"', '"x"'])
        if isinstance(t, ListType | SetType):
            return self._sequence(lambda: self._of_type(t.element))
        if isinstance(t, MapType):
            return self._mapping(t.element)
        return self._anything()

    def _anything(self, depth: int = 0) -> str:
        kind = self.random.randrange(6 if depth < 2 else 4)
        if kind == 4:
            return self._sequence(lambda: self._anything(depth + 1))
        if kind == 5:
            return self._mapping()
        return [self._string(), self._number(), self.random.choice(["true", "false"]), "null"][kind]

    def _string(self) -> str:
        out = '"'
        for c in self.random.choice(WORDS):
            out += {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(c, c)
        return out.replace("${", "$${").replace("%{", "%%{") + '"'

    def _number(self) -> str:
        return self.random.choice(
            [*NUMBERS, str(self.random.randint(-5, 12)), str(self.random.randint(-(10**6), 10**6))]
        )

    def _sequence(self, element: object) -> str:
        assert callable(element)
        parts = ", ".join(element() for _ in range(self.random.choice([0, 1, 2, 3, 4])))
        return f"{self.random.choice(['', '', 'tolist', 'toset'])}([{parts}])"

    def _mapping(self, element: Type = DYNAMIC) -> str:
        keys = self.random.sample(["a", "b", "c", "k", "x y"], self.random.choice([0, 1, 2, 3]))
        make = self._anything if element is DYNAMIC else lambda: self._of_type(element)
        parts = ", ".join(f'"{key}" = {make()}' for key in keys)
        return f"{self.random.choice(['', '', 'tomap'])}({{{parts}}})"
