"""Expressions of every construct of the language, nested at random; most of them make sense, many do not quite."""

from __future__ import annotations

from collections.abc import Callable

from random_calls import Calls

# The roots `u` and `e` of tests/language/functions/value_tree.py: unknown values of many kinds, ephemeral values.
UNKNOWN = {
    "string": ["u.str", "u.nnstr", "u.prefix", "u.obj.a", "u.map.x", "u.list[0]", "u.tup[0]", "e.unk"],
    "number": ["u.num", "u.low", "u.nums[1]", "u.obj.b", "u.tup[1]"],
    "bool": ["u.bool"],
    "sequence": ["u.list", "u.nums", "u.set", "u.tup", "u.dynlist", "u.len2", "u.nnlist", "u.setmax", "e.list"],
    "mapping": ["u.map", "u.obj"],
}
KINDS = ["string", "number", "bool", "sequence", "mapping"]
NAMES = ["a", "b", "k", "v", "item"]
PIECES = [
    *(
        '"',
        "${",
        "%{",
        "}",
        "{",
        "[",
        "]",
        "(",
        ")",
        "\n",
        "\\",
        "~",
        "$",
        "%",
        ".",
        "*",
        "=",
        "=>",
        "...",
        ",",
        ":",
        "::",
    ),
    *(
        "?",
        "!",
        "-",
        "<<E\n",
        "for ",
        "in ",
        "if ",
        "é",
        "0",
        "1e",
        "\r",
        "\t",
        "\x00",
        "#",
        "//",
        "/*",
        "*/",
        "&&",
        "|",
    ),
    *("a", "null", "'", "`", ";", "@", "\u00a0", "\ufeff", "\u200b"),
]
GAPS = ["", "", "", " ", " ", "\n", " /* c */ ", " # c\n"]


class Expressions(Calls):
    """A stream of expressions, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.scope: list[str] = []

    def expression(self, depth: int = 3) -> str:
        """The text of an expression."""
        return self._any(depth)

    def mutated(self) -> str:
        """The text of an expression with a few characters changed."""
        text = self._any(2)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            at = self.random.randrange(len(text) + 1)
            piece = self.random.choice(PIECES)
            text = text[:at] + piece + text[at + self.random.choice([0, 0, 1, 2]) :]
        return text

    def _any(self, depth: int) -> str:
        return self._of(self.random.choice(KINDS), depth)

    def _of(self, kind: str, depth: int) -> str:
        chance = self.random.random()
        if chance < 0.06:
            kind = self.random.choice(KINDS)
        if chance > 0.97:
            return self.random.choice(["null", "u.dyn", "null", "nope", "local.x"])
        if self.scope and chance > 0.8:
            return self.random.choice(self.scope) + self.random.choice(["", "", "", ".a", "[0]"])
        if depth <= 0 or chance < 0.1:
            return self._leaf(kind)
        d = depth - 1
        options: list[Callable[[], str]] = [
            lambda: self._conditional(kind, d),
            lambda: f"({self._gap()}{self._of(kind, d)}{self._gap()})",
            lambda: self._picked(kind, d),
            lambda: f"sensitive({self._of(kind, d)})",
            lambda: f"try({self._of(kind, d)}, {self._of(kind, d)})",
            self.call,
            *{
                "string": [lambda: self._template(d)] * 4 + [lambda: f"upper({self._of('string', d)})"],
                "number": [lambda: self._arithmetic(d)] * 4
                + [lambda: f"length({self._of(self.random.choice(['sequence', 'mapping', 'string']), d)})"],
                "bool": [lambda: self._comparison(d)] * 5 + [lambda: f"can({self._any(d)})"],
                "sequence": [
                    lambda: self._tuple(d),
                    lambda: self._for_tuple(d),
                    lambda: self._for_tuple(d),
                    lambda: self._splat(d),
                    lambda: self._splat(d),
                    lambda: f"{self.random.choice(['tolist', 'toset', 'concat', 'flatten', 'keys'])}({self._any(d)})",
                ],
                "mapping": [
                    lambda: self._object(d),
                    lambda: self._for_object(d),
                    lambda: self._for_object(d),
                    lambda: f"{self.random.choice(['tomap', 'merge'])}({self._of('mapping', d)})",
                ],
            }[kind],
        ]
        return self.random.choice(options)()

    def _leaf(self, kind: str) -> str:
        if self.random.random() < 0.15:
            return self.random.choice(UNKNOWN[kind])
        if kind == "string":
            return self._string()
        if kind == "number":
            return self._number() if self.random.random() < 0.9 else "e.num"
        if kind == "bool":
            return self.random.choice(["true", "false"])
        return self._sequence(lambda: self._anything(2)) if kind == "sequence" else self._mapping()

    def _gap(self) -> str:
        return self.random.choice(GAPS)

    def _conditional(self, kind: str, d: int) -> str:
        return f"{self._of('bool', d)} ? {self._of(kind, d)} : {self._of(kind, d)}"

    def _arithmetic(self, d: int) -> str:
        if self.random.random() < 0.15:
            return f"-{self._of('number', d)}"
        parts = [self._of("number", d)]
        for _ in range(self.random.choice([1, 1, 2, 3])):
            parts += [self.random.choice(["+", "-", "*", "/", "%"]), self._of("number", d)]
        return " ".join(parts)

    def _comparison(self, d: int) -> str:
        chance = self.random.random()
        if chance < 0.15:
            return f"!{self._of('bool', d)}"
        if chance < 0.45:
            return f"{self._of('bool', d)} {self.random.choice(['&&', '||'])} {self._of('bool', d)}"
        if chance < 0.7:
            operator = self.random.choice(["<", "<=", ">", ">="])
            return f"{self._of('number', d)} {operator} {self._of('number', d)}"
        kind = self.random.choice(KINDS)
        return f"{self._of(kind, d)} {self.random.choice(['==', '!='])} {self._of(kind, d)}"

    def _picked(self, kind: str, d: int) -> str:
        chance = self.random.random()
        if chance < 0.3:
            return f"[{self._of(kind, d)}, {self._of(kind, d)}][{self.random.choice(['0', '1', '2', '-1', '0.5'])}]"
        if chance < 0.5:
            return f"[{self._of(kind, d)}].{self.random.choice(['0', '1'])}"
        if chance < 0.7:
            return f"{{a = {self._of(kind, d)}}}.{self.random.choice(['a', 'a', 'b'])}"
        if chance < 0.85:
            return f'{{"a" = {self._of(kind, d)}}}["{self.random.choice(["a", "a", "b"])}"]'
        return f"{self._of('sequence', d)}[{self._of('number', d)}]"

    def _tuple(self, d: int) -> str:
        comma = f",{self._gap()}"
        parts = comma.join(self._any(d) for _ in range(self.random.choice([0, 1, 2, 3])))
        return f"[{self._gap()}{parts}{',' if parts and self.random.random() < 0.2 else ''}]"

    def _object(self, d: int) -> str:
        parts = []
        for _ in range(self.random.choice([0, 1, 2, 3])):
            key = self.random.choice(
                ["a", "b", '"c d"', "(" + self._of("string", d) + ")", "1", "null", "true", '"${1}"']
            )
            parts.append(f"{key}{self.random.choice([' = ', '=', ' : '])}{self._any(d)}")
        return "{" + self.random.choice([", ", "\n", ",\n"]).join(parts) + "}"

    def _for(self, d: int, inner: Callable[[], str], start: str, end: str) -> str:
        names = self.random.sample(NAMES, self.random.choice([1, 1, 2]))
        over = self._of(self.random.choice(["sequence", "sequence", "mapping"]), d)
        self.scope += names
        body = inner()
        condition = f" if {self._of('bool', d)}" if self.random.random() < 0.35 else ""
        del self.scope[-len(names) :]
        return f"{start}{self._gap()}for {', '.join(names)} in {over} :{self._gap()}{body}{condition}{end}"

    def _for_tuple(self, d: int) -> str:
        return self._for(d, lambda: self._any(d), "[", "]")

    def _for_object(self, d: int) -> str:
        dots = "..." if self.random.random() < 0.3 else ""
        return self._for(d, lambda: f"{self._of('string', d)} => {self._any(d)}{dots}", "{", "}")

    def _splat(self, d: int) -> str:
        over = self._of(self.random.choice(["sequence", "sequence", "mapping", "string"]), d)
        steps = "".join(
            self.random.choice([".a", "[0]", '["a"]', ".b", "[*]", ".0"])
            for _ in range(self.random.choice([0, 1, 1, 2]))
        )
        return over + self.random.choice(["[*]", "[*]", ".*"]) + steps

    def _template(self, d: int) -> str:
        heredoc = self.random.random() < 0.2
        parts = "".join(self._template_part(d, heredoc) for _ in range(self.random.choice([1, 1, 2, 3])))
        if not heredoc:
            return f'"{parts}"'
        dash = self.random.choice(["", "-"])
        lines = parts.replace("\n", "\n    " if dash else "\n")
        return f"<<{dash}EOT\n{self.random.choice(['', '  ', '    '])}{lines}\n{'  ' if dash else ''}EOT\n"

    def _template_part(self, d: int, heredoc: bool) -> str:
        open_, close = self.random.choice(["{", "{", "{~"]), self.random.choice(["}", "}", "~}"])
        text = self.random.choice(["x", " ", "a b ", "$${", "%%{", "$", "é", "=", " \n " if heredoc else "\\n", ""])
        chance = self.random.random()
        if chance < 0.3:
            return text
        if chance < 0.65:
            return f"{text}${open_}{self._gap() if not heredoc else ''}{self._any(d)}{close}"
        if chance < 0.85:
            other = f"%{open_}else{close}{text}" if self.random.random() < 0.5 else ""
            return f"%{open_}if {self._of('bool', d)}{close}{text}{other}%{open_}endif{close}"
        name = self.random.choice(NAMES)
        over = self._of("sequence", d)
        self.scope.append(name)
        inner = self._template_part(d - 1, heredoc) if d > 0 else "."
        self.scope.pop()
        return f"%{open_}for {name} in {over}{close}{inner}%{open_}endfor{close}"
