"""Replacements for `attrs.frozen` and `attrs.define` that create classes in a tenth of the time.

A command that plans one resource imports about 150 records and creates objects of only a third of them, usually fewer
than ten of each. So no code is generated when a class is created: the class gets slots, and methods that examine the
fields when they are called. Only a method that is called often is compiled; attrs compiles all methods at once. For
type checkers, records are attrs classes. `attrs.fields`, `attrs.asdict` and similar functions work with records."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attrs import define as define
    from attrs import evolve as evolve
    from attrs import field as field
    from attrs import fields as fields
    from attrs import frozen as frozen

_FEW = 12  # calls after which a method is compiled; compiling costs as much as several hundred calls
_MISSING: Any = object()
_set = object.__setattr__
_get = object.__getattribute__


class FrozenError(AttributeError):
    """A value was assigned to a field of a frozen record."""


class Field:
    """A field: its name, its name as a parameter, its annotation as written, and the arguments of `field`."""

    __slots__ = ("alias", "default", "eq", "factory", "init", "kw_only", "name", "repr", "type")

    def __init__(self, default: Any, factory: Any, init: bool, repr: bool, eq: Any, kw_only: bool) -> None:
        self.default, self.factory, self.init, self.repr, self.eq = default, factory, init, repr, eq
        self.kw_only = kw_only
        self.name = self.alias = self.type = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.alias = name, name.lstrip("_")

    def initial(self) -> Any:
        """The default value, `_MISSING` if there is none."""
        return self.factory() if self.factory is not None else self.default


def _field(
    *,
    default: Any = _MISSING,
    factory: Any = None,
    init: bool = True,
    repr: bool = True,
    eq: Any = True,
    kw_only: bool = False,
) -> Any:
    """A field of a record. `eq` may be a function that returns the value to compare and hash."""
    return Field(default, factory, init, repr, eq, kw_only)


class _Record:
    __slots__ = (
        "aliases",
        "attributes",
        "cached",
        "caches_hash",
        "compared",
        "fields",
        "frozen",
        "has_more",
        "positional",
        "rest",
    )

    def __init__(
        self, fields: tuple[Field, ...], frozen: bool, cached: dict[str, Callable[[Any], Any]], caches_hash: bool
    ) -> None:
        self.fields, self.frozen, self.cached, self.caches_hash = fields, frozen, cached, caches_hash
        self.positional = tuple([one for one in fields if one.init and not one.kw_only])
        self.rest = tuple([one for one in fields if not one.init or one.kw_only])
        self.compared: Any = None
        self.aliases: Any = None
        self.attributes: Any = None
        self.has_more = False
        """whether the constructor must do more than set the fields"""


class _Attributes:
    """The fields in the form of attrs, created on first use. Functions of attrs, and libraries for attrs, read them."""

    __slots__ = ()

    def __get__(self, instance: object, owner: Any) -> Any:
        import attrs

        record: _Record = owner.__record__
        if record.attributes is None:
            made = {
                one.name: attrs.field(
                    default=attrs.Factory(one.factory)
                    if one.factory is not None
                    else attrs.NOTHING
                    if one.default is _MISSING
                    else one.default,
                    init=one.init,
                    repr=one.repr,
                    eq=one.eq,
                    kw_only=one.kw_only,
                    type=one.type,  # type: ignore[call-overload]
                )
                for one in record.fields
            }
            shadow: Any = attrs.make_class(owner.__name__, made)
            record.attributes = shadow.__attrs_attrs__
        return record.attributes


_ATTRIBUTES = _Attributes()


def _record(cls: Any, eq: bool | None, repr: bool | None, kw_only: bool, caches_hash: bool, is_frozen: bool) -> Any:
    """A copy of the class, as a record: with slots, and with the methods that examine the fields."""
    body = dict(cls.__dict__)
    inherited: dict[str, Field] = {}
    cached: dict[str, Callable[[Any], Any]] = {}
    has_weak = False
    for base in reversed(cls.__mro__[1:-1]):
        above = base.__dict__.get("__record__")
        if above is not None:
            is_frozen = is_frozen or above.frozen
            cached.update(above.cached)
            for one in above.fields:
                inherited.pop(one.name, None)
                inherited[one.name] = one
        has_weak = has_weak or "__weakref__" in base.__dict__
    own = []
    slots = []
    for name, kind in body.get("__annotations__", {}).items():
        if kind.startswith(("ClassVar", "typing.ClassVar")):
            continue
        one = body.pop(name, _MISSING)
        if one.__class__ is not Field:
            one = Field(one, None, True, True, True, False)
            one.name, one.alias = name, name.lstrip("_")
        one.type = kind
        one.kw_only = one.kw_only or kw_only
        own.append(one)
        if inherited.pop(name, None) is None:
            slots.append(name)
    for name in [name for name, value in body.items() if value.__class__ is cached_property]:
        cached[name] = body.pop(name).func
        slots.append(name)
    if caches_hash:
        slots.append("_hash")
    if not has_weak:
        slots.append("__weakref__")
    record = _Record((*inherited.values(), *own), is_frozen, cached, caches_hash)
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    body["__slots__"] = tuple(slots)
    body["__qualname__"] = cls.__qualname__
    body["__record__"] = record
    body["__attrs_attrs__"] = _ATTRIBUTES
    body["__match_args__"] = tuple([one.name for one in record.positional])
    if "__getstate__" not in body:
        body["__getstate__"], body["__setstate__"] = _getstate, _setstate
    if is_frozen:
        body["__setattr__"], body["__delattr__"] = _refuse_setting, _refuse_deleting
    if cached and "__getattr__" not in body:
        body["__getattr__"] = _getattr
    if repr or (repr is None and "__repr__" not in body):
        body["__repr__"] = _repr
    late: list[tuple[str, Any, Any]] = []
    if "__init__" not in body:
        late.append(("__init__", _init, _compiled_init))
    if eq or (eq is None and "__eq__" not in body):
        late.append(("__eq__", _eq, _compiled_eq))
        if "__hash__" in body and body["__hash__"] is not None:
            pass
        elif is_frozen:
            late.append(("__hash__", _hash, _compiled_hash))
        else:
            body["__hash__"] = None
    cell: list[Any] = []
    for name, loose, compiled in late:
        body[name] = _warming(cell, name, loose, compiled)
    made = cls.__class__(cls.__name__, cls.__bases__, body)
    cell.append(made)
    record.has_more = hasattr(made, "__attrs_post_init__")
    for value in body.values():
        if value.__class__ in _METHODS:
            _redirect_super(value, cls, made)
    for function in cached.values():
        _redirect_super(function, cls, made)
    return made


_METHODS = frozenset((FunctionType, property, classmethod, staticmethod))


def _redirect_super(value: Any, old: type, new: type) -> None:
    """Make `super()` in a method refer to the new class, by changing the closure cell of the method."""
    if value.__class__ is property:
        value = value.fget
    elif value.__class__ in (classmethod, staticmethod):
        value = value.__func__
    closure = getattr(value, "__closure__", None)
    if closure and "__class__" in value.__code__.co_freevars:
        cell = closure[value.__code__.co_freevars.index("__class__")]
        if cell.cell_contents is old:
            cell.cell_contents = new


def _warming(
    cell: list[Any], name: str, loose: Callable[..., Any], compiled: Callable[[_Record], Callable[..., Any]]
) -> Callable[..., Any]:
    """A method that calls `loose` at first, and replaces itself with its compiled form after some calls."""
    calls = 0

    def method(self: Any, *given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls <= _FEW:
            return loose(self, cell[0].__record__, *given, **named)
        made = compiled(cell[0].__record__)
        made.__qualname__ = f"{cell[0].__qualname__}.{name}"
        made.__module__ = cell[0].__module__
        setattr(cell[0], name, made)
        return made(self, *given, **named)

    return method


def _init(self: Any, record: _Record, /, *given: Any, **named: Any) -> None:
    positional = record.positional
    count = len(given)
    if count > len(positional):
        _compiled_init(record)(self, *given, **named)  # this call raises the error
    for one, value in zip(positional, given, strict=False):
        _set(self, one.name, value)
    used = 0
    for one in (*positional[count:], *record.rest):
        if one.init and one.alias in named:
            value = named[one.alias]
            used += 1
        else:
            value = one.initial()
            if value is _MISSING:
                if one.init:
                    _compiled_init(record)(self, *given, **named)
                continue
        _set(self, one.name, value)
    if used != len(named):
        _compiled_init(record)(self, *given, **named)
    if record.has_more:
        self.__attrs_post_init__()


def _compiled_init(record: _Record) -> Callable[..., Any]:
    space: dict[str, Any] = {"_bind": _set.__get__, "_MISSING": _MISSING}
    words: list[str] = []
    only: list[str] = []
    lines: list[str] = []
    for one in record.fields:
        default = f"_default_{one.name}"
        put = f"    _set({one.name!r}, {{}})" if record.frozen else f"    self.{one.name} = {{}}"
        if one.factory is not None:
            space[default] = one.factory
            if one.init:
                (only if one.kw_only else words).append(f"{one.alias}=_MISSING")
                lines.append(put.format(f"{default}() if {one.alias} is _MISSING else {one.alias}"))
            else:
                lines.append(put.format(f"{default}()"))
        elif one.default is not _MISSING:
            space[default] = one.default
            if one.init:
                (only if one.kw_only else words).append(f"{one.alias}={default}")
            lines.append(put.format(one.alias if one.init else default))
        elif one.init:
            (only if one.kw_only else words).append(one.alias)
            lines.append(put.format(one.alias))
    if record.frozen:
        lines.insert(0, "    _set = _bind(self)")
    if record.has_more:
        lines.append("    self.__attrs_post_init__()")
    parameters = ", ".join(["self", *words, *(["*", *only] if only else [])])
    exec(f"def __init__({parameters}):\n" + "\n".join(lines or ["    pass"]) + "\n", space)
    made: Callable[..., Any] = space["__init__"]
    return made


def _compared_fields(record: _Record) -> tuple[tuple[str, Any], ...]:
    """(name, function) of each compared field. The function maps the field's value to the value to compare; it is None
    if the field's value itself is compared."""
    if record.compared is None:
        record.compared = tuple([(one.name, one.eq if callable(one.eq) else None) for one in record.fields if one.eq])
    result: tuple[tuple[str, Any], ...] = record.compared
    return result


def _eq(self: Any, record: _Record, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    for name, key in _compared_fields(record):
        left, right = getattr(self, name), getattr(other, name)
        if not (left == right if key is None else key(left) == key(right)):
            return False
    return True


def _compiled_eq(record: _Record) -> Callable[..., Any]:
    space: dict[str, Any] = {}
    parts = [f"{_read(space, 'self', *one)} == {_read(space, 'other', *one)}" for one in _compared_fields(record)]
    test = "if other.__class__ is not self.__class__:\n        return NotImplemented"
    exec(f"def __eq__(self, other):\n    {test}\n    return {' and '.join(parts) or 'True'}\n", space)
    made: Callable[..., Any] = space["__eq__"]
    return made


def _read(space: dict[str, Any], owner: str, name: str, key: Any) -> str:
    if key is None:
        return f"{owner}.{name}"
    space[f"_key_{name}"] = key
    return f"_key_{name}({owner}.{name})"


def _hash(self: Any, record: _Record) -> int:
    if record.caches_hash:
        try:
            kept: int = _get(self, "_hash")
            return kept
        except AttributeError:
            pass
    values = [
        getattr(self, name) if key is None else key(getattr(self, name)) for name, key in _compared_fields(record)
    ]
    result = hash(tuple(values))
    if record.caches_hash:
        _set(self, "_hash", result)
    return result


def _compiled_hash(record: _Record) -> Callable[..., Any]:
    space: dict[str, Any] = {"_set": _set}
    parts = "".join([f"{_read(space, 'self', *one)}, " for one in _compared_fields(record)])
    lines = f"    return hash(({parts}))\n"
    if record.caches_hash:
        lines = (
            "    try:\n        return self._hash\n    except AttributeError:\n"
            f"        found = hash(({parts}))\n        _set(self, '_hash', found)\n        return found\n"
        )
    exec(f"def __hash__(self):\n{lines}", space)
    made: Callable[..., Any] = space["__hash__"]
    return made


_shown: set[int] = set()


def _repr(self: Any) -> str:
    if id(self) in _shown:
        return "..."
    _shown.add(id(self))
    try:
        shown = [f"{one.name}={getattr(self, one.name)!r}" for one in self.__record__.fields if one.repr]
    finally:
        _shown.discard(id(self))
    return f"{self.__class__.__qualname__.rpartition('>.')[2]}({', '.join(shown)})"


def _getstate(self: Any) -> dict[str, Any]:
    return {one.name: getattr(self, one.name) for one in self.__record__.fields}


def _setstate(self: Any, state: dict[str, Any]) -> None:
    for name, value in state.items():
        _set(self, name, value)


def _refuse_setting(self: Any, name: str, value: Any) -> None:
    raise FrozenError(f"{self.__class__.__name__}.{name} cannot be assigned")


def _refuse_deleting(self: Any, name: str) -> None:
    raise FrozenError(f"{self.__class__.__name__}.{name} cannot be deleted")


def _getattr(self: Any, name: str) -> Any:
    """Compute a cached property on first access."""
    make = self.__record__.cached.get(name)
    if make is None:
        raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")
    value = make(self)
    _set(self, name, value)
    return value


def _decorator(is_frozen: bool) -> Any:
    def decorate(
        cls: Any = None,
        *,
        eq: bool | None = None,
        repr: bool | None = None,
        kw_only: bool = False,
        order: bool = False,
        cache_hash: bool = False,
    ) -> Any:
        if cls is None:
            return lambda cls: _record(cls, eq, repr, kw_only, cache_hash, is_frozen)
        return _record(cls, eq, repr, kw_only, cache_hash, is_frozen)

    return decorate


def _evolve(inst: Any, **changes: Any) -> Any:
    record: _Record | None = inst.__class__.__dict__.get("__record__")
    if record is None:
        import attrs

        # a class created by attrs
        return attrs.evolve(inst, **changes)
    if record.aliases is None:
        record.aliases = tuple([(one.alias, one.name) for one in record.fields if one.init])
    for alias, name in record.aliases:
        if alias not in changes:
            changes[alias] = getattr(inst, name)
    return inst.__class__(**changes)


def _fields(cls: Any) -> tuple[Field, ...]:
    result: tuple[Field, ...] = cls.__record__.fields
    return result


if not TYPE_CHECKING:
    frozen, define, field, evolve, fields = _decorator(True), _decorator(False), _field, _evolve, _fields
