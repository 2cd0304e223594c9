"""Reports for programs, CI servers, pull requests and people; the page in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from batch.fleets import Ran, batch, chain, unit, write

from planner.batch.reports.layout import layout

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)


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
    from planner.batch.reports import document as report

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
    assert "### Batch plan: 2 changes, 2 incomplete, 1 skipped, 1 failed." in text
    assert "| 1 | `b` | incomplete | 1 |  |  | because of a |" in text
    assert "`x&<y>\\|z`" in text and "<code>x&amp;&lt;y>|z</code>" in text
    assert "<details open><summary><code>bad</code>: failed</summary>" in text
    assert text.count("```") % 2 == 0 and text.count("<details") == text.count("</details>")


def test_a_report_that_cannot_be_written(fleet: Path) -> None:
    ran = batch(fleet, "plan", "-junit=nowhere/r.xml", "a")
    assert ran.code == 1 and "Cannot write the report" in ran.errors


def test_layout_has_no_overlaps_and_leads_to_the_right() -> None:
    waves = {f"unit{i}": i // 5 for i in range(20)}
    edges = [(f"unit{i}", f"unit{(i * 7) % 5 + (i // 5 - 1) * 5}") for i in range(5, 20)]
    found = layout(waves, edges)
    boxes = list(found.boxes.values())
    for i, one in enumerate(boxes):
        assert one.x >= 0 and one.x + one.width <= found.width and one.y + one.height <= found.height
        for other in boxes[i + 1 :]:
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert apart or one.y + one.height <= other.y or other.y + other.height <= one.y
    for dependent, dependency in edges:
        assert found.boxes[dependent].x > found.boxes[dependency].x + found.boxes[dependency].width
    assert layout(waves, edges[::-1]) == found


PROBE = """<script>
addEventListener('load', () => {
  const g = [...document.querySelectorAll('svg g')].find(e => e.dataset.unit === 'b');
  g.dispatchEvent(new MouseEvent('click'));
  const filter = document.getElementById('filter');
  const open = [...document.querySelectorAll('details')].filter(e => e.open).map(e => e.dataset.unit);
  filter.value = 'worse'; filter.dispatchEvent(new Event('input'));
  document.title = JSON.stringify({
    units: [...document.querySelectorAll('svg g')].map(e => e.dataset.unit), open,
    near: [...document.querySelectorAll('svg path.near')].map(e => e.dataset.from + ' ' + e.dataset.to),
    shown: [...document.querySelectorAll('details')].filter(e => !e.hidden).map(e => e.dataset.unit),
    width: g.getBBox().width,
    requests: performance.getEntriesByType('resource').length,
  });
});
</script>"""


def in_browser(page: Path, folder: Path) -> Any:
    """What a script in the page finds, in headless Chromium without a network."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}", "--virtual-time-budget=5000",
         "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    return json.loads(title[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")
def test_the_page_works_in_a_browser_without_a_network(fleet: Path, tmp_path: Path) -> None:
    reports(fleet)
    text = (fleet / "r.html").read_text()
    page = fleet / "probe.html"
    page.write_text(text.replace("</body>", f"{PROBE}</body>"))
    found = in_browser(page, tmp_path / "profile")
    assert sorted(found["units"]) == ["a", "b", "bad", "c", "worse", "x&<y>|z"]
    assert found["open"] == ["b"]
    assert sorted(found["near"]) == ["b a", "c b"]
    assert found["shown"] == ["worse"]
    assert found["width"] > 20
    assert found["requests"] == 0


def test_the_page_names_nothing_outside(fleet: Path) -> None:
    reports(fleet)
    text = (fleet / "r.html").read_text()
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "x&<y>" not in text and "x&amp;&lt;y&gt;|z" in text
    assert "# terraform_data.main will be created" in text
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", text)


def test_plans_from_before_can_be_shown(tmp_path: Path) -> None:
    chain(tmp_path, "a")
    assert batch(tmp_path, "plan").code == 0
    first = batch(tmp_path, "plan", f"-html={tmp_path}/1.html", "-json").json["units"][0]
    again = batch(tmp_path, "plan", f"-html={tmp_path}/2.html", "-json").json["units"][0]
    assert (first["reused"], again["reused"]) == (False, True)  # nobody had asked for its text at first
    assert again["changes"] == first["changes"] != []
    assert "# terraform_data.main will be created" in (tmp_path / "2.html").read_text()
