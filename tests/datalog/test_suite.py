"""Files of cases run as a suite, the twin cases of rules that deny, and what can be said about predicates."""

from __future__ import annotations

import pytest
from engine_helpers import program

from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.tools.cases import load_cases
from planner.logic.datalog.tools.describe import describe, predicate_graph
from planner.logic.datalog.tools.suite import MAX_ROWS, CaseResult, run, untested

POLICY = """
/// bucket(name): a bucket.
.decl bucket(name: symbol)
/// tag(name): a bucket with a tag.
.decl tag(name: symbol)
/// public(name): a bucket that everybody reads.
.decl public(name: symbol)
.input bucket, tag, public
/// deny(code, address, message): the plan is refused.
.decl deny(code: symbol, address: symbol, message: symbol)
/// warn(code, address, message): the plan is doubtful.
.decl warn(code: symbol, address: symbol, message: symbol)
.output deny, warn
@name("untagged") deny("T1", B, "no tag") :- bucket(B), not tag(B).
@name("public") deny("P1", B, "public") :- bucket(B), public(B).
@name("many") warn("M1", "", N ++ " buckets") :- N = count : { bucket(_) }, N > 2.
"""
DENIED = """.case "untagged"
bucket("a").
.want deny("T1", "a", "no tag").
"""
ALLOWED = """.case "tagged"
bucket("a"). tag("a").
.want none deny.
"""
BROKEN = ALLOWED.replace('tag("a").', "")
PUBLIC = """.case "public"
bucket("a"). tag("a"). public("a").
.want deny("P1", "a", "public").
"""
WARNED = """.case "many"
bucket("a"). bucket("b"). bucket("c").
.want warn("M1", "", "3 buckets").
"""
FEW = """.case "few"
bucket("a").
.want none warn.
"""


def outcomes(loaded: RuleProgram, text: str, seconds: float = 20) -> list[CaseResult]:
    cases, diagnostics = load_cases(loaded, "policy.case", text)
    assert diagnostics == []
    return run(loaded, cases, seconds)


@pytest.mark.parametrize(
    ("files", "lacking"),
    [
        ([DENIED + ALLOWED + PUBLIC + WARNED + FEW], []),
        ([DENIED + ALLOWED, PUBLIC + ALLOWED, WARNED + FEW], []),
        ([DENIED + PUBLIC + WARNED + FEW], ["deny untagged allow", "deny public allow"]),
        ([DENIED + PUBLIC, ALLOWED, WARNED + FEW], ["deny untagged allow", "deny public allow"]),
        ([DENIED + ALLOWED + WARNED], ["deny public deny", "warn many allow"]),
        ([ALLOWED + FEW], ["deny untagged deny", "deny public deny", "warn many deny"]),
        ([DENIED.replace("no tag", "a slip") + ALLOWED + PUBLIC + WARNED + FEW], ["deny untagged deny"]),
        (
            [DENIED + BROKEN + PUBLIC + WARNED + FEW],
            ["deny untagged allow", "deny public allow"],
        ),
        ([], ["deny untagged deny", "deny public deny", "warn many deny"]),
    ],
)
def test_a_rule_that_denies_needs_two_cases_of_one_file(files: list[str], lacking: list[str]) -> None:
    loaded = program(POLICY)
    found = []
    for diagnostic in untested(loaded.rules, [outcomes(loaded, text) for text in files]):
        assert diagnostic.subject is not None and diagnostic.code == "rules.untested"
        verdict = diagnostic.subject.text.split("(")[0]
        missing = "deny" if "expects this" in diagnostic.summary else "allow"
        name = next(rule.name for rule in loaded.rules if rule.name in diagnostic.detail.split("No case")[-1])
        found.append(f"{verdict} {name} {missing}")
    assert found == lacking


def test_other_rules_need_no_twins() -> None:
    loaded = program(
        "/// p(a): p.\n.decl p(a: symbol)\n.output p\np(A) :- q(A).\n/// q(a): q.\n.decl q(a: symbol)\n.input q\n"
    )
    assert untested(loaded.rules, []) == []


def test_outcomes_tell_what_differs() -> None:
    (wrong,) = outcomes(program(POLICY), '.case "x"\nbucket("a").\n.want deny("T1", "b", "no tag").\n')
    (difference,) = wrong.differences
    assert not wrong.holds
    assert (difference.predicate, difference.missing, difference.unexpected) == (
        "deny",
        (("T1", "b", "no tag"),),
        (("T1", "a", "no tag"),),
    )


def test_of_many_rows_the_first_are_told() -> None:
    facts = " ".join(f'bucket("b{n:03}").' for n in range(100))
    (wrong,) = outcomes(program(POLICY), f'.case "x"\n{facts}\n.want none deny.\n')
    (difference,) = wrong.differences
    assert len(difference.unexpected) == MAX_ROWS and difference.unexpected_count == 100
    assert difference.unexpected[0] == ("T1", "b000", "no tag")


def test_a_case_that_goes_on_and_on_is_ended() -> None:
    text = "/// e(a): e.\n.decl e(a: number)\n.input e\n/// all(a, b): all.\n.decl all(a: any, b: any)\n.output all\n"
    loaded = program(text + "all(A, D) :- e(A), e(B), e(C), e(D), A != B, B != C, C != D.\n")
    slow = '.case "slow"\n' + " ".join(f"e({n})." for n in range(400)) + "\n.want none all.\n"
    found = outcomes(loaded, slow + '.case "quick"\n.want none all.\n', seconds=1.5)
    assert [o.holds for o in found] == [False, True]
    assert [d.code for d in found[0].problem] == ["rules.time"]


GRAPH = """
/// e(a, b): given.
.decl e(a: symbol, b: symbol)
.input e
/// p(a, b): paths.
.decl p(a: symbol, b: symbol)
p(A, B) :- e(A, B).
p(A, C) :- p(A, B), p(B, C).
/// r(a, b): reduced.
.native r(a: symbol, b: symbol) = reduction(p)
/// q(a, n): no way back.
.decl q(a: symbol, n: number)
.output q
q(A, N) :- r(A, B), not p(B, A), N = count : { r(A, _) }.
"""


def test_descriptions() -> None:
    found = describe(program(GRAPH))
    assert list(found) == ["e", "p", "r", "q"]
    assert [rule.name for rule in found["p"].rules] == ["rules.1", "rules.2"]
    assert [rule.name for rule in found["p"].readers] == ["rules.2", "rules.3"]
    assert found["p"].natives == ("r",) and found["r"].rules == () and found["q"].readers == ()


def test_levels_and_reads() -> None:
    graph = predicate_graph(program(GRAPH))
    assert graph.levels == {"e": 0, "p": 0, "r": 1, "q": 2}
    assert graph.recursive == {"p"}
    assert graph.reads == (
        ("p", "e", "positive"),
        ("p", "p", "positive"),
        ("q", "p", "negation"),
        ("q", "r", "aggregate"),
        ("r", "p", "native"),
    )
    below = predicate_graph(program(GRAPH), "r")
    assert below.levels == {"e": 0, "p": 0, "r": 1} and len(below.reads) == 3
    with pytest.raises(KeyError):
        predicate_graph(program(GRAPH), "s")


def test_native_operators_have_their_time() -> None:
    from engine_helpers import derived

    from planner.logic.datalog.tools.describe import predicate_statistics

    costs = {s.name: s for s in predicate_statistics(derived(GRAPH, {"e": [(str(n), str(n + 1)) for n in range(50)]}))}
    assert costs["r"].seconds > 0 and costs["e"].seconds == 0
    assert costs["r"].rows == 50 and costs["p"].rounds > 2 and costs["r"].rounds == 0
