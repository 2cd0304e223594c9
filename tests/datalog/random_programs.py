"""Random safe, stratified programs with facts, for the tests that compare evaluators. One seed, one program."""

from __future__ import annotations

from random import Random
from typing import Any

POOLS: dict[str, list[Any]] = {
    "symbol": ["a", "b", "c", "d", "1", "ab"],
    "number": [0, 1, 2, 3, -1],
    "any": ["a", "b", "1", 1, 2, True, False, 1.0, 0.5],
}


def literal_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


class RandomProgram:
    """`text` is the rule file, `facts` predicate -> rows (plain values). `plain`: no recursion, aggregates, functions,
    or columns of type any."""

    def __init__(self, seed: int, plain: bool = False) -> None:
        self.random = Random(seed)
        self.plain = plain
        self.columns: dict[str, list[str]] = {}
        self.level: dict[str, int] = {}
        self.lines: list[str] = []
        self.facts: dict[str, set[tuple[Any, ...]]] = {}
        types = ["symbol", "symbol", "number"] if plain else ["symbol", "symbol", "number", "any"]
        pick = self.random.choice
        # pyDatalog knows floats only
        self.pools = POOLS if plain else {**POOLS, "number": [*POOLS["number"], 0.5, 2.5]}
        for i in range(3):
            name = f"e{i}"
            self.columns[name] = [pick(types) for _ in range(self.random.randint(1, 3))]
            self.level[name] = 0
            self.declare(name, "input")
            rows = self.random.randint(0, 12)
            self.facts[name] = {tuple(pick(self.pools[t]) for t in self.columns[name]) for _ in range(rows)}
        self.edges = "link"
        self.columns["link"], self.level["link"] = ["symbol", "symbol"], 0
        self.declare("link", "input")
        self.facts["link"] = {(pick("abcd"), pick("abcd")) for _ in range(self.random.randint(0, 6))}
        derived = [f"d{i}" for i in range(self.random.randint(2, 6))]
        for i, name in enumerate(derived):
            self.columns[name] = [pick(types) for _ in range(self.random.randint(0 if not plain else 1, 3))]
            self.level[name] = i + 1 if plain else (i + 3) // 2
            self.declare(name, "output")
        if not plain and self.random.random() < 0.3:
            operator = pick(["reduction", "closure", "levels", "scc"])
            self.columns["n0"] = ["symbol", "number" if operator == "levels" else "symbol"]
            self.level["n0"] = 0
            columns = ", ".join(f"c{i}: {t}" for i, t in enumerate(self.columns["n0"]))
            self.lines += ["/// native", f".native n0({columns}) = {operator}(link)"]
        for name in derived:
            for _ in range(self.random.randint(1, 3)):
                self.lines.append(self.rule(name))
        self.text = "\n".join(self.lines) + "\n"

    def declare(self, name: str, kind: str) -> None:
        columns = ", ".join(f"c{i}: {t}" for i, t in enumerate(self.columns[name]))
        self.lines += [f"/// {name}", f".decl {name}({columns})", f".{kind} {name}"]

    # -------- rules

    def rule(self, head: str) -> str:
        self.bound: dict[str, str] = {}  # variable -> type
        self.counter = 0
        level = self.level[head]
        usable = [p for p in self.columns if self.level[p] < level or (not self.plain and self.level[p] == level)]
        lower = [p for p in self.columns if self.level[p] < level]
        body = [self.atom(self.random.choice(usable)) for _ in range(self.random.randint(1, 3))]
        recursive = any(self.level[x.split("(")[0]] == level for x in body)
        for _ in range(self.random.choice([0, 0, 1, 2])):
            body.append(self.restriction(lower, recursive))
        arguments = [self.argument(kind, recursive) for kind in self.columns[head]]
        self.random.shuffle(body)
        return f"{head}({', '.join(arguments)}) :- {', '.join(body)}."

    def atom(self, predicate: str, local: str = "", known: dict[str, str] | None = None) -> str:
        bound = self.bound if known is None else known
        arguments = []
        for kind in self.columns[predicate]:
            same = [v for v, t in bound.items() if t == kind]
            choice = self.random.random()
            if choice < 0.2:
                arguments.append("_")
            elif choice < 0.27:
                arguments.append(literal_text(self.random.choice(self.pools[kind])))
            elif choice < 0.65 and same:
                arguments.append(self.random.choice(same))
            else:
                self.counter += 1
                name = f"{local or 'V'}{self.counter}"
                bound[name] = kind
                arguments.append(name)
        return f"{predicate}({', '.join(arguments)})"

    def term(self, kind: str) -> str:
        same = [v for v, t in self.bound.items() if t == kind]
        if same and self.random.random() < 0.7:
            return self.random.choice(same)
        return literal_text(self.random.choice(self.pools[kind]))

    def restriction(self, lower: list[str], recursive: bool) -> str:
        choice = self.random.random()
        kind = self.random.choice(list(self.bound.values()) or ["symbol"])
        if choice < 0.4 or (self.plain and choice < 0.6):
            predicate = self.random.choice(lower)
            arguments = [
                "_" if self.random.random() < (0 if self.plain else 0.3) else self.term(t)
                for t in self.columns[predicate]
            ]
            return f"not {predicate}({', '.join(arguments)})"
        if choice < 0.6 or self.plain:
            operators = ["=", "!=", "<", "<=", ">", ">="]
            same = [v for v, t in self.bound.items() if t == kind]
            left = self.random.choice(same) if same else '"a"'
            return f"{left} {self.random.choice(operators)} {self.term(kind)}"
        if choice < 0.7:
            test = self.random.choice(["starts_with", "ends_with", "contains", "matches"])
            negation = self.random.choice(["", "not "])
            return f"{negation}{test}({self.term('symbol')}, {self.random.choice(['a', 'b', '1'])!r})".replace("'", '"')
        if choice < 0.85:
            self.counter += 1
            name = f"W{self.counter}"
            if self.random.random() < 0.5:
                value = f"{self.term('number')} {self.random.choice('+-*/%')} {self.term('number')}"
                kind = "number"
            else:
                value, kind = f"{self.term('symbol')} ++ {self.term('any')}", "symbol"
            if not recursive:
                self.bound[name] = kind
                return f"{name} = {value}"
            return f"{value} != {self.term(kind)}"
        return self.aggregate(lower, recursive)

    def aggregate(self, lower: list[str], recursive: bool) -> str:
        known = dict(self.bound)
        inner = [self.atom(self.random.choice(lower), "L", known) for _ in range(self.random.randint(1, 2))]
        new = {v: t for v, t in known.items() if v not in self.bound}
        if self.random.random() < 0.3:
            kind = self.random.choice(list(known.values()) or ["symbol"])
            same = [v for v, t in known.items() if t == kind]
            left = self.random.choice(same) if same else literal_text(self.random.choice(self.pools[kind]))
            inner.append(f"{left} != {literal_text(self.random.choice(self.pools[kind]))}")
        self.counter += 1
        name = f"N{self.counter}"
        function, kind = "count", "number"
        numbers = [v for v, t in new.items() if t == "number"]
        if new and self.random.random() < 0.5:
            variable = self.random.choice(list(new))
            kind, function = new[variable], self.random.choice(["min", "max"])
            if numbers and self.random.random() < 0.5:
                variable, kind, function = self.random.choice(numbers), "number", "sum"
            function = f"{function} {variable}"
        if not recursive:
            self.bound[name] = kind
        return f"{name} = {function} : {{ {', '.join(inner)} }}"

    def argument(self, kind: str, recursive: bool) -> str:
        if kind == "symbol" and not self.plain and not recursive and self.random.random() < 0.1:
            return f"{self.term('any')} ++ {literal_text('x')}"
        return self.term(kind)
