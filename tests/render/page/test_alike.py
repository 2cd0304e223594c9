"""Lists and Markdown of plans with many alike objects, in a browser."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from render.page.browser import needs_browser, opened
from render.page.test_drawing import ACTIONS, LAYERS, arrow, item, large, small, written

from planner.render.page.document import CausePart, Page, PageCause, PageChange, PageView, page_json

EDIT = 'var.image "1" -> "2" (a.tfvars:1)'


def jobs(modules: int, each: int, action: str = "create", letters: bool = False) -> Page:
    """A plan of modules with the same objects, or with `letters` with objects that all have another name."""
    names = [
        f"module.m{m}.thing.{'x' * 40 + str(m) + 'y' if letters else 'job'}{'' if letters else f'[{n}]'}"
        for m in range(modules)
        for n in range(each)
    ]
    items = tuple(item(name, name[: name.index(".thing")], (n,)) for n, name in enumerate(names))
    changes = tuple(PageChange(name, action, "no longer declared", (EDIT,)) for name in names)
    gone = PageChange("thing.old", "delete", "no longer declared", ("thing.old: no longer declared",))
    boxes = {f"module.m{m}": ("", f"module.m{m}") for m in range(modules)}
    view = PageView("apply", "All", (*items, item("thing.old", "", (len(names),))), (), boxes)
    parts = (CausePart("var.image", '"1"', '"2"', "a.tfvars:1", 'image = "2"'),)
    causes = (PageCause(EDIT, parts, 1), PageCause("thing.old: no longer declared", (), 0))
    return Page("Jobs", (), (view,), LAYERS, ACTIONS, (*changes, gone), causes=causes)


@pytest.mark.slow
@needs_browser
def test_instances_of_a_name_in_many_modules_are_one_line(tmp_path: Path) -> None:
    with opened(written(tmp_path, jobs(5, 12))) as tab:
        listed = tab.locator("#list")
        heads = ["- destroy (1)", "+ create (60)", "thing.job[*]: 60 in 5 modules"]
        assert listed.locator("summary").all_inner_texts() == heads
        listed.locator("summary", has_text="thing.job[*]").click()
        listed.locator("summary", has_text="module.m3: 12").click()
        inner = listed.locator("details details details .name")
        inner.first.wait_for()  # a list is filled when it is unfolded
        names = inner.all_inner_texts()
        assert names == [f"thing.job[{n}]" for n in range(12)]
        columns = "scene.boxes.find(box => box.name.startsWith('module.m0: ')).columns.flat().map(n => scene.label(n))"
        assert [name.rpartition("thing.")[2] for name in tab.evaluate(columns)] == [f"job[{n}]" for n in range(12)]


def instances(number: int, destroyed: int) -> Page:
    """A plan of a resource whose first instances are destroyed, and the others created."""
    names = [f'thing.bucket["k{n}"]' for n in range(number)]
    items = tuple(item(name, "", (n,)) for n, name in enumerate(names))
    changes = tuple(PageChange(name, "delete" if n < destroyed else "create", "", ()) for n, name in enumerate(names))
    return Page("Instances", (), (PageView("apply", "All", items, ()),), LAYERS, ACTIONS, changes)


@pytest.mark.parametrize(
    ("number", "destroyed", "inside"), [(4, 0, []), (8, 0, [8]), (8, 2, [6]), (8, 5, [8]), (8, 8, [8]), (40, 6, [40])]
)
def test_many_instances_of_a_resource_are_a_box(number: int, destroyed: int, inside: list[int]) -> None:
    boxes = page_json(instances(number, destroyed))["views"][0]["boxes"]
    assert [(box[0], box[1], sum(map(len, box[3]))) for box in boxes[1:]] == [
        ("all thing.bucket[*]", "thing.bucket[*]", count) for count in inside
    ]


@needs_browser
def test_a_box_of_instances_unfolds(tmp_path: Path) -> None:
    drawn = "[...scene.where.keys()].map(thing => scene.title(thing)).sort()"
    with opened(written(tmp_path, instances(8, 1))) as tab:
        tab.evaluate("foldAll(true)")
        assert tab.evaluate(drawn) == ["all thing.bucket[*]", 'thing.bucket["k0"]']
        tab.evaluate("choose(-2)")
        assert tab.locator("#details h2").inner_text() == "thing.bucket[*]"
        tab.get_by_role("button", name="Unfold", exact=True).click()
        assert len(tab.evaluate(drawn)) == 9


@pytest.mark.slow
@needs_browser
def test_modules_that_only_differ_in_numbers_are_one_line(tmp_path: Path) -> None:
    names = [f"module.w[{n}].thing.{kind}" for n in range(3) for kind in ("a", "b", "c", "d")]
    items = tuple(item(name, name[:11], (n,)) for n, name in enumerate(names))
    boxes = {"module.w": ("", "module.w"), **{f"module.w[{n}]": ("module.w", f"module.w[{n}]") for n in range(3)}}
    for action, heads in (
        ("create", ["+ create (12)", "module.w[*]: 12 objects"]),
        ("delete", ["- destroy (1)", "+ create (11)"]),
    ):
        changes = (PageChange(names[0], action, "", ()), *(PageChange(name, "create", "", ()) for name in names[1:]))
        page = Page("Copies", (), (PageView("apply", "All", items, (), boxes),), LAYERS, ACTIONS, changes)
        with opened(written(tmp_path, page)) as tab:
            assert tab.locator("#list summary").all_inner_texts() == heads
            if action == "create":
                tab.locator("#list summary", has_text="module.w[*]").click()
                tab.locator("#list summary").nth(4).wait_for()  # the list is filled when it opens
                assert tab.locator("#list summary").all_inner_texts()[2:] == [f"module.w[{n}]: 4" for n in range(3)]


@pytest.mark.slow
@needs_browser
def test_another_list_begins_at_its_top(tmp_path: Path) -> None:
    with opened(written(tmp_path, jobs(60, 1, letters=True)), height=400) as tab:
        scroll = "() => { const side = document.getElementById('side'); side.scrollTop = 200; return side.scrollTop; }"
        for act in ("chooseAction('create')", "clearMarks()"):
            assert tab.evaluate(scroll) == 200
            tab.evaluate(act)
            assert tab.evaluate("document.getElementById('side').scrollTop") == 0, act


@needs_browser
def test_markdown_has_alike_objects_once_and_fits_into_a_comment(tmp_path: Path) -> None:
    with opened(written(tmp_path, jobs(5, 12, "delete"))) as tab:
        lines = tab.evaluate("markdown()").replace("\\", "").splitlines()
        assert '| 1 | var.image | "1" | "2" | a.tfvars:1 | - 60 |' in lines
        rows = [line for line in lines[lines.index("## Destroyed or replaced (61)") :] if line.startswith("| -")]
        assert rows[1:] == [
            "| - | thing.job[*]: 60 in 5 modules | no longer declared; [1] var.image |",
            "| - | thing.old | no longer declared |",
        ]
    with opened(written(tmp_path, jobs(1500, 1, "delete", letters=True))) as tab:
        text = tab.evaluate("markdown()")
        assert 50_000 < len(text) <= 60_000
        shown = sum("x" * 40 in line for line in text.splitlines())
        assert f"{1501 - shown} more objects are left out here" in text


@needs_browser
def test_objects_that_moved_are_counted_and_marked(tmp_path: Path) -> None:
    items = (item("thing.a", "", (0,)), item("thing.b", "", (1,)))
    changes = (
        PageChange("thing.a", "create", "", (), former="thing.old"),
        PageChange("thing.b", "no-op", "", (), former="thing.older"),
    )
    page = Page("Moved", (), (PageView("apply", "All", items, ()),), LAYERS, ACTIONS, changes)
    with opened(written(tmp_path, page)) as tab:
        assert tab.locator("#chips button").all_inner_texts() == ["+ 1 to create", "2 moved"]
        tab.get_by_role("button", name="2 moved").click()
        assert tab.locator("#list summary").all_inner_texts() == ["+ create (1)", "moved, otherwise unchanged (1)"]
        assert tab.locator("#list li").all_inner_texts() == [
            "thing.a\nmoved from thing.old", "thing.b\nmoved from thing.older",
        ]  # fmt: skip
        tab.locator("#list").get_by_role("button", name="thing.b").click()
        assert "Moved from: thing.older" in tab.locator("#details").inner_text()
        assert tab.evaluate("scene.labelLines(scene.find('thing.a'))[0]") == "thing, moved"
        lines = tab.evaluate("markdown()").splitlines()
        assert lines[lines.index("## Moved (2)") + 4 :][:2] == [
            "| thing.a | thing.old | + create |",
            "| thing.b | thing.older | otherwise unchanged |",
        ]


@needs_browser
def test_an_object_of_another_graph_is_opened_whatever_was_chosen(tmp_path: Path) -> None:
    changes = (
        PageChange("thing.a[0]", "create", "", ()),
        PageChange("thing.a[1]", "create", "", ()),
        PageChange("thing.b", "no-op", "", (), former="thing.older"),
    )
    plan = PageView("apply", "Changes", (item("thing.a[0]", "", (0,)), item("thing.a[1]", "", (1,))), ())
    configuration = PageView("plan", "Configuration", (item("thing.a", "", (0, 1)), item("thing.b", "", (2,))), ())
    page = Page("Moved", (), (configuration, plan), LAYERS, ACTIONS, changes)
    with opened(written(tmp_path, page)) as tab:
        listed, title, graph = tab.locator("#list"), tab.locator("#details h2").first, tab.locator("#view")
        listed.get_by_role("button", name="thing.a[0]").click()
        listed.get_by_role("button", name="thing.b").click()
        assert title.inner_text() == "thing.b" and graph.input_value() == "1"
        listed.get_by_role("button", name="thing.a[1]").click()  # has a node of its own where it came from
        assert title.inner_text() == "thing.a[1]" and graph.input_value() == "0"


@pytest.mark.slow
@needs_browser
def test_a_line_lists_what_it_stands_for(tmp_path: Path) -> None:
    with opened(written(tmp_path, large(40, 2))) as tab:
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        tab.evaluate("chooseLine([...scene.lines].find(e => scene.bundle(e).length > 1))")
        number = tab.evaluate("scene.bundle([...scene.lines].find(e => scene.bundle(e).length > 1)).length")
        assert f"{number} dependencies" in tab.locator("#details").inner_text()
        tab.locator("#details").get_by_role("button", name="why").first.click()
        assert tab.locator("#details h2").inner_text() == "Order"


@pytest.mark.slow
@needs_browser
def test_the_other_end_of_a_path_can_be_typed(tmp_path: Path) -> None:
    with opened(written(tmp_path, small())) as tab:
        tab.get_by_label("only changes").uncheck()
        tab.evaluate("choose(scene.find('end'))")
        tab.get_by_role("button", name="Path to another").click()
        tab.keyboard.type("net")
        tab.keyboard.press("Enter")
        assert tab.get_by_role("status").inner_text() == "end waits for net, in 2 steps."


@needs_browser
def test_modules_unfold_one_level_at_a_time(tmp_path: Path) -> None:
    boxes = {"module.a": ("", "module.a"), "module.a.module.b": ("module.a", "module.b")}
    items = (item("thing.x", "", (0,)), item("module.a.thing.y", "module.a", (1,)))
    items = (*items, item("module.a.module.b.thing.z", "module.a.module.b", (2,)))
    changes = tuple(PageChange(one.name, "create", "", ()) for one in items)
    page = Page("Nested", (), (PageView("apply", "All", items, (), boxes),), LAYERS, ACTIONS, changes)
    drawn = "[...scene.where.keys()].map(thing => scene.title(thing)).sort()"
    with opened(written(tmp_path, page)) as tab:
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        unfold, status = tab.get_by_role("button", name="Unfold modules", exact=True), tab.get_by_role("status")
        unfold.click()
        assert tab.evaluate(drawn) == ["module.a", "module.a.module.b", "module.a.thing.y", "thing.x"]
        assert status.inner_text() == "One more level is unfolded. Unfold again for the next one."
        unfold.click()
        assert "module.a.module.b.thing.z" in tab.evaluate(drawn)
        assert status.inner_text() == "All modules are open."
        tab.get_by_role("button", name="Fold modules", exact=True).click()
        unfold.click(modifiers=["Shift"])
        assert "module.a.module.b.thing.z" in tab.evaluate(drawn)


@needs_browser
def test_keys_that_a_cause_adds_and_removes_are_named(tmp_path: Path) -> None:
    edit = "thing.site.for_each (main.tf:1)"
    parts = tuple(
        CausePart(f'thing.site.for_each["{key}"]', before, after, "main.tf:1")
        for key, before, after in (("blog", "", "nothing"), ("docs", "nothing", ""))
    )
    items = (item("thing.a", "", (0,)), item("thing.b", "", (1,)))
    changes = (PageChange("thing.a", "delete", "", (edit,)), PageChange("thing.b", "create", "", ("other", edit)))
    causes = (PageCause(edit, parts, 1, (1,)), PageCause("other", (), 2))
    page = Page("Keys", (), (PageView("apply", "All", items, ()),), LAYERS, ACTIONS, changes, causes=causes)
    with opened(written(tmp_path, page)) as tab:
        card = tab.locator("#groups > li > button").first.inner_text()
        assert 'thing.site.for_each: "blog" removed, "docs" added' in card
        assert "also updates 1 that other causes replace" in card
        assert '"blog" removed, "docs" added' in tab.evaluate("markdown()")


@pytest.mark.slow
@needs_browser
def test_instances_in_a_large_plan_are_a_grid(tmp_path: Path) -> None:
    names = [f"thing.x[{n}]" for n in range(2100)] + [f"module.m.thing.job[{n}]" for n in range(12)]
    items = tuple(item(name, "module.m" if "module" in name else "", (n,)) for n, name in enumerate(names))
    changes = tuple(PageChange(name, "create", "", ()) for name in names)
    view = PageView("apply", "All", items, (), {"module.m": ("", "module.m")})
    with opened(written(tmp_path, Page("Large", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        tab.evaluate("choose(scene.find('module.m.thing.job[3]'))")
        tops = "[...scene.where.keys()].filter(t => t >= 0 && scene.shown(t).includes('job')).map(t => scene.y[t])"
        rows = sorted(set(tab.evaluate(tops)))
        assert len(rows) > 1 and {b - a for a, b in pairwise(rows)} == {50}  # no room for arrows


@needs_browser
def test_an_arrow_between_modules_says_what_waits_in_each_direction(tmp_path: Path) -> None:
    jobs = [f'module.service["{name}"].job[{n}]' for name in ("a", "b") for n in range(2)]
    groups = [f'module.service["{name}"].group' for name in ("a", "b", "c")]
    names = [*jobs, *groups, "module.net.subnet", "module.net.old"]
    items = [item(name, name.partition(".")[0] + "." + name.split(".")[1].partition("[")[0]) for name in names]
    items = [one._replace(changes=(n,)) for n, one in enumerate(items)]
    order = [arrow("module.net.old", groups[0], "order")]
    arrows = [*(arrow(name, "module.net.subnet") for name in jobs), *order]
    arrows += [arrow(name, "module.net.subnet", "order") for name in groups]
    changes = tuple(PageChange(name, "create", "", ()) for name in names)
    view = PageView(
        "apply",
        "All",
        tuple(items),
        tuple(arrows),
        {f"module.{one}": ("", f"module.{one}") for one in ("net", "service")},
    )
    with opened(written(tmp_path, Page("Arrow", (), (view,), LAYERS, ACTIONS, changes))) as tab:
        tab.evaluate("foldAll(true); chooseLine(scene.lines[0])")
        details = tab.get_by_role("complementary", name="Details")
        assert details.locator("h3").all_inner_texts() == [
            "module.service waits for module.net (7)",
            "module.net waits for module.service (1)",
        ]
        assert details.locator("h4").all_inner_texts() == [
            "A value is read (4)",
            "Only the order (3)",
            "Only the order (1)",
        ]
        assert details.locator("summary").all_inner_texts() == [
            "job[*]: 4 in 2 modules wait for subnet",
            "group in 3 modules wait for subnet",
        ]
        assert "module.service[*].group reads module.net.subnet" in details.inner_text()
        titles, link = details.locator("h3").all_inner_texts(), tab.evaluate("location.hash")
        tab.evaluate("clearMarks()")
        assert details.locator("h3").all_inner_texts() == []
        tab.evaluate("link => { location.hash = link; }", link)
        details.locator("h3").first.wait_for()
        assert details.locator("h3").all_inner_texts() == titles
        details.locator("summary").nth(1).click()
        details.get_by_role("button", name='why module.service["b"].group waits for module.net.subnet').click()
        assert details.locator("h2").inner_text() == "Order"
        assert 'module.service["b"].group waits for module.net.subnet' in details.inner_text().replace("\n", " ")


@needs_browser
def test_a_moved_instance_is_sought_by_its_former_address_and_shown_alone(tmp_path: Path) -> None:
    changes = (
        PageChange("thing.a[0]", "delete", "no longer declared", ()),
        PageChange("thing.a[1]", "no-op", "", (), former="other.b[1]"),
    )
    plan = PageView("apply", "Changes", (item("thing.a[0]", "", (0,)),), ())
    configuration = PageView("plan", "Configuration", (item("thing.a", "", (0, 1)),), ())
    page = Page("Moved", (), (configuration, plan), LAYERS, ACTIONS, changes)
    with opened(written(tmp_path, page)) as tab:
        tab.get_by_label("Search").fill("other.b[1]")
        tab.get_by_label("Search").press("Enter")
        details = tab.locator("#details").inner_text()
        assert "thing.a[1]" in details and "Moved from: other.b[1]" in details and "destroy" not in details
        tab.locator("#details").get_by_role("button", name="All 2 instances").click()
        assert "thing.a[0]" in tab.locator("#details").inner_text()
