"""Resolves traversals in expressions: `terraform_data.a[0].id` is the attribute path `.id` of an instance.

The root names `count each data ephemeral list resource local module path self terraform tofu var` have special
meanings, and `arg lazy template` are reserved; any other root is the type of a managed resource."""

from __future__ import annotations

from planner.foundation.vocabulary.address import InstanceKey, format_key
from planner.foundation.vocabulary.records import frozen
from planner.language.syntax import nodes

_SIMPLE = {"count", "each", "local", "path", "terraform", "tofu", "var"}
_RESERVED = {"template", "lazy", "arg"}


@frozen
class BadReference:
    """The reason why a traversal is not a valid reference, and the offsets of the invalid part."""

    summary: str
    detail: str
    start: int
    end: int
    kind: str = "bad"
    name: str = ""


@frozen(eq=False)
class Ref:
    """The target of a reference.

    `kind`: resource, module (a call or its instance), output (of a module call), var, local, path, terraform, self,
    count, each. `name`: the key of the resource (`data.t.n`), or the name of the module call or attribute. `key`: a
    constant instance key, or None. `output`: the name of a module's output, or "". `rest`: the remaining steps. [start,
    end): the offsets of the reference without the rest.
    """

    kind: str
    name: str
    key: InstanceKey
    output: str
    rest: tuple[nodes.Step, ...]
    start: int
    end: int
    mode: str = ""
    type: str = ""
    label: str = ""  # `mode`, `type` and `label` are set for resources


Parsed = Ref | BadReference


def parse_reference(node: nodes.Traversal | nodes.Variable) -> Parsed:
    steps: tuple[nodes.Step, ...] = ()
    if isinstance(node, nodes.Variable):
        root, root_end = node.name, node.end
    else:
        root, root_end, steps = node.root, node.root_end, node.steps
    start = node.start
    if root in _SIMPLE:
        return _attribute(root, start, root_end, steps)
    if root == "self":
        return Ref("self", "self", None, "", steps, start, root_end)
    if root == "module":
        return _module(start, root_end, steps)
    if root in ("data", "ephemeral", "list", "resource"):
        if len(steps) < 2:
            detail = f'"{root}" must be followed by a type and a name.'
            return BadReference("Invalid reference", detail, start, node.end)
        first = steps[0]
        if not isinstance(first, nodes.GetAttr):
            detail = f'"{root}" must be followed by a type and a name.'
            return BadReference("Invalid reference", detail, first.start, first.end)
        mode = "managed" if root == "resource" else root
        return _resource(mode, first.name, start, steps[1:], node.end)
    if root in _RESERVED:
        detail = f'"{root}" is reserved; write resource.{root} for a resource type of that name.'
        return BadReference("Reserved symbol name", detail, start, root_end)
    return _resource("managed", root, start, steps, node.end)


def _attribute(root: str, start: int, root_end: int, steps: tuple[nodes.Step, ...]) -> Parsed:
    if not steps:
        detail = f'"{root}" is not a value by itself; name one of its attributes.'
        return BadReference("Invalid reference", detail, start, root_end)
    first = steps[0]
    if not isinstance(first, nodes.GetAttr):
        detail = f'Only attributes of "{root}" can be used: write {root}.NAME.'
        return BadReference("Invalid reference", detail, first.start, first.end)
    kind = "terraform" if root == "tofu" else root
    return Ref(kind, first.name, None, "", steps[1:], start, first.end)


def _module(start: int, root_end: int, steps: tuple[nodes.Step, ...]) -> Parsed:
    call = _attribute("module", start, root_end, steps)
    if isinstance(call, BadReference):
        return call
    rest, key, end = call.rest, None, call.end
    if not rest:
        return call
    if isinstance(rest[0], nodes.GetIndex):
        index = rest[0]
        bad = _bad_key(index)
        if bad:
            return bad
        key, rest = index.key, rest[1:]
        if not rest:
            return Ref("module", call.name, key, "", (), start, index.end)
    first = rest[0]
    if not isinstance(first, nodes.GetAttr):
        detail = f"Only outputs of a module instance can be used: write module.{call.name}{format_key(key)}.NAME."
        return BadReference("Invalid reference", detail, first.start, first.end)
    end = first.end
    return Ref("output", call.name, key, first.name, rest[1:], start, end)


def _resource(mode: str, type_: str, start: int, steps: tuple[nodes.Step, ...], end: int) -> Parsed:
    if not steps:
        detail = "A resource type must be followed by the name of a resource."
        if not type_.count("_"):
            detail += f' For a string write double quotes: "{type_}".'
        return BadReference("Invalid reference", detail, start, end)
    first = steps[0]
    if not isinstance(first, nodes.GetAttr):
        detail = "A resource type must be followed by a dot and the name of a resource."
        return BadReference("Invalid reference", detail, first.start, first.end)
    name = f"{type_}.{first.name}" if mode == "managed" else f"{mode}.{type_}.{first.name}"
    rest = steps[1:]
    if rest and isinstance(rest[0], nodes.GetIndex):
        bad = _bad_key(rest[0])
        if bad:
            return bad
        return Ref("resource", name, rest[0].key, "", rest[1:], start, rest[0].end, mode, type_, first.name)
    return Ref("resource", name, None, "", rest, start, first.end, mode, type_, first.name)


def _bad_key(index: nodes.GetIndex) -> BadReference | None:
    if index.key.__class__ in (str, int):
        return None
    return BadReference("Invalid index key", "A key must be a string or a whole number.", index.start, index.end)
