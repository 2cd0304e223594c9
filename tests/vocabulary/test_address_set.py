"""A set of addresses reads like the sorted tuple of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.foundation.vocabulary.address_set import NO_ADDRESSES, Addresses, AddressSet

NAMES = [f"terraform_data.r{n}" for n in range(12)]
SHARED = Addresses(NAMES)
some = st.lists(st.sampled_from(NAMES), unique=True).map(sorted).map(tuple)
others = st.lists(st.sampled_from([*NAMES, "terraform_data.gone", "a.b"])).map(tuple)


def of(names: tuple[str, ...]) -> AddressSet:
    found = NO_ADDRESSES.union(names) if not names else AddressSet(SHARED, 0).union(names)
    assert isinstance(found, AddressSet)
    return found


@given(some, others)
def test_it_is_the_sorted_tuple(names: tuple[str, ...], more: tuple[str, ...]) -> None:
    mine = of(names)
    assert tuple(mine) == names
    assert mine == names
    assert names == mine
    assert (mine == more) == (names == more)
    assert len(mine) == len(names)
    assert hash(mine) == hash(names)
    assert [name for name in [*NAMES, "a.b"] if name in mine] == sorted(names, key=NAMES.index)
    assert mine[:2] == names[:2]
    assert tuple(mine.union(more)) == tuple(sorted({*names, *more}))
    assert mine.holds(more) == (set(more) <= set(names))


@given(some, some)
def test_two_that_share_are_compared_as_numbers(names: tuple[str, ...], more: tuple[str, ...]) -> None:
    mine, other = of(names), of(more)
    assert (mine == other) == (names == more)
    assert tuple(mine.union(other)) == tuple(sorted({*names, *more}))
    assert mine.holds(other) == (set(more) <= set(names))


def test_it_is_no_list() -> None:
    assert of(("terraform_data.r1",)) != ["terraform_data.r1"]
    assert not of(())
