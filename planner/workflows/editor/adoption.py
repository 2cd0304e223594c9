"""`adopt` writes configuration for objects that have none: objects in the state and targets of import blocks. At first,
a new block contains the required arguments, and the arguments that have values and that the provider does not compute.
If a plan with the block shows changes, further arguments are added. A value that identifies another object becomes a
reference to it, and a value that occurs in several blocks becomes a variable."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from planner.engine.plan.generated_config import attributes_text
from planner.foundation.support.disk import path_exists, view
from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.value import SENSITIVE, Null, Value, unmark, unmark_deep
from planner.foundation.vocabulary.address import format_key, quote, valid_identifier
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.provider_address import ProviderConfiguration, parse_provider_configuration
from planner.foundation.vocabulary.records import evolve
from planner.language.config.named_values import MODULE_ARGUMENTS, MODULE_BLOCKS
from planner.language.syntax.body import Attribute, Block, NativeBody
from planner.language.syntax.files import load_text
from planner.language.syntax.format import format_text
from planner.language.syntax.nodes import Literal, ObjectItem
from planner.logic.model.plan import ResourceChange
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan
from planner.workflows.editor.adopted_imports import generated_plan
from planner.workflows.editor.key_edits import refusal
from planner.workflows.editor.pieces import Changes, free_name, with_edits
from planner.workflows.editor.refactoring import Refactoring, differences, plan_or_fail, workspace_of
from planner.workflows.editor.symbols import nodes
from planner.workflows.editor.texts import TextDocument, uri_of

_ROUNDS = 6
"""maximum number of plans that are made to determine which arguments the blocks need"""
_REPEATED = 3
"""a string that is the value of the same argument in at least this number of blocks becomes a variable"""
_LONG = 8
"""minimum length in characters of a string that is replaced by a reference only because another object has an equal
attribute"""
_WIDE = 80
"""maximum length in characters of a list on one line"""
_PREFERRED = ("id", "arn", "self_link", "name")
_IDENTITY = re.compile(r"(?:.*_)?(?:id|arn|self_link|uuid)\Z")
"""names of attributes that identify an object"""


def adopt(options: OperationOptions, addresses: Sequence[str], to: str) -> Refactoring:
    """A refactoring that creates the file `to`. The file declares the objects without configuration at these addresses;
    if `addresses` is empty, all objects of the root module that have no configuration. Raises Failure."""
    path = os.path.join(os.path.abspath(options.directory), to)
    if path_exists(path):
        raise refusal(f"{to} exists already: name a new file with -to=FILE.")
    if not to.endswith((".tf", ".tofu")):
        raise refusal(f"{to} does not end with .tf or .tofu: name another file with -to=FILE.")
    if os.path.dirname(os.path.normpath(path)) != os.path.abspath(options.directory):
        detail = f"{to} would not be read, because it is not in the working directory."
        raise refusal(f"{detail} Name a file in that directory with -to=FILE.")
    return _Adoption(options, generated_plan(options), addresses, path).result()


class _NewResource:
    """A resource without configuration, for which a block is written. `instances`: {key: {attribute: value}}.
    `included`: the arguments in the block."""

    def __init__(self, change: ResourceChange, schema: BlockSchema) -> None:
        self.address, self.type, self.name = change.resource_address, change.type, change.name
        self.schema = schema
        self.provider: ProviderConfiguration = parse_provider_configuration(change.provider)
        self.instances: dict[Any, dict[str, Value]] = {}
        self.included = {name for name, one in schema.attributes.items() if one.required}
        self.verbatim: set[str] = set()
        """arguments with JSON that must be written as a string, because jsonencode would print it differently"""

    def add(self, change: ResourceChange) -> None:
        value = change.before if change.before.__class__ is dict else change.after
        plain = unmark(value)[0]
        self.instances[change.key] = plain if isinstance(plain, dict) else {}
        for name, schema in self.schema.attributes.items():
            if schema.optional and not schema.computed and not _is_empty(self.instances[change.key].get(name)):
                self.included.add(name)

    def include(self, names: Iterable[str]) -> bool:
        """Include these arguments in the block, if they can be set; write JSON of arguments that are included already
        as a string. Returns whether the block changes."""
        known = {name for name in names if self._may_set(name)}
        again = {name for name in known & self.included - self.verbatim if self._is_json(name)}
        has_more = bool(again) or not known <= self.included
        self.included |= known
        self.verbatim |= again
        return has_more

    def include_all(self) -> bool:
        """Include all arguments that have a value in an instance. Returns whether the block changes."""
        return self.include(name for value in self.instances.values() for name in value if not _is_empty(value[name]))

    def _is_json(self, name: str) -> bool:
        values = (value.get(name) for value in self.instances.values())
        return any(value.strip()[:1] in ("{", "[") for value in values if isinstance(value, str))

    def _may_set(self, name: str) -> bool:
        schema = self.schema.attributes.get(name)
        return schema is not None and (schema.required or schema.optional) and not schema.deprecated


class _Adoption:
    def __init__(self, options: OperationOptions, before: MadePlan[Any], addresses: Sequence[str], path: str) -> None:
        self.options, self.before, self.path = options, before, path
        self.notes: list[str] = []
        self.root = before.loaded.config.root
        self.objects: dict[str, _NewResource] = {}
        self.variables: dict[str, str] = {}
        """{name of a new variable: source of its block}"""
        self.inputs: dict[str, Any] = {}
        """{new sensitive variable: its value}, for planning with the new file"""
        self._choose(addresses)
        self._secrets = self._values(True)

    def _choose(self, addresses: Sequence[str]) -> None:
        """Select the objects without configuration at these addresses; without addresses, select all. Raises Failure if
        an address has no such object, or if a single block cannot declare exactly the selected instances of a
        resource."""
        left, others = set(addresses), set[str]()
        for change in self.before.plan.changes:
            is_without = change.reason == "delete_because_no_resource_config" and not change.deposed
            if not is_without and change.generated_config is None:
                continue
            key = change.resource_address
            if addresses and not {key, change.address} & set(addresses):
                others.add(key)
                continue
            left -= {key, change.address}
            if change.module:
                self.notes.append(f"{change.address} is left out: only objects of the root module are adopted.")
                continue
            if key not in self.objects:
                source = parse_provider_configuration(change.provider).source
                schema = self.before.loaded.schemas.resource(source, change.mode, change.type)
                assert schema is not None  # the object was planned with this schema
                self.objects[key] = _NewResource(change, schema.block)
            self.objects[key].add(change)
        if parts := sorted(others & {*self.objects}):
            raise refusal(
                f"{parts[0]} has other instances without configuration, too: name all of them, or {parts[0]}."
            )
        if left:
            raise refusal(f"{', '.join(sorted(left))}: no object without configuration has this address.")
        if not self.objects:
            raise Failure([refusal("There are no objects without configuration.").diagnostics[0], *self._left_out()])
        for one in self.objects.values():
            keys = sorted(key for key in one.instances if isinstance(key, int))
            if keys and keys != list(range(len(one.instances))):
                raise refusal(
                    f"The keys of {one.address} are not 0, 1, 2, ... without gaps, so count cannot declare them."
                )

    def _left_out(self) -> Iterator[Diagnostic]:
        yield from (error("refactor.impossible", "Cannot adopt", note) for note in self.notes)

    def result(self) -> Refactoring:
        """The refactoring that creates the new file. The plan with the file must not change the new resources, and must
        otherwise be equal to the plan without the file. Raises Failure if this is not the case."""
        for number in range(_ROUNDS):
            text = self._text()
            try:
                after = self._plan(text)
            except Failure as failure:
                if number == 0 and sum(one.include_all() for one in self._failing(text, failure)):
                    continue
                why = refusal("No plan can be made with the configuration for these objects. Nothing was written.")
                raise Failure([*why.diagnostics, *failure.diagnostics]) from None
            different = list(self._different(after))
            if not different:
                return self._outcome(text, after)
            if not sum(one.include(names) for one, _, names in different):
                break
        details = [
            f"{change.address} would get a different value of {', '.join(sorted(names)) or 'an unknown attribute'} "
            f"({change.action}). Nothing was written."
            for _, change, names in different
        ]
        raise Failure([error("refactor.changes", "The plan would change", detail) for detail in details])

    def _plan(self, text: str) -> MadePlan[Any]:
        workspace = workspace_of(self.options)
        workspace.opened.put(uri_of(self.path), TextDocument(text))
        with view(workspace.overlay()):
            return plan_or_fail(evolve(self.options, inputs={**self.options.inputs, **self.inputs}))

    def _failing(self, text: str, failure: Failure) -> list[_NewResource]:
        """The new resources whose blocks have errors. If no error is located in a block of a new resource, all new
        resources."""
        subjects = [one.subject for one in failure.diagnostics if one.subject is not None]
        name = os.path.basename(self.path)
        lines = [one.start for one in subjects if os.path.basename(one.filename) == name]
        body = _body(text)
        hit = {
            ".".join(label.value for label in block.labels)
            for block in body.blocks
            if any(block.start <= line <= block.end for line in lines)
        }
        return [one for key, one in self.objects.items() if key in hit] or list(self.objects.values())

    def _different(self, after: MadePlan[Any]) -> Iterator[tuple[_NewResource, ResourceChange, set[str]]]:
        """(resource, change, attributes that differ) for each instance of a new resource that the plan would change."""
        for change in after.plan.changes:
            one = self.objects.get(change.resource_address)
            if one is not None and not change.deposed and change.action != "no-op":
                old, new = (unmark_deep(value)[0] for value in (change.before, change.after))
                old, new = (value if isinstance(value, dict) else {} for value in (old, new))
                yield (
                    one,
                    change,
                    {name for name in old.keys() | new.keys() if repr(old.get(name)) != repr(new.get(name))},
                )

    def _outcome(self, text: str, after: MadePlan[Any]) -> Refactoring:
        own = tuple(self.objects)
        others = [
            detail
            for name, detail in differences(self.before.plan, after.plan, str)
            if not any(name == one or name.startswith(f"{one}[") for one in own)
        ]
        if others:
            raise Failure([error("refactor.changes", "The plan would change", detail) for detail in others])
        for name in self.inputs:
            self.notes.append(f"var.{name} is sensitive: set TF_VAR_{name} to the value that the state has.")
        return Refactoring({self.path: text}, {self.path: None}, notes=tuple(self.notes))

    # ---------------------------------------------------------------- the text

    def _text(self) -> str:
        self.variables, self.inputs = {}, {}
        blocks = {key: self._block(one) for key, one in sorted(self.objects.items())}
        blocks = dict(self._with_references(blocks))
        blocks = self._with_variables(blocks)
        required = list(self._requirements())
        return "\n".join([*required, *(self.variables[name] for name in sorted(self.variables)), *blocks.values()])

    def _requirements(self) -> Iterator[str]:
        """A required_providers block, if a provider's name does not imply its source address and the configuration has
        no such block yet."""
        sources = {one.provider.source.rpartition("/")[2]: one.provider.source for one in self.objects.values()}
        lines = [
            f"    {name} = {{\n      source = {quote(source)}\n    }}\n"
            for name, source in sorted(sources.items())
            if self.root.provider_source(name) != source
        ]
        if lines and not self.root.required_providers:
            yield format_text(f"terraform {{\n  required_providers {{\n{''.join(lines)}  }}\n}}\n")

    def _block(self, one: _NewResource) -> str:
        """The source of the block that declares all instances of a resource. Raises Failure."""
        keys = sorted(one.instances, key=lambda key: (isinstance(key, str), key if key is not None else 0))
        contents = [self._content(one, key) for key in keys]
        blocks = [content for _, content in contents]
        kept, dynamic = self._nested(one, blocks)
        for number, (texts, _) in enumerate(contents):
            texts |= {name: column[number] for name, column in dynamic.items()}
        names = [name for name in contents[0][0] if all(name in texts for texts, _ in contents)]
        names += sorted({name for texts, _ in contents for name in texts} - {*names})
        columns = {name: [texts.get(name, "null") for texts, _ in contents] for name in names}
        varying = [name for name, column in columns.items() if len({*column}) > 1]
        lines = []
        if isinstance(keys[0], int):
            lines.append(f"  count = {len(keys)}\n")
        elif keys[0] is not None:
            by_key = [name for name in varying if columns[name] == [quote(key) for key in keys]]
            varying = [name for name in varying if name not in by_key]
            lines.append(f"  for_each = {self._for_each(keys, {name: columns[name] for name in varying})}\n")
            columns |= {name: ["each.key"] for name in by_key}
            columns |= {name: [f"each.value.{name}" if len(varying) > 1 else "each.value"] for name in varying}
        if isinstance(keys[0], int):
            columns |= {name: [_list_text(columns[name])] for name in varying}
        lists = {name: columns.pop(name)[0] for name in dynamic}
        lines += (f"  {name} = {column[0]}\n" for name, column in columns.items())
        for name, each in lists.items():
            inner = "".join(f"      {n} = {name}.value.{n}\n" for n in _names_of(blocks, name))
            lines.append(f"  dynamic {quote(name)} {{\n    for_each = {each}\n    content {{\n{inner}    }}\n  }}\n")
        return format_text(f"resource {quote(one.type)} {quote(one.name)} {{\n{''.join(lines)}{kept}}}\n")

    @staticmethod
    def _for_each(keys: list[str], columns: dict[str, list[str]]) -> str:
        if not columns:
            return f"toset([{', '.join(map(quote, keys))}])"
        rows = []
        for number, key in enumerate(keys):
            values = [f"{name} = {column[number]}" for name, column in columns.items()]
            row = f"{{ {', '.join(values)} }}" if len(values) > 1 else next(iter(columns.values()))[number]
            rows.append(f"    {key if valid_identifier(key) else quote(key)} = {row}\n")
        return f"{{\n{''.join(rows)}  }}"

    @staticmethod
    def _nested(one: _NewResource, contents: list[list[Block]]) -> tuple[str, dict[str, list[str]]]:
        """Returns the source of the nested blocks that are equal in all instances, and {block type: sources} for the
        other types of nested blocks. Each entry of `sources` is a list of objects for one instance. Raises Failure if
        blocks that differ contain blocks or have labels."""
        kept, dynamic = [], {}
        for name in dict.fromkeys(block.type for blocks in contents for block in blocks):
            own = [[block for block in blocks if block.type == name] for blocks in contents]
            texts = [[_text_of(block) for block in blocks] for blocks in own]
            if all(text == texts[0] for text in texts):
                kept += [f"  {text}\n" for text in texts[0]]
                continue
            if any(block.body.blocks or block.labels for blocks in own for block in blocks):  # type: ignore[attr-defined]
                detail = f"The blocks {name} of the instances of {one.address} differ and contain other blocks"
                raise refusal(f"{detail}, which a single resource block cannot express.")
            names = _names_of(contents, name)
            dynamic[name] = [_objects_text(blocks, names) for blocks in own]
        return "".join(kept), dynamic

    def _content(self, one: _NewResource, key: Any) -> tuple[dict[str, str], list[Block]]:
        """The arguments of an instance as {name: source}, and its nested blocks."""
        value = one.instances[key]
        chosen = {name: one.schema.attributes[name] for name in sorted(one.included)}
        hidden = {name: schema for name, schema in chosen.items() if _is_hidden(schema, value.get(name))}
        shown = {name: schema for name, schema in chosen.items() if name not in hidden}
        text = attributes_text(one.type, one.provider, evolve(one.schema, attributes=shown), value)
        text = with_edits(text, _null_lines(text))
        body = _body(text)
        arguments = {n: text[a.expr.start : a.expr.end] for n, a in body.attributes.items()}
        for name in one.verbatim & {*arguments}:
            if isinstance(value.get(name), str):
                arguments[name] = quote(value[name])
        for name in hidden:
            if not _is_empty(value.get(name)):
                arguments[name] = self._secret(one, name, key, value[name])
        return arguments, body.blocks

    def _secret(self, one: _NewResource, name: str, key: Any, value: Value) -> str:
        """The source for a sensitive value: a reference, if exactly one other object has an attribute with this value,
        or a new sensitive variable."""
        plain = unmark_deep(value)[0]
        hits = self._secrets.get(plain, ()) if isinstance(plain, str) else ()
        hits = [hit for hit in hits if hit[0] != one.address and hit[3]]
        if len({hit[:2] for hit in hits}) == 1 and len(plain) >= _LONG:
            return f"{hits[0][1]}.{min((hit[2] for hit in hits), key=_preference)}"
        suffix = re.sub(r"\W", "_", f"_{key}") if key is not None else ""
        variable = self._free(f"{one.name}_{name}{suffix}")
        self.variables[variable] = f"variable {quote(variable)} {{\n  sensitive = true\n}}\n"
        self.inputs[variable] = plain
        return f"var.{variable}"

    def _free(self, name: str) -> str:
        return free_name(name, (*self.variables, *self.root.variables, *MODULE_ARGUMENTS, *MODULE_BLOCKS))

    # ---------------------------------------------------------------- references and variables

    def _with_references(self, blocks: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Replace strings that identify exactly one other object, also inside longer strings, with references to that
        object. Yields (address of the resource, block). A short string is replaced only if the state records the
        dependency. References that would form a cycle are not added."""
        known = self._values(False)
        parts = {
            value: (f"{hits[0][1]}.{min((hit[2] for hit in hits), key=_preference)}", hits[0][0])
            for value, every in known.items()
            if len(value) >= 2 * _LONG and (hits := [hit for hit in every if _identifies(hit)])
            if len({hit[:2] for hit in hits}) == 1
        }
        edges: dict[str, set[str]] = {}
        repeated = {value for (_, value), number in self._counts(blocks).items() if number >= _REPEATED}
        for key, text in blocks.items():
            depends_on = self._dependencies(key)
            changes: Changes = []
            for literal in _strings(_body(text)):
                hits = [
                    hit
                    for hit in known.get(literal.value, ())
                    if hit[0] != key and (_identifies(hit) or (hit[0] in depends_on and literal.value not in repeated))
                ]
                hits = [hit for hit in hits if hit[3]] or hits
                if not hits:
                    for start, end, base, target in _inside(text, literal, parts):
                        if target != key and not _leads(edges, target, key):
                            changes.append((start, end, f"${{{base}}}"))
                            edges.setdefault(key, set()).add(target)
                if len({hit[:2] for hit in hits}) != 1 or _leads(edges, hits[0][0], key):
                    continue
                target, base = hits[0][:2]
                if target in depends_on or len(literal.value) >= _LONG:
                    name = min((hit[2] for hit in hits), key=_preference)
                    changes.append((literal.start, literal.end, f"{base}.{name}"))
                    edges.setdefault(key, set()).add(target)
            yield key, with_edits(text, changes)

    def _values(self, secret: bool) -> dict[str, list[tuple[str, str, str, bool]]]:
        """{string: attributes with this value}. An attribute is (resource, reference to the instance, name of the
        attribute, whether only the provider sets it). `secret`: whether to return the sensitive attributes or the other
        attributes."""
        result: dict[str, list[tuple[str, str, str, bool]]] = {}
        for change in self.before.plan.changes:
            key = change.resource_address
            if change.module or change.deposed or change.mode != "managed":
                continue
            if key not in self.objects and key not in self.root.resources:
                continue
            source = parse_provider_configuration(change.provider).source
            schema = self.before.loaded.schemas.resource(source, change.mode, change.type)
            value = unmark(change.before if change.action != "create" else change.after)[0]
            for name, one in schema.block.attributes.items() if schema is not None and isinstance(value, dict) else ():
                item = unmark(value[name])[0] if name in value else None
                if item.__class__ is str and len(item) > 1 and _is_hidden(one, value[name]) == secret:
                    is_own = one.computed and (not one.optional or name == "id")
                    result.setdefault(item, []).append((key, key + format_key(change.key), name, is_own))
        return result

    def _dependencies(self, key: str) -> set[str]:
        """The addresses that the state records as dependencies of the resource `key`."""
        resource = self.before.loaded.state.resources.get(key)
        instances = resource.instances.values() if resource is not None else ()
        return {one for instance in instances if instance.current is not None for one in instance.current.dependencies}

    @staticmethod
    def _counts(blocks: dict[str, str]) -> Counter[tuple[str, str]]:
        """{(name of an argument, literal string): number of blocks in which the argument has this value}."""
        pairs = ({(attribute.name, value) for attribute, value in _arguments(text)} for text in blocks.values())
        return Counter(pair for one in pairs for pair in one)

    def _with_variables(self, blocks: dict[str, str]) -> dict[str, str]:
        """The blocks, in which literal strings that occur in at least _REPEATED blocks are replaced with references to
        new variables."""
        counts = self._counts(blocks)
        chosen: dict[tuple[str, str], str] = {}
        for (name, value), number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            if number >= _REPEATED and name not in {one for one, _ in chosen}:
                variable = chosen[name, value] = self._free(name)
                block = f"variable {quote(variable)} {{\n  type    = string\n  default = {quote(value)}\n}}\n"
                self.variables[variable] = block
        result = {}
        for key, text in blocks.items():
            hits = [(a, chosen.get((a.name, value))) for a, value in _arguments(text)]
            changes = [(a.expr.start, a.expr.end, f"var.{variable}") for a, variable in hits if variable is not None]
            result[key] = with_edits(text, changes)
        return result


def _list_text(texts: list[str]) -> str:
    """The source of the expression `[...][count.index]` with these elements."""
    line = f"[{', '.join(texts)}][count.index]"
    lines = "".join(f"    {text},\n" for text in texts)
    return line if len(line) <= _WIDE and "\n" not in line else f"[\n{lines}  ][count.index]"


def _text_of(node: Block | Attribute) -> str:
    end = node.end if isinstance(node, Block) else node.expr.end
    return node.source.text[node.start if isinstance(node, Block) else node.expr.start : end]


def _names_of(contents: list[list[Block]], type: str) -> list[str]:
    """The arguments that at least one block of this type sets."""
    own = (block for blocks in contents for block in blocks if block.type == type)
    return list(dict.fromkeys(name for block in own for name in block.body.just_attributes()[0]))


def _objects_text(blocks: list[Block], names: list[str]) -> str:
    """The source of a list with an object for each block. Each object has the attributes `names`."""
    rows = []
    for block in blocks:
        arguments = block.body.just_attributes()[0]
        pairs = (f"{name} = {_text_of(arguments[name]) if name in arguments else 'null'}" for name in names)
        rows.append(f"{{ {', '.join(pairs)} }}")
    return f"[{', '.join(rows)}]"


def _preference(name: str) -> tuple[int, str]:
    return _PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED), name


def _identifies(hit: tuple[str, str, str, bool]) -> bool:
    """Whether an attribute has a value that the provider creates for one object only, for example an ID."""
    return hit[3] and _IDENTITY.match(hit[2]) is not None


def _leads(edges: dict[str, set[str]], start: str, end: str) -> bool:
    """Whether there is a path from `start` to `end` along the edges."""
    waiting, seen = [start], {start}
    while waiting:
        one = waiting.pop()
        if one == end:
            return True
        waiting += edges.get(one, set()) - seen
        seen |= edges.get(one, set())
    return False


def _is_empty(value: Value) -> bool:
    """Whether an argument with this value is at first left out: null, "", 0, false, or an empty collection."""
    plain: Any = unmark(value)[0] if value is not None else None
    if plain is None or plain.__class__ is Null:
        return True
    items = getattr(plain, "items", plain) if not isinstance(plain, dict) else plain
    return plain in ("", 0) if isinstance(plain, (str, bool, int)) else not callable(items) and not items


def _is_hidden(schema: AttributeSchema, value: Value) -> bool:
    return schema.sensitive or (value is not None and SENSITIVE in unmark(value)[1])


def _body(text: str) -> NativeBody:
    body, _, _ = load_text(text.encode(), "adopted.tf", keep=False)
    assert isinstance(body, NativeBody)  # the source was generated above, in native syntax
    return body


def _inside(text: str, literal: Literal, parts: dict[str, tuple[str, str]]) -> Iterator[tuple[int, int, str, str]]:
    """The identifiers of other objects that occur in a quoted string, as (start, end, reference, resource). `parts`:
    {identifier: (reference, resource)}."""
    source, end = text[literal.start : literal.end], 0
    hits = sorted((source.find(value), -len(value), value) for value in parts if value in source)
    for at, _, value in hits if source.startswith('"') else ():
        if at >= end:
            end = at + len(value)
            yield literal.start + at, literal.start + end, *parts[value]


def _null_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Edits, as (start, end, text), that remove null arguments from nested blocks."""
    blocks = list(_body(text).blocks)
    while blocks:
        body = blocks.pop().body
        if isinstance(body, NativeBody):
            blocks += body.blocks
            for one in body.attributes.values():
                if isinstance(one.expr, Literal) and one.expr.value.__class__ is Null:
                    yield text.rfind("\n", 0, one.start) + 1, text.find("\n", one.end) + 1, ""


def _strings(body: NativeBody) -> Iterator[Literal]:
    """The literal strings in a body, except the keys of objects."""
    keys = {id(node.key) for node in nodes(body) if isinstance(node, ObjectItem)}
    for node in nodes(body):
        if isinstance(node, Literal) and isinstance(node.value, str) and id(node) not in keys:
            yield node


def _arguments(text: str) -> Iterator[tuple[Attribute, str]]:
    """The arguments whose values are non-empty literal strings, as (argument, string)."""
    for block in _body(text).blocks:
        inner = block.body.attributes if isinstance(block, Block) and isinstance(block.body, NativeBody) else {}
        for attribute in inner.values():
            if isinstance(attribute.expr, Literal) and isinstance(attribute.expr.value, str) and attribute.expr.value:
                yield attribute, attribute.expr.value
