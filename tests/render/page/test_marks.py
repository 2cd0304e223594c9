"""Marks of the drawing in a browser: of what is selected, of causes, of what is destroyed, and of what is hidden."""

from __future__ import annotations

from pathlib import Path

from render.page.browser import needs_browser, opened
from render.page.test_drawing import ACTIONS, LAYERS, arrow, item, one_browser, written

from planner.render.page.document import Page, PageChange, PageView

__all__ = ["one_browser"]

REPLACED = (*ACTIONS, ("create_then_delete", "replace", "+/-", "replace (create before destroy)"))


def replacing() -> Page:
    """A replacement with a vertex for each of its objects, and an object that is destroyed."""
    items = (
        item("db", "", (0,))._replace(kind="instance_apply"),
        item("db (destroy deposed)", "", (0,))._replace(kind="deposed_destroy"),
        item("gone", "", (1,))._replace(kind="instance_destroy"),
        item("web", "", (2,))._replace(kind="instance_apply"),
    )
    actions = (("db", "create_then_delete"), ("gone", "delete"), ("web", "create"))
    changes = tuple(PageChange(name, action, "", ()) for name, action in actions)
    arrows = (arrow("web", "db"), arrow("db (destroy deposed)", "web"))
    return Page("Replaced", (), (PageView("apply", "All", items, arrows),), LAYERS, REPLACED, changes)


@needs_browser
def test_both_objects_of_a_replacement_are_selected(tmp_path: Path) -> None:
    with opened(written(tmp_path, replacing())) as tab:
        old, new = (tab.evaluate("name => scene.find(name)", name) for name in ("db (destroy deposed)", "db"))
        for chosen, other in ((old, new), (new, old)):
            tab.evaluate("node => choose(node)", chosen)
            assert tab.evaluate("[...drawing.marked.halves]") == [other]
            assert tab.evaluate("node => drawing.marked.nodes.has(node)", other)
        assert tab.evaluate("scene.halves(scene.find('gone'))") == []


@needs_browser
def test_destruction_is_seen_without_its_colour(tmp_path: Path) -> None:
    hatched = """() => { const found = new Set(), { hatch, thing } = drawing; let current;
      drawing.thing = function (context, one, ...rest) { current = one; thing.call(this, context, one, ...rest); };
      drawing.hatch = () => found.add(scene.name(current));
      drawing.redraw(true);
      Object.assign(drawing, { hatch, thing });
      return [...found].sort(); }"""
    striped = """lines => lines.map(line => line.querySelector('.swatch'))
      .filter(one => one && getComputedStyle(one).backgroundImage !== 'none').map(one => one.parentNode.innerText)"""
    with opened(written(tmp_path, replacing())) as tab:
        assert tab.evaluate(hatched) == ["db (destroy deposed)", "gone"]
        in_legend = tab.locator("#legend li").evaluate_all(striped)
        assert [line.strip() for line in in_legend] == ["- destroy", "- old object"]
