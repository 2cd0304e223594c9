"""Minimal hitting sets: the same as by trying all sets, smallest first, and bounded work."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from planner.logic.graph.fixes import smallest_sets

PLACES = "abcdef"
proofs_of = st.lists(st.frozensets(st.sampled_from(PLACES), min_size=1, max_size=4), max_size=6)


def brute(proofs: list[frozenset[str]]) -> list[tuple[str, ...]]:
    """All sets that meet every proof, without those that have a part that does."""
    found: list[frozenset[str]] = []
    for size in range(len(PLACES) + 1):
        for one in map(frozenset, combinations(PLACES, size)):
            if all(one & proof for proof in proofs) and not any(other <= one for other in found):
                found.append(one)
    return [tuple(sorted(one)) for one in found]


def prover(proofs: list[frozenset[str]]):
    return lambda removed: next((proof for proof in proofs if not proof & removed), None)


@given(proofs=proofs_of)
def test_all_minimal_sets(proofs: list[frozenset[str]]) -> None:
    found = smallest_sets(prover(proofs), most_sets=1000)
    assert sorted(found.sets) == sorted(brute(proofs)) and not found.limit
    assert [len(one) for one in found.sets] == sorted(len(one) for one in found.sets)
    few = smallest_sets(prover(proofs), most_sets=2)
    assert [len(one) for one in few.sets] == [len(one) for one in found.sets][:2]
    assert few == smallest_sets(prover(proofs), most_sets=2)


def test_work_is_bounded() -> None:
    asked = []

    def proof(removed: frozenset[str]) -> list[str]:
        asked.append(removed)
        return [f"{len(removed)}{x}" for x in PLACES]

    found = smallest_sets(proof, most_proofs=5)
    assert (found.sets, found.limit, len(asked)) == ((), "proofs", 5)


def test_a_proof_that_rests_on_nothing() -> None:
    assert smallest_sets(lambda removed: []).is_stuck
    # one way can be taken away, but then there is another that cannot
    assert smallest_sets(lambda removed: [] if removed else ["a"]).is_stuck
