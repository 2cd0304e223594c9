"""The words of a review for each kind of decision, cause, verdict, outcome and drift: as Markdown, and on the page."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from render.review.documents import attribute, cause, change, document

from planner.engine.apply.outcomes import Outcome
from planner.foundation.vocabulary.diagnostic import error
from planner.render.diff import diff_dynamic
from planner.render.diff_model import ValueChange
from planner.render.review.attributes import changed_attributes, remark
from planner.render.review.decisions import data_notes, decisions, policy_lines, with_settling
from planner.render.review.document import bare_document, without_repeats
from planner.render.review.drift import drift_decisions
from planner.render.review.links import Links
from planner.render.review.markdown import markdown
from planner.render.review.page import page
from planner.render.review.results import with_results
from planner.render.review.subject import ReviewSubject
from planner.workflows.batch.reports.markdown import markdown as fleet_markdown

PLAN: Any = SimpleNamespace(mode="normal", deferred=())


def planned(address: str, action: str, data: str, **more: Any) -> dict[str, Any]:
    one = change(address, "replace" if "then" in action else action, data=data, stateful=data == "holds", **more)
    return {**one, "action": action}


@pytest.mark.parametrize(
    ("action", "data", "kind", "text"),
    [
        ("delete", "holds", "destroys_stateful", "destroyed, containing data"),
        ("delete", "none", "destroys", "destroyed, listed as containing no data"),
        (
            "delete",
            "unknown",
            "destroys_unknown",
            "destroyed, possibly containing data (protect_stateful does not list the type)",
        ),
        ("delete-then-create", "none", "replaces", "replaced, destroyed first, listed as containing no data"),
        (
            *("create-then-delete", "unknown", "replaces_unknown"),
            "replaced, created first, possibly containing data; each new object starts empty "
            "(protect_stateful does not list the type)",
        ),
        (
            *("create-then-delete", "holds", "replaces_stateful"),
            "replaced, created first, containing data; each new object starts empty",
        ),
    ],
)
def test_destroyed_objects(action: str, data: str, kind: str, text: str) -> None:
    changes = [planned("a.b", action, data), planned("a.u", "update", "")]
    assert decisions(PLAN, changes, ReviewSubject()) == [{"kind": kind, "text": text, "objects": ["a.b"]}]
    sign = "\N{LARGE RED CIRCLE}" if data == "holds" else "\N{LARGE ORANGE CIRCLE}"
    shown = markdown(document(decisions=decisions(PLAN, changes, ReviewSubject())))
    assert f"{sign} **1 {text}**: `a.b`" in shown.replace("\\", "")


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        (("v2",), ("v3",), [("l[0]", '"v2"', '"v3"')]),
        (("a", "b", "c"), ("b", "c"), [("l[0]", '"a"', "")]),
        (("b",), ("a", "b", "c"), [("l[0]", "", '"a"'), ("l[2]", "", '"c"')]),
        (("a", "k", "b"), ("k", "c", "d"), [("l[0]", '"a"', ""), ("l[1]", "", '"c"'), ("l[2]", '"b"', '"d"')]),
    ],
)
def test_changes_of_a_list_are_named_by_index(before: Any, after: Any, places: Any) -> None:
    """An item with another value is one change; removed ones have the index in the old list, added ones in the new."""
    diff = diff_dynamic(ValueChange(before, after))
    changes = [(one["path"], one["before"], one["after"]) for one in changed_attributes(diff, str, "l")]
    assert changes == places


def test_lost_data_comes_first() -> None:
    kinds = ["unknown", "none", "holds"]
    changes = [planned(f"a.{data}", "delete", data) for data in kinds]
    found = [one["objects"] for one in decisions(PLAN, changes, ReviewSubject())]
    assert found == [["a.holds"], ["a.unknown"], ["a.none"]]


def test_a_remark_names_the_types_that_no_rule_knows() -> None:
    changes = [planned("a.b", "delete", "unknown", type=kind) for kind in ("mine_db", "mine_db", "my_disk")]
    (note,) = data_notes([*changes, planned("a.c", "delete", "none", type="other")])
    assert "mine_db, my_disk." in note and "stateless_type" in note and "other" not in note
    assert data_notes([planned("a.c", "delete", "none")]) == []


LOSS = [{"kind": "destroys_stateful", "text": "", "objects": ["a.b"]}]
MAYBE = [{"kind": "replaces_unknown", "text": "", "objects": ["a.b"]}]
SAFE = [{"kind": "destroys", "text": "", "objects": ["a.b"]}]


@pytest.mark.parametrize(
    ("checked", "decided", "expected"),
    [
        (None, LOSS, ["Objects checked: 3."]),
        ((), SAFE, []),
        ((), LOSS, ["No policy was checked, so no policy protects the data of destroyed objects."]),
        (("tags",), SAFE, ["Policies checked: tags; none denies the plan.", "Objects checked: 3."]),
        (
            ("tags",),
            MAYBE,
            [
                "Policies checked: tags, but not protect_stateful, which protects the data of destroyed objects.",
                "Objects checked: 3.",
            ],
        ),
        (
            ("tags", "protect_stateful"),
            LOSS,
            ["Policies checked: protect_stateful, tags; none denies the plan.", "Objects checked: 3."],
        ),
    ],
)
def test_checked_policies(checked: tuple[str, ...] | None, decided: list[dict[str, Any]], expected: list[str]) -> None:
    assert policy_lines(ReviewSubject(checked=checked, judged=["Objects checked: 3."]), decided) == expected


def finding(kind: str, would: str = "deny", *known: tuple[str, str, str]) -> dict[str, Any]:
    waits = [{"address": at, "path": "key", "expression": expr, "known": when} for at, expr, when in known]
    about = {"kind": kind, "code": "c", "address": "a.b", "message": "m", "reason": ""}
    return {**about, **({"would": would, "waits_for": waits} if kind == "undecided" else {})}


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (finding("deny"), "`c` `a.b`: m"),
        (
            finding("undecided", "deny", ("a.b", "a.k.id", "before")),
            "`c` `a.b`: denied if this turns out to be true: m. It depends on `a.b.key` (`a.k.id`), known during "
            "the apply before `a.b` is changed; a denial then stops the apply without that change, but earlier "
            "changes are made",
        ),
        (
            finding("undecided", "deny", ("a.b", "", "after")),
            "`c` `a.b`: denied if this turns out to be true: m. It depends on `a.b.key`, known only after `a.b` is "
            "changed; a denial then stops the apply, but that change and earlier ones are made",
        ),
        (
            finding("undecided", "warn", ("a.b", "", "after"), ("a.c", "x", "before")),
            "`c` `a.b`: warned of if this turns out to be true: m. It depends on `a.b.key`, `a.c.key` (`x`), known "
            "during the apply; the apply continues in any case",
        ),
    ],
)
def test_a_verdict_is_stated_once_with_its_meaning_for_the_apply(one: dict[str, Any], text: str) -> None:
    decided = [{"kind": one["kind"], "text": "not allowed", "objects": ["c: a.b"]}]
    shown = document(decisions=decided, policies={"findings": [one], "judged": []})
    assert f"**1 not allowed**: {text}  \n" in markdown(shown)
    assert markdown(shown).count("`c`") == 1
    many = [{**one, "code": f"c{n}"} for n in range(9)]
    assert markdown(document(decisions=decided, policies={"findings": many, "judged": []})).count("`a.b`: ") == 9
    assert ("depends on" in page(shown)) == ("waits_for" in one)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ([("a.k", "delete-then-create")], "`a.k` is replaced by then: its former object is destroyed"),
        ([("a.k", "create-then-delete")], "`a.k` is replaced by then"),
        ([("a.k", "update")], "`a.k` is updated in place by then"),
        ([("a.k[0]", "update"), ("a.k[1]", "update")], "`a.k[0, 1]` are changed by then"),
        ([("a.k2", "update"), ("a.b", "update")], "earlier changes are made"),
    ],
)
def test_a_late_denial_names_what_is_done_by_then(changes: list[tuple[str, str]], text: str) -> None:
    planned_ones = [{**change(name), "action": action} for name, action in changes]
    one = with_settling(finding("undecided", "deny", ("a.b", "f(a.k.id)", "before")), planned_ones)
    decided = [{"kind": "undecided", "text": "", "objects": ["c: a.b"]}]
    shown = document(decisions=decided, policies={"findings": [one], "judged": []})
    assert f"without that change, but {text}  \n" in markdown(shown)
    assert ("done by then" in page(shown)) == ("by then" in text)


def test_the_list_that_has_a_type_is_named() -> None:
    changes = [planned(f"a.{by}", "delete", "none", data_by=by) for by in ("holds_no_data", "stateless_type")]
    assert [(one["text"], one["objects"]) for one in decisions(PLAN, changes, ReviewSubject())] == [
        (f"destroyed, listed as containing no data (by {by} of protect_stateful)", [f"a.{by}"])
        for by in ("holds_no_data", "stateless_type")
    ]


ROW = cause("a.b.tags", [change("a.b")])


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"elements": True, "before": "", "after": '"d"'}, '`a.b.tags`: added `"d"`'),
        ({"elements": True, "before": '"a"', "after": '"d"'}, '`a.b.tags`: added `"d"`, removed `"a"`'),
        ({"unsettles": [2, 3]}, "changes 1; makes the value of [2], [3] unknown"),
        (
            {"kind": "removed_block", "before": "", "after": "", "file": "m.tf", "line": 3, "commit": "12345678901f"},
            "[1] `block a.b.tags removed` (was `m.tf:3` at `1234567890`)",
        ),
        (
            {"kind": "removed_block", "before": "", "after": "", "place": "m.tf"},
            "[1] `block a.b.tags removed` (was in `m.tf` at the last apply)",
        ),
        ({"kind": "removed_block", "before": "", "after": ""}, "[1] `block a.b.tags removed` |"),
        ({"file": "m.tf", "line": 3, "link": "https://h/m"}, "[1] [`a.b.tags`](https://h/m)"),
    ],
)
def test_causes(more: dict[str, Any], text: str) -> None:
    one = document(causes=[{**ROW, **more}])
    assert text in markdown(one)
    assert ("unknown" in page(one)) == ("unsettles" in more)


def test_a_removed_block_is_linked_only_at_a_commit_that_has_it() -> None:
    links = Links("https://h/{revision}/{file}#{line}", "now")
    place = {"kind": "removed_block", "file": "m.tf", "line": 3}
    assert links.of({**place, "commit": "then"}) == "https://h/then/m.tf#3"
    assert links.of(place) == "" and links.of({**place, "kind": "edit"}) == "https://h/now/m.tf#3"


def test_an_unknown_value_has_its_expression_and_other_unknown_ones_a_line() -> None:
    known = {**attribute("key", '"a"', "(known after apply)"), "expression": "a.k.id"}
    text = markdown(document(changes=[change("a.b", attributes=[known, attribute("id", "", "(known after apply)")])]))
    assert '| `key` | `"a"` | `a.k.id (known after apply)` |' in text and "Known after apply: `id`" in text


RESULTS = [
    ("create", "tainted", "created, but tainted", "created, but tainted, so the next apply replaces it"),
    (
        *("replace", "tainted", "destroyed and created, but tainted"),
        "destroyed and created, but tainted, so the next apply replaces it",
    ),
    ("replace", "lost", "destroyed, but not created again", "destroyed, but not created again"),
    ("replace", "left", "created, but the former object still exists", "created, but the former object still exists"),
    ("update", "failed", "could not be updated", "failed"),
    ("update", "unmet", "updated, but a condition is false", "done, but a condition is false"),
    ("delete", "not_reached", "not reached, so not destroyed", "not reached, so unchanged"),
    ("update", "done", "updated", "done"),
]


@pytest.mark.parametrize(("verb", "kind", "words", "text"), RESULTS)
def test_a_failed_apply_has_the_outcome_of_each_object(verb: str, kind: str, words: str, text: str) -> None:
    result = {"succeeded": False, "added": 0, "changed": 0, "destroyed": 0}
    plan = document(changes=[change("a.b", verb)], decisions=[{"kind": "replaces", "text": "r", "objects": ["a.b"]}])
    shown = with_results(
        {**plan, "result": result}, False, {"a.b": Outcome(kind, "no <secret>" if kind != "done" else "")}
    )
    assert shown["decisions"] == [{"kind": f"result_{kind}", "text": text, "objects": ["a.b"]}]
    for written in (markdown(shown), page(shown)):
        assert re.search(rf"</code> {words}( because|</summary>)", written) and "planned effects" not in written
        assert ("secret" in written) == (kind != "done") and "<secret>" not in written


def test_the_title_of_a_failed_apply_counts_what_happened() -> None:
    verbs = {"a.a": "update", "a.b": "replace", "a.c": "update", "a.d": "create"}
    problem = {"severity": "error", "summary": "s", "detail": "Status 1. Output: ", "address": "a.b"}
    result = {"succeeded": False, "added": 0, "changed": 1, "destroyed": 1}
    unknown = [attribute("id", '"1"', "(known after apply)")]
    changes = [change(name, verb, attributes=unknown) for name, verb in verbs.items()]
    plan = document(changes=changes, diagnostics=[problem], result=result)
    known = {"a.a": Outcome("done"), "a.b": Outcome("tainted", "s: Status 1. Output:"), "a.d": Outcome("failed", "e")}
    shown = with_results(plan, False, known)
    assert shown["title"] == "Apply failed: 1 changed, 1 replaced but tainted, 1 failed, 1 not reached."
    assert shown["notes"] == [
        "Correct the error, then apply again; planner plan shows what is left to do. Until then, each apply replaces "
        "the tainted objects again."
    ]
    text = markdown(shown)
    assert text.count("Status 1") == page(shown).count("Status 1") == 1 and "nown after apply" not in text
    bare = with_results(plan, False, {})
    assert bare["title"] == "Apply failed: nothing changed, 4 not reached."


def test_lost_data_of_a_failed_apply_is_named_only_where_it_is_lost() -> None:
    lost = [{"kind": "replaces_stateful", "text": "replaced, containing data", "objects": ["a.b", "a.c", "a.d"]}]
    plan = document(changes=[change(name, "replace") for name in ("a.b", "a.c", "a.d")], decisions=lost)
    shown = with_results(plan, False, {"a.b": Outcome("lost", "e"), "a.c": Outcome("done")})
    assert [(one["kind"], one["objects"]) for one in shown["decisions"]] == [
        ("replaces_stateful", ["a.b", "a.c"]),
        *[("result_lost", ["a.b"]), ("result_not_reached", ["a.d"]), ("result_done", ["a.c"])],
    ]
    assert with_results(plan, True, {})["decisions"] == lost


def drifted(action: str, outcome: str, at: str = "", by: str = "") -> dict[str, Any]:
    drift = {"planned": "", "outcome": outcome, "modified_at": at, "modified_by": by}
    return change("a.b", action, is_drift=True, drift=drift)


@pytest.mark.parametrize(
    ("one", "words", "text"),
    [
        (
            drifted("delete", "restored"),
            "was destroyed outside planner; an apply creates it again",
            "an apply creates it again",
        ),
        (drifted("delete", "kept"), "was destroyed outside planner; an apply forgets it", "an apply forgets it"),
        (drifted("delete", "unknown"), "was destroyed outside planner", "destroyed outside"),
        (drifted("update", "restored"), "was changed outside planner", "restores the applied values"),
        (
            drifted("update", "kept", "T", "bob"),
            "was changed outside planner (last modified T by bob)",
            "keeps the change",
        ),
        (drifted("update", "changed", "", "bob"), "was changed outside planner (last modified by bob)", "in part"),
        (drifted("update", "unknown"), "was changed outside planner", "is not known"),
    ],
)
def test_drift(one: dict[str, Any], words: str, text: str) -> None:
    assert remark(one) == words
    (decision,) = drift_decisions([one])
    assert decision["text"].endswith(text) or text in decision["text"]
    assert decision["objects"] == ["a.b"]


@pytest.mark.parametrize(("way", "text"), [("replace", "by replacing it"), ("update", "in place")])
def test_restored_drift_has_the_way_and_the_value(way: str, text: str) -> None:
    item = {**attribute("name", '"a"', '"b"'), "outcome": "restored", "expected": '"a"'}
    one = {**drifted("update", "restored"), "attributes": [item], "file": "m.tf", "line": 2}
    one["drift"]["planned"] = way
    (decision,) = drift_decisions([one])
    assert decision["text"] == f"changed outside planner; an apply restores the applied values, {text}"
    shown = markdown(document(changes=[one]))
    assert '| `name` | `"a"` | `"b"` | `"a"` (restored) |' in shown
    assert "To keep this, write it in `m.tf:2`; to undo it, apply." in shown
    assert "an apply restores it: <code>&quot;a&quot;</code>" in page(document(changes=[one]))


def test_an_edit_whose_value_another_cause_makes_unknown_is_the_only_cause_of_its_change() -> None:
    edited = {**attribute("key", '"a"', "(known after apply)"), "expression": "a.k.id"}
    changes = [
        change("a.k", "replace", causes=[1]),
        change("a.b", causes=[1, 2], attributes=[edited, attribute("id", "", "(known after apply)")]),
        change("a.c", causes=[1, 2], attributes=[attribute("x", "1", "2"), attribute("key", "1", "2")]),
    ]
    rows = [
        cause("a.k.v", changes),
        cause("a.b.key", changes[1:], 2, after="a.k.id (known after apply)"),
    ]
    first, second = without_repeats(rows, changes)
    assert (first["sets_off"], second["sets_off"]) == ({"replace": 1, "update": 1}, {"update": 2})
    assert [one["address"] for one in first["changes"]] == ["a.k", "a.c"]
    assert [one["causes"] for one in changes] == [[1], [2], [1, 2]]


def test_warnings_are_folded_and_errors_are_not() -> None:
    problems = [
        {"severity": "warning", "summary": "odd", "detail": "one\n\n- two", "address": ""},
        {"severity": "error", "summary": "bad", "detail": "three", "address": ""},
    ]
    text = markdown(document(diagnostics=problems))
    assert text.index("**Error** bad") < text.index("<summary>Warning: odd</summary>") and "<details open" not in text


def test_the_head_names_the_directory_and_the_workspace() -> None:
    about = [
        {"directory": "net", "workspace": "prod"},
        {"directory": ".", "workspace": "default"},
        {"workspace": "w"},
        {},
    ]
    heads = [markdown(document(about=one)).splitlines()[2:3] for one in about]
    assert heads == [
        ["Directory `net`, workspace `prod`."],
        ["Root directory, workspace `default`."],
        ["Workspace `w`."],
        [],
    ]
    assert "Directory <code>net</code>, workspace <code>prod</code>." in page(document(about=about[0]))


def test_a_failed_plan_has_its_problem() -> None:
    made = bare_document("Planning failed.", ReviewSubject(diagnostics=[error("c", "Bad", "Why.")]))
    assert "**Error** Bad: " in markdown(made)


def unit(name: str, wave: int) -> dict[str, Any]:
    counts = dict.fromkeys(("add", "change", "remove", "import", "forget"), 0) | {"add": 1, "remove": 1}
    known = {"unit": name, "wave": wave, "outcome": "changes", "because": "", "because_all": [], "reused": False}
    changes = [{"address": "a.b", "action": "delete-then-create", "reason": ""}]
    return {**known, "age": None, "state_age": None, "counts": counts, "changes": changes, "diagnostics": []}


def test_units_that_change_alike_are_one_row_of_a_wave_and_one_fold() -> None:
    units = [unit("u1", 0), *(unit(f"u{n}", 1) for n in range(2, 10))]
    report = {"command": "plan", "mode": "normal", "outcomes": {"changes": 9}, "units": units}
    changes = [change("a.b", "replace", unit=one["unit"]) for one in units]
    outputs = [
        {"name": "o", "unit": one["unit"], "action": "update", "before": "1", "after": "2", "causes": [1]}
        | {"read_by": [f"u{n}" for n in range(2, 10)] if one["unit"] == "u1" else []}
        for one in units
    ]
    text = fleet_markdown(report, {}, document(changes=changes, outputs=outputs))
    assert "Objects: **9** to add, **9** to destroy (9 replaced)." in text
    assert [line.split(" | ")[1] for line in text.splitlines() if line.startswith(("| 0 ", "| 1 "))] == [
        *("`u1`", "`u2..u9` (8)"),
    ]
    assert (
        text.count("<details>") == 2
        and "<code>u1..u9</code> (9): changes" in text
        and "Output `u1: o` `1` → `2`, read by `u2..u9` (8)" in text
    )
