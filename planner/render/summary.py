"""Sentences about how many objects are (or were) imported, added, changed, destroyed and forgotten.

Other programs look for these sentences: they are the ecosystem's, word for word.
"""

from __future__ import annotations

from planner.logic.programs.counts import Counts


def pending(counts: Counts) -> str:
    """`1 to add, 0 to change, 0 to destroy`, with imports and forgotten objects when there are any."""
    first = f"{counts.imports} to import, " if counts.imports else ""
    last = f", {counts.forget} to forget" if counts.forget else ""
    return f"{first}{counts.add} to add, {counts.change} to change, {counts.remove} to destroy{last}"


def finished(counts: Counts) -> str:
    """`1 added, 0 changed, 0 destroyed`, with imports and forgotten objects when there are any."""
    first = f"{counts.imports} imported, " if counts.imports else ""
    last = f", {counts.forget} forgotten" if counts.forget else ""
    return f"{first}{counts.add} added, {counts.change} changed, {counts.remove} destroyed{last}"


def plan_summary(counts: Counts) -> str:
    """The sentence at the end of a plan."""
    return f"Plan: {pending(counts)}."


def apply_summary(counts: Counts, destroys: bool = False) -> str:
    """The sentence at the end of an apply, or of `destroy`."""
    if destroys:
        return f"Destroy complete! Resources: {counts.remove} destroyed."
    return f"Apply complete! Resources: {finished(counts)}."
