"""`fmt`: which files it takes, what it prints and rewrites, how it exits; and `metadata functions`."""

from __future__ import annotations

import json

import pytest

from planner.language.functions import metadata

DIFF = """--- old/s/b.tfvars
+++ new/s/b.tfvars
@@ -1 +1 @@
-x=1
\\ No newline at end of file
+x = 1
\\ No newline at end of file
"""
FILES = {
    "a.tf": b"a=1\r\n",
    "ok.tf": b"x = 1\n",
    "t.tftest.hcl": b"a=1\n",
    "other.hcl": b"a=1\n",
    ".hidden.tf": b"a=1\n",
    "s/b.tfvars": b"x=1",
    "s/deep/c.tofu": b"x=1",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.chdir(tmp_path)
    for name, data in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path


def changed(folder):
    return {name for name, data in FILES.items() if (folder / name).read_bytes() != data}


@pytest.mark.parametrize(
    ("words", "code", "out", "rewritten"),
    [
        ("", 0, "a.tf\nt.tftest.hcl\n", {"a.tf", "t.tftest.hcl"}),
        ("s", 0, "s/b.tfvars\n", {"s/b.tfvars"}),
        ("-recursive ./s", 0, "s/b.tfvars\ns/deep/c.tofu\n", {"s/b.tfvars", "s/deep/c.tofu"}),
        ("-list=false a.tf ok.tf", 0, "", {"a.tf"}),
        ("-write=false a.tf", 0, "a.tf\n", set()),
        ("-write=false -list=false s", 0, "x = 1", set()),
        ("-check a.tf", 3, "a.tf\n", set()),
        ("-check -list=false a.tf", 3, "", set()),
        ("-check ok.tf", 0, "", set()),
        ("-diff -write=false -list=false s", 0, DIFF, set()),
        ("-check -diff s", 3, "s/b.tfvars\n" + DIFF, set()),
    ],
)
def test_files(planner, folder, words, code, out, rewritten):
    ran = planner("fmt", *words.split())
    assert (ran.code, ran.out, ran.err) == (code, out, "")
    assert changed(folder) == rewritten


def test_line_ends_stay(planner, folder):
    assert planner("fmt").code == 0
    assert (folder / "a.tf").read_bytes() == b"a = 1\r\n"
    assert planner("fmt", "-check").code == 0


def test_standard_input(planner, folder):
    ran = planner("fmt", "-", stdin="a=1\nbb=2")
    assert (ran.code, ran.out) == (0, "a  = 1\nbb = 2")
    ran = planner("fmt", "-check", "-", stdin="a=1\n")
    assert (ran.code, ran.out) == (3, "")
    assert planner("fmt", "-check", "-", stdin="a = 1\n").code == 0
    assert planner("fmt", "-", "a.tf").code == 1
    assert changed(folder) == set()


@pytest.mark.parametrize(
    ("word", "said"),
    [("nope", "No such file"), ("other.hcl", "Not a configuration file"), ("bad.tf", "on bad.tf line 3")],
)
def test_what_cannot_be_formatted(planner, folder, word, said):
    (folder / "bad.tf").write_text("a=1\nx = {\n")
    ran = planner("fmt", "-no-color", word)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert (folder / "bad.tf").read_text() == "a=1\nx = {\n"


def test_not_text(planner, folder):
    (folder / "a.tf").write_bytes(b'a="\xff"\n')
    ran = planner("fmt", "a.tf")
    assert (ran.code, (folder / "a.tf").read_bytes()) == (2, b'a="\xff"\n')


def test_signatures_of_functions(planner):
    ran = planner("metadata", "functions", "-json")
    assert ran.code == 0
    assert json.loads(ran.out) == metadata()
    assert {"abs", "core::abs", "templatefile"} <= json.loads(ran.out)["function_signatures"].keys()
    assert planner("metadata", "functions").code == 1


MANY = 60


@pytest.fixture
def many(tmp_path, monkeypatch):
    """Files that are enough to be shared out: some with another layout, one with a mistake, one that is no UTF-8."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ".state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for i in range(MANY):
        gap = "" if i % 10 == 3 else " "
        lines = "".join(f'variable "v{i}_{n}" {{\n  default{gap}= {n}\n}}\n\n' for n in range(300))
        (tmp_path / "work" / f"f{i:02}.tf").write_text(lines.rstrip("\n") + "\n")
    (tmp_path / "work" / "f20.tf").write_text("a = \n")
    (tmp_path / "work" / "f21.tf").write_bytes(b"a = \xff\n")
    return tmp_path / "work"


@pytest.mark.parametrize("processes", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_many_files(planner, many, monkeypatch, processes):
    from planner.foundation.support import forks

    monkeypatch.setattr(forks, "processors", lambda most: processes)
    others = [f"f{i:02}.tf" for i in range(MANY) if i % 10 == 3]
    said = planner("fmt", "-check")
    assert (said.code, said.out.split()) == (2, others)
    assert said.err.index("f20.tf") < said.err.index("f21.tf")
    assert planner("fmt", "-check").out.split() == others
    said = planner("fmt")
    assert (said.code, said.out.split()) == (2, others)
    assert all("default = 0" in (many / name).read_text() for name in others)
    (many / "f20.tf").unlink()
    (many / "f21.tf").unlink()
    assert [(said.code, said.out) for said in (planner("fmt"), planner("fmt"))] == [(0, ""), (0, "")]


def test_what_is_known_to_be_laid_out_is_not_read_again(planner, many, monkeypatch):
    from planner.cli.commands import fmt

    names = ["f01.tf", "f02.tf"]
    assert planner("fmt", *names).code == 0
    monkeypatch.setattr(fmt, "laid_out", lambda data, name, problems: pytest.fail(name))
    assert (planner("fmt", *names).code, planner("fmt", "-check", "f01.tf").code) == (0, 0)
    (many / "f02.tf").write_text("x=1\n")
    monkeypatch.undo()
    monkeypatch.chdir(many)
    assert planner("fmt", *names).out == "f02.tf\n"


def test_a_file_that_is_named_twice_is_written_once(planner, folder):
    assert planner("fmt", "a.tf", "./a.tf").out == "a.tf\n"
