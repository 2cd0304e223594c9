"""Drawings of made-up graphs in a browser: what a small one looks like, folding, marks, and how quick large ones are.

To take the picture anew: REFRESH=1 pytest tests/render/page/test_drawing.py
"""

from __future__ import annotations

import base64
import json
import os
import random
from pathlib import Path

import pytest
from render.page.browser import needs_browser, opened

from planner.render.page.document import Arrow, CausePart, Page, PageCause, PageChange, PageNode, PageView, Reason
from planner.render.page.page import page_html

LAYERS = (("reference", "a value is read"), ("order", "it comes first"))
ACTIONS = (("create", "create", "+", "create"), ("delete", "delete", "-", "destroy"))
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
    view = PageView("plan", "Configuration", tuple(items), (*arrows, arrow("end", "web")), {"m": ("", "m")})
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
        tab.get_by_label("only changes").uncheck()
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
        tab.get_by_label("only changes").uncheck()
        details, status = tab.get_by_role("complementary", name="Details"), tab.get_by_role("status")
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        assert tab.evaluate("scene.stands[0]") == tab.evaluate("scene.stands[1]") == -2  # cache and db, in the box m
        tab.evaluate("choose(-2)")
        assert status.inner_text() == "m, group: 2 objects, 1 of which changes, folded"
        tab.locator("#graph").press("Enter")
        assert status.inner_text().endswith("open")
        tab.locator("summary", has_text="Resources (3)").click()
        tab.get_by_role("button", name="end", exact=True).first.click()
        details.get_by_role("button", name="Path to another").click()
        assert "Path from end: click the other end" in tab.locator("#banner").inner_text()
        tab.keyboard.press("Escape")
        assert tab.locator("#banner").is_hidden() and tab.evaluate("start") is None
        assert details.get_by_role("heading").first.inner_text().startswith("end")  # Escape only left the path
        details.get_by_role("button", name="Path to another").click()
        tab.get_by_role("button", name="net", exact=True).first.click()
        assert status.inner_text() == "end waits for net, in 2 steps." and tab.locator("#banner").is_hidden()
        assert "web reads net" in details.inner_text() and "some.rule" not in details.inner_text()
        details.locator("summary", has_text="Rule").first.click()
        details.locator(".rule code").first.wait_for()
        assert details.locator(".rule code").first.inner_text() == "graph/some.rule"
        details.get_by_role("button", name="Overview").click()
        cause = tab.get_by_role("region", name="Causes").get_by_role("button", name="1 gone 1 object")
        cause.click()
        assert status.inner_text() == "gone: 1 object." and cause.get_attribute("aria-expanded") == "true"
        assert tab.get_by_role("region", name="Causes").locator("section").all_inner_texts() == ["-destroy (1)\nweb"]
        assert "deny code: must stay" in tab.get_by_role("region", name="Policies").inner_text()
        tab.get_by_role("region", name="Policies").get_by_role("button", name="web").click()
        assert details.get_by_role("heading").first.inner_text() == "web"
        details.get_by_role("button", name="\u2039 Cause").click()
        assert cause.get_attribute("aria-expanded") == "true"


@needs_browser
def test_keys_lead_into_groups_and_out(tmp_path: Path) -> None:
    items = tuple(item(name, "m", (0,)) for name in ("first", "second"))
    view = PageView("plan", "All", items, (arrow("second", "first"),), {"m": ("", "m")})
    change = PageChange("second", "create", "", ("one", "two", "three", "four"))
    page = Page("Groups", (), (view,), LAYERS, ACTIONS, (change,))
    with opened(written(tmp_path, page)) as tab:
        status = tab.get_by_role("status")
        for key, chosen in (
            ("ArrowDown", "m, group"),
            ("ArrowDown", "first,"),
            ("ArrowDown", "second,"),
            ("ArrowDown", "Nothing that is shown waits for it."),
            ("ArrowUp", "first,"),
            ("ArrowUp", "m, group"),
            ("ArrowUp", "It waits for nothing that is shown."),
        ):
            tab.locator("#graph").press(key)
            assert status.inner_text().startswith(chosen), key
        tab.keyboard.press("Escape")
        assert tab.locator("#groups > li").all_inner_texts()[:2] == ["1\none\n1 object + 1", "2\ntwo\n1 object + 1"]


@pytest.mark.slow
@needs_browser
def test_enter_chooses_the_first_found(tmp_path: Path) -> None:
    items = (item("zone (expand)"), item("zone[1]", "", (0,)))
    page = Page(
        "Search",
        (),
        (PageView("plan", "All", items, ()),),
        LAYERS,
        ACTIONS,
        (PageChange("zone[1]", "create", "", ("new",)),),
    )
    with opened(written(tmp_path, page)) as tab:
        tab.get_by_label("Search").fill("zone")
        tab.get_by_label("Search").press("Enter")
        assert tab.get_by_role("status").inner_text().startswith("zone[1], resource, create")


@pytest.mark.slow
@needs_browser
def test_pointing(tmp_path: Path) -> None:
    with opened(written(tmp_path, small())) as tab:
        middle = """thing => {
          const [x, y, w, h] = scene.area(thing), { eye } = drawing, box = canvas.getBoundingClientRect();
          return [(x + w / 2 - eye.x) * eye.k + box.left, (y + h / 2 - eye.y) * eye.k + box.top]; }"""
        tab.get_by_label("only changes").uncheck()
        names = [tab.evaluate("n => scene.name(n)", n) for n in range(5)]
        tab.mouse.click(*tab.evaluate(middle, names.index("web")))
        assert tab.locator("#details h2").inner_text() == "web"
        x, y = tab.evaluate("""() => {
          const e = scene.lines.find(e => scene.name(scene.from[e]) === 'end'), route = drawing.route(e);
          const [a, b, c, d] = [...route.slice(0, 2), ...route.slice(-2)], { eye } = drawing;
          const box = canvas.getBoundingClientRect();
          return [((a + c) / 2 - eye.x) * eye.k + box.left, ((b + d) / 2 - eye.y) * eye.k + box.top]; }""")
        tab.mouse.click(x, y)
        assert (
            tab.locator("#details h2").inner_text() == "Order"
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
        assert tab.evaluate("scene.where.size") <= 61  # by module, type and name
        tab.wait_for_function(PAINTED)
        tab.keyboard.press("/")
        tab.keyboard.type("number01234")
        tab.keyboard.press("Enter")
        assert tab.get_by_role("status").inner_text().startswith("thing.number01234, resource, create; waits for")


@pytest.mark.slow
@needs_browser
def test_labels_are_condensed_before_they_are_cut(tmp_path: Path) -> None:
    texts = """scale => { const texts = [], { context } = drawing, before = context.fillText;
      context.fillText = (text, x, y, room) => texts.push([text, room]);
      const of = length => drawing.letters(context, "abcdefghijklmn".slice(0, length), 0, 0, 75, "#000", scale);
      [9, 11, 14].forEach(of);
      context.fillText = before;
      return texts; }"""
    with opened(written(tmp_path, small())) as tab:
        assert tab.evaluate(texts, 1) == [["abcdefghi", 75], ["abcdefghijk", 75], ["abcdefghi\u2026mn", 75]]


@pytest.mark.slow
@needs_browser
def test_nothing_to_draw(tmp_path: Path) -> None:
    page = Page("Nothing", (), (PageView("plan", "Nothing", (), ()),), LAYERS, ())
    with opened(written(tmp_path, page)) as tab:
        tab.locator("#graph").press("ArrowRight")
        tab.get_by_role("button", name="Whole graph").click()
        tab.locator("summary", has_text="Arrows").click()
        assert "0 nodes, 0 edges" in tab.locator("#layers").inner_text()


@pytest.mark.slow
@needs_browser
def test_edges_run_between_boxes(tmp_path: Path) -> None:
    crossing = """() => {
      const things = [...scene.where.keys()].filter(thing => thing >= 0 || scene.folded[-1 - thing]);
      const titles = [...scene.where.keys()].filter(thing => thing < 0 && !scene.folded[-1 - thing])
        .map(thing => [...scene.area(thing).slice(0, 2), scene.titleWidth(-1 - thing)]);
      let crossed = 0;
      for (const e of scene.lines) {
        const route = drawing.route(e), ends = [scene.stands[scene.from[e]], scene.stands[scene.to[e]]];
        for (let n = 2, [x1, y1] = route; n < route.length; [x1, y1] = [route[n + 4], route[n + 5]], n += 6)
          for (let t = 0; t <= 1; t += 0.05) {
            const u = 1 - t, at = (p, c, d, q) => u ** 3 * p + 3 * u * u * t * c + 3 * u * t * t * d + t ** 3 * q;
            const [c, d, x2] = [route[n], route[n + 2], route[n + 4]], x = at(x1, c, d, x2);
            const y = at(y1, route[n + 1], route[n + 3], route[n + 5]);
            if (titles.some(([left, top, w]) => x > left + 5 && x < left + w && y > top + 4 && y < top + 29)) crossed++;
            if (things.some(thing => {
              const [left, top, w, h] = scene.area(thing);
              return !ends.includes(thing) && x > left + 1 && x < left + w - 1 && y > top + 1 && y < top + h - 1;
            })) crossed++;
          }
      }
      return [scene.lines.length, crossed];
    }"""
    with opened(written(tmp_path, large(50, 4))) as tab:
        tab.get_by_role("button", name="Unfold modules", exact=True).click()
        assert tab.evaluate("scene.where.size") == 54
        lines, crossed = tab.evaluate(crossing)
        assert lines > 40 and crossed == 0
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        assert tab.evaluate(crossing)[1] == 0


@pytest.mark.slow
@needs_browser
def test_ways_through_what_does_not_change(tmp_path: Path) -> None:
    page = small()
    with opened(written(tmp_path, page)) as tab:
        edges = "() => Array.from(scene.lines, e => [scene.name(scene.from[e]), scene.name(scene.to[e])])"
        assert tab.get_by_label("only changes").is_checked() and tab.evaluate(edges) == [["web", "db"]]
        tab.evaluate("choose(scene.find('web'))")
        assert tab.url.endswith("#node=web")
        tab.evaluate("location.hash = '#cause=new'")
        tab.wait_for_function("() => document.getElementById('said').textContent === 'new: 1 object.'")
        tab.evaluate("location.hash = '#node=end&to=net'")
        tab.wait_for_function("() => document.querySelector('#details h2').textContent === 'Path'")


@needs_browser
def test_saved_forms(tmp_path: Path) -> None:
    with opened(written(tmp_path, small())) as tab:
        drawn = tab.evaluate("new DOMParser().parseFromString(svgText(), 'image/svg+xml').documentElement.outerHTML")
        assert drawn.startswith("<svg") and "- web</text>" in drawn and "parsererror" not in drawn
        assert tab.evaluate("picture().then(blob => blob.size)") > 1000
        lines = tab.evaluate("markdown()").splitlines()
        assert (
            lines[0] == "# Small" and "| - | web | \\[1\\] gone |" in lines and "- **deny** code web must stay" in lines
        )
        tab.evaluate("data.changes.push(['output.o', 'create', '', ['new'], []])")
        heads = [line for line in tab.evaluate("markdown()").splitlines() if line.startswith("##")]
        assert heads == [
            "## Causes (2)",
            "## Policies",
            "## Destroyed or replaced (1)",
            "## Other changes (1)",
            "## Outputs (1)",
        ]
        with tab.expect_download() as download:
            tab.locator("summary", has_text="Save").click()
            tab.get_by_role("button", name="SVG").click()
        assert download.value.suggested_filename == "Small.svg"


@pytest.mark.slow
@needs_browser
def test_a_narrow_window(tmp_path: Path) -> None:
    with opened(written(tmp_path, small()), width=400, height=800) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        tops = [tab.locator(one).bounding_box()["y"] for one in ("#tools", "#graph", "#details", "#side")]
        assert tops == sorted(tops) and tops[1] < 400
        fits = "() => { const { w } = scene.rect[0], { k } = drawing.eye; return k >= 0.7 && w * k <= drawing.width; }"
        assert tab.evaluate(fits)
    with opened(written(tmp_path, large(300, 0)), width=400, height=800) as tab:
        assert tab.evaluate(fits)
        tab.evaluate("foldAll(false)")  # it begins at its left edge
        assert tab.evaluate("drawing.eye.x + drawing.width / drawing.eye.k < scene.rect[0].w && drawing.eye.x < 20")


def many(modules: int, letters: str = "ab") -> Page:
    """A plan of many modules: each has the same change and a node without a change, two of them a second change. There
    is a family of modules for each letter."""
    items, changes, boxes = [], [], {}
    for n in range(modules):
        module = f"module.{letters[n % len(letters)]}_{n}"
        boxes[module] = ("", module)
        names = [f"{module}.thing.same", *([f"{module}.thing.other"] if n < 2 else [])]
        items += [item(f"{module}.thing.still", module)]
        for name in names:
            items.append(item(name, module, (len(changes),)))
            action = "delete" if name.endswith("other") else "create"
            changes.append(PageChange(name, action, "", (f"{module}.var.size 1 -> 2 (main.tf:{n})",)))
    view = PageView("plan", "All", tuple(items), (), boxes)
    return Page("Many", ("changes",), (view,), LAYERS, ACTIONS, tuple(changes))


LEGIBLE = """() => { const { w, h } = scene.rect[0], { eye } = drawing;
  return eye.k >= 0.7 && w * eye.k <= drawing.width && h * eye.k <= drawing.height; }"""


@needs_browser
@pytest.mark.parametrize(("modules", "width"), [(18, 1440), (18, 1024), (110, 1440), (110, 480)])
def test_a_page_begins_with_all_that_is_done_and_is_legible(modules: int, width: int, tmp_path: Path) -> None:
    with opened(written(tmp_path, many(modules)), width=width, height=900) as tab:
        assert tab.evaluate(LEGIBLE)
        outer = "scene.order.flat().filter(thing => scene.box(thing) === 0).map(thing => scene.title(thing))"
        if modules == 110:  # families of modules, without those in which something is destroyed
            assert tab.evaluate(outer) == ["module.a_0", "module.b_1", "modules, module.a_*", "modules, module.b_*"]
            tab.evaluate("choose(-1 - scene.boxes.findIndex(box => box.isFamily))")
            said = tab.get_by_role("status").inner_text()
            assert said == "module.a_*, group: 108 objects, 54 of which change, folded"
            assert tab.evaluate("scene.boxName(scene.boxes.findIndex(box => box.isFamily))") == "module.a_* (54)"
            assert "module.a_4\n+ 1" in tab.locator("#details").inner_text()
        else:  # unconnected modules, what is destroyed first, then in the order of their names
            tab.get_by_role("button", name="Fold modules", exact=True).click()
            names = tab.evaluate("scene.order.flat().map(thing => scene.title(thing))")
            assert names[:3] == ["module.a_0", "module.b_1", "module.a_2"]
            areas = tab.evaluate("scene.order.map(row => row.map(thing => scene.area(thing)[0]))")
            assert all(row == areas[0][: len(row)] for row in areas if len(row) <= len(areas[0]))
            tab.evaluate("choose(scene.find('module.b_3.thing.same'))")  # an open module keeps its place in the grid
            column = "name => scene.area(-1 - scene.boxes.findIndex(box => box.name === name))[0]"
            assert tab.evaluate("scene.order[0].length") == len(areas[0])
            assert tab.evaluate(column, "module.a_0") == min(tab.evaluate("scene.order.map(r => scene.area(r[0])[0])"))
            tab.get_by_role("button", name="Fold modules", exact=True).click()
            tab.keyboard.press("Escape")
            for key, row, at in (("Down", 0, 0), ("Down", 1, 0), ("Right", 1, 1), ("Down", 2, 1), ("Up", 1, 1)):
                tab.locator("#graph").press(f"Arrow{key}")
                assert tab.evaluate("([row, at]) => scene.order[row][at] === drawing.chosen", [row, at]), key


@pytest.mark.slow
@needs_browser
def test_alike_changes_and_causes_are_one_line(tmp_path: Path) -> None:
    with opened(written(tmp_path, many(40))) as tab:
        listed, status = tab.locator("#list"), tab.get_by_role("status")
        heads = ["- destroy (2)", "+ create (40)", "thing.same in 40 modules"]
        assert listed.locator("summary").all_inner_texts() == heads
        others = ["module.a_0", "thing.other", "module.b_1", "thing.other"]
        assert listed.locator("ul button").all_inner_texts() == others
        causes = tab.get_by_role("region", name="Causes").get_by_role("button")
        assert causes.all_inner_texts() == ["1\nvar.size 1 \u2192 2 in 40 modules\n42 objects - 2+ 40"]
        causes.click()
        assert status.inner_text() == "var.size 1 \u2192 2 in 40 modules: 42 objects."
        assert tab.url.endswith("#cause=var.size+1+-%3E+2")
        assert tab.evaluate("[...drawing.marked.boxes.values()].sort().join('')") == "1" * 38 + "191922"
        tab.keyboard.press("Escape")
        listed.locator("summary").last.press("Enter")
        listed.get_by_role("button", name="module.b_39.thing.same").press("Enter")
        assert status.inner_text().startswith("module.b_39.thing.same, resource, create")


@pytest.mark.slow
@needs_browser
def test_groups_of_few_changes_are_not_boxes(tmp_path: Path) -> None:
    changed = [item(f"{kind}.r1", "", (n,)) for n, kind in enumerate(("a", "b"))]
    items = [*(item(f"{kind}.r{n}") for kind in "ab" for n in range(2, 90)), *changed, item("c.free", "", (2,))]
    arrows = (arrow("b.r1", "a.r1"), arrow("a.r1", "b.r2"), arrow("b.r2", "b.r3"))
    changes = tuple(PageChange(name, "create", "", ()) for name in ("a.r1", "b.r1", "c.free"))
    view = PageView("plan", "All", tuple(items), arrows)
    with opened(written(tmp_path, Page("Groups", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        rows = "scene.order.map(row => row.map(thing => scene.title(thing)))"
        assert tab.evaluate(rows) == [["a.r1"], ["b.r1"], ["c.free"]]
        tab.get_by_label("only changes").uncheck()
        assert {"all a", "all b", "c.free"} <= {one for row in tab.evaluate(rows) for one in row}
        tab.evaluate("choose(scene.find('a.r9'))")
        assert tab.evaluate("scene.title(scene.stands[scene.find('a.r9')])") == "a.r9"


@needs_browser
def test_things_that_wait_for_each_other(tmp_path: Path) -> None:
    """A cycle between modules: one of them comes first, and each is drawn once."""
    ends = [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("c", "z")]
    items = tuple(item(f"{m}.{n}", f"module.{m}", (i,)) for i, (m, n) in enumerate(ends))
    arrows = (arrow("a.x", "b.x"), arrow("b.y", "a.y"), arrow("c.z", "b.y"))
    changes = tuple(PageChange(one.name, "create", "", ()) for one in items)
    view = PageView("plan", "All", items, arrows, {f"module.{m}": ("", f"module.{m}") for m in "abc"})
    with opened(written(tmp_path, Page("Cycle", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        assert sorted(tab.evaluate("scene.order.flat().map(thing => scene.title(thing))")) == [
            "module.a",
            "module.b",
            "module.c",
        ]
        at = "name => scene.where.get(-1 - scene.boxes.findIndex(box => box.name === name)).number"
        assert tab.evaluate(at, "module.c") > tab.evaluate(at, "module.b")


@pytest.mark.slow
@needs_browser
def test_names_as_on_a_map_where_titles_are_too_small(tmp_path: Path) -> None:
    texts = """scale => { const texts = [], vectors = new Vectors(), { x, y, w, h } = scene.rect[0];
      vectors.fillText = text => texts.push(text);
      for (const _ of drawing.paintOn(vectors, scale, x, y, w, h));
      return texts.sort(); }"""
    with opened(written(tmp_path, many(110))) as tab:
        tab.get_by_role("button", name="Unfold modules", exact=True).click()
        assert tab.evaluate(texts, 0.25) == ["+ 54", "+ 54", "module.a_* (54)", "module.b_* (54)"]
        assert "\u25be module.a_* (54)" in tab.evaluate(texts, 1)


@pytest.mark.slow
@needs_browser
def test_many_instances_are_one_line(tmp_path: Path) -> None:
    names = [f'module.m.thing.r["k[{n}]"]' for n in range(40)] + ["module.m.thing.s[0]", "module.m.thing.s[1]"]
    items = tuple(item(name, "module.m", (n,)) for n, name in enumerate(names))
    changes = tuple(PageChange(name, "create", "", ()) for name in names)
    view = PageView("plan", "All", items, (), {"module.m": ("", "module.m")})
    with opened(written(tmp_path, Page("Instances", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        listed = tab.locator("#list")
        assert listed.locator("summary").all_inner_texts() == ["+ create (42)", "thing.r: 40 instances"]
        assert listed.locator("ul").first.inner_text().startswith("module.m\nthing.r")
        assert listed.locator("ul button").all_inner_texts() == ["module.m", "thing.s[0]", "thing.s[1]"]
        listed.locator("summary").last.press("Enter")
        listed.get_by_role("button", name='module.m.thing.r["k[39]"]').press("Enter")
        assert tab.get_by_role("status").inner_text().startswith('module.m.thing.r["k[39]"], resource, create')


ON_SCREEN = """name => { const [x, y, w, h] = scene.area(drawnFor(scene.find(name))), { eye } = drawing;
  return [(x - eye.x) * eye.k, (y - eye.y) * eye.k, w * eye.k, h * eye.k].map(Math.round); }"""


@needs_browser
def test_what_is_opened_is_in_view_and_nothing_else_moves(tmp_path: Path) -> None:
    with opened(written(tmp_path, many(40, "abcdefgh")), width=1450, height=900) as tab:
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        before = {name: tab.evaluate(ON_SCREEN, name) for name in ("module.a_0", "module.b_1", "module.c_2")}
        rows = tab.evaluate("scene.order.map(row => row.map(thing => scene.title(thing)))")
        tab.evaluate("choose(scene.find('module.b_1.thing.same'))")  # in the second box of the first row
        assert tab.evaluate("scene.order.map(row => row.map(t => scene.title(t)))")[-len(rows) :][1:] == rows[1:]
        assert tab.evaluate(ON_SCREEN, "module.a_0") == before["module.a_0"]
        assert tab.evaluate(ON_SCREEN, "module.b_1")[:2] == pytest.approx(before["module.b_1"][:2], abs=1)
        eye = tab.evaluate("drawing.eye")
        tab.evaluate("choose(scene.find('module.b_1.thing.other'))")  # it is in view
        assert tab.evaluate("drawing.eye") == eye
    with opened(written(tmp_path, many(200)), width=1440, height=900) as tab:
        tab.evaluate("toggle(scene.boxes.findIndex(box => box.name === 'modules, module.b_*'))")
        left, top, wide, _ = tab.evaluate(ON_SCREEN, "modules, module.b_*")
        assert left >= 0 and left + wide <= tab.evaluate("drawing.width") and 0 <= top < 100
        assert tab.evaluate("drawing.eye.y") <= 0 or top < 30  # no free space above the drawing
        first = tab.evaluate("scene.contents(scene.boxes.findIndex(b => b.name === 'modules, module.b_*'))[0]")
        assert tab.evaluate("thing => drawing.sees(scene.area(thing))", first)


@needs_browser
@pytest.mark.parametrize("width", [1440, pytest.param(1024, marks=pytest.mark.slow)])
def test_letters_have_12_pixels_at_first(width: int, tmp_path: Path) -> None:
    for page in (small(), many(10), many(40), many(110)):
        with opened(written(tmp_path, page), width=width, height=800) as tab:
            assert tab.evaluate("sizeOf(drawing.eye.k) * drawing.eye.k") >= 11.99
            assert tab.evaluate("drawing.eye.k") <= 1.5


@needs_browser
def test_a_search_names_the_hits_of_the_other_graph(tmp_path: Path) -> None:
    names = ("a.x", "a.y"), ("a.x", "a.y", "local.q (expand)", "local.q (close)")
    one, other = (
        PageView(name, title, tuple(item(n, "", (0,) if n == "a.x" else ()) for n in items), ())
        for name, title, items in (("apply", "Done", names[0]), ("plan", "Declared", names[1]))
    )
    changes = (PageChange("a.x", "create", "", ()),)
    with opened(written(tmp_path, Page("Two", (), (other, one), LAYERS, ACTIONS, changes))) as tab:
        search, listed = tab.get_by_label("Search"), tab.locator("#index")
        search.fill("a.")
        assert listed.get_by_role("heading").inner_text() == "2 hits" and "Declared" not in listed.inner_text()
        search.fill("q")
        assert "\u201cDone\u201d has no name that contains \u201cq\u201d." in listed.inner_text()
        assert listed.get_by_role("heading").inner_text() == "1 hit"
        assert listed.locator("summary").inner_text() == "In \u201cDeclared\u201d (1)"
        listed.get_by_role("button", name="local.q").click()
        assert tab.get_by_label("Graph", exact=True).locator("option:checked").inner_text() == "Declared"
        assert listed.get_by_role("heading").inner_text() == "1 hit" and search.input_value() == "q"
        assert tab.evaluate("drawing.sees(scene.area(drawing.chosen))")  # shown although it does not change
        assert tab.evaluate("scene.where.size") == 2
        tab.keyboard.press("Escape")
        assert tab.evaluate("scene.where.size") == 1
        search.fill("nowhere")
        assert "No name contains \u201cnowhere\u201d." in listed.inner_text()


@needs_browser
def test_edges_between_modules_are_one_line(tmp_path: Path) -> None:
    names = ("module.m.a.x", "module.m.a.y", "b.z", "b.first")
    items = tuple(item(name, moduled(name), (n,)) for n, name in enumerate(names))
    arrows = (*(arrow("b.z", name) for name in names[:2]), arrow(names[0], "b.first"))
    changes = tuple(PageChange(name, "create", "", ("new",) if name != "b.first" else ()) for name in names)
    view = PageView("plan", "All", items, arrows, {"module.m": ("", "module.m")})
    drawn = "Array.from(scene.lines, e => scene.ends(e).map(thing => scene.title(thing)))"
    with opened(written(tmp_path, Page("Bundle", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        assert sorted(tab.evaluate(drawn)) == [["b.z", "module.m"], ["module.m.a.x", "b.first"]]
        assert tab.evaluate("scene.bundle(scene.lines.find(e => scene.ends(e)[1] < 0)).length") == 2
        strong = """() => { const colours = [], vectors = new Vectors();
          vectors.stroke = () => { if (vectors.way.includes("C")) colours.push(vectors.strokeStyle); };
          for (const _ of drawing.paintOn(vectors, 1, 0, 0, 2000, 2000));
          return colours.filter(colour => colour === drawing.colours.mark).length; }"""
        assert tab.evaluate(strong) == 0
        tab.get_by_role("button", name="new 3 objects + 3").click()  # a cause: the line between its objects stands out
        assert tab.evaluate(strong) == 1


def moduled(name: str) -> str:
    return "module.m" if name.startswith("module.") else ""


@needs_browser
def test_an_old_object_that_is_destroyed_last_makes_no_cycle_of_modules(tmp_path: Path) -> None:
    old = "module.m.a.x (destroy deposed 1234abcd)"
    kinds = (("module.m.a.x", "instance_apply", 0), (old, "deposed_destroy", 0), ("b.z", "instance_apply", 1))
    items = tuple(
        PageNode(name, kind, name.removeprefix("module.m."), moduled(name), "", None, (n,)) for name, kind, n in kinds
    )
    arrows = (arrow("b.z", "module.m.a.x"), arrow(old, "b.z", "order"), arrow(old, "module.m.a.x", "order"))
    changes = (PageChange("module.m.a.x", "create-then-delete", "", ()), PageChange("b.z", "create", "", ()))
    actions = (*ACTIONS, ("create-then-delete", "replace", "+/-", "replace"))
    view = PageView("apply", "Done", items, arrows, {"module.m": ("", "module.m")})
    with opened(written(tmp_path, Page("Old", (), (view,), LAYERS, actions, changes))) as tab:
        labels = tab.evaluate("Array.from(scene.where.keys(), t => t < 0 ? [] : scene.labelLines(t))")
        assert ["a, old object", "- x"] in labels and ["a", "+/- x"] in labels
        drawn = "Array.from(scene.lines, e => scene.ends(e).map(thing => scene.shown(thing)))"
        assert sorted(tab.evaluate(drawn)) == [["b.z", "module.m.a.x"], ["module.m.a.x", "module.m.a.x"]]
        assert "deposed" not in tab.locator("#page").inner_text()


@pytest.mark.slow
@needs_browser
def test_the_history_has_what_was_chosen(tmp_path: Path) -> None:
    with opened(written(tmp_path, small())) as tab:
        details, listed = tab.get_by_role("complementary", name="Details"), tab.locator("#list")
        title = details.get_by_role("heading").first
        listed.get_by_role("button", name="web", exact=True).click()
        listed.get_by_role("button", name="db", exact=True).click()
        details.get_by_role("button", name="What depends on it").click()
        details.get_by_role("button", name="\u2039 db").click()
        assert title.inner_text() == "db"
        details.get_by_role("button", name="\u2039 web").click()
        assert title.inner_text() == "web"
        tab.go_forward()
        assert title.inner_text() == "db" and tab.evaluate("scene.title(drawing.chosen)") == "db"
        tab.go_back()
        tab.go_back()
        assert tab.evaluate("drawing.chosen") is None and title.inner_text() in ("Policies", "Causes")


@needs_browser
def test_a_blast_radius_and_a_search_without_internals(tmp_path: Path) -> None:
    kinds = {
        "a.x": "instance_apply",
        "a.x (expand)": "resource",
        "b.y": "instance_apply",
        "c.calm (expand)": "resource",
    }
    kinds |= {"root": "root", "module.m (expand)": "module_expand", "module.m.d.z (expand)": "resource"}
    numbers = {"a.x": (0,), "b.y": (1,)}
    items = tuple(
        PageNode(name, kind, name, "module.m" if "module.m." in name else "", "", None, numbers.get(name, ()))
        for name, kind in kinds.items()
    )
    arrows = (arrow("b.y", "a.x"), arrow("c.calm (expand)", "b.y"), arrow("root", "c.calm (expand)"))
    changes = (PageChange("a.x", "create", "", ()), PageChange("b.y", "create", "", ()))
    view = PageView("apply", "Done", items, arrows, {"module.m": ("", "module.m")})
    with opened(written(tmp_path, Page("Blast", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        details, status = tab.get_by_role("complementary", name="Details"), tab.get_by_role("status")
        tab.evaluate("choose(scene.find('a.x'))")
        details.get_by_role("button", name="What depends on it").click()
        assert status.inner_text() == (
            "What depends on a.x: 1 object that changes, 1 object that does not; none of their causes leads through it."
        )
        assert details.locator("ul:visible").all_inner_texts() == ["b.y", "c.calm"]
        assert details.locator("summary").inner_text().startswith("Internals (1)")
        tab.keyboard.press("Escape")
        search = tab.get_by_label("Search")
        search.fill("module.m")
        search.press("Enter")
        assert details.get_by_role("heading").first.inner_text() in ("module.m", "module.m.d.z")
        search.fill("calm")
        search.press("Enter")
        assert "no change" in details.inner_text() and "declaration" not in details.inner_text()
        tab.keyboard.press("Escape")
        tab.keyboard.press("Escape")
        assert sorted(tab.evaluate("Array.from(scene.where.keys(), thing => scene.title(thing))")) == ["a.x", "b.y"]


@pytest.mark.slow
@needs_browser
def test_a_reason_has_a_line_for_each_hop(tmp_path: Path) -> None:
    lines = ("because:", "  module.m.thing.x.size 1 -> 2 (m/main.tf:3)", "  module.m.var.size (m/main.tf:1)")
    lines = (*lines, *(f"  local.step{n} (main.tf:{n})" for n in range(9)), "  var.size 1 -> 2 (default, main.tf:2)")
    cause = "var.size 1 -> 2 (default, main.tf:2)"
    text = "  # module.m.thing.x will be created\n  -/+ thing x {\n      ~ size = 1 -> 2 # forces replacement\n    }"
    change = PageChange("module.m.thing.x", "create", "", (cause,), lines, text)
    view = PageView("plan", "All", (item("module.m.thing.x", "module.m", (0,)),), (), {"module.m": ("", "module.m")})
    with opened(written(tmp_path, Page("Hops", (), (view,), LAYERS, ACTIONS, (change,)))) as tab:
        tab.get_by_role("region", name="Planned changes").get_by_role("button", name="module.m.thing.x").click()
        hops = tab.locator(".hops > li")
        assert hops.all_inner_texts()[:3] == [
            "module.m\nthing.x.size 1 \u2192 2 (m/main.tf:3)",  # the module once
            "var.size (m/main.tf:1)",
            "local.step0 (main.tf:0)",
        ]
        assert hops.count() == 7
        hops.get_by_role("button", name="Show 6 more steps").click()
        assert hops.count() == 12 and hops.last.inner_text() == "var.size 1 \u2192 2 (default, main.tf:2)"
        assert tab.locator(".diff > div").all_inner_texts() == [
            "-/+ thing x {", "    ~ size = 1 -> 2 # forces replacement", "  }",
        ]  # fmt: skip
        assert tab.locator("#list [aria-current]").all_inner_texts() == ["thing.x"]
        hops.last.get_by_role("button").click()
        assert tab.get_by_role("status").inner_text() == "var.size 1 \u2192 2 (default, main.tf:2): 1 object."


@needs_browser
def test_each_cause_of_a_change_has_its_chain(tmp_path: Path) -> None:
    causes = "var.a 1 -> 2 (main.tf:1)", "var.b 1 -> 2 (main.tf:2)"
    more = f"  more causes: {causes[0]}"
    lines = ("because:", "  thing.x.b (main.tf:9)", f"  {causes[1]}", more, "because:", "  local.c", f"  {causes[0]}")
    change = PageChange("thing.x", "create", "", causes, lines)
    view = PageView("plan", "All", (item("thing.x", "", (0,)),), ())
    with opened(written(tmp_path, Page("Chains", (), (view,), LAYERS, ACTIONS, (change,)))) as tab:
        tab.locator("#list").get_by_role("button", name="thing.x").click()
        details = tab.get_by_role("complementary", name="Details")
        hops = details.locator(".hops:visible > li")
        first = ["local.c", "var.a 1 \u2192 2 (main.tf:1)"]  # as in the list of causes
        assert hops.all_inner_texts() == [*first, "thing.x.b (main.tf:9)", "var.b 1 \u2192 2 (main.tf:2)"]
        assert "more causes" not in details.inner_text()
        details.locator("summary", has_text="Another cause: var.b 1 \u2192 2 (main.tf:2)").click()
        assert hops.all_inner_texts() == first
        hops.last.get_by_role("button").click()
        assert tab.get_by_role("status").inner_text() == "var.a 1 \u2192 2 (main.tf:1): 1 object."


@needs_browser
def test_vertices_of_an_object_have_one_name_and_one_count(tmp_path: Path) -> None:
    kinds = (("a.x", "instance_apply"), ("a.x (destroy)", "instance_destroy"), ("a.x (expand)", "resource"))
    items = tuple(
        PageNode(name, kind, name, "", "a.x", None, () if kind == "resource" else (0,)) for name, kind in kinds
    )
    arrows = (arrow("a.x", "a.x (destroy)", "order"), arrow("a.x (destroy)", "a.x (expand)"))
    actions = (*ACTIONS, ("delete-then-create", "replace", "-/+", "replace"))
    change = PageChange("a.x", "delete-then-create", "", ("new",))
    page = Page("Old", (), (PageView("apply", "Done", items, arrows),), LAYERS, actions, (change,))
    labels = "Array.from(scene.where.keys(), thing => scene.labelLines(thing))"
    with opened(written(tmp_path, page)) as tab:
        assert sorted(tab.evaluate(labels)) == [["a", "-/+ x"], ["a, old object", "- x"]]
        legend = tab.get_by_label("Colours")
        assert "- old object" in legend.inner_text() and "no change" not in legend.inner_text()
        assert tab.locator("#list summary").all_inner_texts() == ["-/+ replace (1)"]
        assert "1 object" in tab.get_by_role("region", name="Causes").inner_text()
        tab.get_by_label("only changes").uncheck()
        assert "no change" not in legend.inner_text() and ["a, declaration", "x"] not in tab.evaluate(labels)
        assert tab.get_by_role("status").inner_text().startswith("Values and unchanged objects")
        tab.evaluate("choose(scene.find('a.x'))")
        assert "(destroy)" not in tab.locator("#page").inner_text()
        tab.locator("#graph").click(position={"x": 3, "y": 3})  # beside everything
        assert tab.get_by_role("status").inner_text() == "Nothing is marked."


@needs_browser
def test_a_resource_whose_objects_have_several_actions_has_the_number_of_each(tmp_path: Path) -> None:
    items = (item("a.x", "", (0, 1, 2)), item("a.y", "", (3,)))
    done = (("a.x[0]", "create"), ("a.x[1]", "delete"), ("a.x[2]", "create"), ("a.y", "delete"))
    changes = tuple(PageChange(name, action, "", ("new",)) for name, action in done)
    view = PageView("plan", "All", items, (arrow("a.y", "a.x"),))
    with opened(written(tmp_path, Page("Several", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        label = "name => { const node = scene.find(name); return [scene.labelLines(node)[1], scene.badges(node)]; }"
        assert tab.evaluate(label, "a.x") == ["x", [["delete", "- 1"], ["create", "+ 2"]]]
        assert tab.evaluate(label, "a.y") == ["- y", []]
        tab.evaluate("choose(scene.find('a.x'))")
        said = tab.get_by_role("status").inner_text()
        assert said == "a.x, resource, - 1 destroy, + 2 create; waits for 0, 1 waits for it"
        assert tab.locator("#details h3").first.inner_text() == "a.x[1]"  # what is destroyed


@needs_browser
def test_outputs_are_counted_apart_from_objects(tmp_path: Path) -> None:
    outputs = [f"module.m.output.o{n}" for n in range(20)]
    items = (
        PageNode("module.m.a.x", "resource", "a.x", "module.m"),
        PageNode("module.m", "module_expand", "m", "module.m"),
        PageNode("module.m.var.v", "module_variable", "var.v", "module.m"),
        *(PageNode(name, "output", name[len("module.m.") :], "module.m") for name in outputs),
    )
    view = PageView("plan", "All", items, (), {"module.m": ("", "module.m")})
    with opened(written(tmp_path, Page("Outputs", (), (view,), LAYERS, ACTIONS))) as tab:
        tab.evaluate("choose(-1 - scene.boxes.findIndex(box => box.name === 'module.m'))")
        assert "A module: 1 object, which does not change; 20 outputs." in tab.locator("#details").inner_text()
        tab.locator("#search").fill("module.m")
        assert tab.locator("#listtitle").inner_text() == "3 hits, 20 outputs"
        groups = tab.locator("#list > details > summary").all_inner_texts()
        assert groups == ["Resources (1)", "Modules (1)", "Outputs (20)", "Variables and local values (1)"]
        assert tab.locator("#list > details").nth(2).get_attribute("open") is None


@needs_browser
def test_escape_empties_the_search_first(tmp_path: Path) -> None:
    with opened(written(tmp_path, many(40)), width=1440, height=900) as tab:
        search, listed = tab.get_by_label("Search"), tab.locator("#index")
        search.fill("b_1 other")
        assert listed.get_by_role("heading").inner_text() == "1 hit" and tab.evaluate("drawing.marked.isCounted")
        search.press("Escape")
        assert search.input_value() == "" and tab.evaluate("drawing.marked") is None
        assert listed.get_by_role("heading").inner_text() == "Planned changes"
        assert tab.evaluate("document.activeElement.id") == "graph"
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        columns = "[...new Set(scene.order.flat().filter(t => scene.folded[-1 - t]).map(t => scene.area(t)[0]))].length"
        before = tab.evaluate(columns)
        tab.evaluate("toggle(scene.boxes.findIndex(box => box.name === 'module.a_4'))")  # narrower than its column
        assert tab.evaluate(columns) == before


AT_RANDOM = """([selector, chance]) => {
  const all = [...document.querySelectorAll(selector)].filter(one => one.offsetParent);
  if (all.length) all[Math.floor(chance * all.length)].click();
}"""
SOUND = """() => { const { x, y, k } = drawing.eye;
  return [x, y, k].every(Number.isFinite) && (drawing.chosen === null || scene.where.has(drawing.chosen)); }"""


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_done_the_chosen_thing_is_drawn(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    with opened(written(tmp_path, many(40)), width=1100, height=800) as tab:
        for _ in range(80):
            match chance.randrange(8):
                case 0:
                    tab.mouse.click(300 + 700 * chance.random(), 150 + 500 * chance.random())
                case 1:
                    tab.locator("#graph").press(
                        chance.choice(("ArrowDown", "ArrowUp", "ArrowRight", "Enter", "+", "0"))
                    )
                case 2:
                    tab.get_by_label("Search").fill(chance.choice(("same", "b_1", "still", "nowhere", "")))
                case 3:
                    tab.get_by_label("Search").press(chance.choice(("Enter", "Escape")))
                case 4:
                    tab.evaluate(AT_RANDOM, ["#list button, #list summary, #groups button", chance.random()])
                case 5:
                    tab.evaluate(AT_RANDOM, ["#details button", chance.random()])
                case 6:
                    tab.evaluate(AT_RANDOM, ["#changed, #fold, #unfold, #fit, #in, #out", chance.random()])
                case _:
                    tab.keyboard.press("Escape")
            assert tab.evaluate(SOUND)


@needs_browser
def test_the_numbers_at_the_top_choose_what_is_done(tmp_path: Path) -> None:
    with opened(written(tmp_path, small())) as tab:
        chips = tab.get_by_role("group", name="Filter").get_by_role("button")
        assert chips.all_inner_texts() == ["- 1 to destroy", "+ 1 to create"]
        chips.first.click()
        assert tab.locator("#list button").all_inner_texts() == ["web"] and tab.url.endswith("#action=destroy")
        assert tab.evaluate("[...drawing.marked.nodes].map(n => scene.name(n))") == ["web"]
        assert chips.first.get_attribute("aria-pressed") == "true"
        tab.keyboard.press("Escape")
        assert sorted(tab.locator("#list button").all_inner_texts()) == ["db", "web"]
        assert chips.first.get_attribute("aria-pressed") == "false" and tab.evaluate("drawing.marked") is None


def caused() -> Page:
    """A cause with two effects, of which one is a replacement, and a larger one that only creates."""
    kinds = {"var.image": "root_variable", "a.x": "instance_apply", "a.y": "instance_apply", "b.z": "instance_apply"}
    causes = {"var.image": (0,)}
    items = tuple(
        PageNode(name, kind, name, "", name, None, (n - 1,) if n else (), (), causes.get(name, ()))
        for n, (name, kind) in enumerate(kinds.items())
    )
    old, new = (json.dumps({"ports": [*range(30), port], "name": "a long name to be compared"}) for port in (80, 81))
    image = "var.image (main.tf:1)"
    parts = (
        CausePart("var.image", old, new, "main.tf:1", "default = {"),
        CausePart("var.image.ports[30]", "80", "81", "main.tf:1", "default = {"),
    )
    changes = (
        PageChange("a.x", "create", "", ("local.more 1 -> 2", image)),
        PageChange("a.y", "create", "", ("local.more 1 -> 2",)),
        PageChange("b.z", "delete", "", (image,)),
    )
    view = PageView("plan", "All", items, (arrow("a.x", "var.image"), arrow("b.z", "a.x")))
    more = PageCause("local.more 1 -> 2", (CausePart("local.more", "1", "2"),), 2)
    return Page("Caused", (), (view,), LAYERS, ACTIONS, changes, causes=(PageCause(image, parts, 1), more))


@needs_browser
def test_a_variable_that_is_a_cause_shows_its_values_and_effects(tmp_path: Path) -> None:
    with opened(written(tmp_path, caused())) as tab:
        details = tab.get_by_role("complementary", name="Details")
        causes = tab.locator("#groups > li > button")
        assert [text.split("\n")[1] for text in causes.all_inner_texts()] == ["var.image", "local.more 1 \u2192 2"]
        tab.get_by_label("Search").fill("image")
        assert tab.locator("#list summary").all_inner_texts() == ["Changed values (1)", "Causes (1)"]
        tab.get_by_label("Search").press("Enter")
        assert details.get_by_role("heading").first.inner_text() == "var.image"
        lines = details.locator(".diff > div").all_inner_texts()
        assert "-     80," in lines and "+     81," in lines and len(lines) < 12  # the rest of the list is left out
        assert "main.tf:1" in details.inner_text() and "default = {" in details.inner_text()
        assert details.locator(".input").count() == 1  # not also the port, which is inside
        effects = details.locator(".byaction")
        assert effects.all_inner_texts() == ["-destroy (1)\nb.z", "+create (1)\na.x"]
        effects.get_by_role("button", name="b.z").click()
        assert details.get_by_role("heading").first.inner_text() == "b.z"


@needs_browser
def test_the_details_list_what_is_lit(tmp_path: Path) -> None:
    items = (item("end", "", (0,)), item("middle"), item("first", "", (1,)), item("near", "", (2,)))
    arrows = (arrow("end", "middle"), arrow("middle", "first"), arrow("end", "near"))
    changes = tuple(PageChange(name, "create", "", ()) for name in ("end", "first", "near"))
    view = PageView("plan", "All", items, arrows)
    with opened(written(tmp_path, Page("Lit", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        details = tab.get_by_role("complementary", name="Details")
        tab.evaluate("choose(scene.find('end'))")
        assert details.locator("h3").all_inner_texts() == ["Declared", "It waits for (2)"]
        assert details.locator("h4").all_inner_texts() == ["It reads (2), also through hidden objects"]
        lit = tab.evaluate("[...drawing.marked.nodes].map(n => scene.name(n))")
        assert sorted(lit) == ["end", "first", "near"]
        details.locator("summary", has_text="Not drawn (1)").click()
        details.get_by_role("button", name="middle", exact=True).wait_for()
        assert tab.get_by_role("status").inner_text().endswith("waits for 2, 0 wait for it")


@needs_browser
def test_graphs_keep_what_is_folded_and_hidden(tmp_path: Path) -> None:
    items = tuple(item(f"module.{m}.r.{n}", f"module.{m}", (0,) if n == "x" else ()) for m in "ab" for n in "xy")
    boxes = {f"module.{m}": ("", f"module.{m}") for m in "ab"}
    views = tuple(PageView(name, name, items, (), boxes) for name in ("other", "first"))
    page = Page("Kept", (), views, LAYERS, ACTIONS, (PageChange("module.a.r.x", "create", "", ()),))
    with opened(written(tmp_path, page)) as tab:
        tab.get_by_label("only changes").uncheck()
        tab.evaluate("if (scene.folded[1]) toggle(1); if (!scene.folded[2]) toggle(2)")
        tab.get_by_label("Graph", exact=True).select_option("other")
        assert not tab.get_by_label("only changes").is_checked()
        assert tab.evaluate("Array.from(scene.folded)") == [0, 0, 1]
        assert sorted(tab.evaluate("Array.from(scene.where.keys(), thing => scene.title(thing))"))[:2] == [
            "module.a", "module.a.r.x",
        ]  # fmt: skip


@pytest.mark.slow
@needs_browser
def test_panes_can_be_widened_and_hidden(tmp_path: Path) -> None:
    for width in (1440, 1024):
        with opened(written(tmp_path, small()), width=width, height=700) as tab:
            side, handle = tab.locator("#side"), tab.get_by_role("separator", name="Width of the list")
            before = side.evaluate("one => one.offsetWidth")
            handle.press("ArrowRight")
            assert side.evaluate("one => one.offsetWidth") == before + 32
            box = handle.bounding_box()
            tab.mouse.move(box["x"] + 2, box["y"] + 200)
            tab.mouse.down()
            tab.mouse.move(box["x"] - 48, box["y"] + 200, steps=3)
            tab.mouse.up()
            assert abs(side.evaluate("one => one.offsetWidth") - before + 18) < 3
            seen = tab.evaluate("canvas.clientWidth")
            tab.get_by_role("button", name="List", exact=True).click()
            assert side.is_hidden() and tab.evaluate("canvas.clientWidth") > seen + 200
            tab.get_by_role("button", name="List", exact=True).click()
            assert side.is_visible()


@needs_browser
def test_small_graphs_have_all_lines_that_read_a_value(tmp_path: Path) -> None:
    for others, drawn in ((2, True), (20, False)):
        items = tuple(item(name, "", (n,)) for n, name in enumerate(("a", "b", "c", *map(str, range(others)))))
        changes = tuple(PageChange(one.name, "create", "", ()) for one in items)
        arrows = (arrow("b", "a"), arrow("c", "b"), arrow("c", "a", is_implied=True))
        page = Page("Small", (), (PageView("plan", "All", items, arrows),), LAYERS, ACTIONS, changes)
        with opened(written(tmp_path, page)) as tab:
            ends = "[...scene.lines].map(e => scene.ends(e).map(thing => scene.title(thing)).join())"
            assert ("c,a" in tab.evaluate(ends)) == drawn
            assert ("Arrows that follow from others" in tab.locator("#details").inner_text()) != drawn
