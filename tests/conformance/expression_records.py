"""The expression records and how to run them in this process: what OpenTofu answered, beside what planner answers.

Run as a script it prints a table of scores: `python tests/conformance/expression_records.py [-v] [-r] [SUBSTRING]`
(-v lists failures, -r right errors at other places).
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from planner.foundation.support.exact_json import dumps
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.numbers import is_infinite, number_to_text
from planner.foundation.values.types import BOOL, NUMBER, STRING, type_text
from planner.foundation.values.value import NOT_NULL, NULL, Null, Unknown, type_of, unmark_deep
from planner.foundation.vocabulary.diagnostic import Failure, error, has_errors
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.references import Ref, parse_reference
from planner.language.expressions.console import answer
from planner.language.expressions.constraints import parse_type_constraint
from planner.language.expressions.evaluate import EvaluationError, MappingScope, Scope, evaluate, evaluate_template
from planner.language.expressions.scope import ConstantScope
from planner.language.functions import CallContext, lookup
from planner.language.syntax.parse import parse_expression

HERE = Path(__file__).parent / "expressions"
INPUTS = [
    ("u", '"x"'),
    ("u_str", '"x"'),
    ("u_num", "1"),
    ("u_bool", "true"),
    ("u_list", 'tolist(["x"])'),
    ("u_map", 'tomap({ a = "x" })'),
    ("u_obj", '{ a = "x", b = 1 }'),
]


class RecordScope(MappingScope):
    """The scope of the records' module while planning."""

    def __init__(self) -> None:
        context = CallContext(
            base_dir=str(HERE),
            planning=True,
            plan_timestamp="2026-01-01T00:00:00Z",
            evaluate_template=evaluate_template,
        )
        super().__init__(context=context)
        resources = {}
        for name, text in INPUTS:
            value = value_of(text)
            resources[name] = {
                "id": Unknown(STRING, NOT_NULL),
                "input": value,
                "output": Unknown(type_of(value)),
                "triggers_replace": NULL,
            }
        self.variables = {
            "terraform_data": resources,
            "path": {"module": ".", "root": ".", "cwd": str(HERE)},
            "terraform": {"workspace": "default"},
        }

    def resolve(self, node: Any, source: Source | None) -> Any:
        """Only what the module declares may be referred to; the rest is refused over what was named."""
        ref = parse_reference(node)
        known = self.variables.get("terraform_data" if ref.kind == "resource" else ref.kind, {})
        name = ref.label if isinstance(ref, Ref) and ref.kind == "resource" else ref.name
        if isinstance(ref, Ref) and name in known:
            return known[name], len(node.steps) - len(ref.rest)
        raise Failure(error("test.reference", "Invalid reference", "", Span(source, ref.start, ref.end)))


def value_of(text: str, scope: Scope | None = None) -> Any:
    source = Source("expression", text)
    node, diagnostics = parse_expression(source)
    assert node is not None, diagnostics
    return evaluate(node, scope or MappingScope(), source)


def records(name: str) -> list[dict[str, Any]]:
    text = (HERE / f"{name}.json").read_text(encoding="utf-8")
    return exact(text)


def exact(text: str) -> Any:
    return json.loads(text, parse_int=Decimal, parse_float=Decimal)


# ---------------------------------------------------------------- comparison


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def inflate(v: Any) -> Any:
    """Replaces base64 of gzip data by what it holds."""
    if isinstance(v, dict):
        return {k: inflate(x) for k, x in v.items()}
    if isinstance(v, list):
        return [inflate(x) for x in v]
    if isinstance(v, str) and v.startswith("H4sI"):
        return repr(gzip.decompress(base64.b64decode(v)))
    return v


def marks(m: Any) -> Any:
    """The places that are true, without the rest."""
    if isinstance(m, dict):
        return {k: x for k, x in ((k, marks(v)) for k, v in m.items()) if x} or False
    if isinstance(m, list):
        found = [marks(v) for v in m]
        return found if any(found) else False
    return m is True


def problems(record: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """What is wrong with an answer; nothing when it is right."""
    if record.get("error"):
        if not got.get("error"):
            return [f"expected an error ({record['phase']}), got {got}"]
        return [] if got["phase"] == record["phase"] else [f"expected phase {record['phase']}, got {got}"]
    if got.get("error"):
        return [f"expected success, got {got}"]
    found = []
    for key in ("nonfinite", "type"):
        if key in record and got.get(key) != record[key]:
            found.append(f"{key}: expected {record[key]!r}, got {got.get(key)!r}")
    gzipped = "base64gzip" in record.get("expr", "")
    if "value" in record and not (gzipped and "length(base64gzip" in record["expr"]):
        want, have = record["value"], got.get("value", "nothing")
        if not (same(inflate(want), inflate(have)) if gzipped else same(want, have)):
            found.append(f"value: expected {want!r}, got {have!r}")
    if "expr" in record:
        for key in ("sensitive", "unknown"):
            if not same(marks(record.get(key)), marks(got.get(key))):
                found.append(f"{key}: expected {record.get(key)}, got {got.get(key)}")
    return found


# ---------------------------------------------------------------- answers


def expression_answer(record: dict[str, Any], scope: Scope) -> dict[str, Any]:
    return exact(dumps(answer(record["expr"], scope)).decode())


SHORTHANDS = {"list": "list(any)", "map": "map(any)"}  # what a variable's type may still be


def constraint_answer(record: dict[str, Any]) -> dict[str, Any]:
    """The value of a variable with the record's type, default and nullable, given the record's input."""
    source = Source("constraint", SHORTHANDS.get(record["constraint"], record["constraint"]))
    node, diagnostics = parse_expression(source)
    constraint = None
    if node is not None and not has_errors(diagnostics):
        constraint, diagnostics = parse_type_constraint(node, source)
    if constraint is None:
        return {"error": True, "phase": "constraint", "ranges": ranges(diagnostics)}
    default, nullable = None, True
    try:
        nullable = convert(value_of(record.get("nullable", "true"), ConstantScope()), BOOL)
        if "default" in record:
            default = constraint.convert(value_of(record["default"], ConstantScope()))
            if isinstance(default, Null) and not nullable:
                return {"error": True, "phase": "constraint"}
    except (ConversionError, EvaluationError):
        return {"error": True, "phase": "constraint"}
    if "input" in record:
        value = value_of(record["input"], MappingScope(function=lookup))
    elif default is not None:
        value = default
    else:
        return {"error": True, "phase": "convert"}
    try:
        if isinstance(unmark_deep(value)[0], Null) and not nullable:
            if default is None:
                raise ConversionError("null")
            value = default
        value, _ = unmark_deep(constraint.convert(value))
    except ConversionError:
        size = len(record["input"].encode())
        whole = {"start": {"line": 1, "column": 1, "byte": 0}, "end": {"line": 1, "column": size + 1, "byte": size}}
        return {"error": True, "phase": "convert", "ranges": [whole]}
    t = type_of(value)
    if t is NUMBER and not isinstance(value, Null) and is_infinite(value):
        return {"nonfinite": number_to_text(value), "type": type_text(t)}
    return {"value": exact(dumps(simple_json(value)).decode()), "type": type_text(t)}


def ranges(diagnostics: list[Any]) -> list[dict[str, Any]]:
    found = []
    for d in diagnostics:
        if d.subject is not None:
            ends = (("start", d.subject.start_position), ("end", d.subject.end_position))
            found.append({k: {"line": p.line, "column": p.column, "byte": p.byte} for k, p in ends})
    return found


# ---------------------------------------------------------------- report


def main() -> int:
    import collections

    words = [a for a in sys.argv[1:] if not a.startswith("-")]
    chosen = words[0] if words else ""
    total = 0
    scope = RecordScope()
    for name, answer_of in (
        ("expressions", lambda r: expression_answer(r, scope)),
        ("type_constraints", constraint_answer),
    ):
        groups: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
        matched = placed = 0
        for record in records(name):
            if chosen not in record["id"]:
                continue
            try:
                got = answer_of(record)
                wrong = problems(record, got)
            except Exception as e:
                got, wrong = {}, [f"{type(e).__name__}: {e}"]
                if "-t" in sys.argv:
                    raise
            groups[record["group"]][0] += not wrong
            groups[record["group"]][1] += 1
            if wrong and "-v" in sys.argv:
                print("FAIL", record["id"], record.get("expr") or {k: v for k, v in record.items() if k != "id"})
                for line in wrong:
                    print("    " + line[:600])
            if record.get("ranges") is not None and record.get("error"):
                placed += 1
                hit = same(exact(json.dumps(got.get("ranges"), default=int)), record["ranges"])
                matched += hit
                if not hit and not wrong and "-r" in sys.argv:
                    print("PLACE", record["id"], repr(record.get("expr") or record["constraint"]))
                    print("    expected", _short(record["ranges"]), "\n    got     ", _short(got.get("ranges")))
        for group in sorted(groups):
            print(f"{group:20} {groups[group][0]}/{groups[group][1]}")
        passed, count = (sum(g[i] for g in groups.values()) for i in (0, 1))
        print(f"{name}: {passed} of {count} passed; ranges {matched} of {placed}")
        total += count - passed
    return total > 0


def _short(places: Any) -> Any:
    return [tuple(int(r[e][k]) for e in ("start", "end") for k in ("line", "column", "byte")) for r in places or []]


if __name__ == "__main__":
    sys.exit(main())
