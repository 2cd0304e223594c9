"""Comments on pull requests, at doubles of four hosts' APIs over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli.conftest import Ran
from render.review.documents import cause, change, document

from .hosts import HOSTS, ME, OTHER, GitHubDouble, Host

REPORT = document(title="Plan: 1 to change.", changes=[change("terraform_data.a")])


@pytest.fixture(params=HOSTS, ids=lambda kind: kind.__name__)
def host(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    double: Host = request.param()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    with double.serving() as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield double


def test_one_comment_is_updated_in_place(host: Host, planner: Callable[..., Ran], tmp_path: Path) -> None:
    for number in range(150):  # more than a page
        host.add(OTHER, f"remark {number}")
    assert planner("comment", "-start").code == 0 and len(host.comments) == 150  # there is nothing to mark yet
    assert "created" in planner("comment", "report.json").out
    first = host.texts()[-1]
    assert "Plan: 1 to change." in first and "terraform_data.a" in first
    assert planner("comment", "-start").code == 0
    assert "A run of `abcdef0123` ([log](" in host.texts()[-1] and "is in progress" in host.texts()[-1]
    assert "Plan: 1 to change." in host.texts()[-1]
    assert planner("comment", "-cut").code == 0
    assert "its run was cancelled, or lost its runner" in host.texts()[-1] and "in progress" not in host.texts()[-1]
    assert host.texts()[-1].count("of an earlier run") == 1 and "Plan: 1 to change." in host.texts()[-1]
    (tmp_path / "report.md").write_text("### Plan: 2 to change.\n")
    assert "updated" in planner("comment", "report.md").out
    assert (
        "2 to change" in host.texts()[-1]
        and "cancelled" not in host.texts()[-1]
        and "1 to change" not in host.texts()[-1]
    )
    assert len(host.comments) == 151
    assert "created" in planner("comment", "-name=apply", "report.md").out and len(host.comments) == 152


def test_older_comments_of_ours_are_folded_and_those_of_others_are_left(
    host: Host, planner: Callable[..., Ran]
) -> None:
    planner("comment", "report.json")
    text = host.texts()[0]
    host.add(ME, text)
    host.add(OTHER, text)  # somebody who would like to edit the report later
    planner("comment", "report.json")
    old, new, other = host.texts()
    assert "Outdated: Plan: 1 to change." in old and "old report" in old and new == text and other == text
    requests = len(host.requests)
    planner("comment", "report.json")
    assert not any(one.split()[0] in ("PATCH", "PUT", "POST") for one in host.requests[requests:])  # nothing to do


def test_what_is_too_long_is_cut(host: Host, planner: Callable[..., Ran], tmp_path: Path) -> None:
    changes = [change(f"terraform_data.{'n' * 40}{n}_{n % 97}", causes=[n]) for n in range(6_000)]
    long = document(
        title="Plan", changes=changes, causes=[cause(f"var.x{n}", changes[n : n + 1]) for n in range(3_000)]
    )
    (tmp_path / "long.json").write_text(json.dumps(long))
    assert planner("comment", "long.json").code == 0
    assert len(host.texts()[0]) <= host.most
    (tmp_path / "long.md").write_text("word\n" * 300_000)
    assert planner("comment", "long.md").code == 0
    assert len(host.texts()[0]) <= host.most and "does not fit into a comment" in host.texts()[0]


def test_a_comment_on_a_cut_run_without_a_report(host: Host, planner: Callable[..., Ran]) -> None:
    planner("comment", "-cut")
    (text,) = host.texts()
    assert (
        "There is no plan for `abcdef0123`" in text
        and "its run was cancelled, or lost its runner" in text
        and "99" in text
    )
    assert "Do not approve" in text


def test_an_older_report_under_a_cut_run_is_folded(host: Host, planner: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(json.dumps({**REPORT, "about": {"revision": "4f1c9d2e8a7b6c5d"}}))
    planner("comment", "old.json")
    for word in ("-start", "-cut", "-start", "-cut"):
        planner("comment", word)
    (text,) = host.texts()
    assert text.index("There is no plan for `abcdef0123`") < text.index("Plan of an older commit, 4f1c9d2e8a")
    assert (
        text.count("There is no plan") == text.count("Plan of an older commit") == text.count("Plan: 1 to change.") == 1
    )
    planner("comment", "-name=apply", "old.json")
    planner("comment", "-name=apply", "-cut")
    assert "It may have changed objects" in host.texts()[-1] and "Do not approve" not in host.texts()[-1]
    assert "Report of an older commit, 4f1c9d2e8a" in host.texts()[-1]
    planner("comment", "-name=apply prod/eu", "-cut")
    assert "the apply of `abcdef0123` in `prod/eu`: its run" in host.texts()[-1]
    assert "planner force-unlock ID" in host.texts()[-1]


def test_problems(host: Host, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host.fails = 9
    ran = planner("comment", "report.json")
    assert ran.code == 1 and "422" in ran.err
    host.fails = 0
    (name,) = [name for name in host.variables if name.endswith("TOKEN")]
    monkeypatch.delenv(name)
    ran = planner("comment", "report.json")
    assert ran.code == 1 and f"{name} is not set" in ran.err
    (tmp_path / "bad.json").write_text("{}")
    assert "not a review" in planner("comment", "bad.json").err
    assert "Cannot read the report" in planner("comment", "none").err
    assert planner("comment", "-cut", "none").code == 1


def test_without_a_pull_request(planner: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.md").write_text("x")
    ran = planner("comment", "report.md")
    assert ran.code == 0 and "No pull request" in ran.out


def test_a_merged_commit_has_the_comment_on_its_pull_request(
    planner: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.md").write_text("applied")
    double = GitHubDouble()
    double.bot = False
    with double.serving() as variables:
        for name, value in {**variables, "GITHUB_REF": "refs/heads/main"}.items():
            monkeypatch.setenv(name, value)
        assert "created" in planner("comment", "report.md").out
        assert "updated" in planner("comment", "report.md").out
