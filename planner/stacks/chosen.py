"""Which instances of components somebody means."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from planner.stacks.decisions import declaration
from planner.stacks.names import Name
from planner.vocabulary.diagnostic import Failure, error
from planner.vocabulary.nearest import did_you_mean


def chosen(names: Collection[Name], words: Iterable[str]) -> list[Name]:
    """The names that the words mean: an instance, a component with all its instances, or a child stack with all that is
    in it. One that stands for all instances may turn out to be any of them. Raises Failure for a word that means
    nothing."""
    found: set[Name] = set()
    for word in words:
        hits = {name for name in names if _means(word, name)}
        if not hits:
            known = {str(name) for name in names}
            there = f" There is {', '.join(sorted(known)[:10])}." if known else " There is none."
            detail = f"{word} is no component of the deployment.{did_you_mean(word, known) or there}"
            raise Failure(error("stack.unknown_component", "No such component", detail))
        found |= hits
    return sorted(found, key=str)


def _means(word: str, name: Name) -> bool:
    whole, declared = str(name), declaration(name)
    if word in (whole, declared) or whole.startswith(f"{word}.") or declared.startswith(f"{word}."):
        return True
    return name.is_wild and word.startswith(f"{whole.removesuffix('[*]')}[")


def split(names: Collection[Name], text: str) -> tuple[Name, str]:
    """The instance of a component that an address begins with, and the rest of it, the address of something in its
    state ("" for the instance itself). Raises Failure."""
    hits = [name for name in names if text == str(name) or text.startswith(f"{name}.")]
    if not hits:
        known = {str(name) for name in names}
        there = f" There is {', '.join(sorted(known)[:10])}." if known else " There is none."
        detail = f"{text} begins with no component of the deployment.{there}"
        raise Failure(error("stack.unknown_component", "No such component", detail))
    name = max(hits, key=lambda hit: len(str(hit)))
    return name, text[len(str(name)) + 1 :]
