"""Selection of instances of components by the user."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.workflows.stacks.decisions import declaration
from planner.workflows.stacks.names import PromiseName

MOST_NAMED = 10
"""most components that a message suggests for an unknown one"""


def select_names(names: Collection[PromiseName], words: Iterable[str], deployment: str) -> list[PromiseName]:
    """The names that the words mean: an instance, a component with all its instances, or a child stack with all its
    content. A name that represents all instances may be any of them. Raises Failure for an unknown word."""
    items: set[PromiseName] = set()
    for word in words:
        hits = {name for name in names if _means(word, name)}
        if not hits:
            raise _unknown(f"{word} is not a component of the deployment {deployment}.", names, word)
        items |= hits
    return sorted(items, key=str)


def _means(word: str, name: PromiseName) -> bool:
    whole, declared = str(name), declaration(name)
    if word in (whole, declared) or whole.startswith(f"{word}.") or declared.startswith(f"{word}."):
        return True
    return name.is_wild and word.startswith(f"{whole.removesuffix('[*]')}[")


def split(names: Collection[PromiseName], text: str, deployment: str) -> tuple[PromiseName, str]:
    """The instance of a component that an address begins with, and the rest of it, the address of something in its
    state ("" for the instance itself). Raises Failure."""
    hits = [name for name in names if text == str(name) or text.startswith(f"{name}.")]
    if not hits:
        instances = [name for name in names if _is_in(text, declaration(name))]
        if instances:
            raise _unknown(f"{text} begins with a component that has instances: name one of them.", instances)
        raise _unknown(f"{text} begins with no component of the deployment {deployment}.", names)
    name = max(hits, key=lambda hit: len(str(hit)))
    return name, text[len(str(name)) + 1 :]


def _is_in(text: str, begin: str) -> bool:
    return text == begin or text.startswith(f"{begin}.")


def _unknown(text: str, names: Iterable[PromiseName], word: str = "") -> Failure:
    known = sorted(map(str, names))
    more = f", and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    there = f" There is {', '.join(known[:MOST_NAMED])}{more}." if known else " There is none."
    detail = f"{text}{(word and did_you_mean(word, known)) or there}"
    return Failure(error("stack.unknown_component", "No such component", detail))
