"""Addresses of resources and modules: parsing, printing and sorting.

A module address is a path of calls (`module.a["k"].module.b[0]`). A resource address is a module address and a resource
in this module (`module.a.data.type.name[0]`). An address without keys names the configuration of an object. Addresses
have the ecosystem's syntax everywhere: in state files, plan JSON, node names and on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from planner.foundation.vocabulary.records import frozen

InstanceKey: TypeAlias = int | str | None

_MODE_ORDER = {"list": -1, "ephemeral": 0, "data": 1, "managed": 2, "action": 3}
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_UNESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


class AddressError(Exception):
    """The text is not a valid address. The error has a title, an explanation, the offsets [start, end) of the error,
    and the steps that were parsed before it."""

    def __init__(self, summary: str, detail: str, start: int, end: int) -> None:
        super().__init__(f"{summary}: {detail}")
        self.steps: list[TraversalStep] = []
        self.summary = summary
        self.detail = detail
        self.start = start
        self.end = end


@frozen
class TraversalStep:
    """A step of a traversal at the offsets [start, end): a name (the root, or `.name`) or an index (`[key]`)."""

    value: str | int | float
    is_index: bool
    start: int
    end: int


# ---------------------------------------------------------------- keys as text


MODULE_STEP = r'module\.[\w-]+(?:\[(?:"(?:[^"\\]|\\.)*"|[0-9]+)\])?\.'
"""matches a module instance in an address, including the dot after it"""


def format_key(key: InstanceKey) -> str:
    """`[0]`, `["k"]` with the language's escapes, or "" for None."""
    if key is None:
        return ""
    if isinstance(key, int):
        return f"[{key}]"
    return f"[{quote(key)}]"


def quote(text: str) -> str:
    """A string literal of the configuration language."""
    if text.isascii() and text.isprintable() and not any(c in text for c in '"\\$%'):
        return f'"{text}"'
    out = ['"']
    for i, char in enumerate(text):
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char in "$%":
            out.append(char * 2 if text[i + 1 : i + 2] == "{" else char)
        elif char.isprintable():
            out.append(char)
        else:
            code = ord(char)
            out.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    out.append('"')
    return "".join(out)


def key_order(key: InstanceKey) -> tuple[int, int, str]:
    """The sort key of an instance key: no key comes first, then numbers by value, then strings by code point."""
    if key is None:
        return (0, 0, "")
    return (1, key, "") if isinstance(key, int) else (2, 0, key)


def format_module(steps: Iterable[tuple[str, InstanceKey]]) -> str:
    """The address of a module, `module.a["k"].module.b`; "" for the root."""
    return ".".join(f"module.{name}{format_key(key)}" for name, key in steps)


def format_resource(module: str, mode: str, type: str, name: str) -> str:
    """The address of a resource in the module with the address `module` ("" for the root)."""
    text = f"{type}.{name}" if mode == "managed" else f"{mode}.{type}.{name}"
    return f"{module}.{text}" if module else text


def format_instance(module: str, mode: str, type: str, name: str, key: InstanceKey = None) -> str:
    return format_resource(module, mode, type, name) + format_key(key)


def join(module: str, relative: str) -> str:
    """The absolute form of an address relative to a module ("" for the root)."""
    return f"{module}.{relative}" if module and relative else module or relative


# ---------------------------------------------------------------- addresses


@frozen
class ModuleAddress:
    """A module instance: the calls from the root, each with its key. Without keys, it also denotes the module's
    configuration."""

    steps: tuple[tuple[str, InstanceKey], ...] = ()

    def __str__(self) -> str:
        return format_module(self.steps)

    @property
    def module(self) -> ModuleAddress:
        return self

    @property
    def config(self) -> ModuleAddress:
        """The address without keys."""
        return ModuleAddress(tuple((name, None) for name, _ in self.steps))

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The names of the calls: the module's ModulePath in the configuration."""
        return tuple(name for name, _ in self.steps)

    @property
    def parent(self) -> ModuleAddress:
        """The calling module; for the root, the root itself."""
        return ModuleAddress(self.steps[:-1])

    @property
    def key(self) -> InstanceKey:
        return self.steps[-1][1] if self.steps else None

    @property
    def is_root(self) -> bool:
        return not self.steps

    def child(self, name: str, key: InstanceKey = None) -> ModuleAddress:
        return ModuleAddress((*self.steps, (name, key)))

    def inside(self, base: ModuleAddress) -> ModuleAddress:
        """The absolute form of this address. The address itself is relative to `base`."""
        return ModuleAddress(base.steps + self.steps)

    def contains(self, other: Address) -> bool:
        """Whether the other address is this module instance, or inside it."""
        return other.module.steps[: len(self.steps)] == self.steps

    def covers(self, other: Address) -> bool:
        """Whether this address, as typed by a user, includes another address. An address without a key in its last step
        includes all instances of this module call."""
        if not self.steps or self.steps[-1][1] is not None:
            return self.contains(other)
        steps, last = other.module.steps, len(self.steps) - 1
        return len(steps) > last and steps[:last] == self.steps[:last] and steps[last][0] == self.steps[last][0]

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Sort key: modules with fewer steps come first; modules with as many steps are ordered by the name and key of
        each step."""
        if not self.steps:
            return (0, ())
        return (len(self.steps), tuple((name, key_order(key)) for name, key in self.steps))


ROOT = ModuleAddress()


@frozen
class ResourceAddress:
    """A resource (`key` is None) or a resource instance, in a module instance. `mode` is managed, data, ephemeral, list
    or action."""

    module: ModuleAddress
    mode: str
    type: str
    name: str
    key: InstanceKey = None

    def __str__(self) -> str:
        return format_instance(str(self.module), self.mode, self.type, self.name, self.key)

    @property
    def config(self) -> ResourceAddress:
        """The address without any keys: the resource block."""
        return ResourceAddress(self.module.config, self.mode, self.type, self.name)

    @property
    def resource(self) -> ResourceAddress:
        """The address without the resource's own key, in the same module instance."""
        return ResourceAddress(self.module, self.mode, self.type, self.name)

    @property
    def relative(self) -> str:
        return format_instance("", self.mode, self.type, self.name, self.key)

    @property
    def path(self) -> tuple[str, ...]:
        return self.module.path

    def instance(self, key: InstanceKey) -> ResourceAddress:
        return ResourceAddress(self.module, self.mode, self.type, self.name, key)

    def inside(self, base: ModuleAddress) -> ResourceAddress:
        """The absolute form of this address. The address itself is relative to `base`."""
        return ResourceAddress(self.module.inside(base), self.mode, self.type, self.name, self.key)

    def contains(self, other: Address) -> bool:
        """Whether the other address is this instance or, if this address has no key, any instance of this resource."""
        return (
            isinstance(other, ResourceAddress)
            and other.module == self.module
            and (other.mode, other.type, other.name) == (self.mode, self.type, self.name)
            and (self.key is None or other.key == self.key)
        )

    covers = contains

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Sort key: by module, then by mode (list, ephemeral, data, managed, action), then by type, name and key."""
        return (*self.module.sort_key, _MODE_ORDER[self.mode], self.type, self.name, key_order(self.key))


Address: TypeAlias = ModuleAddress | ResourceAddress


def sort_key(address: str) -> tuple[Any, ...]:
    """The sort key of an address that is given as a string. Strings that are not addresses come last, by code point."""
    for parse in (
        parse_resource_instance,
        parse_address,
    ):  # most addresses are those of resources, and their results are cached
        try:
            return (0, *parse(address).sort_key)
        except AddressError:
            continue
    return (1, 0, address)


# ---------------------------------------------------------------- from traversals


def address_of(steps: Sequence[TraversalStep]) -> Address:
    """Convert a traversal to an address. A resource address without a key denotes the resource as well as its only
    instance. Raises AddressError."""
    module, rest = _module_prefix(steps)
    if not rest:
        return module
    mode, rest = _mode(rest)
    type_, name = _type_and_name(rest, mode)
    if len(rest) == 2:
        return ResourceAddress(module, mode, type_, name)
    if len(rest) > 3:
        raise AddressError("Invalid address", "Nothing may follow the instance key.", rest[3].start, rest[3].end)
    if not rest[2].is_index:
        raise AddressError(
            "Invalid address", "The key of an instance must be in square brackets.", rest[2].start, rest[2].end
        )
    return ResourceAddress(module, mode, type_, name, _key(rest[2]))


def _module_prefix(steps: Sequence[TraversalStep]) -> tuple[ModuleAddress, Sequence[TraversalStep]]:
    calls: list[tuple[str, InstanceKey]] = []
    rest = steps
    while rest:
        if rest[0].is_index:
            raise AddressError(
                "Invalid address", "A module must be followed by a dot and a name.", rest[0].start, rest[0].end
            )
        if rest[0].value != "module":
            break
        if len(rest) < 2:
            raise AddressError("Invalid address", "`module.` needs the name of a module.", rest[0].start, rest[0].end)
        if rest[1].is_index:
            raise AddressError("Invalid address", "`module.` needs the name of a module.", rest[1].start, rest[1].end)
        name = str(rest[1].value)
        rest = rest[2:]
        key: InstanceKey = None
        if rest and rest[0].is_index:
            key, rest = _key(rest[0]), rest[1:]
        calls.append((name, key))
    return ModuleAddress(tuple(calls)), rest


def _mode(rest: Sequence[TraversalStep]) -> tuple[str, Sequence[TraversalStep]]:
    if rest[0].value in ("data", "ephemeral", "list"):
        return str(rest[0].value), rest[1:]
    # `action.a.b` is an action, `action.a` a resource of the type `action`
    if rest[0].value == "action" and len(rest) > 2 and not rest[2].is_index:
        return "action", rest[1:]
    return "managed", rest


def _type_and_name(rest: Sequence[TraversalStep], mode: str) -> tuple[str, str]:
    if len(rest) < 2:
        at = rest[0] if rest else None
        raise AddressError(
            "Invalid address", "A resource needs a type and a name.", at.start if at else 0, at.end if at else -1
        )
    for step, what in ((rest[0], "type"), (rest[1], "name")):
        if step.is_index:
            raise AddressError("Invalid address", f"Expected the {what} of a resource here.", step.start, step.end)
    return str(rest[0].value), str(rest[1].value)


def _key(step: TraversalStep) -> InstanceKey:
    if isinstance(step.value, float):
        raise AddressError(
            "Invalid address", "An instance key must be a string or a whole number.", step.start, step.end
        )
    return step.value


# ---------------------------------------------------------------- from text


def parse_address(text: str) -> Address:
    """Parse the address of a module or resource. Raises AddressError."""
    return address_of(scan_traversal(text))


@lru_cache(maxsize=1 << 16)
def parse_module(text: str) -> ModuleAddress:
    """Parse the address of a module; "" is the root. Raises AddressError."""
    if not text:
        return ROOT
    address = parse_address(text)
    if isinstance(address, ModuleAddress):
        return address
    raise AddressError("Invalid address", "Expected the address of a module.", 0, len(text))


@lru_cache(maxsize=1 << 16)  # every stage parses the same addresses, possibly of ten thousand instances
def parse_resource_instance(text: str) -> ResourceAddress:
    """Parse the address of a resource instance. An address without a key denotes the only instance. Raises
    AddressError."""
    address = parse_address(text)
    if isinstance(address, ResourceAddress):
        return address
    raise AddressError("Invalid address", "A resource must follow the module path.", 0, len(text))


parse_target = parse_address  # an address without a key covers all instances


def scan_traversal(text: str) -> list[TraversalStep]:
    """Split the text of a traversal, such as `a.b["k"]`, into steps. Raises AddressError."""
    steps: list[TraversalStep] = []
    try:
        _scan(text, steps)
    except AddressError as bad:
        bad.steps = steps
        raise
    return steps


def _scan(text: str, steps: list[TraversalStep]) -> None:
    at = _blank(text, 0)
    end = _identifier(text, at)
    if end == at:
        raise AddressError("Invalid address", "An address must begin with a name.", at, at + 1)
    steps.append(TraversalStep(text[at:end], False, at, end))
    at = _blank(text, end)
    while at < len(text):
        if text[at] == ".":
            start = _blank(text, at + 1)
            end = _identifier(text, start)
            if end == start:
                raise AddressError("Invalid address", "A dot must be followed by a name.", start, start + 1)
            steps.append(TraversalStep(text[start:end], False, at, end))
        elif text[at] == "[":
            key, close = _index(text, _blank(text, at + 1))
            close = _blank(text, close)
            if text[close : close + 1] != "]":
                raise AddressError("Invalid address", "The bracket of a key is not closed.", close, close + 1)
            end = close + 1
            steps.append(TraversalStep(key, True, at, end))
        else:
            end = max(at + 1, _identifier(text, at))
            raise AddressError("Invalid address", f"Unexpected {text[at:end]!r}.", at, end)
        at = _blank(text, end)


def valid_identifier(text: str) -> bool:
    """Whether the string is an identifier: a letter or underscore, then letters, digits, underscores and dashes."""
    if text.isascii():
        return not text.startswith("-") and text.replace("-", "_").isidentifier()
    return _identifier_by_character(text, 0) == len(text)


def _identifier(text: str, at: int) -> int:
    end = len(text)
    for stop in ".[":
        result = text.find(stop, at, end)
        if result >= 0:
            end = result
    word = text[at:end]
    if word.isascii() and word and valid_identifier(word):
        return end
    return _identifier_by_character(text, at)


def _identifier_by_character(text: str, at: int) -> int:
    end = at
    while end < len(text):
        char = text[end]
        if char == "_" or (end > at and char == "-") or (f"a{char}" if end > at else char).isidentifier():
            end += 1
        else:
            break
    return end


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t":
        at += 1
    return at


def _index(text: str, at: int) -> tuple[str | int | float, int]:
    if text[at : at + 1] == '"':
        return _string(text, at)
    end = at
    while end < len(text) and (text[end].isalnum() or text[end] in ".+-"):
        end += 1
    digits = text[at:end]
    if digits.isascii() and digits.isdigit():
        return int(digits), end
    try:
        if not (digits.isascii() and digits[:1].isdigit()):
            raise ValueError
        number = float(digits)
    except ValueError:
        detail = "Brackets must contain a whole number or a quoted string."
        if digits and text[end : end + 1] == "]":
            detail = f"{detail} In a shell, write '{text[:at]}\"{digits}\"{text[end:]}'."
        raise AddressError("Invalid address", detail, at, max(end, at + 1)) from None
    return int(number) if number.is_integer() else number, end


def _string(text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    i = at + 1
    while i < len(text):
        char = text[i]
        if char == '"':
            return "".join(out), i + 1
        if char == "\\":
            piece, i = _escape(text, i)
            out.append(piece)
            continue
        if char in "$%" and text[i + 1 : i + 2] == "{":
            raise AddressError("Invalid address", "A key must not contain a template sequence.", i, i + 2)
        if char in "$%" and text[i : i + 3] == f"{char}{char}{{":
            out.append(f"{char}{{")
            i += 3
            continue
        if char == "\n":
            break
        out.append(char)
        i += 1
    raise AddressError("Invalid address", "The quoted key is not closed.", at, len(text))


def _escape(text: str, at: int) -> tuple[str, int]:
    char = text[at + 1 : at + 2]
    if char in _UNESCAPES:
        return _UNESCAPES[char], at + 2
    width = {"u": 4, "U": 8}.get(char, 0)
    digits = text[at + 2 : at + 2 + width]
    if width and len(digits) == width:
        try:
            return chr(int(digits, 16)), at + 2 + width
        except (ValueError, OverflowError):
            pass
    raise AddressError("Invalid address", "Unknown escape sequence in a key.", at, at + 2)
