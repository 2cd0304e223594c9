"""Renames: `advice` proposes moved blocks that keep what only has another address now, and -write inserts them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from planner.language.syntax.format import format_text


def resource(name: str, *lines: str) -> str:
    return f'resource "terraform_data" "{name}" {{\n' + "".join(f"  {line}\n" for line in lines) + "}\n"


def call(name: str, *lines: str) -> str:
    return f'module "{name}" {{\n  source = "./m"\n' + "".join(f"  {line}\n" for line in lines) + "}\n"


CASES: dict[str, tuple[dict[str, str], dict[str, str], dict[str, list[tuple[str, str]]]]] = {
    "a resource": (
        {"main.tf": 'resource "terraform_data" "old" {}\n'},
        {"main.tf": 'resource "terraform_data" "new" {}\n'},
        {"main.tf": [("terraform_data.old", "terraform_data.new")]},
    ),
    "a resource with many instances and something that refers to it": (
        {
            "main.tf": resource("old", 'for_each = toset(["a", "b", "c"])', "input = each.key")
            + resource("user", 'input = terraform_data.old["a"].id')
        },
        {
            "main.tf": resource("new", 'for_each = toset(["a", "b", "c"])', "input = each.key")
            + resource("user", 'input = terraform_data.new["a"].id')
        },
        {"main.tf": [("terraform_data.old", "terraform_data.new")]},
    ),
    "instances of which all look alike": (
        {"main.tf": resource("old", "count = 30", 'input = "x"')},
        {"main.tf": resource("new", "count = 30", 'input = "x"')},
        {"main.tf": [("terraform_data.old", "terraform_data.new")]},
    ),
    "many resources that look alike, told apart by their names": (
        {"main.tf": "".join(f'resource "terraform_data" "web_{n}" {{}}\n' for n in range(5))},
        {"main.tf": "".join(f'resource "terraform_data" "app_{n}" {{}}\n' for n in range(5))},
        {"main.tf": [(f"terraform_data.web_{n}", f"terraform_data.app_{n}") for n in range(5)]},
    ),
    "several resources with values of their own": (
        {"main.tf": "".join(f'resource "terraform_data" "{n}" {{ input = "{n}" }}\n' for n in "abc")},
        {"main.tf": "".join(f'resource "terraform_data" "{n}x" {{ input = "{n}" }}\n' for n in "abc")},
        {"main.tf": [(f"terraform_data.{n}", f"terraform_data.{n}x") for n in "abc"]},
    ),
    "two that cannot be told apart": (
        {"main.tf": resource("a") + resource("b")},
        {"main.tf": resource("c") + resource("d")},
        {},
    ),
    "keys": (
        {"main.tf": resource("a", "for_each = { x = 1, y = 2, z = 3 }", "input = each.value")},
        {"main.tf": resource("a", "for_each = { p = 1, q = 2, z = 3 }", "input = each.value")},
        {
            "main.tf": [
                ('terraform_data.a["x"]', 'terraform_data.a["p"]'),
                ('terraform_data.a["y"]', 'terraform_data.a["q"]'),
            ]
        },
    ),
    "a key with signs of the language in it": (
        {"main.tf": resource("a", 'for_each = { "x" = 1 }', "input = each.value")},
        {"main.tf": resource("a", 'for_each = { "$${x}\\"" = 1 }', "input = each.value")},
        {"main.tf": [('terraform_data.a["x"]', 'terraform_data.a["$${x}\\""]')]},
    ),
    "from count to for_each": (
        {"main.tf": resource("a", "count = 3", 'input = "v${count.index}"')},
        {"main.tf": resource("a", 'for_each = toset(["v0", "v1", "v2"])', "input = each.key")},
        {"main.tf": [(f"terraform_data.a[{n}]", f'terraform_data.a["v{n}"]') for n in range(3)]},
    ),
    "from count to for_each, all alike": (
        {"main.tf": resource("a", "count = 3")},
        {"main.tf": resource("a", 'for_each = toset(["x", "y", "z"])')},
        {"main.tf": [(f"terraform_data.a[{n}]", f'terraform_data.a["{"xyz"[n]}"]') for n in range(3)]},
    ),
    "from for_each to count": (
        {"main.tf": resource("a", 'for_each = toset(["v0", "v1"])', "input = each.key")},
        {"main.tf": resource("a", "count = 2", 'input = "v${count.index}"')},
        {"main.tf": [(f'terraform_data.a["v{n}"]', f"terraform_data.a[{n}]") for n in range(2)]},
    ),
    "from single to for_each": (
        {"main.tf": resource("a", "input = 1")},
        {"main.tf": resource("a", 'for_each = toset(["x", "y"])', 'input = each.key == "x" ? 1 : 2')},
        {"main.tf": [("terraform_data.a", 'terraform_data.a["x"]')]},
    ),
    "from for_each to single": (
        {"main.tf": resource("a", 'for_each = toset(["x"])', "input = 1")},
        {"main.tf": resource("a", "input = 1")},
        {"main.tf": [('terraform_data.a["x"]', "terraform_data.a")]},
    ),
    "another name and for_each at once": (
        {"main.tf": resource("old", "input = 1")},
        {"main.tf": resource("new", 'for_each = toset(["x"])', "input = 1")},
        {"main.tf": [("terraform_data.old", 'terraform_data.new["x"]')]},
    ),
    "a module": (
        {
            "main.tf": call("old", 'for_each = toset(["x", "y"])'),
            "m/main.tf": resource("p") + resource("q", "input = terraform_data.p.id"),
        },
        {"main.tf": call("new", 'for_each = toset(["x", "y"])')},
        {"main.tf": [("module.old", "module.new")]},
    ),
    "a module, of which a resource was renamed, too": (
        {
            "main.tf": call("old"),
            "m/main.tf": resource("p", "input = 1") + resource("q", "input = 2"),
        },
        {
            "main.tf": call("new"),
            "m/main.tf": resource("p", "input = 1") + resource("r", "input = 2"),
        },
        {
            "main.tf": [
                ("module.old.terraform_data.p", "module.new.terraform_data.p"),
                ("module.old.terraform_data.q", "module.new.terraform_data.r"),
            ]
        },
    ),
    "a module with instances, and a resource in it whose values are not known": (
        {
            "main.tf": call("p", 'for_each = toset(["x", "y"])'),
            "m/main.tf": 'module "a" {\n  source = "../inner"\n  count  = 2\n}\n',
            "inner/main.tf": resource("r", 'input = "same"') + resource("s", "input = terraform_data.r.id"),
        },
        {
            "m/main.tf": 'module "b" {\n  source = "../inner"\n  count  = 2\n}\n',
            "inner/main.tf": resource("r", 'input = "same"') + resource("z", "input = terraform_data.r.id"),
        },
        {
            "m/main.tf": [
                (f"module.a[{n}].terraform_data.{old}", f"module.b[{n}].terraform_data.{new}")
                for n in range(2)
                for old, new in (("r", "r"), ("s", "z"))
            ]
        },
    ),
    "the key of a module": (
        {
            "main.tf": call("m", 'for_each = toset(["x", "y"])'),
            "m/main.tf": resource("p") + resource("q", "input = terraform_data.p.id"),
        },
        {"main.tf": call("m", 'for_each = toset(["x", "z"])')},
        {"main.tf": [('module.m["y"]', 'module.m["z"]')]},
    ),
    "a module that was repeated": (
        {
            "main.tf": call("m"),
            "m/main.tf": resource("p"),
        },
        {"main.tf": call("m", 'for_each = toset(["x"])')},
        {"main.tf": [("module.m", 'module.m["x"]')]},
    ),
    "a resource in a module that is called twice": (
        {
            "main.tf": call("a") + call("b", "count = 2"),
            "m/main.tf": resource("old", "input = path.module"),
        },
        {"m/main.tf": resource("new", "input = path.module")},
        {"m/main.tf": [("terraform_data.old", "terraform_data.new")]},
    ),
    "a resource that moves into a module": (
        {"main.tf": resource("a", "input = 1")},
        {"main.tf": call("m"), "m/main.tf": resource("a", "input = 1")},
        {"main.tf": [("terraform_data.a", "module.m.terraform_data.a")]},
    ),
    "a key in a module that its caller gives": (
        {
            "main.tf": call("m", "k = { a = 1 }") + call("n", "k = { a = 1 }"),
            "m/main.tf": 'variable "k" {}\nlocals { k = var.k }\n'
            + resource("x", "for_each = local.k", "input = each.value"),
        },
        {"main.tf": call("m", "k = { b = 1 }") + call("n", "k = { a = 1 }")},
        {"main.tf": [('module.m.terraform_data.x["a"]', 'module.m.terraform_data.x["b"]')]},
    ),
    "a key that is written in the module": (
        {
            "main.tf": call("m"),
            "m/main.tf": resource("x", "for_each = { a = 1 }", "input = each.value"),
        },
        {"m/main.tf": resource("x", "for_each = { b = 1 }", "input = each.value")},
        {"m/main.tf": [('terraform_data.x["a"]', 'terraform_data.x["b"]')]},
    ),
    "a file with moved blocks": (
        {"main.tf": resource("a"), "moved.tf": ""},
        {
            "main.tf": resource("b"),
            "moved.tf": "moved {\n  from = terraform_data.x\n  to   = terraform_data.y\n}\n",
        },
        {"moved.tf": [("terraform_data.a", "terraform_data.b")]},
    ),
    "a module with JSON only": (
        {"main.tf.json": '{\n  "resource": {"terraform_data": {"a": {"input": 1}}}\n}\n'},
        {"main.tf.json": '{\n  "resource": {"terraform_data": {"b": {"input": 1}}}\n}\n'},
        {"main.tf.json": [("terraform_data.a", "terraform_data.b")]},
    ),
    "JSON that has moved blocks": (
        {"main.tf.json": '{"resource": {"terraform_data": {"a": {}}}, "moved": []}'},
        {
            "main.tf.json": '{"resource": {"terraform_data": {"b": {}}},\n "moved": '
            '{"from": "terraform_data.x", "to": "terraform_data.y"}}'
        },
        {"main.tf.json": [("terraform_data.a", "terraform_data.b")]},
    ),
    "JSON of one line": (
        {"main.tf.json": '{"resource": {"terraform_data": {"a": {}}}}'},
        {"main.tf.json": '{"resource": {"terraform_data": {"b": {}}}}'},
        {"main.tf.json": [("terraform_data.a", "terraform_data.b")]},
    ),
    "JSON that is an array": (
        {"main.tf.json": '[{"resource": {"terraform_data": {"a": {}}}}]'},
        {"main.tf.json": '[{"resource": {"terraform_data": {"b": {}}}}]'},
        {"main.tf.json": [("terraform_data.a", "terraform_data.b")]},
    ),
    "JSON beside native syntax": (
        {"main.tf": "locals {}\n", "x.tf.json": '{"resource": {"terraform_data": {"a": {}}}}'},
        {"x.tf.json": '{"resource": {"terraform_data": {"b": {}}}}'},
        {"main.tf": [("terraform_data.a", "terraform_data.b")]},
    ),
    "a file without a last line break, with Windows line ends": (
        {"main.tf": 'resource "terraform_data" "a" {}'},
        {"main.tf": 'resource "terraform_data" "b" {\r\n}'},
        {"main.tf": [("terraform_data.a", "terraform_data.b")]},
    ),
    "JSON beside an override file": (
        {"a_override.tf": "locals {}\n", "x.tf.json": '{"resource": {"terraform_data": {"a": {}}}}'},
        {"x.tf.json": '{"resource": {"terraform_data": {"b": {}}}}'},
        {"x.tf.json": [("terraform_data.a", "terraform_data.b")]},
    ),
    "one goes and another one comes": (
        {"main.tf": resource("a", "input = 1")},
        {"main.tf": resource("b", "input = 2")},
        {},
    ),
    "a resource that stays declared": (
        {"main.tf": resource("a", "count = 2", "input = count.index")},
        {"main.tf": resource("a", "count = 1", "input = count.index") + resource("b", "input = 1")},
        {"main.tf": [("terraform_data.a[1]", "terraform_data.b")]},
    ),
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode())


@pytest.fixture
def renamed(tmp_path, monkeypatch, planner):
    """Applies the files of one kind, then has those of another kind."""
    monkeypatch.chdir(tmp_path)

    def play(before: dict[str, str], after: dict[str, str]) -> None:
        write(tmp_path, before)
        assert planner("init").code == 0
        assert planner("apply", "-auto-approve").code == 0
        write(tmp_path, after)
        assert planner("get").code == 0

    return play


@pytest.mark.parametrize("name", CASES)
def test_what_is_proposed_and_written(name, renamed, tmp_path, planner):
    before, after, wanted = CASES[name]
    renamed(before, after)
    advice = json.loads(planner("suggest", "-json", "-write").out)
    found: dict[str, list[tuple[str, str]]] = {}
    for item in advice["advice"]:
        if item["code"] == "likely_rename":
            found.setdefault(item["file"], []).append((item["from"], item["to"]))
    assert {file: sorted(moves) for file, moves in found.items()} == {f: sorted(m) for f, m in wanted.items()}
    assert advice["written"] == sorted(wanted)
    for file, text in {**before, **after}.items():
        now = (tmp_path / file).read_bytes().decode()
        if file not in wanted:
            assert now == text
        elif file.endswith(".json"):
            json.loads(now)
        else:
            assert now.startswith(text)
            blocks = now[len(text) :].replace("\r\n", "\n").lstrip("\n")
            assert format_text(blocks) == blocks
            assert ("\r\n" in text) == ("\r\n" in now)
    if not wanted:
        return
    assert planner("plan", "-out=p").code == 0
    planned = json.loads(planner("show", "-json", "p").out)
    moved = [c for c in planned["resource_changes"] if "previous_address" in c]
    assert moved and all(c["change"]["actions"] == ["no-op"] for c in moved)
    assert json.loads(planner("suggest", "-json").out)["advice"] == []
    assert planner("suggest", "-write").out == "No advice.\n"


def test_what_was_edited_as_well_is_updated(renamed, planner):
    keep = 'resource "terraform_data" "%s" {\n  input            = %d\n  triggers_replace = ["a", "b"]\n}\n'
    renamed({"main.tf": keep % ("a", 1)}, {"main.tf": keep % ("b", 2)})
    (item,) = json.loads(planner("suggest", "-json", "-write").out)["advice"]
    assert item["code"] == "possible_rename" and "updated in place" in item["message"]
    assert "Moved blocks were written to: no file" in planner("suggest", "-write").out


def test_what_is_written_by_hand_is_shown_with_the_remark(renamed, planner):
    renamed(*CASES["a resource"][:2])
    ran = planner("suggest")
    assert ran.code == 0
    assert "    moved {\n      from = terraform_data.old\n      to   = terraform_data.new\n    }\n" in ran.out
    assert "With a moved block in main.tf it stays unchanged." in ran.out


def test_a_saved_plan_has_the_same_advice_and_writes_nothing(renamed, planner):
    renamed(*CASES["a module"][:2])
    assert planner("plan", "-out=p").code == 0
    assert planner("suggest", "-plan=p", "-json").out == planner("suggest", "-json").out
    assert planner("suggest", "-plan=p", "-write").code == 1


@pytest.mark.parametrize("how", ["link", "read-only", "other-link"])
def test_files_that_are_not_written_to(how, renamed, tmp_path, planner):
    before, after, _ = CASES["a resource in a module that is called twice"]
    renamed({**before, "x.tf": resource("p")}, {**after, "x.tf": resource("q")})
    target = tmp_path / "m" / "main.tf"
    if how == "read-only":
        target.chmod(0o444)
    else:
        elsewhere = tmp_path / "elsewhere"
        target.rename(elsewhere)
        target.symlink_to(elsewhere)
    texts = {name: (tmp_path / name).read_bytes() for name in ("x.tf", "m/main.tf")}
    ran = planner("suggest", "-write")
    assert ran.code == 1
    assert "m/main.tf" in ran.err and ("It is read-only." if how == "read-only" else "It is a symbolic link") in ran.err
    assert texts == {name: (tmp_path / name).read_bytes() for name in texts}
    assert sorted(os.listdir(tmp_path / "m")) == ["main.tf"]


def test_a_thousand_at_once(renamed, planner):
    text = "".join(f'resource "terraform_data" "%s{n}" {{ input = {n} }}\n' for n in range(300))
    renamed({"main.tf": text.replace("%s", "a")}, {"main.tf": text.replace("%s", "b")})
    ran = planner("suggest", "-write")
    assert "... and 290 more for main.tf" in ran.out
    assert "0 to add, 0 to change, 0 to destroy" in planner("plan").out


def test_a_plan_names_what_looks_like_one_object(renamed, planner):
    renamed(*CASES["several resources with values of their own"][:2])
    line = "These look renamed: " + ", ".join(f"terraform_data.{n} to terraform_data.{n}x" for n in "abc") + "."
    for words in (("plan",), ("plan", "-out=p")):
        assert f"\n{line} To see what moved blocks keep: planner suggest\n" in planner(*words).out
    listed = planner("plan", "-causes").out
    assert all(f"] terraform_data.{n} looks renamed to terraform_data.{n}x (main.tf:" in listed for n in "abc")
    assert line not in listed
    assert line in planner("show", "p").out
    assert line not in planner("plan", "-destroy").out
    assert planner("suggest", "-write").code == 0
    assert "renamed" not in planner("plan").out


def test_a_plan_names_a_single_one(renamed, planner):
    renamed(*CASES["a resource that moves into a module"][:2])
    line = "terraform_data.a looks renamed to module.m.terraform_data.a."
    assert f"\n{line} To see what a moved block keeps: planner suggest\n" in planner("plan").out
    assert "  # looks renamed to module.m.terraform_data.a\n" in planner("plan", "-explain=line").out


def test_another_key_that_values_contain(renamed, planner):
    """Of three removed and three added instances of a module, two look renamed: one has the same other values, and the
    key of the other one has words in common, so that it is announced."""
    member = (
        'variable "name" {}\nvariable "seats" {}\n'
        + resource("net", 'input = "net-${var.name}"')
        + resource("quota", "input = var.seats")
        + resource("disk", 'input = { host = "${var.name}.disk", seats = var.seats }', "triggers_replace = var.name")
    )

    def keyed(seats: dict[str, int]) -> dict[str, str]:
        entries = ", ".join(f'"{name}" = {number}' for name, number in seats.items())
        return {
            "main.tf": call("m", f"for_each = {{ {entries} }}", "name = each.key", "seats = each.value"),
            "m/m.tf": member,
        }

    renamed(
        keyed({"a": 1, "kids": 3, "gone": 3, "old": 7}),
        keyed({"a": 1, "kids-2": 3, "new": 4, "young": 7}),
    )
    line = 'module.m["kids"] looks renamed to module.m["kids-2"]. '
    assert f"\n{line}To see what a moved block keeps: planner suggest\n" in planner("plan").out
    proposed = {r["address"]: r["message"] for r in json.loads(planner("suggest", "-json").out)["advice"]}
    kept = "With a moved block in main.tf, some of its objects are kept: 1 unchanged, 1 updated in place, 1 replaced."
    assert proposed == {
        f'module.m["{new}"]': f'module.m["{old}"] {words} to module.m["{new}"]. {kept}'
        for old, words, new in (("kids", "looks renamed", "kids-2"), ("old", "may have been renamed", "young"))
    }


def test_an_object_that_keeps_its_key_elsewhere_is_not_the_one_with_a_similar_key(renamed, planner):
    users = [
        resource(name, f"for_each = toset({keys})", 'input = "n-${each.key}"')
        for name, keys in (("a", '["user-1", "user-2"]'), ("b", '["user-x", "user-4"]'))
    ]
    others = [
        resource(name, f"for_each = toset({keys})", 'input = "n-${each.key}"')
        for name, keys in (("a", '["user-1", "user-x"]'), ("b", '["user-2", "user-4"]'))
    ]
    renamed({"main.tf": "".join(users)}, {"main.tf": "".join(others)})
    ends = [
        (f'terraform_data.{old}["{key}"]', f'terraform_data.{new}["{key}"]')
        for old, new, key in (("a", "b", "user-2"), ("b", "a", "user-x"))
    ]
    line = ", ".join(f"{old} to {new}" for old, new in ends)
    assert f"\nThese look renamed: {line}. To see" in planner("plan").out
    assert planner("suggest", "-write").code == 0
    assert "0 to add, 0 to change, 0 to destroy" in planner("plan").out


def test_a_rename_that_a_move_does_not_keep(renamed, planner):
    text = resource("a", 'for_each = toset(["%s"])', "triggers_replace = each.key")
    renamed({"main.tf": text % "web"}, {"main.tf": text % "web-new"})
    line = 'terraform_data.a["web"] looks renamed to terraform_data.a["web-new"]'
    assert f"\n{line}. To see what a moved block keeps: planner suggest\n" in planner("plan").out
    assert f"{line}, but a moved block would not keep it" in planner("suggest").out


def test_counts_that_fall_and_grow_are_not_renames(renamed, planner):
    text = [resource(name, f"count = {number}", 'input = "same"') for name, number in (("a", 3), ("b", 1))]
    other = [resource(name, f"count = {number}", 'input = "same"') for name, number in (("a", 2), ("b", 2))]
    renamed({"main.tf": "".join(text)}, {"main.tf": "".join(other)})
    assert "1 to add, 0 to change, 1 to destroy" in planner("plan").out
    assert "renamed" not in planner("plan").out and planner("suggest").out == "No advice.\n"


def test_a_plan_of_other_objects_is_not_about_renames(renamed, planner):
    renamed(*CASES["one goes and another one comes"][:2])
    assert "renamed" not in planner("plan").out


def test_what_must_not_be_destroyed_may_be_renamed(renamed, planner):
    text = resource("a", "for_each = { x = 1 }", "input = each.value", "lifecycle {", "  prevent_destroy = true", "}")
    renamed({"main.tf": text}, {"main.tf": text.replace("x = 1", "y = 1")})
    ran = planner("suggest", "-write")
    assert ran.code == 1 and "Resource instance cannot be destroyed" in ran.err
    assert 'to   = terraform_data.a["y"]' in ran.out and "Moved blocks were written to: main.tf" in ran.out
    assert planner("suggest").out == "No advice.\n"


def test_modules_whose_keys_all_changed(renamed, planner):
    module = resource("p") + resource("q", "count = 2", "input = terraform_data.p.id")
    text = call("m", 'for_each = toset([for i in range(60) : "%s${i}"])')
    renamed({"main.tf": text % "k-", "m/main.tf": module}, {"main.tf": text % "prod-k-"})
    items = json.loads(planner("suggest", "-json", "-write").out)["advice"]
    pairs = {(item["from"], item["to"]) for item in items}
    assert pairs == {(f'module.m["k-{n}"]', f'module.m["prod-k-{n}"]') for n in range(60)}
    assert "0 to add, 0 to change, 0 to destroy" in planner("plan").out


SHIFTS = {
    "the first is removed": ("abcd", "bcd", [(0, 4), (1, 0), (2, 1), (3, 2), (4, 3)], 3),
    "one is inserted at the front": ("abc", "xabc", [(2, 3), (1, 2), (0, 1)], 3),
    "two in the middle are removed": ("abcdef", "abef", [(2, 6), (4, 2), (6, 4), (3, 7), (5, 3), (7, 5)], 2),
    "two change places": ("abc", "bac", [(0, 3), (1, 0), (3, 1)], 2),
    "the last is removed": ("abc", "ab", [], 0),
    "all are others": ("abc", "xyz", [], 0),
    "values that others keep": ("aab", "aba", [(1, 3), (2, 1), (3, 2)], 2),
    "values that several have": ("aaxb", "bbxa", [], 0),
}


@pytest.mark.parametrize("name", SHIFTS)
def test_indexes_that_shift(name, renamed, planner):
    before, after, steps, count = SHIFTS[name]
    text = 'variable "n" { default = "%s" }\n' + resource(
        "s", "count = length(var.n)", "input = substr(var.n, count.index, 1)", "triggers_replace = count.index < 0"
    )
    renamed({"main.tf": text % before}, {"main.tf": text % after})
    items = json.loads(planner("suggest", "-json").out)["advice"]
    commands = [f"planner state mv 'terraform_data.s[{old}]' 'terraform_data.s[{new}]'" for old, new in steps]
    assert [item["commands"] for item in items] == ([commands] if steps else [])
    if steps:
        assert items[0]["code"] == "index_shift" and f" {count} objects " in items[0]["message"]
        assert f"\n\n    {commands[0]}\n" in planner("suggest").out + "\n"
    for old, new in steps:
        assert planner("state", "mv", f"terraform_data.s[{old}]", f"terraform_data.s[{new}]").code == 0
    if steps:
        assert planner("plan", "-out=p").code == 0
        planned = json.loads(planner("show", "-json", "p").out)["resource_changes"]
        assert sum(c["change"]["actions"] == ["no-op"] for c in planned) >= count
        assert json.loads(planner("suggest", "-json").out)["advice"] == []
