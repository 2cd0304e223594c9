"""An independent checker of proofs: it shares no code with the engine, and reads rules as text and proofs as JSON.

`check(rules, proof, holds)` raises ProofError unless every step is an instance of the rule that it names over tuples
that are themselves proved, every negation names something that does not hold, and every test is true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any


class ProofError(Exception):
    pass


TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+\.\d+|-?\d+)|([A-Za-z_]\w*)|(:-|!=|<=|>=|\+\+|[-+*/%<>=(),.:{}]))')
PRECEDENCE = {"++": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}
TESTS = {
    "starts_with": lambda a, b: isinstance(a, str) and isinstance(b, str) and a.startswith(b),
    "ends_with": lambda a, b: isinstance(a, str) and isinstance(b, str) and a.endswith(b),
    "contains": lambda a, b: isinstance(a, str) and isinstance(b, str) and b in a,
    "matches": lambda a, b: isinstance(a, str) and isinstance(b, str) and re.search(b, a) is not None,
    "is_symbol": lambda a: isinstance(a, str),
    "is_number": lambda a: type(a) in (int, float),
    "is_cidr": lambda a: network(a) is not None,
    "cidr_contains": lambda a, b: bool((x := network(a)) and (y := network(b)) and both(x, y) and y.subnet_of(x)),
    "cidr_overlaps": lambda a, b: bool((x := network(a)) and (y := network(b)) and both(x, y) and x.overlaps(y)),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "length": len,
    "lower": str.lower,
    "upper": str.upper,
    "before": lambda a, b: a.split(b, 1)[0] if b in a else None,
    "after": lambda a, b: a.split(b, 1)[1] if b in a else None,
    "before_last": lambda a, b: a.rsplit(b, 1)[0] if b in a else None,
    "after_last": lambda a, b: a.rsplit(b, 1)[1] if b in a else None,
    "trim_prefix": lambda a, b: a[len(b) :] if a.startswith(b) else a,
    "trim_suffix": lambda a, b: a[: len(a) - len(b)] if a.endswith(b) else a,
    "replace": lambda a, b, c: c.join(a.split(b)),
    "substring": lambda a, b, c: a[b : b + c],
    "cidr_prefix": lambda a: x.prefixlen if (x := network(a)) else None,
    "cidr_addresses": lambda a: x.num_addresses if (x := network(a)) else None,
    "to_symbol": lambda a: written(a),
    "to_number": lambda a: number(a),
}


def number(x: Any) -> Any:
    if isinstance(x, str):
        return int(x) if re.fullmatch(r"-?[0-9]+", x) else float(x) if re.fullmatch(r"-?[0-9]+\.[0-9]+", x) else None
    return x if type(x) in (int, float) else None


def network(text: Any) -> Any:
    try:
        return ip_network(text.strip(), strict=False)
    except (ValueError, AttributeError):
        return None


def both(a: Any, b: Any) -> bool:
    return bool(a.version == b.version)


class Reader:
    """A recursive descent parser of one rule. Terms are ("variable", name), ("value", v), ("any",), or
    ("call", name, terms)."""

    def __init__(self, text: str) -> None:
        self.tokens: list[Any] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise ProofError(f"cannot read the rule {text!r} at {text[at:]!r}")
            string, number, name, sign = match.groups()
            if string is not None:
                body = string[1:-1]
                value = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), body)
                self.tokens.append(("value", value))
            elif number is not None:
                before = self.tokens[-1] if self.tokens else None
                if number[0] == "-" and before and (before[0] in ("value", "name") or before == ("sign", ")")):
                    self.tokens.append(("sign", "-"))
                    number = number[1:]
                self.tokens.append(("value", float(number) if "." in number else int(number)))
            elif name in ("true", "false"):
                self.tokens.append(("value", name == "true"))
            elif name is not None:
                self.tokens.append(("name", name))
            else:
                self.tokens.append(("sign", sign))
            at = match.end()
        self.at = 0

    def next(self) -> Any:
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self) -> Any:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def take(self, sign: str) -> bool:
        if self.peek() == ("sign", sign):
            self.at += 1
            return True
        return False

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise ProofError(f"expected {sign} at token {self.at} of {self.tokens}")

    def rule(self) -> tuple[Any, list[Any]]:
        head = self.primary()
        body = [] if not self.take(":-") else self.body()
        self.expect(".")
        return head, body

    def body(self) -> list[Any]:
        found = [self.literal()]
        while self.take(","):
            found.append(self.literal())
        return found

    def literal(self) -> Any:
        if self.peek() == ("name", "not"):
            self.next()
            return ("not", self.primary())
        left = self.expression()
        kind, sign = self.peek()
        if kind != "sign" or sign not in ("=", "!=", "<", "<=", ">", ">="):
            return ("atom", left)
        self.next()
        if self.peek() in [("name", n) for n in ("count", "sum", "min", "max")]:
            function = self.next()[1]
            of = None if self.take(":") else self.expression()
            if of is not None:
                self.expect(":")
            self.expect("{")
            body = self.body()
            self.expect("}")
            return ("aggregate", left, function, of, body)
        return ("compare", sign, left, self.expression())

    def expression(self, level: int = 1) -> Any:
        left = self.primary()
        while True:
            kind, sign = self.peek()
            if kind != "sign" or PRECEDENCE.get(sign, 0) < level:
                return left
            self.next()
            left = ("call", sign, [left, self.expression(PRECEDENCE[sign] + 1)])

    def primary(self) -> Any:
        if self.take("("):
            inner = self.expression()
            self.expect(")")
            return inner
        kind, value = self.next()
        if kind == "value":
            return ("value", value)
        if kind != "name":
            raise ProofError(f"expected a term, found {value}")
        if self.take("("):
            arguments = []
            if not self.take(")"):
                arguments.append(self.expression())
                while self.take(","):
                    arguments.append(self.expression())
                self.expect(")")
            return ("call", value, arguments)
        if value == "_":
            return ("any",)
        return ("variable", value)


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def value(term: Any, bound: dict[str, Any]) -> Any:
    """The value of a term, None if a variable has none."""
    if term[0] == "value":
        return term[1]
    if term[0] == "variable":
        return bound.get(term[1])
    if term[0] == "any":
        return None
    values = [value(t, bound) for t in term[2]]
    if None in values:
        return None
    if term[1] in FUNCTIONS:
        return FUNCTIONS[term[1]](*values)
    a, b = values[0], values[-1]
    if term[1] == "++":
        return written(a) + written(b)
    if term[1] in ("/", "%"):
        if b == 0:
            return None
        quotient = int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if term[1] == "/" else a - b * quotient
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b}[term[1]]()


def written(x: Any) -> str:
    return str(x).lower() if isinstance(x, bool) else str(x)


def unify(terms: list[Any], row: list[Any], bound: dict[str, Any]) -> bool:
    """Bind variables so that the terms are the row. Computed terms are left for later."""
    if len(terms) != len(row):
        return False
    for term, item in zip(terms, row, strict=True):
        if term[0] == "variable":
            if term[1] in bound and not same(bound[term[1]], item):
                return False
            bound[term[1]] = item
        elif term[0] == "value" and not same(term[1], item):
            return False
    return True


def compare(sign: str, a: Any, b: Any) -> bool:
    if sign in ("=", "!="):
        return same(a, b) == (sign == "=")
    if isinstance(a, str) != isinstance(b, str) or isinstance(a, bool) or isinstance(b, bool):
        return False
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]


Holds = Callable[[str], set[tuple[Any, ...]]]


def check(rules: list[dict[str, str]], proof: dict[str, Any], holds: Holds) -> None:
    """`rules` are {"name", "text"}; `holds(predicate)` gives the rows that hold, as plain values."""
    texts = {rule["name"]: rule["text"] for rule in rules}
    proofs = proof["proofs"]
    if proof["format_version"] != "1.0":
        raise ProofError("unknown version")
    if proofs[proof["root"]]["tuple"] != proof["goal"]:
        raise ProofError("the root does not prove the goal")
    typed: dict[str, set[Any]] = {}
    for name, step in proofs.items():
        predicate, *row = step["tuple"]
        if predicate not in typed:
            typed[predicate] = {tuple((type(x), x) for x in r) for r in holds(predicate)}
        if tuple((type(x), x) for x in row) not in typed[predicate]:
            raise ProofError(f"{name}: {step['tuple']} does not hold")
        if step.get("input"):
            if "rule" in step:
                raise ProofError(f"{name} is both given and derived")
            continue
        head, body = Reader(texts[step["rule"]]).rule()
        check_step(name, step, head, body, proofs, holds)
    check_order(proof)


def check_step(name: str, step: Any, head: Any, body: list[Any], proofs: Any, holds: Holds) -> None:
    bound: dict[str, Any] = {}
    predicate, *row = step["tuple"]
    if head[1] != predicate or not unify(head[2], row, bound):
        raise ProofError(f"{name}: the head is not an instance of the rule")
    if len(body) != len(step["body"]):
        raise ProofError(f"{name}: the body has {len(step['body'])} entries, the rule {len(body)} literals")
    pairs = list(zip(body, step["body"], strict=True))
    for literal, entry in pairs:
        if "proof" in entry:
            used, *columns = proofs[entry["proof"]]["tuple"]
            if literal[0] != "atom" or literal[1][1] != used or not unify(literal[1][2], columns, bound):
                raise ProofError(f"{name}: {entry} is not an instance of {literal}")
        elif "aggregate" in entry and (literal[0] != "aggregate" or not unify([literal[1]], [entry["value"]], bound)):
            raise ProofError(f"{name}: {entry} is not an instance of {literal}")
    for _ in pairs:  # computed values may depend on each other
        for literal, _entry in pairs:
            if literal[0] == "compare" and literal[1] == "=":
                for target, other in (literal[2:], literal[:1:-1]):
                    if target[0] == "variable" and target[1] not in bound and value(other, bound) is not None:
                        bound[target[1]] = value(other, bound)
    for literal, entry in pairs:
        if literal[0] == "atom" and "proof" not in entry:
            if "test" not in entry or literal[1][1] not in TESTS or not run_test(literal[1], bound):
                raise ProofError(f"{name}: {entry} is not true")
        elif literal[0] == "compare":
            a, b = value(literal[2], bound), value(literal[3], bound)
            if "test" not in entry or a is None or b is None or not compare(literal[1], a, b):
                raise ProofError(f"{name}: {entry} is not true")
        elif literal[0] == "not" and literal[1][1] in TESTS:
            if "test" not in entry or run_test(literal[1], bound):
                raise ProofError(f"{name}: {entry} is not true")
        elif literal[0] == "not":
            check_negation(name, literal[1], entry, bound, holds)
        elif literal[0] == "aggregate":
            check_aggregate(name, literal, entry, bound, holds)
    for term, item in zip(head[2], row, strict=True):
        if not same(value(term, bound), item):
            raise ProofError(f"{name}: the rule gives {value(term, bound)!r}, not {item!r}")


def run_test(call: Any, bound: dict[str, Any]) -> bool:
    values = [value(t, bound) for t in call[2]]
    if None in values:
        raise ProofError(f"a test without values: {call}")
    return bool(TESTS[call[1]](*values))


def check_negation(name: str, atom: Any, entry: Any, bound: dict[str, Any], holds: Holds) -> None:
    predicate, *pattern = entry.get("not", [None])
    wanted = [None if t[0] == "any" else value(t, bound) for t in atom[2]]
    if predicate != atom[1] or len(pattern) != len(wanted) or not all(map(same, pattern, wanted)):
        raise ProofError(f"{name}: {entry} is not an instance of {atom}")
    for row in holds(predicate):
        if all(p is None or same(p, x) for p, x in zip(pattern, row, strict=True)):
            raise ProofError(f"{name}: {entry}, but {row} holds")


def check_aggregate(name: str, literal: Any, entry: Any, bound: dict[str, Any], holds: Holds) -> None:
    _, _result, function, of, body = literal
    inner = dict(bound)
    found = []
    for final in solve(expanded(body), inner, holds):
        found.append(1 if of is None else value(of, final))
    if function == "count":
        expected: Any = len(found)
    elif function == "sum":
        total = sum(found)
        expected = int(total) if total == int(total) else total
    elif not found:
        raise ProofError(f"{name}: {entry}, but there is nothing to choose from")
    else:
        expected = (min if function == "min" else max)(found)
    if not same(expected, entry["value"]):
        raise ProofError(f"{name}: {entry}, but it is {expected}")


def expanded(body: list[Any]) -> list[Any]:
    """Positive atoms first, so that the others find their values."""
    return sorted(body, key=lambda x: x[0] != "atom" or x[1][1] in TESTS)


def solve(body: list[Any], bound: dict[str, Any], holds: Holds) -> Iterator[dict[str, Any]]:
    if not body:
        yield bound
        return
    literal, rest = body[0], body[1:]
    if literal[0] == "atom" and literal[1][1] not in TESTS:
        for row in holds(literal[1][1]):
            extended = dict(bound)
            if unify(literal[1][2], list(row), extended):
                yield from solve(rest, extended, holds)
    elif literal[0] == "compare":
        if compare(literal[1], value(literal[2], bound), value(literal[3], bound)):
            yield from solve(rest, bound, holds)
    elif literal[0] == "not" and literal[1][1] not in TESTS:
        if not any(unify(literal[1][2], list(row), dict(bound)) for row in holds(literal[1][1])):
            yield from solve(rest, bound, holds)
    elif run_test(literal[1], bound) == (literal[0] == "atom"):
        yield from solve(rest, bound, holds)


def check_order(proof: dict[str, Any]) -> None:
    """No proof rests on itself, and every proof is used."""
    proofs, done = proof["proofs"], set()
    stack = [(proof["root"], False)]
    open_: set[str] = set()
    while stack:
        name, is_left = stack.pop()
        if is_left:
            open_.discard(name)
            done.add(name)
            continue
        if name in done:
            continue
        if name in open_:
            raise ProofError(f"{name} rests on itself")
        open_.add(name)
        stack.append((name, True))
        stack += [
            (entry["proof"], False)
            for entry in proofs[name].get("body", [])
            if entry.get("proof") not in done and "proof" in entry
        ]
    if done != set(proofs):
        raise ProofError(f"unused: {sorted(set(proofs) - done)}")
