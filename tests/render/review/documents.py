"""Review documents for tests, with any texts in them."""

from __future__ import annotations

from typing import Any


def change(address: str, action: str = "update", **more: Any) -> dict[str, Any]:
    """A change of an object, or of one that is replaced for the action `replace`."""
    return {
        "address": address,
        "action": {"replace": "delete-then-create"}.get(action, action),
        "verb": action,
        "reason": "",
        "type": "terraform_data",
        "module": "",
        "stateful": False,
        "previous_address": "",
        "imported": False,
        "is_drift": False,
        "causes": [1],
        "attributes": [attribute("input", '"a"', '"b"')],
        "attributes_left_out": 0,
        "undecided": [],
        **more,
    }


def attribute(path: str, before: str, after: str, forces: bool = False) -> dict[str, Any]:
    return {"path": path, "action": "update", "before": before, "after": after, "forces_replacement": forces}


def cause(what: str, changes: list[dict[str, Any]], number: int = 1, **more: Any) -> dict[str, Any]:
    numbers: dict[str, int] = {}
    for one in changes:
        numbers[one["verb"]] = numbers.get(one["verb"], 0) + 1
    return {
        "number": number,
        "what": what,
        "kind": "variable",
        "note": "",
        "before": '"a"',
        "after": '"b"',
        "certain": True,
        "sets_off": numbers,
        "stateful": {},
        "changes": [{"address": one["address"], "action": one["verb"]} for one in changes],
        "hops": [],
        **more,
    }


def document(**more: Any) -> dict[str, Any]:
    """A document without anything, but for the members named."""
    return {
        "format_version": "1.0",
        "kind": "plan",
        "mode": "normal",
        "title": "Plan: 1 to change.",
        "about": {},
        "page": "",
        "counts": {},
        "result": None,
        "decisions": [],
        "causes": [],
        "uncaused": [],
        "changes": [],
        "outputs": [],
        "policies": {"findings": [], "judged": []},
        "notes": [],
        "deferred": [],
        "diagnostics": [],
        "units": [],
        **more,
    }


def document_of_text(text: str) -> dict[str, Any]:
    """A document with a text wherever somebody's text can be."""
    changes = [
        change(
            text,
            "replace",
            attributes=[attribute(text, text, text, True), attribute("b", text, "x")],
            file=text,
            line=1,
        ),
        change(f"{text}[0]", previous_address=text),
    ]
    finding = {"kind": "deny", "code": text, "address": text, "message": text, "reason": text, "file": text, "line": 1}
    return document(
        about={"directory": text, "workspace": text, "plan_file": text, "plan_digest": "ab", "since": text},
        decisions=[{"kind": "deny", "text": "denied", "objects": [text, f"{text}x"]}],
        causes=[cause(text, changes, before=text, after=text, note=text, kind="read", file=text, line=2, hops=[text])],
        uncaused=[{"text": text, "changes": [{"address": text, "action": "delete"}]}],
        changes=changes,
        outputs=[{"name": text, "action": "update", "before": text, "after": text, "causes": [1], "read_by": [text]}],
        policies={"findings": [finding], "judged": [text]},
        notes=[text],
        diagnostics=[
            {"severity": "error", "summary": text, "detail": text, "address": text, "file": text, "line": 1},
            {"severity": "warning", "summary": text, "detail": "", "address": ""},
        ],
    )
