"""The drawing from afar, and the way to what is looked for, in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from render.page.browser import needs_browser, opened
from render.page.test_drawing import ACTIONS, LAYERS, arrow, item, large, many, small, written

from planner.render.page.document import Page, PageChange, PageView


@pytest.mark.slow
@needs_browser
def test_a_small_picture_leads_to_what_is_not_in_view(tmp_path: Path) -> None:
    with opened(written(tmp_path, small())) as tab:
        assert tab.evaluate("mapArea(drawing)") is None  # everything is in view
    with opened(written(tmp_path, large(600, 20))) as tab:
        tab.get_by_role("button", name="Unfold modules", exact=True).click()
        area, box = tab.evaluate("mapArea(drawing)"), tab.locator("#graph").bounding_box()
        x, y = area["x"] + area["w"] * 0.5, area["y"] + area["h"] * 0.9
        tab.mouse.click(box["x"] + x, box["y"] + y)
        eye, height = tab.evaluate("drawing.eye"), tab.evaluate("drawing.height")
        assert abs((eye["y"] + height / eye["k"] / 2) * area["k"] - 0.9 * area["h"]) < 1
        assert tab.evaluate("drawing.chosen") is None  # the click chose nothing below the picture
        tab.get_by_role("button", name="Whole graph").click()
        assert tab.evaluate("mapArea(drawing)") is None


@needs_browser
def test_a_double_click_opens_one_module(tmp_path: Path) -> None:
    with opened(written(tmp_path, large(600, 20))) as tab:
        opens = "scene.boxes.map((_, b) => b).filter(b => b && scene.isOpen(-1 - b)).length"
        x, y, before = tab.evaluate(
            """() => {
          const isSeen = one => one < 0 && !scene.isOpen(one) && drawing.sees(scene.area(one));
          const thing = [...scene.where.keys()].find(isSeen);
          const [x, y, w, h] = scene.area(thing), { eye } = drawing, box = canvas.getBoundingClientRect();
          return [(x + w / 2 - eye.x) * eye.k + box.left, (y + h / 2 - eye.y) * eye.k + box.top, OPENS]; }""".replace(
                "OPENS", opens
            )
        )
        tab.mouse.dblclick(x, y)
        assert tab.evaluate(opens) == before + 1


@pytest.mark.slow
@needs_browser
def test_what_is_found_is_in_the_middle_and_not_at_the_edge(tmp_path: Path) -> None:
    margins = """() => { const [x, y, w, h] = scene.area(drawing.chosen), { eye, width, height } = drawing;
      return [(x - eye.x) * eye.k, (y - eye.y) * eye.k, width - (x + w - eye.x) * eye.k,
        height - (y + h - eye.y) * eye.k]; }"""
    with opened(written(tmp_path, large(600, 20))) as tab:
        tab.get_by_role("button", name="Unfold modules", exact=True).click()
        for number in (300, 120, 450, 222):
            tab.get_by_label("Search").fill(f"number{number:05}")
            tab.get_by_label("Search").press("Enter")
            assert min(tab.evaluate(margins)) > 40, number
            eye = tab.evaluate("drawing.eye")
            tab.evaluate("choose(drawing.chosen)")
            assert tab.evaluate("drawing.eye") == eye  # it does not move again


@pytest.mark.slow
@needs_browser
def test_unfolding_leads_to_the_most_dangerous_change(tmp_path: Path) -> None:
    seen = "() => [scene.name(scene.worst(0)), drawing.sees(scene.area(scene.worst(0)))]"
    with opened(written(tmp_path, many(110))) as tab:
        tab.get_by_role("button", name="Unfold modules", exact=True).click()
        name, is_seen = tab.evaluate(seen)
        assert name.endswith("thing.other") and is_seen
        assert tab.evaluate("scene.action[scene.worst(0)]") == "delete"


@needs_browser
def test_things_that_wait_for_each_other_have_one_line_with_two_heads(tmp_path: Path) -> None:
    ends = [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("c", "z")]
    items = tuple(item(f"{m}.{n}", f"module.{m}", (i,)) for i, (m, n) in enumerate(ends))
    changes = tuple(PageChange(one.name, "create", "", ()) for one in items)
    arrows = (arrow("a.x", "b.x"), arrow("b.y", "a.y"), arrow("c.z", "b.y"))
    view = PageView("plan", "All", items, arrows, {f"module.{m}": ("", f"module.{m}") for m in "abc"})
    with opened(written(tmp_path, Page("Cycle", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        drawn = "[...scene.lines].map(e => [scene.ends(e).map(one => scene.title(one)).sort(), scene.mutual.has(e)])"
        assert sorted(tab.evaluate(drawn)) == [[["module.a", "module.b"], True], [["module.b", "module.c"], False]]
        both = tab.evaluate("scene.bundle([...scene.mutual][0]).map(e => scene.name(scene.from[e])).sort()")
        assert both == ["a.x", "b.y"]
        assert "wait for each other" in tab.locator("#legend").inner_text()


@needs_browser
def test_a_module_without_anything_to_show_is_a_small_box(tmp_path: Path) -> None:
    end = item("module.calm (close)", "module.calm")._replace(kind="module_close")
    items = (end, item("module.m.a", "module.m", (0,)), item("b"))
    boxes = {name: ("", name) for name in ("module.calm", "module.m")}
    view = PageView("apply", "All", items, (arrow("b", "module.m.a"),), boxes)
    page = Page("Calm", (), (view,), LAYERS, ACTIONS, (PageChange("module.m.a", "create", "", ()),))
    with opened(written(tmp_path, page)) as tab:
        tab.get_by_label("only changes").uncheck()
        tab.get_by_role("button", name="Unfold modules", exact=True).click()
        drawn = "name => { const b = scene.boxes.findIndex(box => box.name === name); return [scene.rect[b].h, b]; }"
        (calm, number), (other, _) = tab.evaluate(drawn, "module.calm"), tab.evaluate(drawn, "module.m")
        assert calm == tab.evaluate("FOLDED") < other
        tab.evaluate("b => toggle(b)", number)
        assert tab.get_by_role("status").inner_text().endswith("nothing in it is shown")
        assert tab.get_by_role("button", name="Unfold", exact=True).count() == 0
