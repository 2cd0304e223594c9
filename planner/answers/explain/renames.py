"""Finds destroyed and created objects that are probably the same object under a new name, and moves for them.
rules/plan/renames.dl selects the pairs of objects. This module provides the facts about similarities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count, product
from typing import Any, NamedTuple

from planner.foundation.support.digests import sha256_of
from planner.foundation.support.exact_json import dumps
from planner.foundation.values.expression_text import common_ends
from planner.foundation.values.json_codec import CodecError, simple_json
from planner.foundation.values.paths import unknown_paths
from planner.foundation.values.value import Null, Value, unmark_deep
from planner.foundation.vocabulary.address import (
    Address,
    InstanceKey,
    ModuleAddress,
    ResourceAddress,
    format_key,
    format_module,
    parse_address,
    parse_resource_instance,
)
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.model import Config
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.graph import StateEntry
from planner.logic.model.plan import Plan, ResourceChange
from planner.logic.programs.actions import does
from planner.logic.programs.rule_programs import product_program

_WORD = re.compile(r"[^\W\d_]+|\d+")
_EMPTY = ("null", '""', "[]", "{}")
_MOST_MASKS = 20
"""maximum number of sets of unknown attributes with which destroyed objects of a kind are described"""
_MOST_SINGLE = 200
"""maximum number of objects of a kind that are compared attribute by attribute"""
_MOST_COMPARED = 50_000
"""maximum number of pairs of objects in the instances of one module or resource; with more pairs, its instances are not
compared"""
_MOST_NAMED = 3
"""maximum number of renamed modules, resources or instances that the line about renamed objects names"""
_ALIKE_KEYS = 0.55
"""minimum ratio of the length of the common beginning and end of two similar keys to the length of the longer key"""


@frozen(eq=False)
class ProposedMove:
    """A move of a module, resource or instance. `carried`: (old address, new address) of each instance that the move
    affects."""

    from_: str
    to: str
    carried: tuple[tuple[str, str], ...]


@frozen(eq=False)
class RenamedObject:
    """An object of the plan that may be the old or the new object of a rename."""

    change: ResourceChange
    address: ResourceAddress
    known: dict[str, str]
    """{attribute: JSON} for the known values that are not empty"""
    unknown: frozenset[str]
    is_scaled: bool = False
    """whether its key is a number and other instances of its resource remain"""

    @property
    def name(self) -> str:
        return self.change.address


def same_objects(plan: Plan) -> tuple[tuple[str, str], ...]:
    """(old address, new address), sorted, of the objects that a plan destroys and creates again although all known
    values are equal or differ only where they contain a key of the address. Objects are left out if their modules have
    little else in common."""
    old, new = _candidates(plan)
    if not old:
        return ()
    pairs = _same_values(old, new)
    facts = FactBuilder()
    _add_locations(facts, [*old, *new], {item.name for item in old})
    _add_instances(facts, old, new, plan)
    _add_settled(facts, pairs)
    database: Database = evaluate(product_program("renames"), facts.build(), ["announced_pair"])
    return tuple(database.sorted("announced_pair"))


def sure_moves(
    plan: Plan, config: Config, objects: Iterable[tuple[str, str]] | None = None
) -> tuple[ProposedMove, ...]:
    """The proposed moves that affect any of the `same_objects`. `objects`: the result of `same_objects`; None if it is
    not yet known."""
    same = set(same_objects(plan) if objects is None else objects)
    return tuple(move for move in proposed_moves(plan, config) if not same.isdisjoint(move.carried)) if same else ()


def largest_moves(moves: Iterable[ProposedMove]) -> tuple[ProposedMove, ...]:
    """The moves whose objects are not all affected by one larger move, the largest first."""
    largest: list[ProposedMove] = []
    for move in sorted(moves, key=lambda move: (-len(move.carried), move.from_)):
        if not any(set(move.carried) <= set(other.carried) for other in largest):
            largest.append(move)
    return tuple(largest)


def rename_text(objects: Sequence[tuple[str, str]]) -> str:
    """The line about renamed objects, which are given as (old address, new address); "" if there are none. The line
    names only the largest renamed modules, resources or instances."""
    if not objects:
        return ""
    (first, *others) = renamed_wholes(objects)
    if not others:
        return f"{first[0]} looks renamed to {first[1]}. To see what a moved block keeps: planner suggest"
    named = [f"{old} to {new}" for old, new in (first, *others)[:_MOST_NAMED]]
    more = [f"{len(others) + 1 - _MOST_NAMED} more"] if len(others) >= _MOST_NAMED else []
    return f"These look renamed: {', '.join([*named, *more])}. To see what moved blocks keep: planner suggest"


def rename_remarks(objects: Iterable[tuple[str, str]], is_certain: bool = True) -> dict[str, str]:
    """{old or new address: remark} for renamed objects, which are given as (old address, new address). `is_certain`:
    whether their values are equal."""
    pairs, verb = list(objects), "looks" if is_certain else "may have been"
    return {old: f"{verb} renamed to {new}" for old, new in pairs} | {
        new: f"{verb} renamed from {old}" for old, new in pairs
    }


def renamed_wholes(objects: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """{(old address, new address) of a module, resource or instance: the given pairs (old address, new address) of
    objects in it}, the largest first."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    around = {pair: _wholes_of_both(*pair) for pair in objects}
    for pair, both in around.items():
        groups.setdefault(both[-1], []).append(pair)
    smallest = {  # the smallest module, resource or instance with all these objects
        next(whole for whole in around[pairs[0]] if all(whole in around[pair] for pair in pairs)): pairs
        for pairs in groups.values()
    }
    return dict(sorted(smallest.items(), key=lambda item: (-len(item[1]), item[0])))


def _wholes_of_both(old: str, new: str) -> list[tuple[str, str]]:
    """(old address, new address) of two instances themselves, then of their resources and of the modules around them. A
    pair is left out if the rests of the two instance addresses differ."""
    ends = (wholes(parse_resource_instance(name)) for name in (old, new))
    return [(one[0], other[0]) for one, other in zip(*ends, strict=False) if one[2] == other[2]]


def proposed_moves(plan: Plan, config: Config, refused: Iterable[tuple[str, str]] = ()) -> tuple[ProposedMove, ...]:
    """The moves for objects that are probably renamed, sorted. `refused`: (old address, new address) of objects that
    must not be proposed as renamed."""
    old, new = _candidates(plan)
    if not old:
        return ()
    refused = tuple(refused)
    settled = _same_values(old, new, refused)
    facts = FactBuilder()
    _add_looks(facts, *_without(old, new, settled), refused, values_only=False)
    _add_wholes(facts, [*old, *new], {item.name for item in old}, plan, config)
    _add_instances(facts, old, new, plan)
    _add_settled(facts, settled)
    database: Database = evaluate(product_program("renames"), facts.build(), ["proposed_move"])
    carried: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for from_, to, before, now in database.sorted("proposed_move"):
        carried.setdefault((from_, to), []).append((before, now))
    return tuple(ProposedMove(*ends, tuple(objects)) for ends, objects in sorted(carried.items()))


def _same_values(
    old: list[RenamedObject], new: list[RenamedObject], refused: Iterable[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """(old address, new address) of objects whose values are equal to each other and differ from the values of all
    other objects. This includes pairs that become unique when other pairs are removed."""
    settled: list[tuple[str, str]] = []
    while old and new:
        facts = FactBuilder()
        _add_looks(facts, old, new, refused, values_only=True)
        pairs = evaluate(product_program("renames"), facts.build(), ["same_values"]).sorted("same_values")
        if not pairs:
            break
        settled += pairs
        old, new = _without(old, new, pairs)
    return settled


def _add_settled(facts: FactBuilder, pairs: Iterable[tuple[str, str]]) -> None:
    for pair in pairs:
        facts.add("settled_pair", *pair)
        keys = [_all_keys(parse_resource_instance(name)) for name in pair]
        if keys[0] == keys[1] != ():
            facts.add("same_keys", *pair)


def _without(
    old: list[RenamedObject], new: list[RenamedObject], pairs: Iterable[tuple[str, str]]
) -> tuple[list[RenamedObject], list[RenamedObject]]:
    names = {name for pair in pairs for name in pair}
    return [item for item in old if item.name not in names], [item for item in new if item.name not in names]


def index_shifts(plan: Plan) -> dict[str, dict[str, str]]:
    """{resource with count: {old address: new address}} for the resources whose indexes have shifted. The instance at
    the new address gets the values of the instance at the old address."""
    facts = FactBuilder()
    counted: dict[str, list[ResourceChange]] = {}
    for change in plan.changes:
        if _is_object(change) and change.key.__class__ is int and change.action != "no-op":
            counted.setdefault(change.resource_address, []).append(change)
    for address, changes in counted.items():
        kept = [change for change in changes if Null not in (change.before.__class__, change.after.__class__)]
        if not kept:
            continue
        objects = {c.address: (_object(c, c.before).known, _object(c, c.after)) for c in changes}
        differing = {
            name
            for before, after in (objects[change.address] for change in kept)
            for name in before.keys() | after.known.keys()
            if before.get(name) != after.known.get(name)
        }
        differing -= {name for _, after in objects.values() for name in after.unknown}
        for change in changes if differing else ():
            before, after = objects[change.address]
            for predicate, value, known in (
                ("held_values", change.before, before),
                ("wanted_values", change.after, after.known),
            ):
                if value.__class__ is not Null:
                    look = repr([(name, known.get(name)) for name in sorted(differing)])
                    facts.add(predicate, change.address, address, _digest(look), source=StateEntry(change.address))
    shifts: dict[str, dict[str, str]] = {}
    for address, old, new in evaluate(product_program("renames"), facts.build(), ["index_shift"]).sorted("index_shift"):
        shifts.setdefault(address, {})[old] = new
    return shifts


def shift_remarks(plan: Plan) -> dict[str, str]:
    """{address: sentence} for the objects of resources with count whose indexes have shifted."""
    remarks: dict[str, str] = {}
    for address, shifts in index_shifts(plan).items():
        remarks |= dict.fromkeys(shifts.values(), "It gets the values of another object, because indexes have shifted.")
        remarks |= {old: f"Indexes have shifted: its values move to {new}." for old, new in shifts.items()}
        ended = [c.address for c in plan.changes if c.resource_address == address and c.after.__class__ is Null]
        last = f", and {ended[0]} is destroyed because it has the last index" if len(ended) == 1 else ""
        for new in shifts.values() - shifts.keys():
            remarks[new] = f"Indexes have shifted: its values are removed{last}."
    return remarks


def values_in_common(plan: Plan, pairs: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """(number of equal known values, number of differing known values) of destroyed and created objects. Values that
    differ only where they contain a key of the address are treated as equal."""
    changes = {change.address: change for change in plan.changes if _is_object(change)}
    same = differing = 0
    for old, new in pairs:
        before, after = _object(changes[old], changes[old].before), _object(changes[new], changes[new].after)
        keys = _differing_keys(before.address, after.address)
        before = evolve(before, known={name: _with_keys(text, keys) for name, text in before.known.items()})
        equal = sum(before.known.get(name) == text for name, text in after.known.items())
        same += equal
        differing += len(before.known.keys() - after.unknown | after.known.keys()) - equal
    return same, differing


# ---------------------------------------------------------------- facts


def _add_looks(
    facts: FactBuilder,
    old: list[RenamedObject],
    new: list[RenamedObject],
    refused: Iterable[tuple[str, str]],
    values_only: bool,
) -> None:
    """Add facts about the descriptions by which objects are compared, and about the `refused` pairs. `values_only`:
    whether only descriptions that include all known values are added."""
    masks: dict[str, Counter[frozenset[str]]] = {}
    for item in new:
        masks.setdefault(_kind(item), Counter())[item.unknown] += 1
    crowded = _crowded(old) | _crowded(new)
    for items, predicate in ((old, "old_look"), (new, "new_look")):
        looks: list[tuple[RenamedObject, str]] = []
        empty = set[str]()
        for item in items:
            kind = _kind(item)
            common = [mask for mask, _ in masks.get(kind, Counter()).most_common(_MOST_MASKS)]
            shapes = [_shape(item, mask) for mask in (common if predicate == "old_look" else (item.unknown,))]
            looks += [(item, shape) for shape in shapes]
            empty.update(_digest(kind, sorted(mask), []) for mask in (*common, item.unknown))
            for evidence, look in () if values_only else _general_looks(item, kind not in crowded):
                facts.add(predicate, item.name, evidence, look, source=StateEntry(item.name))
        for item, evidence, look in _looks_by_value(looks, empty if predicate == "old_look" else ()):
            facts.add(predicate, item.name, evidence, look, source=StateEntry(item.name))
    for item in (*old, *new):
        if item.is_scaled:
            facts.add("scaled", item.name, source=StateEntry(item.name))
    for pair in refused:
        facts.add("refused_pair", *pair)


def _candidates(plan: Plan) -> tuple[list[RenamedObject], list[RenamedObject]]:
    """(destroyed objects that are no longer declared, created objects). An object is left out if the other group has no
    object of the same type and provider."""
    gone = [c for c in plan.changes if _is_object(c) and does(c.action, "removes") and c.reason.startswith("delete_")]
    if not gone:
        return [], []
    come = [
        c
        for c in plan.changes
        if _is_object(c) and c.action == "create" and c.importing is None and c.before.__class__ is Null
    ]
    kinds = {(c.type, _source(c)) for c in gone} & {(c.type, _source(c)) for c in come}
    staying = {c.resource_address for c in plan.changes if Null not in (c.before.__class__, c.after.__class__)}

    def candidate(change: ResourceChange, value: Value) -> RenamedObject:
        is_scaled = change.key.__class__ is int and change.resource_address in staying
        return evolve(_object(change, value), is_scaled=is_scaled)

    old = [candidate(c, c.before) for c in gone if (c.type, _source(c)) in kinds]
    return old, [candidate(c, c.after) for c in come if (c.type, _source(c)) in kinds]


def _is_object(change: ResourceChange) -> bool:
    return change.mode == "managed" and not change.deposed


def _source(change: ResourceChange) -> str:
    return change.provider[change.provider.find('provider["') :].partition('"]')[0]


def _kind(item: RenamedObject) -> str:
    return f"{_source(item.change)} {item.change.type}"


def _crowded(items: list[RenamedObject]) -> set[str]:
    """The kinds with too many objects to compare single attributes."""
    numbers = Counter(map(_kind, items))
    return {kind for kind, number in numbers.items() if number > _MOST_SINGLE}


def _object(change: ResourceChange, value: Value) -> RenamedObject:
    plain, _ = unmark_deep(value)
    known: dict[str, str] = {}
    unknown = set()
    for name, item in plain.items() if plain.__class__ is dict else ():
        if unknown_paths(item):
            unknown.add(name)
            continue
        try:
            text = dumps(simple_json(item)).decode()
        except CodecError:
            text = repr(item)
        if text not in _EMPTY:
            known[name] = text
    return RenamedObject(change, parse_resource_instance(change.address), known, frozenset(unknown))


def _shape(item: RenamedObject, unknown: frozenset[str]) -> str:
    values = [(name, text) for name, text in sorted(item.known.items()) if name not in unknown]
    return _digest(_kind(item), sorted(unknown), values)


def _digest(*parts: object) -> str:
    return sha256_of(repr(parts).encode("utf-8", "surrogateescape"))[:24]


def _all_keys(address: Address) -> tuple[InstanceKey, ...]:
    keys = tuple(key for _, key in address.module.steps)
    return keys if isinstance(address, ModuleAddress) else (*keys, address.key)


def _keys(address: ResourceAddress) -> str:
    return "".join(f"[{format_key(key)}]" for key in _all_keys(address))


def _looks_by_value(
    shapes: list[tuple[RenamedObject, str]], empty: Collection[str]
) -> Iterator[tuple[RenamedObject, str, str]]:
    """(object, evidence, look): descriptions of objects by a digest of their values. Two objects with an equal
    description look alike. `empty`: the digests of objects without values; if such an object has a string as key, its
    descriptions include the key."""
    alike: dict[str, list[RenamedObject]] = {}
    for item, shape in shapes:
        alike.setdefault(shape, []).append(item)
    for shape, items in alike.items():
        words = [_WORD.findall(item.name) for item in items]
        common = set(words[0]).intersection(*words)
        places: dict[str, Iterator[int]] = {}
        ordered = sorted(zip(items, words, strict=True), key=lambda pair: pair[0].address.sort_key)
        for item, spelled in ordered:
            if shape in empty and item.address.key.__class__ is str:  # only its address distinguishes it
                yield item, "values and keys", f"{shape} {_keys(item.address)}"
                continue
            yield item, "values", shape
            yield item, "values, name and keys", f"{shape} {item.change.name} {_keys(item.address)}"
            yield item, "values and keys", f"{shape} {_keys(item.address)}"
            if rest := [word for word in spelled if word not in common]:
                yield item, "values and words", f"{shape} {' '.join(rest)}"
            block = str(item.address.resource)
            yield item, "values and order", f"{shape} {block} {next(places.setdefault(block, count()))}"


def _general_looks(item: RenamedObject, is_single: bool) -> Iterator[tuple[str, str]]:
    """(evidence, look): descriptions of an object that do not contain all its values. `is_single`: whether there is a
    description for each single value."""
    kind, block = _kind(item), str(item.address.config)
    yield "name and keys", f"{kind} {item.change.name} {_keys(item.address)}"
    yield "block and key", f"{kind} {block} {format_key(item.address.key)}"
    yield "block", f"{kind} {block}"
    yield "type", kind
    if is_single:
        for name, text in item.known.items():
            yield "one value", f"{kind} {block} {name} {_digest(text)}"


# ---------------------------------------------------------------- instances with other keys


class _Instance(NamedTuple):
    """An instance of a module or resource with a string as key. `objects`: {rest of the address: object}."""

    name: str
    key: str
    objects: dict[str, RenamedObject]


def _add_instances(facts: FactBuilder, old: list[RenamedObject], new: list[RenamedObject], plan: Plan) -> None:
    """Add facts about the similarities between destroyed and created instances of the same module or resource.
    Instances with objects that are neither in `old` nor in `new` are left out, as are modules and resources with more
    than _MOST_COMPARED pairs of objects."""
    groups = _instances(old), _instances(new)
    common = sorted(groups[0].keys() & groups[1].keys())
    names = tuple(one.name for group in groups for container in common for one in group[container])
    moving = {item.name for item in (*old, *new)}
    others = (c.address for c in plan.changes if _is_object(c) and c.address not in moving) if names else ()
    staying = [name for name in others if name.startswith(names)]
    for container in common:
        befores, afters = (
            [one for one in group[container] if not any(name.startswith(one.name) for name in staying)]
            for group in groups
        )
        if sum(len(one.objects) for one in befores) * len(afters) > _MOST_COMPARED:
            continue
        for before, after in product(befores, afters):
            pairs = list(_alike_objects(before, after))
            if not pairs:
                continue
            facts.add("alike_instances", before.name, after.name, len(pairs), int(_are_similar(before.key, after.key)))
            facts.add("instance_objects", before.name, len(before.objects))
            facts.add("instance_objects", after.name, len(after.objects))
            for was, is_now in pairs:
                facts.add("alike_objects", before.name, after.name, was.name, is_now.name, source=StateEntry(was.name))


def _alike_objects(before: _Instance, after: _Instance) -> Iterator[tuple[RenamedObject, RenamedObject]]:
    """The pairs of objects of two instances that are equal if the key of the first instance is replaced by the key of
    the second. Attributes that are unknown in the second object are not compared."""
    keys = [(before.key, after.key)]
    for rest, item in before.objects.items():
        other = after.objects.get(_with_keys(rest, keys))
        if other is not None and _kind(item) == _kind(other):
            known = ((name, text) for name, text in item.known.items() if name not in other.unknown)
            if {name: _with_keys(text, keys) for name, text in known} == other.known:
                yield item, other


def _with_keys(text: str, keys: Iterable[tuple[str, str]]) -> str:
    """A text in which each old key of the pairs (old key, new key) is replaced by the new key where it is a whole
    word."""
    for old, new in keys:
        was, now = (dumps(key).decode()[1:-1] for key in (old, new))
        text = re.sub(rf"(?<![^\W_]){re.escape(was)}(?![^\W_])", lambda _, now=now: now, text)  # type: ignore[misc]
    return text


def have_similar_keys(old: str, new: str) -> bool:
    """Whether all keys in which the addresses of two modules, resources or instances differ are similar."""
    ends = (parse_address(name) for name in (old, new))
    return all(_are_similar(*keys) for keys in _differing_keys(*ends))


def _differing_keys(old: Address, new: Address) -> list[tuple[str, str]]:
    """(old key, new key) for each pair of strings as keys in which two addresses differ."""
    pairs = zip(_all_keys(old), _all_keys(new), strict=False)
    return [(was, now) for was, now in pairs if isinstance(was, str) and isinstance(now, str) and was != now]


def _are_similar(one: str, other: str) -> bool:
    """Whether two keys are similar. Their common beginning and end must have at least _ALIKE_KEYS times the length of
    the longer key, or one key of at least three characters must be the beginning or end of the other. Keys that contain
    different numbers are not similar."""
    numbers = [re.findall(r"\d+", key) for key in (one, other)]
    if all(numbers) and numbers[0] != numbers[1]:
        return False
    same = sum(common_ends(one, other))
    shorter, longer = sorted((len(one), len(other)))
    return same >= (shorter if shorter > 2 else longer) or same >= _ALIKE_KEYS * longer


def _instances(items: Iterable[RenamedObject]) -> dict[str, list[_Instance]]:
    """{module or resource: its instances whose keys are strings}"""
    instances: dict[str, dict[str, _Instance]] = {}
    for item in items:
        steps = item.address.module.steps
        calls = [(format_module((*steps[:n], (call, None))), key) for n, (call, key) in enumerate(steps)]
        for container, key in (*calls, (str(item.address.resource), item.address.key)):
            if isinstance(key, str) and key:
                name = f"{container}{format_key(key)}"
                one = instances.setdefault(container, {}).setdefault(name, _Instance(name, key, {}))
                one.objects[item.name[len(name) :]] = item
    return {container: list(named.values()) for container, named in instances.items()}


# ---------------------------------------------------------------- wholes


def wholes(address: ResourceAddress, deepest: int = 0) -> Iterator[tuple[str, int, str]]:
    """(address, height, rest of the instance's address) for an instance, then for its resource and the modules around
    it, the innermost first. The height of the instance is 0, and each following height is larger. Each module is
    yielded with its key, then without it. If `deepest` is the largest number of modules around any instance, a module
    has the same height for all instances in it."""
    yield str(address), 0, ""
    yield str(address.resource), 1, format_key(address.key)
    steps, rest = address.module.steps, f".{address.relative}"
    for depth in range(len(steps), 0, -1):
        height = 2 * (max(len(steps), deepest) - depth + 1)
        (name, key), above = steps[depth - 1], steps[: depth - 1]
        yield format_module((*above, (name, key))), height, rest
        rest = f"{format_key(key)}{rest}"
        yield format_module((*above, (name, None))), height + 1, rest
        rest = f".module.{name}{rest}"


def declared_at(move: ProposedMove, config: Config) -> Any:
    """The span of the declaration of the destination of a move; None if it is not declared."""
    address = parse_resource_instance(move.carried[0][1])
    height = next((height for whole, height, _ in wholes(address) if whole == move.to), 0)
    return _declarations(config, address).get(height + 1 - height % 2)


def _add_locations(facts: FactBuilder, objects: list[RenamedObject], old: set[str]) -> None:
    """Add facts about the resources and modules that contain the objects, and about the objects that are destroyed
    (those in `old`)."""
    deepest = _deepest(objects)
    for item in objects:
        if item.name in old:
            facts.add("old_object", item.name, source=StateEntry(item.name))
        if item.address.module.steps:
            facts.add("in_module", item.name, str(item.address.module), source=StateEntry(item.name))
        for whole, height, rest in wholes(item.address, deepest):
            facts.add("lies_in", item.name, whole, height, rest, source=StateEntry(item.name))


def _deepest(objects: Iterable[RenamedObject]) -> int:
    return max((len(item.address.module.steps) for item in objects), default=0)


def _add_wholes(facts: FactBuilder, objects: list[RenamedObject], old: set[str], plan: Plan, config: Config) -> None:
    _add_locations(facts, objects, old)
    gone = {c.address for c in plan.changes if _is_object(c) and does(c.action, "removes")}
    relevant: set[tuple[str, int]] = set()
    deepest = _deepest(objects)
    for item in objects:
        declared = _declarations(config, item.address, deepest)
        for whole, height, _ in wholes(item.address, deepest):
            relevant.add((whole, height))
            if height in declared:
                facts.add("is_declared", whole, height, source=declared[height])
    for resource in plan.prior_state.resources.values():
        if resource.mode != "managed":
            continue
        for key, instance in resource.instances.items():
            name = resource.address + format_key(key)
            if name in gone and instance.current is not None and not instance.deposed:
                continue
            for whole, height, _ in wholes(parse_resource_instance(name), deepest):
                if (whole, height) in relevant:
                    facts.add("has_staying", whole, height, source=StateEntry(name))


def _declarations(config: Config, address: ResourceAddress, deepest: int = 0) -> dict[int, object]:
    """{height: span of the declaration} for the resource and the enclosing module calls of an instance (for the
    heights, see `wholes`)."""
    declarations: dict[int, object] = {}
    path = address.module.path
    module = config.root.descendant(path)
    if module is not None and address.config.relative in module.resources:
        declarations[1] = module.resources[address.config.relative].span
    for depth in range(len(path), 0, -1):
        parent = config.root.descendant(path[: depth - 1])
        if parent is not None and path[depth - 1] in parent.calls:
            declarations[2 * (max(len(path), deepest) - depth) + 3] = parent.calls[path[depth - 1]].span
    return declarations
