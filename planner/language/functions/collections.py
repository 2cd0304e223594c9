"""Lists, maps and other collections."""

from __future__ import annotations

from typing import Any

from planner.language.functions.arguments import INT64_MAX, entries, items, kind, small_int
from planner.language.functions.protocol import Function, FunctionError, Param, function, unknown
from planner.language.refine import length_bounds, length_is_known, refined
from planner.language.types import (
    BOOL,
    DYNAMIC,
    EMPTY_OBJECT,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    TupleType,
    Type,
)
from planner.language.values import (
    NO_MARKS,
    UNKNOWN,
    List,
    Map,
    Mark,
    Null,
    Refinement,
    Set,
    Unknown,
    Value,
    is_null,
    is_wholly_known,
    mark,
    type_of,
    unmark,
)

FUNCTIONS: list[Function] = []

_STRINGS = ListType(STRING)
_ANY_LIST = ListType(DYNAMIC)


def _sequence(element: Type | None, values: list[Value] | tuple[Value, ...]) -> Value:
    """A list of an element type, or a tuple when there is none."""
    return tuple(values) if element is None else List(element, tuple(values))


def _element(t: Type) -> Type | None:
    return t.element if isinstance(t, ListType) else None


# ---------------------------------------------------------------- questions


@function(Param("list", ListType(BOOL)), result=BOOL, into=FUNCTIONS)
def alltrue(values: List) -> Value:
    """Tells whether all elements of a list are true; of an empty one they are."""
    for value in values.items:
        if value.__class__ is Unknown:
            return unknown(BOOL)
        if value is not True:
            return False
    return True


@function(Param("list", ListType(BOOL)), result=BOOL, into=FUNCTIONS)
def anytrue(values: List) -> Value:
    """Tells whether at least one element of a list is true."""
    if any(value is True for value in values.items):
        return True
    return unknown(BOOL) if any(value.__class__ is Unknown for value in values.items) else False


@function(
    Param("list", DYNAMIC, "The list, tuple or set to search."),
    Param("value", DYNAMIC, "The value to look for."),
    result=BOOL,
    into=FUNCTIONS,
)
def contains(values: Value, wanted: Value) -> Value:
    """Tells whether a list, tuple or set has a value among its elements."""
    from planner.language.operations import equal

    if kind(values) not in ("list", "tuple", "set"):
        raise FunctionError("The first argument must be a list, tuple or set.")
    found: Value = False
    for value in items(values):
        same = equal(wanted, value)
        if same:
            return True
        if same is None:
            found = unknown(BOOL)
    return found


@function(
    Param("list", DYNAMIC, "The list or tuple to search."),
    Param("value", DYNAMIC, "The value to look for."),
    result=NUMBER,
    into=FUNCTIONS,
)
def index(values: Value, wanted: Value) -> Value:
    """Gives the index of the first element of a list that has a value; it is an error when there is none."""
    from planner.language.operations import equal

    if kind(values) not in ("list", "tuple"):
        raise FunctionError("The first argument must be a list or a tuple.")
    for position, value in enumerate(items(values)):
        same = equal(value, wanted)
        if same is None:
            return unknown(NUMBER)
        if same:
            return position
    raise FunctionError("The list does not have this value.")


@function(
    Param("value", DYNAMIC, allow_unknown=True, allow_marked=True, allow_dynamic=True),
    result=lambda value: _length_type(value),
    into=FUNCTIONS,
)
def length(value: Value) -> Value:
    """Gives how many elements a collection has, or how many characters a string."""
    value, marks = unmark(value)
    what = kind(value)
    if what == "dynamic":
        return mark(unknown(NUMBER), marks)
    if value.__class__ is Unknown:
        return mark(_unknown_length(value, what), marks)
    if what == "string":
        from planner.vocabulary.graphemes import count_graphemes

        return mark(count_graphemes(value), marks)
    if what == "set" and not length_is_known(value):
        return mark(refined(NUMBER, Refinement(True, lower=(1, True), upper=(len(value), True))), marks)
    return mark(len(value), marks)


def _unknown_length(value: Unknown, what: str) -> Value:
    if what in ("tuple", "object"):
        return len(value.type.elements if what == "tuple" else value.type.attributes)  # type: ignore[union-attr]
    if what == "string":
        from planner.vocabulary.graphemes import count_graphemes

        prefix = value.refinement.prefix if value.refinement is not None else ""
        return refined(NUMBER, Refinement(True, lower=(count_graphemes(prefix), True)))
    least, most = length_bounds(value)
    upper = INT64_MAX if most is None else most
    return refined(NUMBER, Refinement(True, lower=(least, True), upper=(upper, True)))


def _length_type(value: Value) -> Type:
    if kind(value) in ("number", "bool"):
        raise FunctionError("It must be a collection, an object, a tuple or a string.")
    return NUMBER


# ---------------------------------------------------------------- choice


@function(
    variadic=Param(
        "vals", DYNAMIC, "The values to choose from.", allow_null=True, allow_unknown=True, allow_dynamic=True
    ),
    result=lambda *values: _common_type(values),
    into=FUNCTIONS,
)
def coalesce(*values: Value, result_type: Type) -> Value:
    """Gives the first of its arguments that is neither null nor an empty string."""
    from planner.language.convert import convert

    for value in values:
        try:
            value = convert(value, result_type)
        except ValueError:
            continue  # of types that convert only for some values; OpenTofu passes over the others
        if value.__class__ is Unknown:
            return unknown(result_type)
        if value.__class__ is not Null and not (result_type is STRING and value == ""):
            return value
    raise FunctionError("All arguments are null or empty strings.")


def _common_type(values: tuple[Value, ...]) -> Type:
    from planner.language.convert import unify

    common = unify([type_of(value) for value in values]) if values else None
    if common is None:
        raise FunctionError("The arguments must all be of one type.")
    return common


@function(
    variadic=Param(
        "vals", DYNAMIC, "The lists to choose from.", allow_null=True, allow_unknown=True, allow_dynamic=True
    ),
    result=lambda *lists: _coalescelist_type(lists),
    into=FUNCTIONS,
)
def coalescelist(*lists: Value, result_type: Type) -> Value:
    """Gives the first of the lists that is not empty."""
    for each in lists:
        if each.__class__ is Unknown:
            return unknown(result_type)
        if each.__class__ is not Null and items(each):
            return each
    raise FunctionError("All lists are empty or null.")


def _coalescelist_type(lists: tuple[Value, ...]) -> Type:
    if not lists:
        raise FunctionError("There must be at least one argument.")
    types: list[Type] = []
    for each in lists:
        if each.__class__ is Unknown:
            return DYNAMIC
        if kind(each) not in ("list", "tuple"):
            raise FunctionError("All arguments must be lists or tuples.")
        types.append(type_of(each))
    return types[0] if all(t == types[0] for t in types) else DYNAMIC


@function(
    Param("list", DYNAMIC, "The list or tuple.", allow_marked=True),
    Param("index", NUMBER, "The index; a negative one counts from the end."),
    result=lambda values, position: _element_type(values, position),
    not_null=False,
    into=FUNCTIONS,
)
def element(values: Value, position: Value) -> Value:
    """Gives the element of a list at an index; beyond its end the counting starts again at its beginning."""
    values, marks = unmark(values)
    if values.__class__ is Unknown:
        return mark(unknown(_element_type(values, position)), marks)
    return mark(items(values)[_wrapped(small_int(position), len(items(values)))], marks)


def _wrapped(position: int, count: int) -> int:
    if count == 0:
        raise FunctionError("An empty list has no elements.")
    return position % count


def _element_type(values: Value, position: Value) -> Type:
    what, t = kind(values), type_of(values)
    if what == "list":
        return t.element  # type: ignore[union-attr]
    if what != "tuple":
        raise FunctionError(f"The first argument must be a list or a tuple, not {what}.")
    if position.__class__ is Unknown:
        return DYNAMIC
    elements = t.elements  # type: ignore[union-attr]
    return elements[_wrapped(small_int(position), len(elements))]  # type: ignore[no-any-return]


@function(
    Param("inputMap", DYNAMIC, "The map or object.", allow_marked=True),
    Param("key", STRING, "The key to look up.", allow_marked=True),
    variadic=Param(
        "default",
        DYNAMIC,
        "What to give when there is no such key.",
        allow_null=True,
        allow_unknown=True,
        allow_marked=True,
        allow_dynamic=True,
    ),
    result=lambda mapping, key, *default: _lookup_type(mapping, key, default),
    not_null=False,
    into=FUNCTIONS,
)
def lookup(mapping: Value, key: Value, *default: Value, result_type: Type) -> Value:
    """Gives the element of a map with a key, or else a default."""
    from planner.language.convert import convert

    mapping, marks = unmark(mapping)
    name, key_marks = unmark(key)
    marks |= key_marks
    if name in entries(mapping):
        return mark(entries(mapping)[name], marks)
    if not default:
        what = "this key" if key_marks else f'the key "{name}"'
        raise FunctionError(f"The map has no element with {what}.")
    try:
        return mark(convert(default[0], result_type), marks)
    except ValueError as problem:
        raise FunctionError(str(problem)) from None


def _lookup_type(mapping: Value, key: Value, default: tuple[Value, ...]) -> Type:
    from planner.language.convert import convert

    if len(default) > 1:
        raise FunctionError("It takes two or three arguments.")
    what, t = kind(mapping), type_of(mapping)
    if what == "map":
        if default:
            try:
                convert(default[0], t.element)  # type: ignore[union-attr]
            except ValueError:
                raise FunctionError("The default must be of the type of the map's elements.", 2) from None
        return t.element  # type: ignore[union-attr]
    if what != "object":
        raise FunctionError("It must be a map or an object.", 0)
    name = unmark(key)[0]
    if name.__class__ is Unknown:
        return DYNAMIC
    attributes = t.attributes  # type: ignore[union-attr]
    if name in attributes:
        return attributes[name]  # type: ignore[no-any-return]
    if not default:
        raise FunctionError(f'The object has no attribute "{name}".', 0)
    return type_of(default[0])


@function(Param("list", DYNAMIC), result=lambda values: _one_type(values), not_null=False, into=FUNCTIONS)
def one(values: Value, *, result_type: Type) -> Value:
    """Gives the only element of a list, set or tuple, or null when it is empty."""
    if values.__class__ is Set and not length_is_known(values):
        return unknown(result_type)
    found = items(values)
    if len(found) > 1:
        raise FunctionError("It must have no more than one element.", 0)
    return found[0] if found else Null(result_type)


def _one_type(values: Value) -> Type:
    what, t = kind(values), type_of(values)
    if what in ("list", "set"):
        return t.element  # type: ignore[union-attr]
    elements = t.elements if what == "tuple" else (None, None)  # type: ignore[union-attr]
    if len(elements) > 1:
        raise FunctionError("It must be a list, set or tuple with no more than one element.", 0)
    return elements[0] if elements else DYNAMIC


# ---------------------------------------------------------------- lists


@function(
    Param("list", _ANY_LIST, "The list to split.", allow_marked=True),
    Param("size", NUMBER, "How long each part is, but for the last one; 0: all in one.", allow_marked=True),
    result=lambda values, size: ListType(type_of(values)),
    into=FUNCTIONS,
)
def chunklist(values: Value, size: Value, *, result_type: ListType) -> Value:
    """Splits a list into parts of one length."""
    values, marks = unmark(values)
    size, size_marks = unmark(size)
    count = small_int(size)
    if count < 0:
        raise FunctionError("The size must not be negative.")
    found = items(values)
    starts = range(0, len(found), count or max(len(found), 1))
    chunks = [List(values.element, found[start : start + (count or len(found))]) for start in starts]
    return mark(List(result_type.element, tuple(chunks)), marks | size_marks)


@function(Param("list", _STRINGS), result=_STRINGS, into=FUNCTIONS)
def compact(values: List) -> Value:
    """Removes the empty strings and nulls from a list of strings."""
    if not is_wholly_known(values):
        return unknown(_STRINGS)
    return List(STRING, tuple(v for v in values.items if v.__class__ is str and v))


@function(
    variadic=Param("seqs", DYNAMIC, "The lists or tuples.", allow_marked=True),
    result=lambda *sequences: _concat_type(sequences),
    into=FUNCTIONS,
)
def concat(*sequences: Value, result_type: Type) -> Value:
    """Puts lists together into one."""
    from planner.language.convert import convert

    marks = NO_MARKS
    out: list[Value] = []
    for position, sequence in enumerate(sequences):
        if isinstance(result_type, ListType):
            try:
                sequence = convert(sequence, result_type)
            except ValueError as problem:
                raise FunctionError(str(problem), position) from None
        sequence, found = unmark(sequence)
        marks |= found
        out += items(sequence)
    return mark(_sequence(_element(result_type), out), marks)


def _concat_type(sequences: tuple[Value, ...]) -> Type:
    from planner.language.convert import unify

    if not sequences:
        raise FunctionError("There must be at least one list.")
    if all(kind(sequence) == "list" for sequence in sequences):
        common = unify([type_of(sequence) for sequence in sequences])
        if common is not None:
            return common
    types: list[Type] = []
    for position, sequence in enumerate(sequences):
        what, t = kind(sequence), type_of(sequence)
        if what == "tuple":
            types += t.elements  # type: ignore[union-attr]
        elif what == "list":
            plain = unmark(sequence)[0]
            if plain.__class__ is Unknown:
                return DYNAMIC
            types += [t.element] * len(plain)  # type: ignore[union-attr]
        else:
            raise FunctionError(f"It must be a list or a tuple, not {what}.", position)
    return TupleType(tuple(types))


@function(Param("list", _ANY_LIST), result=type_of, into=FUNCTIONS)
def distinct(values: List, *, result_type: Type) -> Value:
    """Removes from a list each element that equals one before it."""
    from planner.language.operations import same_value

    if not is_wholly_known(values):
        return unknown(result_type)
    if values.element is STRING or values.element is BOOL:
        return List(values.element, tuple(dict.fromkeys(values.items)))
    out: list[Value] = []
    for value in values.items:
        if not any(same_value(value, other) for other in out):
            out.append(value)
    return List(values.element, tuple(out))


@function(
    Param("list", DYNAMIC, "The list, set or tuple.", allow_marked=True),
    result=lambda values: _flatten_type(values),
    into=FUNCTIONS,
)
def flatten(values: Value, *, result_type: Type) -> Value:
    """Replaces all lists, sets and tuples within a list by their elements, at any depth."""
    plain, marks = unmark(values)
    if kind(plain) in ("list", "set", "tuple", "object", "map") and not len(plain):
        return mark((), marks)
    out: list[Value] = []
    found: set[Mark] = set()
    known = _flatten(values, out, found)
    return mark(tuple(out) if known else unknown(result_type), frozenset(found))


def _flatten(values: Value, out: list[Value], marks: set[Mark]) -> bool:
    """Appends the elements; whether they are all known to be elements."""
    values, own_marks = unmark(values)
    marks |= own_marks
    if values.__class__ is Set and not length_is_known(values):
        return False
    known = True
    for value in items(values):
        if value.__class__ is Unknown and value.type is DYNAMIC:
            known = False
        if kind(value) in ("list", "set", "tuple") and not is_null(value):
            plain, inner_marks = unmark(value)
            if plain.__class__ is Unknown:
                known = False
                marks |= inner_marks
            else:
                known = _flatten(value, out, marks) and known
        else:
            out.append(value)
    return known


def _flatten_type(values: Value) -> Type:
    if not is_wholly_known(values):
        return DYNAMIC
    if kind(values) not in ("list", "set", "tuple"):
        raise FunctionError("It must be a list, set or tuple.")
    return DYNAMIC  # that of the tuple it makes


@function(
    Param("list", DYNAMIC, "The list, set or tuple.", allow_marked=True),
    result=lambda values: _reverse_type(values),
    into=FUNCTIONS,
)
def reverse(values: Value, *, result_type: Type) -> Value:
    """Gives a list with its elements in reverse order."""
    values, marks = unmark(values)
    return mark(_sequence(_element(result_type), items(values)[::-1]), marks)


def _reverse_type(values: Value) -> Type:
    what, t = kind(values), type_of(values)
    if what == "tuple":
        return TupleType(t.elements[::-1])  # type: ignore[union-attr]
    if what not in ("list", "set"):
        raise FunctionError(f"It must be a list, set or tuple, not {what}.", 0)
    return ListType(t.element)  # type: ignore[union-attr]


@function(
    Param("list", DYNAMIC, "The list or tuple.", allow_marked=True),
    Param("start_index", NUMBER, "The index of the first element."),
    Param("end_index", NUMBER, "The index after the last element."),
    result=lambda values, start, end: _slice_type(values, start, end),
    into=FUNCTIONS,
    name="slice",
)
def slice_(values: Value, start: Value, end: Value, *, result_type: Type) -> Value:
    """Takes a part of a list, from one index up to, but not including, another."""
    values, marks = unmark(values)
    if result_type is DYNAMIC:
        return mark(UNKNOWN, marks)
    return mark(_sequence(_element(result_type), items(values)[small_int(start) : small_int(end)]), marks)


def _slice_type(values: Value, start: Value, end: Value) -> Type:
    what, t = kind(values), type_of(values)
    if what not in ("list", "tuple"):
        reason = ", which has no indices; convert it to a list" if what == "set" else ""
        raise FunctionError(f"It must be a list or a tuple, not {what}{reason}.", 0)
    plain = unmark(values)[0]
    count: int | None = len(t.elements) if what == "tuple" else None  # type: ignore[union-attr]
    if count is None and plain.__class__ is not Unknown:
        count = len(plain)
    bounds: list[int | None] = []
    for position, bound in enumerate((start, end), 1):
        if bound.__class__ is Unknown:
            bounds.append(None)
            continue
        number = small_int(bound, position)
        if number < 0 or (count is not None and number > count):
            raise FunctionError("It must be an index within the list, or the index after its end.", position)
        bounds.append(number)
    first, last = bounds
    if first is not None and last is not None and first > last:
        raise FunctionError("It must not be greater than the end.", 1)
    if what == "list":
        return t
    if first is None or last is None:
        return DYNAMIC
    return TupleType(t.elements[first:last])  # type: ignore[union-attr]


@function(Param("list", _STRINGS, allow_unknown=True), result=_STRINGS, into=FUNCTIONS)
def sort(values: Value) -> Value:
    """Sorts a list of strings by their characters' code points."""
    if not is_wholly_known(values):
        least, most = length_bounds(values)
        return refined(_STRINGS, Refinement(min_length=least or None, max_length=most))
    for position, value in enumerate(values.items):
        if value.__class__ is Null:
            raise FunctionError(f"The element with index {position} is null, which has no place in the order.")
    return List(STRING, tuple(sorted(values.items)))


# ---------------------------------------------------------------- maps


@function(
    Param("inputMap", DYNAMIC, "The map or object.", allow_unknown=True, allow_marked=True),
    result=lambda mapping: _keys_type(mapping),
    into=FUNCTIONS,
)
def keys(mapping: Value, *, result_type: Type) -> Value:
    """Lists the keys of a map, sorted."""
    mapping, marks = unmark(mapping)
    if kind(mapping) == "object":
        names = type_of(mapping).attributes if mapping.__class__ is Unknown else mapping  # type: ignore[union-attr]
        return mark(tuple(sorted(names)), marks)
    if mapping.__class__ is Unknown:
        return mark(unknown(result_type), marks)
    return mark(List(STRING, tuple(sorted(mapping.items))), marks)


def _keys_type(mapping: Value) -> Type:
    what = kind(mapping)
    if what == "map":
        return _STRINGS
    if what != "object":
        raise FunctionError("It must be a map or an object.", 0)
    return TupleType((STRING,) * len(type_of(mapping).attributes))  # type: ignore[union-attr]


@function(
    Param("mapping", DYNAMIC, "The map or object.", allow_marked=True),
    result=lambda mapping: _values_type(mapping),
    into=FUNCTIONS,
)
def values(mapping: Value, *, result_type: Type) -> Value:
    """Lists the elements of a map, in the order of their keys."""
    mapping, marks = unmark(mapping)
    return mark(_sequence(_element(result_type), items(mapping)), marks)


def _values_type(mapping: Value) -> Type:
    what, t = kind(mapping), type_of(mapping)
    if what == "map":
        return ListType(t.element)  # type: ignore[union-attr]
    if what != "object":
        raise FunctionError("It must be a map or an object.")
    return TupleType(tuple(t.attributes.values()))  # type: ignore[union-attr]


@function(
    variadic=Param("maps", DYNAMIC, "The maps or objects.", allow_null=True, allow_marked=True, allow_dynamic=True),
    result=lambda *maps: _merge_type(maps),
    into=FUNCTIONS,
)
def merge(*maps: Value, result_type: Type) -> Value:
    """Puts maps or objects together into one; of several elements with one key the last one counts."""
    marks = NO_MARKS
    merged: dict[str, Value] = {}
    for each in maps:
        each, found = unmark(each)
        if each.__class__ is Null:
            continue
        if kind(each) not in ("map", "object"):  # reached only beside an argument of no certain type
            raise FunctionError(f"All arguments must be maps or objects, not {kind(each)}.")
        marks |= found
        merged.update(entries(each))
    return mark(Map(result_type.element, merged) if isinstance(result_type, MapType) else merged, marks)


def _merge_type(maps: tuple[Value, ...]) -> Type:
    if not maps:
        return EMPTY_OBJECT
    attributes: dict[str, Type] = {}
    types: list[Type] = []
    all_known = True
    for each in maps:
        plain = unmark(each)[0]
        t: Any = type_of(plain)
        if t is DYNAMIC:
            return DYNAMIC
        if not isinstance(t, MapType | ObjectType):
            raise FunctionError(f"All arguments must be maps or objects, not {kind(plain)}.")
        types.append(t)
        if plain.__class__ is Null:
            continue
        if isinstance(t, ObjectType):
            attributes.update(t.attributes)
        elif plain.__class__ is Unknown:
            all_known = False
        else:
            attributes.update(dict.fromkeys(plain.items, t.element))
    if all(t == types[0] for t in types):
        return types[0]
    return ObjectType(attributes) if all_known else DYNAMIC


@function(
    Param("values", _ANY_LIST, "The list to choose from."),
    Param("keys", _ANY_LIST, "A list as long, with a key for each of its elements."),
    Param("searchset", _ANY_LIST, "The keys to look for."),
    result=lambda chosen, keys, wanted: _matchkeys_type(chosen, keys, wanted),
    into=FUNCTIONS,
)
def matchkeys(chosen: List, keys: List, wanted: List, *, result_type: ListType) -> Value:
    """Chooses those elements of a list whose keys, in a second list, are in a third one."""
    from planner.language.convert import convert, unify
    from planner.language.operations import equal

    if len(chosen) != len(keys):
        raise FunctionError("The list of values and the list of keys must be of the same length.")
    common = unify([type_of(keys), type_of(wanted)])
    if common is None:
        raise FunctionError("The keys must be of the same type.")
    try:
        keys, wanted = convert(keys, common), convert(wanted, common)
    except ValueError as problem:
        raise FunctionError(str(problem)) from None
    if not wanted.items:
        return List(result_type.element, ())
    if not is_wholly_known(chosen) or not is_wholly_known(keys):
        return unknown(result_type)
    out: list[Value] = []
    for value, key in zip(chosen.items, keys.items, strict=True):
        for candidate in wanted.items:
            same = equal(key, candidate)
            if same is None:
                return List(result_type.element, ())
            if same:
                out.append(value)
                break
    return List(result_type.element, tuple(out))


def _matchkeys_type(chosen: Value, keys: Value, wanted: Value) -> Type:
    from planner.language.convert import unify

    if unify([type_of(keys), type_of(wanted)]) is None:
        raise FunctionError("The keys must be of the same type.")
    return type_of(chosen)


@function(
    Param("values", MapType(_STRINGS)),
    result=MapType(_STRINGS),
    into=FUNCTIONS,
)
def transpose(mapping: Map) -> Value:
    """Swaps the keys of a map and the strings in its lists: each string becomes a key for the keys it stood under."""
    if not is_wholly_known(mapping):
        return unknown(MapType(_STRINGS))
    swapped: dict[str, list[str]] = {}
    for key in sorted(mapping.items):
        strings = mapping.items[key]
        if strings.__class__ is Null or any(s.__class__ is Null for s in strings.items):
            raise FunctionError(f'The list with the key "{key}" is null or has an element that is.', 0)
        for string in strings.items:
            swapped.setdefault(string, []).append(key)
    return Map(_STRINGS, {string: List(STRING, tuple(found)) for string, found in swapped.items()})


@function(
    Param("keys", _STRINGS, "The keys.", allow_marked=True),
    Param("values", DYNAMIC, "As many values, in a list or tuple.", allow_marked=True),
    result=lambda keys, found: _zipmap_type(keys, found),
    into=FUNCTIONS,
)
def zipmap(keys: Value, found: Value, *, result_type: Type) -> Value:
    """Makes a map of a list of keys and a list of values."""
    keys, marks = unmark(keys)
    found, found_marks = unmark(found)
    marks |= found_marks
    if not is_wholly_known(keys):
        return mark(unknown(result_type), marks)
    if len(keys) != len(items(found)):
        raise FunctionError(f"There are {len(keys)} keys, but {len(items(found))} values.")
    out: dict[str, Value] = {}
    for key, value in zip(keys.items, items(found), strict=True):
        name, key_marks = unmark(key)
        marks |= key_marks
        if name.__class__ is Null:
            raise FunctionError("A key must not be null.")
        out[name] = value
    return mark(Map(result_type.element, out) if isinstance(result_type, MapType) else out, marks)


def _zipmap_type(keys: Value, found: Value) -> Type:
    what, t = kind(found), type_of(found)
    if what == "list":
        return MapType(t.element)  # type: ignore[union-attr]
    if what != "tuple":
        raise FunctionError("The values must be a list or a tuple.")
    if not is_wholly_known(keys):
        return DYNAMIC
    names = [unmark(key)[0] for key in unmark(keys)[0].items]
    elements = t.elements  # type: ignore[union-attr]
    if len(names) != len(elements):
        raise FunctionError(f"There are {len(names)} keys, but {len(elements)} values.")
    if any(name.__class__ is Null for name in names):
        raise FunctionError("A key must not be null.")
    return ObjectType(dict(zip(names, elements, strict=True)))


# ---------------------------------------------------------------- removed

_ANYTHING = Param("vals", DYNAMIC, allow_null=True, allow_unknown=True, allow_dynamic=True)


def _removed(*values: Value) -> Type:
    raise FunctionError("The functions list and map no longer exist: write tolist([...]) or tomap({...}).")


@function(variadic=_ANYTHING, result=_removed, not_null=False, into=FUNCTIONS, name="list")
def list_(*values: Value) -> Value:
    """No longer exists: write tolist([...])."""
    raise AssertionError


@function(variadic=_ANYTHING, result=_removed, not_null=False, into=FUNCTIONS, name="map")
def map_(*values: Value) -> Value:
    """No longer exists: write tomap({...})."""
    raise AssertionError
