"""The smallest sets of places that make something go away: minimal hitting sets over the places of all its proofs.

Reiter's tree, level by level: a proof that remains when places are removed has the candidates for the next place; where
no proof remains, the removed places are a set. So every set was checked by deriving again, and since sets are met by
size, none has a part that would do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

from planner.foundation.vocabulary.records import frozen

MOST_SETS = 10
MOST_PROOFS = 200
"""derivations before the search gives up"""

_MOST_FACTS = 1_000_000
"""facts that all derivations together may go through"""

K = TypeVar("K", bound=Hashable)


@frozen
class HittingSets(Generic[K]):
    """`sets`: smallest first, each sorted. `limit`: why there may be more: "sets" or "proofs"; "" when these are all.
    `is_stuck`: some proof depends on nothing that could be taken away, so there is no set at all."""

    sets: tuple[tuple[K, ...], ...] = ()
    limit: str = ""
    is_stuck: bool = False


def smallest_sets(
    proof_without: Callable[[frozenset[K]], Collection[K] | None],
    order: Callable[[K], str] = str,
    most_sets: int = MOST_SETS,
    most_proofs: int = MOST_PROOFS,
) -> HittingSets[K]:
    """`proof_without`: the places of one proof when some are taken away, without those; None when there is no proof any
    more."""
    items: list[frozenset[K]] = []
    known: list[frozenset[K]] = []
    waiting: deque[frozenset[K]] = deque([frozenset()])
    seen: set[frozenset[K]] = set(waiting)
    proofs = 0
    while waiting:
        removed = waiting.popleft()
        if any(one <= removed for one in items):
            continue
        places = next((places for places in known if not places & removed), None)
        if places is None:
            if proofs >= most_proofs:
                return HittingSets(_sort(items, order), "proofs")
            proofs += 1
            proved = proof_without(removed)
            if proved is None:
                items.append(removed)
                if len(items) >= most_sets:
                    return HittingSets(_sort(items, order), "sets" if waiting else "")
                continue
            places = frozenset(proved)
            if not places:
                if not removed:
                    return HittingSets(is_stuck=True)
                continue
            known.append(places)
        for place in sorted(places, key=order):
            further = removed | {place}
            if further not in seen:
                seen.add(further)
                waiting.append(further)
    return HittingSets(_sort(items, order), is_stuck=not items)


def proofs_for(facts: int) -> int:
    """How many derivations a search over so many facts may take."""
    return max(10, min(MOST_PROOFS, _MOST_FACTS // max(facts, 1)))


def _sort(found: Collection[frozenset[K]], order: Callable[[K], str]) -> tuple[tuple[K, ...], ...]:
    sets = [tuple(sorted(one, key=order)) for one in found]
    return tuple(sorted(sets, key=lambda one: (len(one), [order(place) for place in one])))
