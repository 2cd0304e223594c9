"""Drawings of made-up graphs in a browser: what a small one looks like, folding, marks, and how quick large ones are.

To take the picture anew: REFRESH=1 pytest tests/render/page/test_drawing.py
"""

from __future__ import annotations

import base64
import os
import random
from pathlib import Path

import pytest
from render.page.browser import needs_browser, opened

from planner.render.page.document import Arrow, Page, PageChange, PageNode, PageView, Reason
from planner.render.page.page import page_html

LAYERS = (("reference", "a value is read"), ("order", "it comes first"))
ACTIONS = (("create", "create", "+"), ("delete", "delete", "-"))
SMALL = Path(__file__).with_name("small.png")
LIKE = 1.0
"""mean difference of a colour (0 to 255), of pictures at a quarter of their size: fonts differ a little"""

DIFFERENCE = """async ([one, other]) => {
  const pixels = async text => {
    const image = new Image();
    image.src = `data:image/png;base64,${text}`;
    await image.decode();
    const canvas = document.createElement('canvas'), context = canvas.getContext('2d');
    [canvas.width, canvas.height] = [200, 130];
    context.drawImage(image, 0, 0, 200, 130);
    return context.getImageData(0, 0, 200, 130).data;
  };
  const [a, b] = [await pixels(one), await pixels(other)];
  return a.reduce((sum, value, at) => sum + Math.abs(value - b[at]), 0) / a.length;
}"""

PAINTED = "() => performance.getEntriesByType('paint').length > 0"


def item(name: str, box: str = "", changes: tuple[int, ...] = ()) -> PageNode:
    return PageNode(name, "resource", name, box, name, ("main.tf:1", f"resource {name} {{"), changes)


def arrow(a: str, b: str, layer: str = "reference", is_implied: bool = False) -> Arrow:
    return Arrow(
        a, b, (layer,), is_implied, (Reason("graph/some.rule", f"{a} reads {b}", (("main.tf:2", f"x = {b}"),)),)
    )


def small() -> Page:
    items = [item("net"), item("db", "m", (0,)), item("cache", "m"), item("web", "", (1,)), item("end")]
    arrows = [
        arrow("db", "net"),
        arrow("cache", "net", "order"),
        arrow("web", "db"),
        arrow("web", "net", is_implied=True),
    ]
    view = PageView("plan", "What is declared", tuple(items), (*arrows, arrow("end", "web")), {"m": ("", "m")})
    changes = (PageChange("db", "create", "", ("new",), ("because",)), PageChange("web", "delete", "", ("gone",)))
    verdicts = (("deny", "code", "web", "must stay"),)
    return Page("Small", ("2 changes",), (view,), LAYERS, ACTIONS, changes, verdicts, asks="planner why -full")


def large(nodes: int, modules: int) -> Page:
    chance = random.Random(1)
    names = [f"thing.number{i:05}" for i in range(nodes)]
    items = tuple(item(name, f"module.m{i % modules}" if modules else "", (i,)) for i, name in enumerate(names))
    edges = {(i, chance.randrange(max(0, i - 50), i)) for i in range(1, nodes) for _ in range(3)}
    arrows = tuple(arrow(names[a], names[b]) for a, b in sorted(edges))
    boxes = {f"module.m{n}": ("", f"module.m{n}") for n in range(modules)}
    changes = tuple(PageChange(name, "create", "", ("new",)) for name in names)
    return Page("Large", (), (PageView("plan", "All", items, arrows, boxes),), LAYERS, ACTIONS, changes)


def written(folder: Path, page: Page) -> Path:
    path = folder / "page.html"
    path.write_text(page_html(page), "utf-8")
    return path


@needs_browser
def test_a_small_graph_looks_as_it_did(tmp_path: Path) -> None:
    with opened(written(tmp_path, small())) as tab:
        picture = tab.locator("#graph").screenshot()
        if os.environ.get("REFRESH"):
            SMALL.write_bytes(picture)
        blank = tab.context.new_page()
        texts = [base64.b64encode(each).decode("ascii") for each in (picture, SMALL.read_bytes())]
        assert blank.evaluate(DIFFERENCE, texts) < LIKE
        tab.get_by_label("order").uncheck()
        tab.get_by_label("only changes").check()
        changed = base64.b64encode(tab.locator("#graph").screenshot()).decode("ascii")
        assert blank.evaluate(DIFFERENCE, [texts[0], changed]) > 1.5 * LIKE


@pytest.mark.slow
@needs_browser
def test_in_the_dark(tmp_path: Path) -> None:
    corner = "() => Array.from(canvas.getContext('2d').getImageData(2, 2, 1, 1).data.slice(0, 3))"
    page = written(tmp_path, small())
    with opened(page, dark=True) as tab:
        assert max(tab.evaluate(corner)) < 40
    with opened(page) as tab:
        assert min(tab.evaluate(corner)) > 240


@pytest.mark.slow
@needs_browser
def test_folding_paths_causes_and_verdicts(tmp_path: Path) -> None:
    with opened(written(tmp_path, small())) as tab:
        details, status = tab.get_by_role("complementary", name="Details"), tab.get_by_role("status")
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        assert tab.evaluate("scene.stands[0]") == tab.evaluate("scene.stands[1]") == -2  # cache and db, in the box m
        tab.evaluate("choose(-2)")
        assert status.inner_text() == "m, module with 2 nodes, 1 change, folded"
        tab.locator("#graph").press("Enter")
        assert status.inner_text().endswith("open")
        tab.get_by_role("button", name="end", exact=True).first.click()
        details.get_by_role("button", name="Path from here").click()
        tab.get_by_role("button", name="net", exact=True).first.click()
        details.get_by_role("button", name="Path to here").click()
        assert status.inner_text() == "end waits for net, 2 edges."
        assert "web reads net [graph/some.rule]" in details.inner_text()
        tab.get_by_role("button", name="gone (1)").click()
        assert status.inner_text() == "gone: 1 node." and tab.locator("#list button").all_inner_texts() == ["web"]
        assert "deny code: web must stay" in tab.get_by_role("region", name="Policies").inner_text()
        tab.get_by_role("region", name="Policies").get_by_role("button", name="web").click()
        assert details.get_by_role("heading").first.inner_text() == "web"


@pytest.mark.slow
@needs_browser
def test_pointing(tmp_path: Path) -> None:
    with opened(written(tmp_path, small())) as tab:
        middle = """thing => {
          const [x, y, w, h] = scene.area(thing), { eye } = drawing, box = canvas.getBoundingClientRect();
          return [(x + w / 2 - eye.x) * eye.k + box.left, (y + h / 2 - eye.y) * eye.k + box.top]; }"""
        names = [tab.evaluate("n => scene.name(n)", n) for n in range(5)]
        tab.mouse.click(*tab.evaluate(middle, names.index("web")))
        assert tab.locator("#details h2").inner_text() == "web"
        x, y = tab.evaluate("""() => {
          const e = scene.lines.find(e => scene.name(scene.from[e]) === 'end'), [a, b, c, d] = drawing.curve(e);
          const { eye } = drawing, box = canvas.getBoundingClientRect();
          return [((a + c) / 2 - eye.x) * eye.k + box.left, ((b + d) / 2 - eye.y) * eye.k + box.top]; }""")
        tab.mouse.click(x, y)
        assert (
            tab.locator("#details h2").inner_text() == "Edge"
            and "end reads web" in tab.locator("#details").inner_text()
        )
        before = tab.evaluate("drawing.eye.x")
        tab.mouse.move(x, y)
        tab.mouse.down()
        tab.mouse.move(x + 60, y + 20, steps=4)
        tab.mouse.up()
        assert tab.evaluate("drawing.eye.x") < before
        scale = tab.evaluate("drawing.eye.k")
        tab.mouse.wheel(0, -300)
        tab.wait_for_function("was => drawing.eye.k > was", arg=scale)


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize(
    ("nodes", "modules", "most"), [(3000, 0, 2_000_000), (3000, 60, 2_000_000), (20_000, 200, 9_000_000)]
)
def test_large_graphs(nodes: int, modules: int, most: int, tmp_path: Path) -> None:
    page = written(tmp_path, large(nodes, modules))
    assert page.stat().st_size < most
    with opened(page) as tab:
        assert tab.evaluate("scene.where.size") == (modules or nodes)  # by module first
        tab.wait_for_function(PAINTED)
        tab.keyboard.press("/")
        tab.keyboard.type("number01234")
        tab.keyboard.press("Enter")
        assert tab.get_by_role("status").inner_text().startswith("thing.number01234, resource, create; waits for")


@pytest.mark.slow
@needs_browser
def test_nothing_to_draw(tmp_path: Path) -> None:
    page = Page("Nothing", (), (PageView("plan", "Nothing", (), ()),), LAYERS, ())
    with opened(written(tmp_path, page)) as tab:
        tab.locator("#graph").press("ArrowRight")
        tab.get_by_role("button", name="Whole graph").click()
        assert "0 nodes, 0 edges" in tab.locator("#details").inner_text()
