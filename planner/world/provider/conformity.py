"""Checks that a provider's plan matches the configuration, and that its results match the plan.

The checks are the same as in OpenTofu's objchange.AssertPlanValid and AssertObjectCompatible. Mismatches are bugs of
the provider: the walk reports them, or only logs them if the provider has a legacy type system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from planner.foundation.values.convert import mismatch, path_text
from planner.foundation.values.numbers import number_to_text
from planner.foundation.values.operations import conforms, equal, same_value
from planner.foundation.values.paths import parts
from planner.foundation.values.refine import length_is_known
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock, implied_type
from planner.foundation.values.sets import quote, set_text
from planner.foundation.values.types import DYNAMIC, ListType, MapType, ObjectType, Primitive, SetType, Type
from planner.foundation.values.value import (
    SENSITIVE,
    List,
    Null,
    Set,
    Unknown,
    Value,
    identical,
    same_but_refinements,
    type_of,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.records import frozen
from planner.world.provider.propose import Path, attribute, element_type, elements, entries


@frozen
class Problem:
    """A mismatch at a path, which consists of steps ("attr", name) and ("index", key)."""

    path: Path
    text: str

    def __str__(self) -> str:
        where = path_text(self.path)
        return f".{where}: {self.text}" if where else self.text


# ---------------------------------------------------------------- planned against configured


def plan_problems(schema: BlockSchema, prior: Value, config: Value, planned: Value) -> list[Problem]:
    """The contradictions between a planned object and its configuration. All values must be unmarked."""
    return _plan_block(schema, prior, config, planned, ())


def _plan_block(schema: BlockSchema, prior: Value, config: Value, planned: Value, path: Path) -> list[Problem]:
    presence = _presence(config, planned, path)
    if presence or planned.__class__ is Null:
        return presence
    problems = _plan_attributes(schema.attributes, prior, config, planned, path)
    types = implied_type(schema).attributes
    for name in sorted(schema.blocks):
        before = attribute(prior, name, types[name])
        problems += _plan_blocks(
            schema.blocks[name], before, config[name], attribute(planned, name, types[name]), (*path, ("attr", name))
        )
    return problems


def _presence(config: Value, planned: Value, path: Path) -> list[Problem]:
    if (planned.__class__ is Null) == (config.__class__ is Null):
        return []
    if planned.__class__ is Null:
        return [Problem(path, "is configured, but planned to be absent")]
    return [Problem(path, "is not configured, but planned to be present")]


def _plan_blocks(nested: NestedBlock, prior: Value, config: Value, planned: Value, path: Path) -> list[Problem]:
    if identical(planned, config):
        return []
    if config.__class__ is Unknown:
        return [Problem(path, f"{show(planned)} is planned, but the dynamic block that generates it is not known yet")]
    if planned.__class__ is Unknown:
        return [Problem(path, "a nested block must not be unknown as a whole; only its attributes may be")]
    if nested.nesting in ("single", "group"):
        return _plan_block(nested.block, prior, config, planned, path)
    if planned.__class__ is Null:
        return [Problem(path, "if there are no nested blocks, the value must be an empty collection, not null")]
    if nested.nesting == "list":
        return _plan_list(nested, prior, config, planned, path)
    if nested.nesting == "map":
        return _plan_map(nested, prior, config, planned, path)
    # elements of a set cannot be matched one to one, so only definite violations are reported
    return [
        Problem((*path, ("index", element)), "a nested block must not be unknown as a whole")
        for element in elements(planned)
        if element.__class__ is Unknown
    ]


def _plan_list(nested: NestedBlock, prior: Value, config: Value, planned: Value, path: Path) -> list[Problem]:
    wanted, given = elements(config), elements(planned)
    if len(wanted) != len(given):
        return [Problem(path, f"the number of blocks differs: {len(given)} planned, {len(wanted)} configured")]
    before = elements(prior)
    problems = []
    for i, (element, block) in enumerate(zip(wanted, given, strict=True)):
        old = before[i] if i < len(before) else Null(implied_type(nested.block))
        problems += _plan_element(nested, old, element, block, (*path, ("index", i)))
    return problems


def _plan_map(nested: NestedBlock, prior: Value, config: Value, planned: Value, path: Path) -> list[Problem]:
    wanted, given, before = entries(config), entries(planned), entries(prior)
    if planned.__class__ is not dict and len(wanted) != len(given):
        return [Problem(path, f"the number of blocks differs: {len(given)} planned, {len(wanted)} configured")]
    problems = []
    for key in sorted(given):
        if key not in wanted:
            where = path if planned.__class__ is dict else (*path, ("index", key))
            problems.append(Problem(where, f'the block "{key}" of the plan is not configured'))
            continue
        old = before[key] if key in before else Null(implied_type(nested.block))
        problems += _plan_element(nested, old, wanted[key], given[key], (*path, ("index", key)))
    problems += [
        Problem(path, f'the configured block "{key}" is not in the plan') for key in sorted(wanted) if key not in given
    ]
    return problems


def _plan_element(nested: NestedBlock, prior: Value, config: Value, planned: Value, path: Path) -> list[Problem]:
    if planned.__class__ is Unknown:
        return [Problem(path, "a nested block must not be unknown as a whole; only its attributes may be")]
    return _plan_block(nested.block, prior, config, planned, path)


def _plan_attributes(
    schemas: dict[str, AttributeSchema], prior: Value, config: Value, planned: Value, path: Path
) -> list[Problem]:
    problems = []
    for name in sorted(schemas):
        schema = schemas[name]
        problems += _plan_attribute(
            schema,
            attribute(prior, name, schema.type),
            attribute(config, name, schema.type),
            attribute(planned, name, schema.type),
            (*path, ("attr", name)),
        )
    return problems


def _plan_attribute(schema: AttributeSchema, prior: Value, config: Value, planned: Value, path: Path) -> list[Problem]:
    if same_but_refinements(planned, config):
        return []
    configured, existed = config.__class__ is not Null, prior.__class__ is not Null
    if existed and configured and same_but_refinements(planned, prior):
        return []  # the provider may keep the prior value if it considers both equivalent
    if schema.computed and not (schema.optional and configured):
        return []
    if not configured and planned.__class__ is not Null:
        what = "a sensitive value" if schema.sensitive else show(planned)
        return [Problem(path, f"{what} is planned, but the attribute is neither configured nor computed")]
    if configured and planned.__class__ is Null and schema.write_only:
        return []
    if schema.nested is not None:
        return _plan_object(schema.nested, prior, config, planned, path)
    against = "neither the configured value nor the prior one" if existed else "not the configured value"
    if schema.sensitive:
        return [Problem(path, f"the planned sensitive value is {against}")]
    return [Problem(path, f"the planned value {show(planned)} is {against} ({show(config)})")]


def _plan_object(nested: NestedAttributes, prior: Value, config: Value, planned: Value, path: Path) -> list[Problem]:
    presence = _presence(config, planned, path)
    if presence or planned.__class__ is Null:
        return presence
    if planned.__class__ is Unknown:
        return (
            []
            if config.__class__ is Unknown
            else [Problem(path, "the planned value is unknown, but the configured value is known")]
        )
    schemas = nested.attributes
    if nested.nesting in ("single", "group"):
        return _plan_attributes(schemas, prior, config, planned, path)
    if config.__class__ is Unknown:
        return (
            []
            if nested.nesting == "set"
            else [Problem(path, "elements are planned, but the configured value is not known yet")]
        )
    count = len(_members(planned)), len(_members(config))
    if nested.nesting == "set":
        # unknown elements of a set may turn out to be equal, so the number of elements may be only an upper bound
        least = [n if length_is_known(v) else 1 for n, v in zip(count, (planned, config), strict=True)]
        return [] if least[0] <= count[1] and least[1] <= count[0] else [_counts(path, *count)]
    if count[0] != count[1]:
        return [_counts(path, *count)]
    problems = []
    before = _members(prior)
    wanted = _members(config)
    for key, element in sorted(_members(planned).items()):
        if key not in wanted:
            problems.append(Problem(path, f'the element "{key}" of the plan is not configured'))
            continue
        old = before[key] if key in before else Null(element_type(type_of(planned), key))
        problems += _plan_attributes(schemas, old, wanted[key], element, (*path, ("index", key)))
    lost = [key for key in sorted(wanted) if key not in _members(planned)]
    return problems + [Problem(path, f'the configured element "{key}" is not in the plan') for key in lost]


def _members(value: Value) -> dict[Any, Value]:
    members = entries(value)
    return dict(members) if members else dict(enumerate(elements(value)))


def _counts(path: Path, planned: int, configured: int) -> Problem:
    return Problem(path, f"the number of elements differs: {planned} planned, {configured} configured")


# ---------------------------------------------------------------- results against plans


def object_problems(schema: BlockSchema, planned: Value, actual: Value) -> list[Problem]:
    """The differences between an object and its plan: known parts must be equal, unknown parts must have the planned
    type and refinement. Marks are ignored, except that messages hide sensitive values."""
    return _object(schema, planned, actual, ())


def _object(schema: BlockSchema, planned: Value, actual: Value, path: Path) -> list[Problem]:
    planned, actual = unmark(planned)[0], unmark(actual)[0]
    if planned.__class__ is Null and actual.__class__ is not Null:
        return [Problem(path, "was absent from the plan, but is present now")]
    if actual.__class__ is Null and planned.__class__ is not Null:
        return [Problem(path, "was present in the plan, but is absent now")]
    if planned.__class__ is Null:
        return []
    problems = []
    for name in sorted(schema.attributes):
        given = schema.attributes[name]
        problems += _attribute(
            attribute(planned, name, given.type),
            attribute(actual, name, given.type),
            given.sensitive,
            (*path, ("attr", name)),
        )
    types = implied_type(schema).attributes
    for name in sorted(schema.blocks):
        before = unmark(attribute(planned, name, types[name]))[0]
        after = unmark(attribute(actual, name, types[name]))[0]
        problems += _blocks(schema.blocks[name], before, after, (*path, ("attr", name)))
    return problems


def _attribute(planned: Value, actual: Value, sensitive: bool, path: Path) -> list[Problem]:
    plain_planned, marks_planned = unmark_deep(planned)
    plain_actual, marks_actual = unmark_deep(actual)
    problems = value_problems(plain_planned, plain_actual, path)
    if problems and (sensitive or SENSITIVE in marks_planned or SENSITIVE in marks_actual):
        return [Problem(path, "the values of a sensitive attribute differ")]
    return problems


def _blocks(nested: NestedBlock, planned: Value, actual: Value, path: Path) -> list[Problem]:
    if nested.nesting in ("single", "group"):
        if planned.__class__ is Unknown and actual.__class__ is Null:
            return []
        return _object(nested.block, planned, actual, path)
    if any(v.__class__ in (Unknown, Null) for v in (planned, actual)):
        return []
    if nested.nesting == "set":
        problems = _set_problems(
            planned, actual, path, lambda p, a: not _object(nested.block, p, a, (*path, ("index", a)))
        )
        return problems + _grown(planned, actual, path, "blocks")
    before, after = _members(planned), _members(actual)
    problems = []
    if planned.__class__ is dict:
        problems += [Problem(path, f'the planned block "{k}" is missing') for k in sorted(before) if k not in after]
        problems += [Problem(path, f'the block "{k}" was not planned') for k in sorted(after) if k not in before]
    elif len(before) != len(after):
        return [Problem(path, f"the number of blocks differs: {len(before)} planned, {len(after)} now")]
    for key, block in before.items():
        if key in after:
            problems += _object(nested.block, block, after[key], (*path, ("index", key)))
    return problems


def value_problems(planned: Value, actual: Value, path: Path = ()) -> list[Problem]:
    return [] if _is_plainly_planned(planned, actual) else _value_problems(planned, actual, path)


def _is_plainly_planned(planned: Value, actual: Value) -> bool:
    """Whether a value is trivially equal to the planned one; False if a closer comparison is needed."""
    kind = planned.__class__
    if kind is Unknown:
        return not _value_problems(planned, actual, ())
    if kind is not actual.__class__:
        return False
    if kind is dict:
        return planned.keys() == actual.keys() and all(_is_plainly_planned(v, actual[k]) for k, v in planned.items())
    if kind is tuple:
        return len(planned) == len(actual) and all(map(_is_plainly_planned, planned, actual))
    return kind in (str, bool, int) and bool(planned == actual)


def _value_problems(planned: Value, actual: Value, path: Path) -> list[Problem]:
    wanted = type_of(planned)
    if wanted is DYNAMIC:
        return []
    if not conforms(type_of(actual), wanted):
        return [Problem(path, f"the type differs from the planned type: {mismatch(type_of(actual), wanted)}")]
    if planned.__class__ is Unknown:
        if actual.__class__ is not Unknown and equal(planned, actual) is False:
            return [Problem(path, f"{show(actual)} is outside the range that was planned for the unknown value")]
        return []
    if actual.__class__ is Null or planned.__class__ is Null:
        if actual.__class__ is planned.__class__:
            return []
        return [Problem(path, f"was {show(planned)} in the plan, but is {show(actual)} now")]
    if actual.__class__ is Unknown:
        return [Problem(path, "was known in the plan, but is unknown now")]
    if isinstance(wanted, Primitive):
        if same_value(planned, actual):
            return []
        return [Problem(path, f"was {show(planned)} in the plan, but is {show(actual)} now")]
    if planned.__class__ is Set:
        problems = _set_problems(planned, actual, path, lambda p, a: not value_problems(p, a))
        return problems + _grown(planned, actual, path, "elements")
    before, after = dict(parts(planned)), dict(parts(actual))
    problems = []
    for step, value in before.items():
        if step in after:
            problems += value_problems(value, after[step], (*path, step))
        else:
            problems.append(Problem(path, f"the planned element {show(step[1])} is missing"))
    problems += [Problem(path, f"the element {show(step[1])} was not planned") for step in after if step not in before]
    return problems


def _set_problems(planned: Value, actual: Value, path: Path, fits: Callable[[Value, Value], bool]) -> list[Problem]:
    """Problems of two sets: every element of each set must match at least one element of the other set."""
    before, after = elements(planned), elements(actual)
    lost = _without_match(before, after, fits)
    if lost:
        return [Problem(path, f"the planned element {show(p)} matches no element now") for p in lost]
    new = _without_match(after, before, lambda a, p: fits(p, a))
    return [Problem(path, f"the element {show(a)} matches no planned element") for a in new]


def _without_match(
    items: Sequence[Value], others: Sequence[Value], fits: Callable[[Value, Value], bool]
) -> list[Value]:
    """The items that match none of `others`. Elements of `others` with the same text are tried first, then elements
    with a text that no item has, such as unknown values. Comparing all pairs of large sets would take too long."""
    by_text: dict[str, list[Value]] = {}
    for other in others:
        by_text.setdefault(set_text(other), []).append(other)
    texts = list(map(set_text, items))
    doubtful = [
        item for item, text in zip(items, texts, strict=True) if not any(fits(item, o) for o in by_text.get(text, ()))
    ]
    if not doubtful:
        return []
    unlike = [other for text in by_text.keys() - set(texts) for other in by_text[text]]
    return [item for item in doubtful if not any(fits(item, other) for other in chain(unlike, others))]


def _grown(planned: Value, actual: Value, path: Path, what: str) -> list[Problem]:
    """A problem if there are more elements than planned. Fewer elements are valid, because unknown elements may turn
    out to be equal."""
    before, after = len(elements(planned)), len(elements(actual))
    return [Problem(path, f"more {what} than planned: {before} planned, {after} now")] if before < after else []


# ---------------------------------------------------------------- text


def show(value: Value) -> str:
    """A short text of a value in the syntax of the language."""
    cls = value.__class__
    if cls is Null:
        return "null"
    if cls is Unknown:
        return "a value that is not known yet"
    if cls is str:
        return quote(value)
    if cls is bool:
        return "true" if value else "false"
    members = entries(value)
    if members or cls is dict:
        return "{" + ", ".join(f"{k} = {show(v)}" for k, v in sorted(members.items())) + "}"
    if cls is tuple or cls is List or cls is Set:
        return "[" + ", ".join(map(show, elements(value))) + "]"
    if isinstance(value, int):
        return str(value)
    return _show_number(value, cls)


def _show_number(value: Value, cls: type) -> str:
    return number_to_text(value) if cls.__name__ == "mpfr" else "{}"


# Recorded objects of a changed type.


def without_removed(attributes: Any, wanted: Type) -> Any:
    """A copy of recorded attributes without attributes that the type does not have, at any depth."""
    if isinstance(wanted, ObjectType) and isinstance(attributes, dict):
        of = wanted.attributes
        return {name: without_removed(value, of[name]) for name, value in attributes.items() if name in of}
    if isinstance(wanted, MapType) and isinstance(attributes, dict):
        return {key: without_removed(value, wanted.element) for key, value in attributes.items()}
    if isinstance(wanted, ListType | SetType) and isinstance(attributes, list):
        return [without_removed(value, wanted.element) for value in attributes]
    return attributes
