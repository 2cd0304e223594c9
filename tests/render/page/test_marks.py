"""Marks of the drawing in a browser: of what is selected, of causes, of what is destroyed, and of what is hidden."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from render.page.browser import needs_browser, opened
from render.page.test_drawing import ACTIONS, LAYERS, arrow, item, written

from planner.foundation.vocabulary.records import evolve
from planner.render.page.document import CausePart, Page, PageCause, PageChange, PageNode, PageView

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


@pytest.mark.slow
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


def caused(effects: int, hidden: int = 0) -> Page:
    """A variable that sets off changes of objects in a module, through hidden objects, and one change without it."""
    edit = 'var.image "1" -> "2" (a.tfvars:1)'
    variable = item("var.image")._replace(kind="root_variable", causes=(0,))
    objects = [item(f"module.m.box{n}", "module.m", (n,))._replace(label=f"box{n}") for n in range(effects)]
    between = [item(f"calm{n}") for n in range(hidden)]
    alone = item("module.m.alone", "module.m", (effects,))._replace(label="alone")
    changes = tuple(PageChange(one.name, "create", "", (edit,)) for one in objects)
    arrows = [arrow(one.name, between[0].name if between else "var.image") for one in objects]
    arrows += [arrow(one.name, other.name) for one, other in pairwise(between)]
    arrows += [arrow(between[-1].name, "var.image")] if between else []
    nodes: list[PageNode] = [variable, *objects, *between, alone]
    view = PageView("apply", "All", tuple(nodes), arrows, {"module.m": ("", "module.m")})
    return Page(
        "Caused",
        (),
        (view,),
        LAYERS,
        ACTIONS,
        (*changes, PageChange(alone.name, "delete", "", ("other",))),
        causes=(PageCause(edit, (CausePart("var.image", '"1"', '"2"', "a.tfvars:1", 'image = "2"'),), 1),),
    )


@needs_browser
def test_a_variable_that_is_a_cause_leads_to_its_effects(tmp_path: Path) -> None:
    with opened(written(tmp_path, caused(3))) as tab:
        assert tab.get_by_label("only changes").is_checked()
        assert tab.evaluate("scene.labelLines(scene.find('var.image'))") == ["var", 'image  "1" \u2192 "2"']
        number = tab.evaluate("causeNumbers(scene.causes(scene.find('var.image')))")
        listed = tab.locator("#groups > li > button").nth(int(number) - 1).inner_text()
        assert listed.startswith(f"{number}\nvar.image")
        assert tab.evaluate("[...scene.lines].flatMap(e => scene.bundle(e)).length") == 3  # to each effect
        tab.evaluate("choose(scene.find('var.image'))")
        assert tab.evaluate("[...drawing.marked.nodes].map(n => scene.shown(n)).sort()") == [
            *(f"module.m.box{n}" for n in range(3)),
            "var.image",
        ]
        tab.evaluate("chooseGroup('other')")
        assert tab.evaluate("drawing.marked.nodes.size") == 1


@needs_browser
def test_a_cause_leads_to_all_that_read_it_also_where_these_wait_for_each_other(tmp_path: Path) -> None:
    edit = 'var.image "1" -> "2" (a.tfvars:1)'
    names = ["module.db.primary", "module.db.replica", *(f"module.service.job{n}" for n in range(13)), "web"]
    items = [item("var.image")._replace(kind="root_variable", causes=(0,)), item("module.db.old", "module.db", (16,))]
    items += [item(name, name.rpartition(".")[0], (n,)) for n, name in enumerate(names)]
    arrows = [arrow(name, "var.image") for name in names if name not in ("web", "module.db.replica")]
    arrows += [arrow(name, "module.db.primary") for name in names[1:3]] + [arrow("web", "module.db.replica")]
    arrows += [arrow("module.db.old", "module.service.job0", "order")]  # so the modules wait for each other
    changes = (
        *(PageChange(name, "create", "", (edit,)) for name in names),
        PageChange("module.db.old", "delete", "", ()),
    )
    modules = {name: ("", name) for name in ("module.db", "module.service")}
    view = PageView("apply", "All", tuple(items), tuple(arrows), modules)
    causes = (PageCause(edit, (CausePart("var.image", '"1"', '"2"', "a.tfvars:1", 'image = "2"'),), 1),)
    with opened(written(tmp_path, Page("Both", (), (view,), LAYERS, ACTIONS, changes, causes=causes))) as tab:
        titled = "drawing.links().map(pair => pair.map(thing => scene.title(thing))).sort()"
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        assert tab.evaluate("[...scene.mutual].length") == 1
        heads = "(e => scene.ends(e).filter((_, n) => drawing.headsOf(e)[n]).map(thing => scene.title(thing)).sort())"
        assert tab.evaluate(f"{heads}([...scene.mutual][0])") == ["module.db", "module.service"]
        both = [[name, "var.image"] for name in modules]
        assert tab.evaluate(titled) == both  # not to what is reached by the line from module.db to web
        tab.evaluate("edit => chooseGroup(edit)", edit)
        assert tab.evaluate(titled) == both
        assert tab.evaluate(f"{heads}([...scene.mutual][0])") == ["module.service"]  # where the change arrives
        middle = """() => {
          const link = drawing.links()[0], route = drawing.way(link, `link ${link}`), { eye } = drawing;
          const at = 6 * Math.floor((route.length - 2) / 12), [a, b, c, d] = [0, 2, 4, 6].map(n => route.slice(at + n));
          const box = canvas.getBoundingClientRect(), part = n => (a[n] + 3 * b[n] + 3 * c[n] + d[n]) / 8;
          return [(part(0) - eye.x) * eye.k + box.left, (part(1) - eye.y) * eye.k + box.top]; }"""
        tab.mouse.click(*tab.evaluate(middle))  # on a line from the cause to a folded module
        assert tab.evaluate("scene.name(drawing.chosen)") == "var.image"
        tab.evaluate("edit => { clearMarks(); chooseGroup(edit); }", edit)
        tab.evaluate("scene.folded[scene.boxes.findIndex(box => box.name === 'module.db')] = 0; scene.arrange()")
        assert tab.evaluate(titled) == [["module.db.primary", "var.image"], ["module.service", "var.image"]]


@pytest.mark.slow
@needs_browser
def test_causes_with_many_effects_have_a_line_to_each_box(tmp_path: Path) -> None:
    with opened(written(tmp_path, caused(30))) as tab:
        tab.evaluate("foldAll(true)")
        titled = "drawing.links().map(pair => pair.map(thing => scene.title(thing)))"
        assert tab.evaluate("scene.lines.length") == 0
        assert tab.evaluate(titled) == [["module.m", "var.image"]]  # also while nothing is chosen
        assert tab.evaluate("scene.order[0].map(thing => scene.title(thing))") == ["var.image"]
        tab.evaluate("choose(scene.find('var.image'))")
        assert tab.evaluate("drawing.links().map(pair => pair.map(thing => scene.title(thing)))") == [
            ["module.m", "var.image"]
        ]
        assert tab.evaluate("[...drawing.marked.touched.values()]") == [[["create", 30]]]  # without the destroyed one
        tab.evaluate("choose(scene.find('module.m.box3'))")
        assert tab.evaluate("[...drawing.marked.edges].map(e => scene.name(scene.to[e]))") == ["var.image"]
        assert tab.evaluate("drawing.links()") == []  # the arrow that reads the cause is enough
        tab.evaluate("choose(scene.find('module.m.alone'))")
        assert tab.evaluate("drawing.links()") == []
        tab.keyboard.press("Escape")
        tab.get_by_role("button", name="Unfold modules", exact=True).click()
        assert tab.evaluate("drawing.links().length") == 30
    with opened(written(tmp_path, caused(50))) as tab:
        tab.get_by_role("button", name="Unfold modules", exact=True).click()
        assert tab.evaluate("drawing.links().length") == 0
        assert tab.evaluate("scene.numbersOf(scene.find('module.m.box3'))") == ["", "1"]
        assert "effect of cause 1" in tab.locator("#legend").inner_text()
        tab.evaluate("choose(scene.find('var.image'))")
        assert tab.evaluate("drawing.links().length") > 0


@pytest.mark.slow
@needs_browser
def test_drawn_modules_are_joined_where_there_is_no_room_for_all_ways(tmp_path: Path) -> None:
    late, early = ([f"module.{word}.n{n:03}" for n in range(370)] for word in ("late", "early"))
    names = (*late, *early, "module.end.n")
    items = (item("hub"), item("hub2"), *(item(name, name[: name.rindex(".")], (n,)) for n, name in enumerate(names)))
    arrows = [arrow(name, "hub") for name in late] + [arrow("hub", name) for name in early]
    arrows += [arrow("module.end.n", "hub2"), arrow("hub2", late[0])]
    changes = tuple(PageChange(name, "create", "", ()) for name in names)
    boxes = {f"module.{name}": ("", f"module.{name}") for name in ("late", "early", "end")}
    view = PageView("apply", "All", items, tuple(arrows), boxes)
    with opened(written(tmp_path, Page("Hub", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        assert tab.evaluate("scene.isCut")
        ends = "[...scene.lines].map(e => scene.ends(e).map(thing => scene.title(thing)))"
        assert sorted(tab.evaluate(ends)) == [["module.end", "module.late"], ["module.late", "module.early"]]
        tab.evaluate("chooseEdge([...scene.lines].find(e => scene.title(scene.ends(e)[0]) === 'module.end'))")
        assert tab.locator("#details h2").inner_text() == "Path"


@needs_browser
def test_lines_through_hidden_objects_have_their_number(tmp_path: Path) -> None:
    with opened(written(tmp_path, caused(1, hidden=2))) as tab:
        assert tab.evaluate("[...scene.lines].map(e => scene.hiddenBetween(e))") == [2]
        assert "+1 through hidden objects" in tab.locator("#legend").inner_text()
    with opened(written(tmp_path, caused(1))) as tab:
        assert tab.evaluate("[...scene.lines].map(e => scene.hiddenBetween(e))") == [0]
        assert "hidden" not in tab.locator("#legend").inner_text()


@pytest.mark.slow
@needs_browser
def test_a_chosen_object_has_its_ways_where_there_is_no_room_for_those_of_all(tmp_path: Path) -> None:
    late, early = ([f"{word}{n:03}" for n in range(370)] for word in ("late", "early"))
    items = (item("hub"), *(item(name, "", (n,)) for n, name in enumerate((*late, *early))))
    arrows = [arrow(name, "hub") for name in late] + [arrow("hub", name) for name in early]
    changes = tuple(PageChange(name, "create", "", ()) for name in (*late, *early))
    page = Page("Hub", (), (PageView("apply", "All", items, tuple(arrows)),), LAYERS, ACTIONS, changes)
    with opened(written(tmp_path, page)) as tab:
        assert tab.evaluate("scene.isCut")
        for name, is_out in (("late249", True), ("late003", True), ("early249", False)):
            tab.evaluate("name => choose(scene.find(name))", name)
            ways = "isOut => neighbours(scene.find(current), isOut).through.map(([, other]) => scene.name(other))"
            assert sorted(tab.evaluate(ways, is_out)) == (early if is_out else late)
            assert tab.evaluate("drawing.marked.nodes.size") == 371


@pytest.mark.slow
@needs_browser
def test_the_legend_has_the_kinds_of_lines_that_are_drawn(tmp_path: Path) -> None:
    items = tuple(item(name, "", (n,)) for n, name in enumerate("abc"))
    changes = tuple(PageChange(name, "create", "", ()) for name in "abc")
    for second, words in (("order", ["reads", "only order"]), ("reference", ["reads"])):
        view = PageView("apply", "All", items, (arrow("b", "a"), arrow("c", "b", second)))
        with opened(written(tmp_path, Page("Lines", (), (view,), LAYERS, ACTIONS, changes))) as tab:
            drawn = tab.locator("#legend li:has(.stroke)").all_inner_texts()
            assert [text.strip() for text in drawn] == words
    for effects in (2, 30):  # few effects have arrows that say more
        with opened(written(tmp_path, caused(effects))) as tab:
            assert ("effect of a cause" in tab.locator("#legend").inner_text()) == (effects == 30)


@needs_browser
def test_only_what_reads_a_value_depends_on_it(tmp_path: Path) -> None:
    """A declaration's vertex stands for all instances of a module: only those of the same instance read the value."""
    names = ('module.m["a"].t.x', 'module.m["a"].t.y', 'module.m["b"].t.y', "late", "all")
    items = tuple(item(name, "", (n,))._replace(kind="instance_apply") for n, name in enumerate(names))
    items += (item("module.m.t.y (expand)"),)
    items += (PageNode("module.m.output.o (expand)", "output", "o", "", "module.m.output.o", None, ()),)
    arrows = (
        arrow('module.m["a"].t.y', "module.m.t.y (expand)", "order"),
        arrow('module.m["b"].t.y', "module.m.t.y (expand)", "order"),
        arrow("module.m.t.y (expand)", 'module.m["a"].t.x'),
        arrow("module.m.output.o (expand)", 'module.m["a"].t.y'),
        arrow("all", "module.m.output.o (expand)"),
        arrow("late", 'module.m["a"].t.x', "order"),
    )
    changes = tuple(PageChange(name, "create", "", ()) for name in names)
    page = Page("Readers", (), (PageView("apply", "All", items, arrows),), LAYERS, ACTIONS, changes)
    with opened(written(tmp_path, page)) as tab:
        tab.evaluate("""showBlast(scene.find('module.m["a"].t.x'))""")
        details = tab.get_by_role("complementary", name="Details")
        shown = details.locator("ul:visible button").evaluate_all(
            "all => all.map(one => one.getAttribute('aria-label'))"
        )
        assert sorted(shown) == ["all", 'module.m["a"].t.y']
        later = details.locator("summary", has_text="Only the order")
        assert later.inner_text().startswith("Only the order: 2 more steps follow")
        later.click()
        for name in ('module.m["b"].t.y', "late"):
            details.get_by_role("button", name=name).wait_for()


@needs_browser
def test_a_large_graph_shows_the_nearest_of_what_waits(tmp_path: Path) -> None:
    """As a small one does: not what waits for others that wait, too. But what reads the value is listed completely."""
    count = 500
    names = ["first", "near", "far", *(f"other{n:03}" for n in range(count))]
    items = (*(item(name, "", (n,)) for n, name in enumerate(names)), item("between"), item("beside"))
    arrows = (arrow("between", "first"), arrow("near", "between"), arrow("beside", "first"), arrow("far", "beside"))
    arrows += (arrow("far", "near"), *(arrow(f"other{n:03}", "near") for n in range(count)))
    changes = tuple(PageChange(name, "create", "", ()) for name in names)
    page = Page("Nearest", (), (PageView("plan", "All", items, arrows),), LAYERS, ACTIONS, changes)
    with opened(written(tmp_path, page)) as tab:
        assert not tab.evaluate("choose(scene.find('first')), scene.isSmall")
        near = "neighbours(scene.find('first'), false).through.map(([, node]) => scene.name(node))"
        assert tab.evaluate(near) == ["near"]
        more = "([name, isOut]) => neighbours(scene.find(name), isOut).more.map(([, node]) => scene.name(node))"
        assert tab.evaluate(more, ["first", False]) == ["far"]
        assert tab.evaluate(more, ["far", True]) == ["first"]
        details = tab.get_by_role("complementary", name="Details")
        assert "They read it (2), also through hidden objects" in details.inner_text()
        details.get_by_role("button", name="why far waits for it").click()
        assert "far waits for first, in 2 steps" in details.inner_text()


@pytest.mark.slow
@needs_browser
def test_causes_stand_in_the_order_of_their_numbers_in_large_plans(tmp_path: Path) -> None:
    edits = ['var.b "1" -> "2" (a.tfvars:1)', 'var.a "1" -> "2" (a.tfvars:2)']
    names = [f"module.m.box{n}" for n in range(2001)]
    items = [item(name, "module.m", (n,)) for n, name in enumerate(names)]
    items += [item(edit[:5])._replace(kind="root_variable", causes=(n,)) for n, edit in enumerate(edits)]
    changes = tuple(PageChange(name, "create", "", tuple(edits)) for name in names)
    arrows = [arrow(name, edit[:5]) for name in names for edit in edits]
    view = PageView("apply", "All", tuple(items), arrows, {"module.m": ("", "module.m")})
    causes = tuple(PageCause(edit, (CausePart(edit[:5], '"1"', '"2"'),), n + 1) for n, edit in enumerate(edits))
    with opened(written(tmp_path, Page("Large", (), (view,), LAYERS, ACTIONS, changes, causes=causes))) as tab:
        assert tab.evaluate("scene.order[0].map(thing => scene.title(thing))") == ["var.b", "var.a"]


@needs_browser
def test_markdown_says_which_cause_forces_a_replacement(tmp_path: Path) -> None:
    items = (item("db", "", (0,))._replace(kind="instance_apply"),)
    changes = (PageChange("db", "create_then_delete", "", ("var.a", "var.b")),)
    causes = (PageCause("var.a", (), 1), PageCause("var.b", (), 2, (0,)))
    page = Page("Forced", (), (PageView("apply", "All", items, ()),), LAYERS, REPLACED, changes, causes=causes)
    with opened(written(tmp_path, page)) as tab:
        lines = tab.evaluate("markdown()").splitlines()
        assert r"| +/- | db | \[1\] var.a; \[2\] var.b (only updates it) |" in lines
        assert next(line for line in lines if line.startswith("| 2 |")).endswith(
            "also updates 1 object, which other causes replace |"
        )


@needs_browser
def test_what_a_selection_unfolds_is_folded_again(tmp_path: Path) -> None:
    folded = "[...scene.boxes.keys()].filter(b => scene.folded[b]).map(b => scene.boxes[b].name).join()"
    with opened(written(tmp_path, caused(3))) as tab:
        tab.evaluate("foldAll(true)")
        eye = tab.evaluate("drawing.eye")
        for choice in ("choose(scene.find('module.m.box1'))", "chooseAction('create')", "chooseGroup('other')"):
            tab.evaluate(choice)
            assert tab.evaluate(folded) == ""
            tab.keyboard.press("Escape")
            assert tab.evaluate(folded) == "module.m"
            assert tab.evaluate("drawing.eye") == eye
        tab.evaluate("choose(scene.find('module.m.box1'))")
        tab.evaluate("choose(scene.find('var.image'))")  # it is drawn, so nothing moves below the pointer
        assert tab.evaluate(folded) == ""
        tab.evaluate("toggle(1)")
        tab.evaluate("toggle(1)")  # unfolded by hand
        tab.keyboard.press("Escape")
        assert tab.evaluate(folded) == ""


@pytest.mark.slow
@needs_browser
def test_what_is_marked_and_outside_the_picture_is_counted(tmp_path: Path) -> None:
    items = tuple(item(f"box{n:03}", "", (n,)) for n in range(400))
    changes = tuple(
        PageChange(one.name, "delete" if n == 399 else "create", "", ("all",)) for n, one in enumerate(items)
    )
    with opened(
        written(tmp_path, Page("Many", (), (PageView("apply", "All", items, ()),), LAYERS, ACTIONS, changes))
    ) as tab:
        tab.evaluate("foldAll(false)")
        tab.evaluate("chooseGroup('all')")
        seen = "n => drawing.sees(scene.area(scene.stands[n]))"
        outside = sum(not tab.evaluate(seen, n) for n in range(400))
        assert outside and tab.get_by_role("status").inner_text() == (
            f"all: 400 objects, {outside} of them outside the view."
        )
        assert tab.evaluate(seen, 399)  # the destroyed one


@needs_browser
def test_the_key_of_an_instance_stays_in_its_label(tmp_path: Path) -> None:
    cut = "text => [24, 18, 12].map(most => cut(text, most))"
    with opened(written(tmp_path, replacing())) as tab:
        assert tab.evaluate(cut, '~ private_subnet["eu-1"]') == [
            '~ private_subnet["eu-1"]',
            '~ private\u2026["eu-1"]',
            '~ p\u2026["eu-1"]',
        ]
        assert tab.evaluate(cut, '+ a["a key that is very long"]')[2] == '+ \u2026["a key \u2026'
        assert tab.evaluate(cut, 'image  "1.4" \u2192 "1.5.0"') == [
            'image  "1.4" \u2192 "1.5.0"',
            'image  \u2026 \u2192 "1.5.0"',
            "image  \u2026",
        ]
        assert tab.evaluate(cut, "zones_of_all_networks")[1:] == ["zones_of_all_\u2026orks", "zones_of_\u2026ks"]


@needs_browser
def test_what_reads_an_object_is_apart_from_what_only_comes_later(tmp_path: Path) -> None:
    one, other = 'module.s["a"].thing.x', 'module.s["b"].thing.y'
    items = (
        item(one, "", (0,))._replace(kind="instance_apply"),
        item('module.s["a"].thing.y', "", (1,))._replace(kind="instance_apply"),
        item(other, "", (2,))._replace(kind="instance_apply"),
        item("module.s.local.v (expand)")._replace(kind="local"),
        item("thing.last", "", (3,))._replace(kind="instance_apply"),
    )
    arrows = (
        *(arrow(name, "module.s.local.v (expand)") for name in (items[1].name, other)),
        arrow("module.s.local.v (expand)", one),
        arrow("thing.last", one, "order"),
    )
    changes = tuple(PageChange(one.name, "create", "", ()) for one in items if one.changes)
    layers = (*LAYERS, ("module", "a module begins before its contents"))
    page = Page("Instances", (), (PageView("apply", "All", items, arrows),), layers, ACTIONS, changes)
    with opened(written(tmp_path, page)) as tab:
        tab.evaluate("name => choose(scene.find(name))", one)
        details = tab.locator("#details").inner_text()
        read, _, ordered = details.partition("Only the order: 2 after it")
        assert "These wait for it (3)" in read and "They read it (1)" in read
        assert 'module.s["a"]\n+\nthing.y' in read and 'module.s["b"]' not in read
        assert "No value is read between these." in ordered
        assert 'module.s["b"]\n+\nthing.y' in ordered and "thing.last" in ordered
        assert not tab.evaluate("name => drawing.marked.nodes.has(scene.find(name))", other)
        lines = "[...scene.lines].map(e => scene.ends(e).map(thing => scene.name(thing)))"
        between, real = [other, one], [items[1].name, one]
        assert between in tab.evaluate(lines)
        tab.evaluate("scene.visible ^= 4; scene.connect()")  # as it is in large graphs
        assert between not in tab.evaluate(lines) and real in tab.evaluate(lines)
        tab.evaluate("clearMarks()")
        assert "Arrows between instances of a module" in tab.locator("#details").inner_text()
        tab.evaluate("name => choose(scene.find(name))", items[1].name)
        assert "Values that it reads (1)\nmodule.s\nlocal.v" in tab.locator("#details").inner_text()


@pytest.mark.slow
@needs_browser
def test_a_cause_that_only_updates_does_not_light_the_old_object(tmp_path: Path) -> None:
    force, update = 'var.suffix "1" -> "2" (a.tfvars:1)', 'var.owner "ann" -> "bob" (a.tfvars:2)'
    items = (
        item("db", "", (0,))._replace(kind="instance_apply"),
        item("db (destroy)", "", (0,))._replace(kind="instance_destroy"),
        item("output.names", "", (1,))._replace(kind="output"),
        *(item(f"hidden{n}") for n in range(2)),
        item("web", "", (2,)),
        item("var.owner")._replace(kind="root_variable", causes=(1,)),
        item("var.suffix")._replace(kind="root_variable", causes=(0,)),
    )
    changes = (
        PageChange("db", "delete_then_create", "", (force, update)),
        PageChange("output.names", "create", "", (force,)),
        PageChange("web", "create", "", (update,)),
    )
    arrows = [arrow("db", name) for name in ("var.owner", "var.suffix")] + [arrow("db", "db (destroy)", "destroy")]
    arrows += [arrow("output.names", name) for name in ("hidden0", "var.suffix")] + [arrow("hidden0", "var.owner")]
    arrows += [arrow("web", "hidden1", "order"), arrow("hidden1", "var.owner")]
    layers = (*LAYERS, ("destroy", "the order of destruction"))
    actions = (*ACTIONS, ("delete_then_create", "replace", "-/+", "replace"))
    causes = (PageCause(force, (), 1), PageCause(update, (), 2, (0,)))
    page = Page("Old", (), (PageView("apply", "All", items, tuple(arrows)),), layers, actions, changes, causes=causes)
    lit = "[...drawing.marked.nodes].map(n => scene.name(n)).sort()"
    lines = """[...scene.lines].flatMap(e => scene.bundle(e))
      .map(e => [scene.name(scene.from[e]), scene.name(scene.to[e]), scene.layerNames(e)[0]]).sort()"""
    strokes = """() => { const found = new Set(), { stroke } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.stroke = function () {
        if (this.lineWidth > 2.1 && this.globalAlpha === 1) found.add(this.strokeStyle);
      };
      drawing.redraw(true);
      CanvasRenderingContext2D.prototype.stroke = stroke;
      return ["mark", "reference", "order", "destroy"].filter(name => found.has(drawing.colours[name])); }"""
    with opened(written(tmp_path, page)) as tab:
        assert tab.evaluate(lines) == [
            ["db", "db (destroy)", "destroy"],
            ["db", "var.owner", "reference"],
            ["db", "var.suffix", "reference"],
            [
                "output.names",
                "var.suffix",
                "reference",
            ],  # not to var.owner, which it reads and which changes nothing of it
            ["web", "var.owner", "order"],  # as a step of the way only orders
        ]
        tab.evaluate("cause => chooseGroup(cause)", update)
        assert tab.evaluate(lit) == ["db", "var.owner", "web"]
        tab.evaluate("choose(scene.find('var.owner'))")
        assert tab.evaluate(lit) == ["db", "var.owner", "web"]
        tab.evaluate("cause => chooseGroup(cause)", force)
        assert tab.evaluate(lit) == ["db", "db (destroy)", "output.names", "var.suffix"]
        assert tab.evaluate(strokes) == ["mark", "destroy"]  # an order of destruction is no effect


@needs_browser
def test_what_depends_on_an_object_changes_because_of_it_if_a_chain_leads_through_it(tmp_path: Path) -> None:
    edit = 'var.image "1" -> "2" (a.tfvars:1)'
    chains = {
        'a["x"]': ("because:", f"  {edit}"),
        "b": ("because:", '  a["x"].id (main.tf:1)', f"  {edit}"),
        "c": ("because:", '  a["w", "x"].id (main.tf:1)', f"  {edit}"),
        "d": ("because:", '  a["x2"].id (main.tf:1)', f"  {edit}"),
        "e": ("because:", '  a["w", "y"].id (main.tf:1)', f"  {edit}"),
    }
    items = [item(name, "", (n,)) for n, name in enumerate(chains)]
    arrows = [arrow(name, 'a["x"]') for name in chains if name != 'a["x"]']
    changes = tuple(PageChange(name, "create", "", (edit,), lines) for name, lines in chains.items())
    view = PageView("apply", "All", tuple(items), tuple(arrows))
    with opened(written(tmp_path, Page("Through", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        through = "[...changesThrough(scene.find('a[\"x\"]'))].map(([address]) => address)"
        assert tab.evaluate(through) == ["b", "c"]
        tab.evaluate("showBlast(scene.find('a[\"x\"]'))")
        shown = tab.locator("#details").inner_text()
        assert "2 objects change because of it." in shown
        assert "2 objects more that change depend on it, but have other causes" in shown
    with opened(written(tmp_path, caused(3))) as tab:
        tab.evaluate("showBlast(scene.find('var.image'))")
        assert "3 objects change because of it." in tab.locator("#details").inner_text()


@pytest.mark.slow
@needs_browser
def test_what_depends_on_an_instance_has_no_other_instances(tmp_path: Path) -> None:
    """A declaration has a node for all instances, whose changes are no effects of one of them."""
    edit = 'var.keys["x"] removed (a.tfvars:1)'
    changes = (
        PageChange('a["x"]', "delete", "", (edit,), ("because:", f"  {edit}")),
        PageChange('a["y"]', "no-op", "", ()),
        PageChange("b", "create", "", (edit,), ("because:", '  a["x"] removed (for_each, main.tf:1)', f"  {edit}")),
    )
    items = (item("a", "", (0, 1))._replace(kind="resource"), item("b", "", (2,)))
    view = PageView("plan", "Configuration", items, (arrow("b", "a"),))
    with opened(written(tmp_path, Page("Instances", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        details = tab.get_by_role("complementary", name="Details")
        tab.evaluate("asked = 'a[\"y\"]'; choose(scene.find('a')); asked = null")  # as a hit of a search does
        tab.get_by_role("button", name="What depends on it").click()
        assert "1 object that changes; none of their causes leads through it." in details.inner_text()
        assert 'a["x"]' not in details.inner_text() and tab.url.endswith("of=a%5B%22y%22%5D")
        tab.reload()
        assert details.get_by_role("heading").first.inner_text() == 'What depends on a["y"]'
        tab.evaluate("showBlast(scene.find('a'))")
        assert details.get_by_role("button", name='a["x"]').count() == 0


@pytest.mark.slow
@needs_browser
def test_the_legend_has_the_lines_from_causes_only_while_they_are_drawn(tmp_path: Path) -> None:
    edit = 'var.image "1" -> "2" (a.tfvars:1)'
    items = (item("var.image")._replace(kind="root_variable", causes=(0,)), item("a", "", (0,)), item("b", "", (1,)))
    items += tuple(item(f"other{n}", "", (n,)) for n in range(2, 14))  # in small graphs implied lines are drawn, too
    arrows = (arrow("a", "var.image"), arrow("b", "a"), arrow("b", "var.image", is_implied=True))
    changes = tuple(PageChange(name, "create", "", (edit,)) for name in ("a", "b"))
    changes += tuple(PageChange(f"other{n}", "create", "", ()) for n in range(2, 14))
    view, causes = PageView("apply", "All", items, arrows), (PageCause(edit, (), 1),)
    with opened(written(tmp_path, Page("Legend", (), (view,), LAYERS, ACTIONS, changes, causes=causes))) as tab:
        legend = tab.locator("#legend")
        assert "cause" in legend.inner_text() and "effect of a cause" not in legend.inner_text()
        tab.evaluate("edit => chooseGroup(edit)", edit)
        legend.get_by_text("effect of a cause").wait_for()
        assert tab.evaluate("drawing.links().map(pair => pair.map(n => scene.name(n)))") == [["b", "var.image"]]
        tab.keyboard.press("Escape")
        legend.get_by_text("effect of a cause").wait_for(state="hidden")


@pytest.mark.slow
@needs_browser
def test_a_folded_box_has_the_numbers_of_its_causes_and_orders_of_destruction_are_listed(tmp_path: Path) -> None:
    edit = 'module.m.var.size "1" -> "2" (m/main.tf:1)'
    cause = item("module.m.var.size", "module.m")._replace(kind="variable", causes=(0,))
    items = (cause, item("module.m.a", "module.m", (0,)), item("b", "", (1,)), item("c", "", (2,)))
    layers = (*LAYERS, ("destroy", "it is destroyed first"))
    order = (arrow("b", "c", "destroy"), arrow("c", "module.m.a", "destroy"), arrow("b", "module.m.a", "destroy", True))
    changes = (PageChange("module.m.a", "create", "", (edit,)), *(PageChange(n, "delete", "", ()) for n in "bc"))
    view = PageView("apply", "All", items, (*order, arrow("module.m.a", cause.name)), {"module.m": ("", "module.m")})
    page = Page("Inside", (), (view,), layers, ACTIONS, changes, causes=(PageCause(edit, (), 1),))
    with opened(written(tmp_path, page)) as tab:
        inside = "scene.numbersInside(scene.boxes.findIndex(box => box.name === 'module.m'))"
        assert tab.evaluate(inside) == ["1", ""] and tab.evaluate("scene.numbersInside(0)") == ["1", ""]
        tab.evaluate("choose(scene.find('b'))")
        listed = tab.locator("#details").inner_text()
        assert "It waits for (2)" in listed and "module.m" in listed


@pytest.mark.slow
@needs_browser
def test_an_effect_without_arrows_has_a_line_from_its_cause(tmp_path: Path) -> None:
    edit = "var.names: removed x (a.tfvars:1)"
    items = (item("var.names")._replace(kind="root_variable", causes=(0,)), item("a", "", (0,)), item("gone", "", (1,)))
    changes = tuple(PageChange(name, action, "", (edit,)) for name, action in (("a", "create"), ("gone", "delete")))
    view, causes = PageView("apply", "All", items, (arrow("a", "var.names"),)), (PageCause(edit, (), 1),)
    with opened(written(tmp_path, Page("Apart", (), (view,), LAYERS, ACTIONS, changes, causes=causes))) as tab:
        assert tab.evaluate("drawing.links().map(pair => pair.map(n => scene.name(n)))") == [["gone", "var.names"]]


@needs_browser
def test_an_arrow_whose_edges_only_order_reads_a_value_that_others_imply(tmp_path: Path) -> None:
    names = ("module.m.a", "module.m.b", "d")
    items = (*(item(name, name.rpartition(".")[0], (n,)) for n, name in enumerate(names)), item("between"))
    arrows = (arrow("d", "module.m.b", "order"), arrow("module.m.b", "module.m.a", "order"))
    arrows += (arrow("d", "between"), arrow("between", "module.m.a"))
    changes = tuple(PageChange(name, "create", "", ()) for name in names)
    view = PageView("plan", "All", items, arrows, {"module.m": ("", "module.m")})
    with opened(written(tmp_path, Page("Read", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        tab.evaluate("foldAll(true)")
        ends = "[...scene.readLines].map(e => scene.ends(e).map(thing => scene.title(thing)))"
        assert tab.evaluate(ends) == [["d", "module.m"]]
        tab.evaluate("showLine(scene.lines[0], scene.bundle(scene.lines[0]))")
        details = tab.get_by_role("complementary", name="Details").inner_text()
        assert "A value is read, also through hidden objects (1)" in details and "d reads module.m.a" in details


@needs_browser
def test_a_cause_that_reaches_all_modules_of_a_box_leads_to_the_box(tmp_path: Path) -> None:
    edit = 'var.image "1" -> "2" (a.tfvars:1)'
    modules = [f'module.cell["{key}"]' for key in "abcdefghijklmn"]
    names = [f"{module}.web" for module in modules]
    items = [item("var.image")._replace(kind="root_variable", causes=(0,))]
    items += [item(name, module, (n,)) for n, (name, module) in enumerate(zip(names, modules, strict=True))]
    items += [item(f"{modules[0]}.gone", modules[0], (len(names),))]
    # the order of destruction of all instances together
    arrows = [arrow(name, "var.image") for name in names] + [arrow(names[1], f"{modules[0]}.gone", "order")]
    changes = (
        *(PageChange(name, "update", "", (edit,)) for name in names),
        PageChange(f"{modules[0]}.gone", "delete", "", ()),
    )
    boxes = {"module.cell": ("", "module.cell"), **{name: ("module.cell", name) for name in modules}}
    view = PageView("apply", "All", tuple(items), tuple(arrows), boxes)
    causes = (PageCause(edit, (CausePart("var.image", '"1"', '"2"', "a.tfvars:1", 'image = "2"'),), 1),)
    layers = (*LAYERS, ("module", "a module begins or ends"))
    with opened(written(tmp_path, Page("Cells", (), (view,), layers, ACTIONS, changes, causes=causes))) as tab:
        titled = "drawing.links().map(pair => pair.map(thing => scene.title(thing)))"
        tab.evaluate("scene.folded.fill(0); scene.visible &= ~4; scene.arrange(); drawing.redraw(true)")
        assert tab.evaluate(titled) == [["module.cell", "var.image"]]
        assert tab.evaluate("scene.lines.length") == 0
        assert tab.evaluate("scene.isWithoutShared")
        tab.evaluate("edit => chooseGroup(edit)", edit)
        assert tab.evaluate(titled) == [["module.cell", "var.image"]]


@needs_browser
def test_what_refers_to_a_whole_module_may_read_other_values_of_it(tmp_path: Path) -> None:
    names = ("module.db.net", "job", "web")
    items = [item(name, name.rpartition(".")[0], (n,)) for n, name in enumerate(names)]
    items.append(item("module.db.output.id (expand)", "module.db")._replace(kind="output"))
    items.append(item("module.db (close)", "module.db")._replace(kind="module_close"))
    reads = [("module.db.output.id (expand)", "module.db.net"), ("module.db (close)", "module.db.output.id (expand)")]
    reads.append(("job", "module.db.output.id (expand)"))  # module.db.id
    reads += [("web", "module.db.output.id (expand)"), ("web", "module.db (close)")]  # module.db[var.key].secret
    view = PageView(
        "apply", "All", tuple(items), tuple(arrow(*ends) for ends in reads), {"module.db": ("", "module.db")}
    )
    changes = tuple(PageChange(name, "create", "", ()) for name in names)
    with opened(written(tmp_path, Page("Whole", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        readers = "{}([scene.find('module.db.net')]).size"
        assert tab.evaluate(readers.format("scene.readersOf")) == 5
        exact = "[...scene.exactReaders([scene.find('module.db.net')])].map(n => scene.name(n)).sort()"
        assert tab.evaluate(exact) == ["job", "module.db (close)", "module.db.net", "module.db.output.id (expand)"]
        tab.evaluate("choose(scene.find('module.db.net'))")
        shown = tab.locator("#details").inner_text()
        assert "They read it (1)" in shown
        assert "They read a module that contains it (1)" in shown
        tab.evaluate("showBlast(scene.find('module.db.net'))")
        shown = tab.locator("#details").inner_text()
        assert "1 object that changes; none of their causes" in shown
        assert "1 object that changes: they read a module that contains it" in shown


@pytest.mark.slow
@needs_browser
def test_data_moved_blocks_and_the_steps_of_a_replacement(tmp_path: Path) -> None:
    page = evolve(replacing(), data={"gone": "It holds data: it is listed."}, moved_blocks=(("main.tf:9", ("web",)),))
    page = evolve(page, changes=tuple(evolve(c, former="site") if c.address == "web" else c for c in page.changes))
    with opened(written(tmp_path, page)) as tab:
        details = tab.get_by_role("complementary", name="Details")
        assert details.inner_text().startswith("Data is lost: 1 object\n")
        assert "Moved blocks (1)\nweb\nmoved from site\nmain.tf:9" in details.inner_text()
        assert tab.evaluate("scene.labelLines(scene.find('gone'))[0]").endswith("holds data")
        tab.evaluate("choose(scene.find('db'))")
        assert details.get_by_role("heading", name="Order", exact=True).count() == 1
        steps = details.locator("ol:not(.hops) > li").all_inner_texts()
        assert [step.split("\n")[0] for step in steps] == [
            "The new object is created.", "1 object in between:", "The old object is destroyed.",
        ]  # fmt: skip
        tab.get_by_label("Search").fill("main.tf:9")
        assert tab.locator("#list").get_by_role("button", name="web").count() == 1


@pytest.mark.slow
@needs_browser
def test_arrows_that_read_a_cause_and_lists_by_module(tmp_path: Path) -> None:
    with opened(written(tmp_path, caused(3))) as tab:
        assert tab.evaluate("[...scene.lines].every(e => scene.isEffect(e))")
        assert "reads a cause" in tab.locator("#legend").inner_text()
        assert tab.locator("#listorder").count() == 0  # all changes are in one module
    page = caused(3)
    [view] = page.views
    items = tuple(one._replace(box="") if one.name == "module.m.alone" else one for one in view.items)
    items = tuple(one._replace(name="alone", about="alone") if one.name == "module.m.alone" else one for one in items)
    changes = tuple(evolve(c, address="alone") if c.address == "module.m.alone" else c for c in page.changes)
    with opened(written(tmp_path, evolve(page, views=(evolve(view, items=items),), changes=changes))) as tab:
        tab.get_by_role("button", name="By module").click()
        assert tab.locator("#list > details > summary").all_inner_texts() == ["root module (1) - 1", "module.m (3) + 3"]
        tab.get_by_role("button", name="By action").click()
        assert tab.locator("#list > details > summary").all_inner_texts() == ["- destroy (1)", "+ create (3)"]


@pytest.mark.slow
@needs_browser
def test_an_old_object_comes_after_what_reads_the_new_one(tmp_path: Path) -> None:
    """Also if other edges imply this order, so that no arrow is drawn."""
    page = replacing()
    [view] = page.views
    old = "db (destroy deposed)"
    arrows = (arrow("web", "db"), arrow(old, "web", "order", True), arrow(old, "gone", "order"))
    with opened(written(tmp_path, evolve(page, views=(evolve(view, arrows=arrows),)))) as tab:
        rows = tab.evaluate("scene.order.map(row => row.map(thing => scene.title(thing)))")
        row = {name: n for n, names in enumerate(rows) for name in names}
        assert row["db"] < row["web"] < row[old]


@pytest.mark.slow
@needs_browser
def test_a_file_marks_all_that_its_causes_change(tmp_path: Path) -> None:
    """So does a filter by action; both keep the causes, with lines to what they change."""
    edits = ('var.image "1" -> "2" (a.tfvars:1)', "var.size 1 -> 2 (b.tfvars:1)")
    items = (
        item("var.image")._replace(kind="root_variable", causes=(0,)),
        item("var.size")._replace(kind="root_variable", causes=(1,)),
        *(item(name, "", (n,)) for n, name in enumerate("abc")),
    )
    changes = (
        PageChange("a", "create", "", edits[:1]),
        PageChange("b", "delete", "", edits[1:]),
        PageChange("c", "create", "", edits[1:]),
    )
    causes = tuple(PageCause(edit, (CausePart(edit.split()[0], "1", "2"),), n) for n, edit in enumerate(edits, 1))
    view = PageView("apply", "All", items, ())
    with opened(written(tmp_path, Page("Files", (), (view,), LAYERS, ACTIONS, changes, causes=causes))) as tab:
        links = "drawing.links().map(pair => pair.map(thing => scene.title(thing)))"
        tab.get_by_role("button", name="b.tfvars", exact=True).click()
        assert tab.locator("#list .name").all_inner_texts() == ["b", "c"]
        assert [text.split("\n")[1] for text in tab.locator("#groups > li > button").all_inner_texts()] == [
            "var.size 1 \u2192 2"
        ]
        assert sorted(tab.evaluate(links)) == [["b", "var.size"], ["c", "var.size"]]
        tab.reload()
        assert tab.locator("#list .name").all_inner_texts() == ["b", "c"]
        tab.get_by_role("button", name="1 to destroy").click()
        assert tab.evaluate(links) == [["b", "var.size"]]
        assert tab.evaluate("[...drawing.marked.nodes].map(n => scene.name(n)).sort()") == ["b", "var.size"]


@pytest.mark.slow
@needs_browser
def test_the_other_end_of_a_path_is_the_thing_with_this_name(tmp_path: Path) -> None:
    """Not one whose name only contains it; the end may be in the other graph."""
    items = (item("a", "", (0,)), item("long.var.b"), item("var.b"))
    more = (*items, item("deep"))
    arrows = (arrow("a", "var.b"),)
    changes = (PageChange("a", "create", "", ()),)
    views = (
        PageView("apply", "All", items, arrows),
        PageView("plan", "Configuration", more, (*arrows, arrow("a", "deep"))),
    )
    with opened(written(tmp_path, Page("Path", (), views, LAYERS, ACTIONS, changes))) as tab:
        details = tab.get_by_role("complementary", name="Details")
        for end, graph in (("var.b", "apply"), ("deep", "plan")):
            tab.evaluate("chooseView(data.views.findIndex(view => view.name === 'apply'))")
            tab.evaluate("choose(scene.find('a')); beginPath(scene.find('a'))")
            tab.get_by_label("Search").fill(end)
            tab.get_by_label("Search").press("Enter")
            assert f"a waits for {end}, in 1 step:" in details.inner_text()
            assert tab.evaluate("scene.view.name") == graph
