"""The decisions of rules/stacks about the component instances of a deployment, and the selection of instances by the
user."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from heapq import heappop, heappush

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import product_program
from planner.workflows.stacks.flow import ComponentInstance, Flow
from planner.workflows.stacks.names import PromiseName, Wild, path_text

_DECIDED = (
    *("does", "follows", "unclaimed", "declared_and_removed", "incomplete"),
    *("waits_until", "put_off", "put_off_in_part", "made_from"),
)
PutOff = tuple[tuple[str, str], ...]
"""the reasons why an instance is deferred, as (because, what), in the words of the relation `put_off`"""


def facts_of(instance: ComponentInstance) -> list[tuple[str, ...]]:
    """The facts about a component instance that follow from the configuration, as (predicate, columns...)."""
    name = str(instance.name)
    facts: list[tuple[str, ...]] = [("component", name)]
    if instance.name.is_wild:
        facts.append(("wildcard_of", name, declaration(instance.name)))
        facts += [("expands_with", name, str(each)) for each in expansions(instance.name)]
    facts += [("reads_value", name, str(other)) for other in instance.awaited]
    facts += [("unknown_input", name, called) for called in instance.unknown]
    facts += [("told_to_follow", name, str(other)) for other in instance.follows]
    facts += [("unknown_configuration", name, str(p.name)) for p in instance.providers if p.is_unknown]
    return facts


def expansions(name: PromiseName) -> list[PromiseName]:
    """The names of the unknown for_each arguments that determine which instances this name represents."""
    parts = [(f"stack.{stack}", name.path[:depth], key) for depth, (stack, key) in enumerate(name.path)]
    parts.append((f"component.{name.name}", name.path, name.key))
    return [PromiseName("each", called, path) for called, path, key in parts if isinstance(key, Wild)]


def stack_of(name: PromiseName) -> str:
    """The child stack that contains the instance; "" for an instance of the stack itself."""
    return path_text(name.path).removesuffix(".")


def declaration(name: PromiseName) -> str:
    """The name of an instance's component, which is the name of the instance without keys."""
    return str(PromiseName(name.kind, name.name, tuple((stack, None) for stack, _ in name.path)))


def put_off(instance: ComponentInstance, mode: str, before: Mapping[str, PutOff], partial: Container[str]) -> PutOff:
    """The reasons why an instance is deferred; () if it is not. `before`: {deferred instance: the reasons}. `partial`:
    instances with deferred objects. In both, only the dependencies of the instance matter."""
    facts = [*facts_of(instance), ("deployment_mode", mode)]
    for other in instance.awaited:
        facts.append(("component", str(other)))
        facts += [("partial_plan", str(other))] if str(other) in partial else []
        facts += [_given_fact(str(other), because, what) for because, what in before.get(str(other), ())]
    rows = _derive(facts, "put_off")["put_off"]
    return tuple(sorted((because, what) for name, because, what in rows if name == str(instance.name)))


def _given_fact(name: str, because: str, what: str) -> tuple[str, ...]:
    """A fact from which the rules derive that the instance `name` is deferred, for an instance about which this is
    known already. The fact replaces the facts about the configuration of this instance."""
    return ("wildcard_of", name, name) if because != "provider" else ("unknown_configuration", name, what)


@frozen(eq=False)
class Decided:
    """The decisions about component instances. `does`: {instance: what is done with it}. `follows`: (instance, instance
    before it). For the other fields, see the relations with the same names in rules/stacks."""

    does: Mapping[str, str]
    follows: frozenset[tuple[str, str]]
    unclaimed: tuple[str, ...]
    declared_and_removed: tuple[str, ...]
    incomplete: tuple[str, ...]
    waits_until: frozenset[tuple[str, str]]
    database: Database
    """the facts and derived relations, from which `why` explains the decisions"""


def decide(facts: FactBuilder) -> Decided:
    result = evaluate(product_program("stacks"), facts.build(), _DECIDED)
    return Decided(
        {str(name): str(what) for name, what in result.sorted("does")},
        frozenset((str(a), str(b)) for a, b in result["follows"]),
        tuple(str(row[0]) for row in result.sorted("unclaimed")),
        tuple(str(row[0]) for row in result.sorted("declared_and_removed")),
        tuple(str(row[0]) for row in result.sorted("incomplete")),
        frozenset((str(a), str(b)) for a, b in result["waits_until"]),
        result,
    )


def data_flow(facts: FactBuilder, flow: Flow) -> None:
    """Add a fact for each dependency between values that the evaluation of `flow` has found, with the place of the
    reference."""
    for one, span in flow.promises.awaited:
        facts.add("reads_value", str(one.by), str(one.awaited), source=span)
        for name in (one.by, one.awaited):
            facts.add("promise", str(name), name.kind, stack_of(name))


def _derive(facts: Iterable[tuple[str, ...]], *wanted: str) -> Database:
    builder = FactBuilder()
    for name, *columns in facts:
        builder.add(name, *columns)
    return evaluate(product_program("stacks"), builder.build(), wanted)


def in_order(names: Iterable[str], follows: Iterable[tuple[str, str]]) -> list[str]:
    """The names, each after its dependencies. If several names can be next, they are in lexical order. `follows`:
    (name, its dependency)."""
    waits: dict[str, set[str]] = {name: set() for name in sorted(names)}
    followers: dict[str, list[str]] = {}
    for name, other in follows:
        if name in waits and other in waits:
            waits[name].add(other)
            followers.setdefault(other, []).append(name)
    ready = [name for name, others in waits.items() if not others]
    done: dict[str, None] = {}
    while len(done) < len(waits):
        # the rules exclude cycles; in a cycle any name could be first
        name = heappop(ready) if ready else next(name for name in waits if name not in done)
        if name in done:
            continue
        done[name] = None
        for follower in followers.get(name, ()):
            waits[follower].discard(name)
            if not waits[follower]:
                heappush(ready, follower)
    return list(done)


MOST_NAMED = 10
"""maximum number of components that a message lists"""


def select_names(names: Collection[PromiseName], words: Iterable[str], deployment: str) -> list[PromiseName]:
    """The instances that the words select. A word names an instance, a component with all its instances, or a child
    stack with all its components. A name that represents all instances (`[*]`) is also selected by a word for one
    instance. Raises Failure for an unknown word."""
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
    """Split an address into a component instance and the address of an object in the instance's state ("" if the
    address is only the instance). Raises Failure."""
    hits = [name for name in names if text == str(name) or text.startswith(f"{name}.")]
    if not hits:
        instances = [name for name in names if _is_in(text, declaration(name))]
        if instances:
            raise _unknown(f"{text} begins with a component that has instances: name one of them.", instances)
        raise _unknown(f"{text} does not begin with a component of the deployment {deployment}.", names)
    name = max(hits, key=lambda hit: len(str(hit)))
    return name, text[len(str(name)) + 1 :]


def _is_in(text: str, begin: str) -> bool:
    return text == begin or text.startswith(f"{begin}.")


def _unknown(text: str, names: Iterable[PromiseName], word: str = "") -> Failure:
    known = sorted(map(str, names))
    more = f", and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    there = f" The names are {', '.join(known[:MOST_NAMED])}{more}." if known else " There are no components."
    detail = f"{text}{(word and did_you_mean(word, known)) or there}"
    return Failure(error("stack.unknown_component", "No such component", detail))
