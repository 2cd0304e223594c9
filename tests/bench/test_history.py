"""The history of ratios: what is appended, drawn and compared. Nothing is timed: what is measured is given, and where
the commands really run both tools are planner."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from attrs import asdict, evolve

from bench import history
from bench.history import Entry, Wrong, append, baseline, compare, drawing, ratio, read, read_point

ENTRY = Entry("2026-01-02", "0123abcd", "", "0.1.0", "1.12.6", "3.11.7", "2 cores", {"dag 100 plan": 2.0})


def test_entries_are_lines_that_are_read_back(tmp_path):
    file = tmp_path / "history.jsonl"
    assert read(file) == []
    append(file, ENTRY)
    append(file, evolve(ENTRY, commit="89abcdef", release="0.2.0"))
    append(file, evolve(ENTRY, ratios={"flat 100 plan": 3.0}))
    assert file.read_text().count("\n") == 2
    assert [entry.commit for entry in read(file)] == ["89abcdef", "0123abcd"]
    assert read(file)[1].ratios == {"dag 100 plan": 2.0, "flat 100 plan": 3.0}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"date": "2026-01-02"}',
        json.dumps({**asdict(ENTRY), "ratios": []}),
    ],
)
def test_a_line_that_is_no_entry_is_told(tmp_path, line):
    file = tmp_path / "history.jsonl"
    append(file, ENTRY)
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(Wrong, match=r"history\.jsonl:2 is not an entry"):
        read(file)


@pytest.mark.parametrize("wrong", [{"dag 100 plan": 0}, {"dag 100 plan": "2"}, {"dag plan": 2.0}])
def test_a_ratio_that_is_none_is_told(tmp_path, wrong):
    file = tmp_path / "history.jsonl"
    file.write_text(json.dumps({**asdict(ENTRY), "ratios": wrong}) + "\n")
    with pytest.raises(Wrong, match=":1 is not an entry"):
        read(file)


def test_the_last_release_is_the_measure_else_the_last_entry():
    first, second = evolve(ENTRY, release="0.1.0"), evolve(ENTRY, release="0.2.0")
    assert baseline([first, second, ENTRY]) is second
    assert baseline([ENTRY, evolve(ENTRY, commit="89abcdef")]).commit == "89abcdef"
    with pytest.raises(Wrong, match="no entry"):
        baseline([])


@pytest.mark.parametrize(
    ("measured", "fallen", "times"),
    [
        ([1.71], [], 1),
        ([1.69, 1.71], [], 2),
        ([1.69, 1.5, 1.8], [], 3),
        ([1.69, 1.5, 1.6, 9.0], ["dag 100 plan"], 3),
        ([9.0], [], 1),
    ],
)
def test_what_fell_is_measured_again_before_it_has_fallen(measured, fallen, times):
    left = list(measured)
    assert compare([("dag", 100, "plan")], ENTRY, lambda point: left.pop(0), 15) == fallen
    assert len(measured) - len(left) == times


def test_what_cannot_be_compared_is_said():
    said: list[str] = []
    assert compare([("flat", 10, "plan")], ENTRY, lambda point: 0.1, 15, said.append) == []
    assert said == ["flat 10 plan: 0.10, and 2026-01-02 (0123abcd) does not say", "dag 100 plan: not measured"]


def test_a_ratio_is_the_median_over_pairs():
    def row(tool, *walls, stopped=False):
        return {"shape": "dag", "size": 1, "tool": tool, "walls": walls, "stopped": stopped}

    assert ratio([row("planner", 1.0, 2.0, 4.0), row("tofu", 3.0, 4.0, 40.0)]) == 3.0
    with pytest.raises(Wrong, match="dag 1 took longer"):
        ratio([row("planner", 1.0), row("tofu", 3.0, stopped=True)])


@pytest.mark.parametrize(
    "text", ["", "dag plan", "dag 0 plan", "dag ten plan", "dog 10 plan", "dag 10 why", "dag 10 x", "destroy 10 graph"]
)
def test_what_is_no_point(text):
    with pytest.raises(Wrong, match=r"dag|destroy|dog|SHAPE"):
        read_point(text)


def test_points_that_are_measured_by_default_are_points():
    assert len({read_point(text) for text in (*history.POINTS, *history.SLOW)}) == 23


def test_the_picture_has_a_line_for_each_point():
    many = evolve(ENTRY, release="0.2.0", ratios={f"dag {size} plan": size / 10 for size in range(1, 13)})
    picture = drawing([ENTRY, many])
    texts = [text.text for text in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert {*many.ratios, *ENTRY.ratios, "0.2.0", "2026-01-02", "10"} <= set(texts)
    assert picture.count("stroke-dasharray") == 2 * (13 - 9)
    with pytest.raises(Wrong, match="nothing to draw"):
        drawing([])


def test_the_history_of_the_repository_is_readable_and_drawn():
    assert history.PICTURE.read_text() == drawing(read(history.HISTORY))


@pytest.mark.slow
def test_a_measured_history_from_the_first_entry_to_a_fall(tmp_path, capsys):
    peer = tmp_path / "tofu"
    peer.write_text('#!/bin/sh\n[ "$1" = version ] && echo \'{"terraform_version": "1.2.3-dev"}\' && exit\n')
    peer.write_text(peer.read_text() + f'exec {sys.executable} -m planner "$@"\n')
    peer.chmod(0o755)
    file, picture = tmp_path / "history.jsonl", tmp_path / "history.svg"
    common = ["-tofu", str(peer), "-history", str(file), "-svg", str(picture), "-runs", "1"]
    assert history.main(["add", "-points", "flat 2 plan,dag 2 noop", "-release", "0.9.0", *common]) == 0
    [entry] = read(file)
    assert (entry.release, entry.peer, sorted(entry.ratios)) == ("0.9.0", "1.2.3", ["dag 2 noop", "flat 2 plan"])
    ElementTree.parse(picture)
    file.write_text(json.dumps({**asdict(entry), "ratios": {"flat 2 plan": 1e-6}}) + "\n")
    assert history.main(["check", "-points", "flat 2 plan", *common]) == 0
    file.write_text(json.dumps({**asdict(entry), "ratios": {"flat 2 plan": 1e6}}) + "\n")
    assert history.main(["check", "-points", "flat 2 plan", *common]) == 1
    assert "Fallen by more than 15 %, 3 times measured: flat 2 plan" in capsys.readouterr().out
    assert history.main(["show", *common]) == 0
    assert "flat 2 plan  1000000.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["check"], ["add", "-tofu", "/nowhere/tofu"], ["check", "-tofu", "x", "-points", ""]]
)
def test_what_is_missing_is_told(tmp_path, capsys, arguments):
    assert history.main([*arguments, "-history", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("Error: ")
