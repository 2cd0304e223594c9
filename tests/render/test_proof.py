"""Proofs as people read them."""

from __future__ import annotations

import pytest

from planner.render.proof import fact_text, proof_text
from planner.render.terminal import Paint

PROOF = {
    "format_version": "1.0",
    "goal": ["refers", "a", "b"],
    "root": "p1",
    "proofs": {
        "p1": {
            "tuple": ["refers", "a", "b"],
            "rule": "r.1",
            "reason": "a refers to b",
            "body": [{"proof": "p2"}, {"proof": "p3"}, {"not": ["gone", "a", None]}, {"test": "a != b"}],
        },
        "p2": {"tuple": ["mentions", "a"], "rule": "r.2", "reason": "it mentions it", "body": [{"proof": "p4"}]},
        "p3": {
            "tuple": ["there", "b"],
            "rule": "r.3",
            "reason": "it is there",
            "body": [{"proof": "p5"}, {"proof": "p2"}, {"aggregate": "count : { x(_) }", "value": 2}],
        },
        "p4": {
            "tuple": ["reference", "a", "b"],
            "input": True,
            "source": {"file": "main.tf", "line": 3, "column": 1, "snippet": "  input = b.id"},
        },
        "p5": {"tuple": ["instance", "b"], "input": True, "source": {"state": "b"}},
    },
}
SHORT = """a refers to b
  it is there
    state b
    it mentions it: main.tf:3: input = b.id"""
FULL = """refers("a", "b"): a refers to b [r.1]
  mentions("a"): it mentions it [r.2]
    reference("a", "b")  main.tf:3: input = b.id
  there("b"): it is there [r.3]
    instance("b")  state b
    mentions("a") (p2, shown above)
    count : { x(_) } = 2
  not gone("a", _)
  a != b"""


def test_short_and_full():
    assert proof_text(PROOF, Paint(False)) == SHORT
    assert proof_text(PROOF, Paint(False), full=True) == FULL


def test_what_stands_above_is_only_named():
    proofs = {**PROOF["proofs"], "p6": PROOF["proofs"]["p5"] | {"source": {"state": "c"}}}
    proofs["p2"] = {**proofs["p2"], "body": [{"proof": "p4"}, {"proof": "p6"}]}
    proofs["p7"] = {"tuple": ["x"], "rule": "r.4", "reason": "x", "body": [{"proof": "p2"}, {"proof": "p8"}]}
    proofs["p8"] = {"tuple": ["y"], "input": True, "source": {"state": "d"}}
    proofs["p1"] = {**proofs["p1"], "body": [{"proof": "p3"}, {"proof": "p7"}]}
    text = proof_text({**PROOF, "proofs": proofs}, Paint(False))
    assert (
        text
        == """a refers to b
  it is there
    state b
    it mentions it (p2)
      main.tf:3: input = b.id
      state c
  x
    state d
    it mentions it (p2, above)"""
    )


def test_only_some_levels():
    assert proof_text(PROOF, Paint(False), depth=1) == "a refers to b\n  it is there ... (p3: 1 more below)"
    text = proof_text(PROOF, Paint(False), full=True, depth=1)
    assert 'mentions("a") ... (p2)' in text and "main.tf" not in text


def test_one_step_in_full():
    assert proof_text(PROOF, Paint(False), expand="p2") == "\n".join(x[2:] for x in FULL.split("\n")[1:3])
    with pytest.raises(KeyError):
        proof_text(PROOF, Paint(False), expand="p9")


def test_a_high_proof_does_not_exhaust_the_stack():
    height = 5000
    proofs = {
        f"p{i}": {"tuple": ["f", i], "rule": "r", "reason": f"step {i}", "body": [{"proof": f"p{i + 1}"}]}
        for i in range(height)
    }
    proofs[f"p{height}"] = {"tuple": ["f", height], "input": True, "source": {"file": "main.tf", "line": 1}}
    document = {"goal": ["f", 0], "root": "p0", "proofs": proofs}
    assert proof_text(document, Paint(False)) == "step 0: main.tf:1"
    assert proof_text(document, Paint(False), full=True).count("\n") == height


def test_what_does_not_hold():
    inner = {"rule": "r.3", "fails": "y(a)", "head_fits": True}
    passed = {"rule": "r.4", "fails": "e(a, b)", "head_fits": True, "tuple": ["e", "a", "b"]}
    document = {
        "goal": ["edge", "a", "b"],
        "holds": False,
        "rules": [
            {"rule": "r.1", "fails": "x(a)", "head_fits": True, "tuple": ["x", "a"], "because": [inner]},
            {"rule": "r.2", "fails": "edge(_, c)", "head_fits": False},
            {**passed, "because": [{"rule": "r.5", "fails": "x(a)", "head_fits": True}]},
        ],
    }
    assert proof_text(document, Paint(False)) == (
        'edge("a", "b") does not hold.\n  [r.1, r.5] would need x(a)\n    [r.3] would need y(a)'
    )
    assert "No rule" in proof_text({"goal": ["edge"], "rules": []}, Paint(False))


def test_fact_text():
    assert fact_text(["f", "a", 1, None]) == 'f("a", 1, _)'


def test_a_condition_that_only_names_a_value_is_left_out():
    body = [{"test": "x = x"}, {"test": "x = y"}, {"test": "input.a = input.a"}]
    proof = {
        "goal": ["p", "x"],
        "root": "p1",
        "proofs": {"p1": {"tuple": ["p", "x"], "rule": "r.1", "reason": "r", "body": body}},
    }
    assert proof_text(proof, Paint(False), full=True).splitlines()[1:] == ["  x = y"]
