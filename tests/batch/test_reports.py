"""Reports for programs, CI servers, pull requests and people; the page in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from batch.fleets import Ran, batch, chain, unit, write
from render.page.browser import needs_browser, opened

from planner.workflows.batch.reports.github import github
from planner.workflows.batch.reports.markdown import markdown


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    chain(tmp_path, "a", "b", "c")
    write(tmp_path, {"bad/main.tf": unit(None, "var.nothing"), "worse/main.tf": unit({"up": "bad"})})
    write(tmp_path, {"x&<y>|z/main.tf": unit()})
    return tmp_path


def reports(root: Path) -> Ran:
    return batch(root, "plan", "-json", "-junit=r.xml", "-markdown=r.md", "-html=r.html")


def test_json(fleet: Path) -> None:
    document = reports(fleet).json
    assert document["format_version"] == "1.0"
    assert document["edges"] == [["b", "a"], ["c", "b"], ["worse", "bad"]]
    assert document["outcomes"] == {"changes": 2, "incomplete": 2, "skipped": 1, "failed": 1}
    assert [u["unit"] for u in document["units"]] == ["a", "bad", "x&<y>|z", "b", "worse", "c"]
    unit_keys = set(document["units"][0])
    from planner.workflows.batch.reports import document as report

    documented = set(re.findall(r'"([a-z_]+)"', report.__doc__ or ""))
    assert unit_keys | set(document) <= documented


def test_junit(fleet: Path) -> None:
    reports(fleet)
    root = ElementTree.parse(fleet / "r.xml").getroot()
    (suite,) = root
    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6", "failures": "1", "errors": "0", "skipped": "1"
    }  # fmt: skip
    cases = {case.get("name"): case for case in suite}
    assert set(cases) == {"a", "b", "c", "bad", "worse", "x&<y>|z"}
    assert cases["bad"].find("failure") is not None
    skipped = cases["worse"].find("skipped")
    assert skipped is not None and skipped.get("message") == "skipped because of bad"
    out = cases["a"].findtext("system-out") or ""
    assert "create terraform_data.main" in out


def test_markdown(fleet: Path) -> None:
    reports(fleet)
    text = (fleet / "r.md").read_text()
    assert "### Batch plan: 2 units change, 2 incomplete, 1 skipped, 1 failed." in text
    assert "| 1 (after 0) | `b` | incomplete | 1 |  |  | because of a |" in text
    assert "`x&<y>\\|z`" in text and "x&amp;&lt;y>|z</code>" in text
    assert "<details open><summary><code>bad</code>: failed</summary>" in text
    assert text.count("```") % 2 == 0 and text.count("<details") == text.count("</details>")
    rows = re.findall(r"^\| \d+(?: \(after \d+\))? \| `(.*?)`(?: \(\d+\))? \|", text, re.MULTILINE)
    assert rows == ["a`, `x&<y>\\|z", "bad", "b", "worse", "c"]  # by waves


def test_markdown_has_changes_only_and_fits(fleet: Path) -> None:
    """A thousand units with long lists of changes, of which most have no room, and three thousand that stay."""
    change = {"address": 'module.a.aws_thing.x["key"]', "action": "update", "reason": ""}
    head = {"wave": 0, "reused": False, "age": None, "state_age": None, "diagnostics": []}
    counts = dict.fromkeys(("add", "change", "remove", "import", "forget"), 7)
    units = [
        head
        | {"unit": f"live/eu/u{n:04}", "counts": counts, "changes": [change] * (n % 400)}
        | {"outcome": "incomplete" if n % 2 else "changes", "because": "live/eu/u0000" if n % 2 else ""}
        for n in range(1000)
    ]
    units[500] |= {"outcome": "failed", "diagnostics": [{"severity": "error", "summary": "S", "detail": "d" * 99_999}]}
    same = head | {"counts": counts, "changes": [], "outcome": "unchanged", "because": ""}
    units += [same | {"unit": f"s{n}"} for n in range(3000)]
    report = {"command": "plan", "units": units, "outcomes": {"changes": 499}}
    text = markdown(report, {})
    assert len(text) <= 65_000
    rows = re.findall(r"^\| 0 \| `(.*?)` \| (\S+) \|.*\| (.*) \|$", text, re.MULTILINE)
    assert [row[0] for row in rows[:3]] == ["live/eu/u0500", "live/eu/u0000", "live/eu/u0002"]
    assert rows[0][1] == "**failed**"
    assert "s0" not in text and "3,000 units are unchanged." in text
    (cut,) = re.findall(r"\*\*Cut:\*\* (\d+) more units", text)
    assert int(cut) + len(rows) == 1000
    assert re.search(r"\*\*Cut:\*\* the changes of the last \d+ units", text)
    assert text.count("```") % 2 == 0 and text.count("<details") == text.count("</details>") > 1
    assert len(markdown(report | {"units": units[:3]}, {})) < 2000


def test_a_report_that_cannot_be_written(fleet: Path) -> None:
    ran = batch(fleet, "plan", "-junit=nowhere/r.xml", "a")
    assert ran.code == 1 and "Cannot write the report" in ran.errors


def test_a_page_says_what_edges_stand_on(fleet: Path) -> None:
    reports(fleet)
    page = document(fleet / "r.html")
    (view,) = page["views"]
    names = [page["strings"][n] for n in view["nodes"]["name"]]
    assert names == ["a", "b", "bad", "c", "worse", "x&<y>|z"]
    edges = list(zip(view["edges"]["from"], view["edges"]["to"], view["edges"]["grounds"], strict=True))
    rules = {(names[a], names[b]): page["strings"][page["grounds"][ground][0]] for a, b, ground in edges}
    assert set(rules) == {("b", "a"), ("c", "b"), ("worse", "bad")}
    assert set(rules.values()) <= {"batch/edges.reads-state", "batch/edges.takes-output"}
    assert [layer for layer, _ in page["layers"]] == ["reference", "order"] and set(view["edges"]["layers"]) == {1}
    assert {(address, action) for address, action, *_ in page["changes"]} == {
        ("a", "changes"), ("b", "incomplete"), ("c", "incomplete"), ("bad", "failed"), ("worse", "skipped"),
        ("x&<y>|z", "changes"),
    }  # fmt: skip


def document(page: Path) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@needs_browser
def test_the_page_works_in_a_browser_without_a_network(fleet: Path) -> None:
    reports(fleet)
    with opened(fleet / "r.html") as tab:
        tab.keyboard.press("/")
        tab.keyboard.type("b")
        tab.get_by_label("Units").get_by_role("button", name="b", exact=True).press("Enter")
        details = tab.get_by_role("complementary", name="Details")
        said = details.inner_text()
        assert "Outcome: incomplete" in said and "because of a" in said
        assert "# terraform_data.main will be created" in said
        details.get_by_role("button", name="why it waits for a").press("Enter")
        assert "main.tf:" in details.inner_text()
        details.locator("summary", has_text="Rule").press("Enter")
        details.get_by_text("batch/edges.reads-state", exact=True).wait_for()
        tab.get_by_label("Search").fill("x&<y>")
        assert tab.get_by_role("status").inner_text() == "1 unit found."
        assert "Problems" in tab.locator(".below").inner_text()
        tab.get_by_label("only changes").check()
        assert tab.evaluate("scene.hidden.filter(n => n).length") == 0


def test_the_page_names_nothing_outside(fleet: Path) -> None:
    reports(fleet)
    text = (fleet / "r.html").read_text()
    assert not re.findall(r"https?://", text)
    assert "x&<y>" not in text and "x&amp;&lt;y&gt;|z" in text
    assert "# terraform_data.main will be created" in text
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", text)


@pytest.mark.slow
@needs_browser
def test_very_long_texts_are_packed(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.render.page.document.MOST_TEXT", 100)
    reports(fleet)
    assert "# terraform_data.main will be created" not in (fleet / "r.html").read_text()
    with opened(fleet / "r.html") as tab:
        tab.get_by_role("button", name="b", exact=True).first.click()
        details = tab.get_by_role("complementary", name="Details")
        details.get_by_text("# terraform_data.main will be created").wait_for()


def test_batch_explore(fleet: Path) -> None:
    ran = batch(fleet, "explore", f"-out={fleet}/e.html", "a", "b")
    assert ran.code == 0 and ran.out.endswith(f"The page is in {fleet}/e.html.\n")
    assert document(fleet / "e.html")["title"] == "Batch plan: 1 unit changes, 1 incomplete."
    ran = batch(fleet, "explore", f"-out={fleet}/e.html")
    assert ran.code == 1 and "failed" in document(fleet / "e.html")["title"]
    assert "Exactly one of the options -out and -serve is required" in batch(fleet, "explore").errors


def test_plans_from_before_can_be_shown(tmp_path: Path) -> None:
    chain(tmp_path, "a")
    assert batch(tmp_path, "plan").code == 0
    first = batch(tmp_path, "plan", f"-html={tmp_path}/1.html", "-json").json["units"][0]
    again = batch(tmp_path, "plan", f"-html={tmp_path}/2.html", "-json").json["units"][0]
    assert (first["reused"], again["reused"]) == (False, True)  # nobody had asked for its text at first
    assert again["changes"] == first["changes"] != []
    assert "# terraform_data.main will be created" in (tmp_path / "2.html").read_text()


def test_the_page_of_a_thousand_units_is_small() -> None:
    from planner.workflows.batch.reports.html import html

    def unit(n: int) -> dict[str, Any]:
        changes = [{"address": f"aws_instance.web[{k}]", "action": "create", "reason": ""} for k in range(20)]
        return {
            "unit": f"live/region-{n % 8}/unit-{n:04}", "folder": f"live/region-{n % 8}/unit-{n:04}",
            "tags": [], "groups": [],
            "wave": n // 100, "outcome": "changes", "because": "", "reused": False, "age": None, "state_age": None,
            "attempts": 1,
            "selected_by": [{"selector": "", "way": "all"}], "waits_for": [], "changes": changes, "outputs": [],
            "counts": {"add": 20, "change": 0, "remove": 0, "import": 0, "forget": 0},
            "diagnostics": [], "seconds": 0.1, "plan_file": "",
        }  # fmt: skip

    units = [unit(n) for n in range(1000)]
    names = [u["unit"] for u in units]
    document = {
        "command": "plan", "run": "x", "seconds": 1.0, "outcomes": {"changes": 1000}, "units": units, "diagnostics": [],
        "edges": [[names[n], names[n - k]] for n in range(100, 1000) for k in (17, 60, 99)],
    }  # fmt: skip
    texts = {
        name: "".join(f"  # aws_instance.web[{k}] in {name} will be created\n" * 6 for k in range(20)) for name in names
    }
    assert sum(map(len, texts.values())) > 5_000_000
    assert len(html(document, texts).encode()) < 2_000_000
    assert len(html(document, {}).encode()) < 2_000_000


def test_errors_come_last_with_what_they_hold_up(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b", "c")
    write(tmp_path, {"a/main.tf": unit(value="nowhere.to_be.found")})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "Skipped because of this: b, c." in ran.errors


def test_of_many_units_only_those_with_something_to_say_have_a_row(tmp_path: Path) -> None:
    for number in range(45):
        write(tmp_path, {f"u{number:02}/main.tf": 'terraform {\n  backend "local" {}\n}\n'})
    write(tmp_path, {"u07/main.tf": unit()})
    ran = batch(tmp_path, "plan")
    rows = [line for line in ran.out.splitlines() if re.match(r" +\d+  u\d\d", line)]
    assert len(rows) == 1 and "u07" in rows[0] and "44 unchanged units are not shown." in ran.out


def test_annotations_for_github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    write(
        tmp_path, {"live/a, b/main.tf": 'terraform {\n  backend "local" {}\n}\noutput "x" {\n  value = var.gone\n}\n'}
    )
    ran = batch(tmp_path / "live", "plan")
    (line,) = [line for line in ran.out.splitlines() if line.startswith("::")]
    assert line.startswith("::error file=live/a%2C b/main.tf,line=5,col=11,title=a%2C b%3A "), line
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert "::error" not in batch(tmp_path / "live", "plan").out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::error" not in batch(tmp_path / "live", "plan", "-json").out


def test_annotations_end_nowhere_else() -> None:
    """What others wrote begins no command of its own; of many the rest is counted."""
    said = {"severity": "error", "summary": "a:b\r\n::c", "detail": "100%\n::set-output name=x::y"}
    document = {"units": [], "diagnostics": [said] * 60}
    lines = github(document, "/x", "/x")
    assert lines[0] == "::error title=a%3Ab%0D%0A%3A%3Ac::100%25%0A::set-output name=x::y"
    assert len(lines) == 50 and lines[-1] == "::notice::11 more problems are in the log of this step."
