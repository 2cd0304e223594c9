"""Large plans are judged piece by piece, in several processes: that says the same as judging the whole, and whatever is
wrong with a plan is told alike."""

from __future__ import annotations

import json
import os
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from plan.test_recorded_plans import CASES, PLANNED
from thinned import thinned

from planner.answers.policy.from_json import chunks, excerpt
from planner.answers.policy.from_json.chunks import can_be_judged_apart
from planner.answers.policy.program import Policies, load_policies
from planner.foundation.support import exact_json, forks
from planner.operations import judge_documents
from planner.operations.options import OperationOptions

APART = """
.decl wanted(tag: text)
.decl made(addr: instance, type: word)
.decl owned(addr: instance)
wanted("Owner").
wanted("CostCenter").
made(A, T) :- change(A, T, _, _, _, "managed"), acts(A, "create").
made(A, T) :- change(A, T, _, _, _, "managed"), acts(A, "update").
owned(A) :- planned(A, "tags.Owner", _).
deny("tags", A, "has no tag " ++ T) :- made(A, _), wanted(T), P = "tags." ++ T, not planned(A, P, _).
warn("owner", A, "nobody owns it") :- acts(A, "create"), not owned(A).
deny("open", A, "is open at " ++ P) :-
    part(A, "rules", _, I), L = I ++ ".cidr", part(A, L, _, P), planned(A, P, "0.0.0.0/0").
deny("many", A, "has too many rules") :- N = count : { part(A, "rules", _, _) }, made(A, _), N > 3.
deny("size", A, "is " ++ S) :- planned(A, "size", S), S > 100.
deny("either", A, "is neither small nor large") :-
    made(A, "t_a"), not planned(A, "kind", "small"), not planned(A, "kind", "large").
deny("json", A, "allows all") :-
    json_part(A, "policy", "Statement", _, S), E = S ++ ".Effect", json_value(A, "policy", E, "Allow").
deny("moved", A, "was " ++ B) :- moved_from(A, B).
warn("was", A, "was of size " ++ S) :- prior(A, "size", S), not planned(A, "size", S).
deny("output", A, "tells a secret word") :- output(A, _, _), planned(A, "value", "secret").
judged("tags", A) :- made(A, _).
"""
TOGETHER = {
    "another": 'deny("x", A, "m") :- change(A, _, _, _, _, _), planned(B, "name", N), planned(A, "name", N), A != B.',
    "any": 'deny("x", A, "m") :- change(A, _, _, _, _, _), planned(_, "size", 1).',
    "count": 'deny("x", "", "m") :- N = count : { change(_, _, _, _, _, _) }, N > 1.',
    "constant": 'deny("x", A, "m") :- change(A, _, _, _, _, _), not planned("t_a.r0", "size", 1).',
    "elsewhere": """.decl listed(a: address)
        deny("x", A, "m") :- listed(A), not change(A, _, _, _, _, _).
        listed("t_a.r0").""",
    "about none": 'deny("x", "", "m") :- plan_time(T), T != "".',
    "mode": 'deny("x", A, "m") :- change(A, _, _, _, _, _), plan_mode("normal").',
    "pair": """.decl both(t: word, a: address)
        both(T, A) :- change(A, T, _, _, _, _), acts(A, "create").
        deny("x", A, "m") :- both(T, A), both(T, B), A != B.""",
    "of the rest": 'deny("x", A, "m") :- configured(A, "name", _).',
    "deposed": 'deny("x", A, "m") :- deposed(A, _, _).',
    "operator": '.native far(a: address, b: address) = closure(moved_from)\ndeny("x", A, "m") :- far(A, _).',
}


@cache
def policies(text: str) -> Policies:
    text = re.sub(r"^(\.decl|\.native)", r"/// Of this test.\n\1", text, flags=re.M)
    loaded, problems = load_policies((("rules.dl", text),))
    assert loaded is not None, problems
    return loaded


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpt, "LEAST", 0)
    monkeypatch.setattr(excerpt, "PIECE", 300)
    monkeypatch.setattr(chunks, "SIZE", 300)
    monkeypatch.setattr(chunks, "LEAST_SHARE", 1)


def said(path: Path, rules: Policies, processes: int) -> Any:
    verdict, problems = judge_documents.judged_document(
        OperationOptions(str(path.parent)), str(path), "plan", rules, processes
    )
    return verdict.to_json() if verdict is not None else [problem.detail for problem in problems]


def all_say_the_same(path: Path, rules: Policies, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is said of the whole, and of pieces in one process and in three; and how often pieces were judged."""
    whole = said(path, rules, 0)
    assert said(path, rules, 1) == whole and said(path, rules, 3) == whole
    monkeypatch.setattr(chunks, "MOST_SUSPECTS", 0)
    assert said(path, rules, 1) == whole
    return whole


def in_pieces(path: Path, rules: Policies, processes: int = 1) -> bool:
    found = excerpt.suggested(path.read_bytes())
    return found is not None and chunks.judged_in_pieces(found, "plan.json", rules, processes) is not None


# ---------------------------------------------------------------- plans

UNKNOWN = (True, False, {}, [], {"Owner": True}, [True], [{"cidr": [True]}], [{}, {"cidr": True}], None)


def value(r: random.Random, name: str) -> Any:
    if r.random() < 0.1:
        return None
    if name == "tags":
        return {t: r.choice(("a", "b", 1, None)) for t in ("Owner", "CostCenter", "x.y") if r.random() < 0.6}
    if name == "rules":
        choice = ("0.0.0.0/0", "10.0.0.0/8", None)
        return [{"cidr": [r.choice(choice) for _ in range(r.randrange(3))], "n": i} for i in range(r.randrange(6))]
    if name == "policy":
        effect = r.choice(("Allow", "Deny", 1, None))
        return r.choice((json.dumps({"Statement": [{"Effect": effect, "n": 1.5}] * r.randrange(3)}), "{", "[]", "no"))
    if name == "size":
        return r.choice((1, 1000, 0.5, 200.25, True, "large"))
    return r.choice(("small", "large", "other", 'a},{"address":"b', "\u00e9<&>"))


NAMES = ("tags", "rules", "policy", "size", "kind", "name")


def change(r: random.Random, i: int, secrets: float = 0.05) -> dict[str, Any]:
    kind, mode = r.choice(("t_a", "t_b")), "managed"
    actions: Any = r.choice((["create"], ["no-op"], ["update"], ["delete"], ["delete", "create"]))
    module = r.choice(("", "", "module.m", 'module.m["k"].module.n'))
    key = r.choice(("", "[0]", '["a"]'))
    before = None if actions == ["create"] else {n: value(r, n) for n in NAMES if r.random() < 0.7}
    after = None if actions == ["delete"] else {n: value(r, n) for n in NAMES if r.random() < 0.7}
    unknown: Any = {n: r.choice(UNKNOWN) for n in NAMES if r.random() < 0.1}
    for name in unknown:
        if after is not None and isinstance(unknown[name], dict | list) and unknown[name]:
            after[name] = None
    secret: Any = {n: True for n in NAMES if r.random() < secrets}
    entry = {
        "address": f"{module}{'.' if module else ''}{kind}.r{i}{key}",
        **({"module_address": module} if module else {}),
        **({"previous_address": f"t_a.old{i}"} if r.random() < 0.1 else {}),
        "mode": mode,
        "type": kind,
        "name": f"r{i}",
        "provider_name": "registry.opentofu.org/hashicorp/aws",
        "change": {"actions": actions, "before": before, "after": after, "after_unknown": unknown},
    }
    entry["change"] |= {"before_sensitive": {}, "after_sensitive": secret}
    return entry


def plan(changes: list[Any], **more: Any) -> dict[str, Any]:
    return {
        "format_version": "1.2",
        "terraform_version": "1.12.6",
        "planned_values": {"root_module": {}},
        "resource_changes": changes,
        "output_changes": {
            "o": {"actions": ["create"], "before": None, "after": "secret", "after_unknown": False},
            "p": {"actions": ["create"], "before": None, "after_unknown": True},
        },
        "prior_state": {"format_version": "1.0", "values": {"root_module": {}}},
        "configuration": {"provider_config": {"aws": {"name": "aws"}}, "root_module": {}},
        "timestamp": "2026-03-02T09:30:00Z",
        "errored": False,
        **more,
    }


def written(folder: Path, document: Any) -> Path:
    path = folder / "plan.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document, separators=(",", ":")).encode())
    return path


# ---------------------------------------------------------------- the same


@pytest.mark.parametrize("seed", thinned(range(12), 3))
def test_pieces_say_what_the_whole_says(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(seed)
    secrets = 0.05 * (seed % 3 == 0)
    path = written(tmp_path, plan([change(r, i, secrets) for i in range(r.choice((0, 1, 40)))]))
    rules = policies(APART)
    assert secrets or (in_pieces(path, rules) and in_pieces(path, rules, 3))
    assert "counts" in all_say_the_same(path, rules, monkeypatch)


def test_findings_of_all_kinds_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(1)
    path = written(tmp_path, plan([change(r, i) for i in range(150)]))
    found = all_say_the_same(path, policies(APART), monkeypatch)
    codes = {finding["code"] for finding in found["findings"]}
    assert codes >= {"tags", "owner", "open", "many", "size", "either", "json", "moved", "was", "output"}
    assert {finding["verdict"] for finding in found["findings"]} >= {"deny", "broken", "warn", "undecided"}
    assert found["judged"]["tags"] > 50 and "(sensitive value)" in str(found)


@pytest.mark.parametrize("name", thinned([n for n in PLANNED if (CASES / n / "expected" / "plan.json").exists()], 4))
def test_recorded_plans(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.loads((CASES / name / "expected" / "plan.json").read_text())
    order = ("format_version", "terraform_version", "variables", "planned_values", "resource_changes", "output_changes")
    order += ("prior_state", "configuration", "timestamp", "errored")
    path = written(tmp_path, {n: document[n] for n in order if n in document})
    rules = policies(
        """
        deny("input", A, "has no input") :- acts(A, "create"), not planned(A, "input", _).
        deny("known", A, "is " ++ V) :- planned(A, P, V), P = "input".
        warn("changes", A, "is " ++ X) :- action(A, X), reason(A, _).
        warn("part", A, "has " ++ N) :- change(A, _, _, _, _, _), N = count : { part(A, _, _, _) }.
        """,
    )
    all_say_the_same(path, rules, monkeypatch)


@pytest.mark.parametrize("text", TOGETHER.values(), ids=TOGETHER)
def test_what_is_about_several_objects_is_asked_of_the_whole(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = policies(text)
    r = random.Random(2)
    path = written(tmp_path, plan([change(r, i) for i in range(30)]))
    assert not in_pieces(path, rules)
    all_say_the_same(path, rules, monkeypatch)


def test_what_each_piece_would_say_alone_is_said_once(tmp_path: Path) -> None:
    assert can_be_judged_apart(policies(APART))
    assert not can_be_judged_apart(policies(f'{APART}\ndeny("x", "", "m") :- wanted("Owner").'))


# ---------------------------------------------------------------- what is unusual


def entry(**more: Any) -> dict[str, Any]:
    return {**change(random.Random(3), 3), **more}


SHAPELESS = {"change": {"actions": ["update"], "before": {}, "after": None, "after_unknown": True}}
WRONG: dict[str, Any] = {
    "a second entry": plan([change(random.Random(4), 4)] * 2 + [change(random.Random(5), i) for i in range(9)]),
    "far apart": plan([entry(), *(change(random.Random(i), 10 + i) for i in range(30)), entry()]),
    "no object": plan([entry(), 3]),
    "no address": plan([entry(address=None)]),
    "another address": plan([entry(address="t_z.y")]),
    "no action": plan([entry(change={"actions": ["jump"]})]),
    "unhashable action": plan([entry(change={"actions": [[]]})]),
    "a shape that cannot be": plan(
        [entry(change={"actions": ["create"], "after": {"tags": {"a": "b"}}, "after_unknown": {"tags": 3}})]
    ),
    "no provider": plan([entry(provider_name=3)]),
    "an address of an output": plan([entry(address="output.o", type="output", name="o", module_address="")]),
    "nothing known": plan([entry(**SHAPELESS), *(change(random.Random(i), 10 + i) for i in range(30))]),
    "deep": plan([entry(change={"actions": ["create"], "after": {"tags": json.loads("[" * 300 + "]" * 300)}})]),
}
TEXT = json.dumps(plan([change(random.Random(i), i) for i in range(20)]), separators=(",", ":")).encode()
DAMAGED = {
    "truncated": TEXT[:-1],
    "truncated in changes": TEXT[: TEXT.index(b'"output_changes"') - 20],
    "nan": TEXT.replace(b'"before_sensitive":{}', b'"before_sensitive":NaN', 1),
    "half a character": TEXT.replace(b'"name":"r5"', b'"name":"r5","x":"\\ud800"', 1),
    "no utf-8": TEXT.replace(b'"name":"r5"', b'"name":"r5","x":"\xff"', 1),
    "a huge number": TEXT.replace(b'"name":"r5"', b'"name":"r5","x":' + b"9" * 400, 1),
    "a long number": TEXT.replace(b'"tags":{', b'"size":1234567890123456789012.5,"tags":{'),
    "a comma": TEXT.replace(b'],"output_changes"', b',],"output_changes"'),
    "a bracket": TEXT.replace(b'],"output_changes"', b'],"output_changes"', 1).replace(
        b'"name":"r5"', b'"name":["r5"', 1
    ),
    "members twice": TEXT.replace(b'"after":{', b'"after":{"tags":{}},"after":{'),
    "changes twice": TEXT.replace(b'"prior_state"', b'"resource_changes":[],"prior_state"', 1),
    "configuration twice": TEXT.replace(b'"errored"', b'"configuration":{},"errored"', 1),
    "outputs twice": TEXT.replace(b'"prior_state"', b'"output_changes":{},"prior_state"', 1),
    "an escaped name": TEXT.replace(b'"prior_state"', b'"\\u0072esource_changes":[],"prior_state"', 1),
    "escaped text": TEXT.replace(b'"format_version":"1.0"', b'"format_version":"1.0","x":"\\u003c\\u003e"', 1),
    "another version": TEXT.replace(b'"1.2"', b'"2.0"', 1),
    "a list": b"[1]",
    "nothing": b"",
}


@pytest.mark.parametrize("document", thinned([*WRONG.values(), *DAMAGED.values()], 2), ids=[*WRONG, *DAMAGED])
def test_what_is_wrong_is_told_alike(document: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_json, "_LARGE", 0)
    all_say_the_same(written(tmp_path, document), policies(APART), monkeypatch)


@pytest.mark.parametrize("document", ["members twice", "changes twice", "outputs twice"])
def test_of_a_member_that_is_there_twice_the_last_one_counts(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, DAMAGED[document])
    rules = policies(APART)
    found = said(path, rules, 2)
    path.write_text(json.dumps(json.loads(path.read_bytes())))  # each member once: the last one
    monkeypatch.setattr(excerpt, "LEAST", 1 << 40)
    assert found == said(path, rules, 0)


# ---------------------------------------------------------------- forks


def test_forks_give_results_in_order() -> None:
    assert forks.shared_out(lambda share: (share, os.getpid()), 1) == [(0, os.getpid())]
    found = forks.shared_out(lambda share: (share, os.getpid()), 4)
    assert found is not None and [share for share, _ in found] == [0, 1, 2, 3] and len({p for _, p in found}) == 4


def test_large_results_come_whole() -> None:
    assert forks.shared_out(lambda share: str(share) * 5_000_000, 3) == [str(i) * 5_000_000 for i in range(3)]


def failing(share: int) -> int:
    if share == 1:
        raise ValueError
    return share


def killed(share: int) -> int:
    if share == 1:
        os.kill(os.getpid(), 9)
    return share


@pytest.mark.parametrize("work", [failing, killed])
def test_a_fork_that_fails_gives_nothing(work: Any) -> None:
    assert forks.shared_out(work, 2) is None


def test_what_fails_here_is_raised_and_no_fork_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    fork, children = os.fork, list[int]()

    def counted() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", counted)

    def work(share: int) -> int:
        if share == 0:
            raise ValueError("here")
        os.read(os.pipe()[0], 1)  # for ever
        return share

    with pytest.raises(ValueError, match="here"):
        forks.shared_out(work, 3)
    assert len(children) == 2
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


@pytest.mark.parametrize("least", [0, 1 << 40])
def test_a_file_that_is_read_ahead(least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_documents, "LEAST", least)
    path = tmp_path / "plan.json"
    path.write_bytes(b"x" * 100_000)
    assert judge_documents.Ahead(str(path), 1 << 20).data() == b"x" * 100_000
    with pytest.raises(FileNotFoundError):
        judge_documents.Ahead(str(tmp_path / "none"), 1 << 20).data()
    with pytest.raises(ValueError, match="null"):
        judge_documents.Ahead("a\0b", 1 << 20).data()
