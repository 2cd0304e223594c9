"""Places of values. A place is a name in a module instance, with a path to a part of its value.

    terraform_data.web[0].input.ports    local.tags["owner"]    module.net.id    output.id    module.net.var.size

`LocationLookup` returns the value at a place, its expression, and the places to which the expression refers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple, TypeAlias

from planner.answers.explain.origins import ANY, GivenExpression, Path, origins, path_step, reads_files, select
from planner.engine.evaluation.context import EvaluationContext, ModuleInstance
from planner.engine.evaluation.repetition import NO_REPETITION, Repeatable, expand, repetition_argument
from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.values.convert import path_text
from planner.foundation.values.paths import part_by_key, parts
from planner.foundation.values.value import (
    SENSITIVE,
    List,
    Map,
    Marked,
    Set,
    Unknown,
    Value,
    is_wholly_known,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.address import InstanceKey, join, quote, valid_identifier
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Expr
from planner.language.config.references import Ref, parse_reference
from planner.language.expressions.evaluate import try_evaluate
from planner.language.syntax.body import Block, Body, BodySchema, function_calls
from planner.language.syntax.body import ExpectedBlock as BlockHeader
from planner.language.syntax.chains import EVERY, Chain
from planner.language.syntax.nodes import Call, GetAttr, GetIndex, Step, Traversal, Variable
from planner.logic.facts.mentions import in_body

Kind: TypeAlias = Literal["resource", "resources", "local", "var", "output", "call", "each", "each_call", "provider"]


class ValueLocation(NamedTuple):
    """The place of a value: the part at `path` of an object in a module instance. `kind`: the kind of the object
    `name`. It is a resource instance (with `key`), all instances of a resource, a local value, a variable, an output, a
    module call, the repetition of a resource or call (count, for_each or enabled), or a provider block. `fresh`:
    whether the value exists only before or only after the plan."""

    module: ModuleInstance
    kind: Kind
    name: str
    key: InstanceKey = None
    path: Path = ()
    fresh: bool = False

    def at(self, path: Path, fresh: bool = False) -> ValueLocation:
        return self._replace(path=path, fresh=fresh)

    @property
    def whole(self) -> ValueLocation:
        return self.at(())

    def __str__(self) -> str:
        path = self.path
        if self.kind in ("each", "each_call") and path == (("index", None),):
            path = ()
        if self.kind == "call" and path and path[0] != ANY and self.is_repeated_call:
            path = (("index", path[0][1]), *path[1:])
        return place_name(self.root_text, path)

    @property
    def is_repeated_call(self) -> bool:
        """Whether the module call has count or for_each."""
        call = self.module.config.calls[self.name]
        return call.count is not None or call.for_each is not None

    @property
    def root_text(self) -> str:
        """The name of the place without the path."""
        module, name = self.module.text, self.name
        if self.kind == "resource":
            return self.module.instance_address(self.module.config.resources[name], self.key)
        if self.kind == "output":
            return f"{module}.{name}" if module else f"output.{name}"
        if self.kind in ("resources", "provider"):
            return join(module, name)
        if self.kind in ("each", "each_call"):
            return f"{self.repeated}.{repetition(repeatable(self))[0]}"
        if self.kind == "call":
            return join(module, f"module.{name}")
        return join(module, f"{self.kind}.{name}")

    @property
    def repeated(self) -> str:
        """The address of the resource or module call to which a repetition belongs."""
        return join(self.module.text, f"module.{self.name}" if self.kind == "each_call" else self.name)


class LocationLookup:
    """Looks up values and expressions of places in one evaluation context."""

    def __init__(self, context: EvaluationContext) -> None:
        self.context = context
        self._each: dict[ValueLocation, Value] = {}
        self._bases: dict[ValueLocation, GivenExpression | None] = {}
        self._secrets: dict[ValueLocation, bool] = {}

    # ---------------------------------------------------------------- values

    def value(self, place: ValueLocation) -> Value:
        """The value of the whole object at a place, without its path; None if there is none."""
        module, name = place.module, place.name
        try:
            if place.kind == "resource":
                objects = module.resource(name)
                instance = objects.instance(place.key)
                return objects.whole() if instance is None and place.key is None else instance
            if place.kind == "resources":
                return module.resource(name).whole()
            if place.kind == "call":
                return module.call(name)
        except (Failure, KeyError):
            return None
        if place.kind in ("each", "each_call"):
            return self._repetition(place.whole)
        table: dict[str, dict[str, Value]] = {
            "local": module.locals,
            "var": module.variables,
            "output": module.outputs,
        }
        return table.get(place.kind, {}).get(name)

    def _repetition(self, place: ValueLocation) -> Value:
        if place not in self._each:
            expr = repetition(repeatable(place))[1]
            value: Value = None
            if expr is not None:
                value, _ = try_evaluate(expr.node, place.module.scope, expr.source)
            self._each[place] = value
        return self._each[place]

    def found(self, place: ValueLocation) -> list[tuple[ValueLocation, Value]]:
        """(place, value) for each place to which the path of a place leads. A path with ANY may lead to several places.
        A path ends early at an unknown value or a set. [] if the path does not exist."""
        value = self.value(place)
        if value is None:
            return []
        return [(place.at(p, place.fresh and p == place.path), v) for p, v in select(value, place.path)]

    def named(self, place: ValueLocation) -> ValueLocation:
        """A place, with a path whose steps have the kinds that fit its value: indexes for maps and lists, attributes
        for objects."""
        value, path = self.value(place), []
        for step in place.path:
            plain = unmark(value)[0] if value is not None else None
            kind = "attr" if plain.__class__ is dict else "index" if plain.__class__ in (Map, List, tuple) else step[0]
            path.append((kind, step[1]) if step != ANY else ANY)
            value = part_by_key(plain, step[1])
        return place._replace(path=tuple(path))

    def is_sensitive(self, place: ValueLocation) -> bool:
        """Whether the value at the place, a value that contains it, or a part of it is sensitive."""
        if place not in self._secrets:
            self._secrets[place] = self._has_secret(place)
        return self._secrets[place]

    def _has_secret(self, place: ValueLocation) -> bool:
        value = self.value(place)
        for step in (*place.path, None):
            if value.__class__ is Marked:
                if SENSITIVE in value.marks:
                    return True
                value = value.value
            if step is None:
                break
            value = part_by_key(value, step[1])
        return SENSITIVE in unmark_deep(value)[1] if value is not None else False

    # ---------------------------------------------------------------- expressions

    def given(self, place: ValueLocation) -> GivenExpression | None:
        """The first of the expressions that provide the value at a place (see `origins`). If there are none, the whole
        expression; None if the place has no expression."""
        base = self._base(place)
        return next(iter(origins(base)), base) if base is not None else None

    def origins(
        self, place: ValueLocation, before: Value = None, same_text: bool = False
    ) -> list[GivenExpression] | None:
        """The expressions that provide or select the value at a place (see `origins` of
        planner.answers.explain.origins); None if the place has no expression. `before`, `same_text`: see
        GivenExpression."""
        base = self._base(place)
        return origins(base._replace(before=before, same_text=same_text)) if base is not None else None

    def whole_text(self, place: ValueLocation) -> GivenExpression | None:
        """The whole expression from which the value comes; None if there is none."""
        return self._base(place)

    def _base(self, place: ValueLocation) -> GivenExpression | None:
        """The expression of the argument that sets the value, with the remaining path; None if there is none, or if it
        cannot be determined."""
        if place not in self._bases:
            self._bases[place] = self._found_base(place)
        return self._bases[place]

    def _found_base(self, place: ValueLocation) -> GivenExpression | None:
        module, name = place.module, place.name
        config = module.config
        expr: Expr | None
        scope = module.scope
        if place.kind == "resource":
            return self._of_attribute(place)
        if place.kind == "local":
            expr = config.locals[name].expr
        elif place.kind == "output":
            expr = config.outputs[name].value
        elif place.kind in ("each", "each_call"):
            expr = repetition(repeatable(place))[1]
        elif place.kind == "var" and module.parent is not None and config.call is not None:
            argument = config.call.inputs.get(name)
            if argument is None:
                return None
            scope = module.parent.with_repetition(module.repetition)
            return GivenExpression(argument.expr, argument.source, scope, place.path, place.fresh)
        else:
            return None
        return GivenExpression(expr.node, expr.source, scope, place.path, place.fresh) if expr is not None else None

    def _of_attribute(self, place: ValueLocation) -> GivenExpression | None:
        """The argument of a resource that sets the value at a place. It may be in nested blocks. None if there is no
        such argument, or if the nested blocks are dynamic, a set or a map."""
        decl = place.module.config.resources[place.name]
        body, path = decl.body, place.path
        schema: Any = self.context.schemas.of(place.module.config, decl).block
        while path:
            name = str(path[0][1])
            nested = schema.blocks.get(name) if schema is not None else None
            if nested is None:
                attribute = body.partial_content(BodySchema({name: False}))[0].attributes.get(name)
                try:
                    node = attribute.expr if attribute is not None else None
                except Failure:
                    return None
                if attribute is None or node is None:
                    return None
                return GivenExpression(node, attribute.source, self.instance_scope(place), path[1:], place.fresh)
            content, _ = body.partial_content(BodySchema({}, (BlockHeader(name), BlockHeader("dynamic", ("type",)))))
            if nested.nesting not in ("single", "group", "list"):
                return None
            if any(b.type == "dynamic" and b.labels and b.labels[0].value == name for b in content.blocks):
                return None
            blocks = [b for b in content.blocks if b.type == name]
            number = path[1][1] if nested.nesting == "list" and len(path) > 1 else 0
            if number.__class__ is not int or not 0 <= number < len(blocks):
                return None
            body, schema = blocks[number].body, nested.block
            path = path[2 if nested.nesting == "list" else 1 :]
        return None

    def in_blocks(self, place: ValueLocation) -> list[tuple[Traversal | Variable, Source]]:
        """(reference, source) for each reference in nested blocks that contain a place or are part of it."""
        decl = place.module.config.resources.get(place.name) if place.kind == "resource" else None
        wanted = ".".join(str(key) for kind, key in place.path if kind == "attr")
        if decl is None or not wanted:
            return []
        schema = self.context.schemas.of(place.module.config, decl).block
        mentions = []
        for node, source, path in in_body(decl.body, schema):
            if isinstance(node, Call):
                continue
            if "." in path and (path.startswith(f"{wanted}.") or wanted == path or wanted.startswith(f"{path}.")):
                mentions.append((node, source))
        return mentions

    def file_calls_in_blocks(self, place: ValueLocation) -> list[tuple[Call, Source]]:
        """(call, source) for each call that reads files in the nested blocks with whose type the path of a place
        begins."""
        decl = place.module.config.resources.get(place.name) if place.kind == "resource" else None
        if decl is None or not place.path:
            return []
        named = (block for block in getattr(decl.body, "blocks", ()) if block_name(block) == place.path[0][1])
        return [call for block in named for call in _file_calls(block.body)]

    def is_in_blocks(self, place: ValueLocation) -> bool:
        """Whether nested blocks at a place contain references or calls that read files (see `in_blocks` and
        `file_calls_in_blocks`)."""
        return bool(self.in_blocks(place) or self.file_calls_in_blocks(place))

    def instance_scope(self, place: ValueLocation) -> ModuleScope:
        module, decl = place.module, place.module.config.resources[place.name]
        objects = module.resource(place.name)
        if objects.expansion is None:
            try:
                objects.expansion = expand(decl, module.scope, str(place.root_text))
            except Failure:
                return module.scope
        return module.with_repetition(objects.expansion.instances.get(place.key, NO_REPETITION))

    def declaration(self, place: ValueLocation) -> Span | None:
        """The span of the declaration of the object at a place; None if there is none."""
        config, name = place.module.config, place.name
        tables: dict[str, Mapping[str, Any]] = {
            "resource": config.resources,
            "resources": config.resources,
            "each": config.resources,
            "local": config.locals,
            "var": config.variables,
            "output": config.outputs,
            "call": config.calls,
            "each_call": config.calls,
        }
        declared = tables.get(place.kind, {}).get(name)
        return declared.span if declared is not None else None

    # ---------------------------------------------------------------- mentions

    def meant(self, chain: Chain, given: GivenExpression, inside: ValueLocation) -> ValueLocation | None:
        """The place to which a mention (`chain`) in an expression refers; None for names without a place (such as
        `path` and `terraform`). `inside`: the place of the expression."""
        steps: list[Step] = list(chain.base.steps) if isinstance(chain.base, Traversal) else []
        after: Path = ()
        for index, step in enumerate(chain.suffix):
            known = self._step(step, given)
            if known is None:
                after = (ANY, *self._rest(chain.suffix[index + 1 :], given))
                break
            steps.append(known)
        base = chain.base
        root, root_end = (base.root, base.root_end) if isinstance(base, Traversal) else (base.name, base.end)
        node = Traversal(root, root_end, tuple(steps), chain.start, chain.end) if steps else chain.base
        ref = parse_reference(node)
        module = self.context.module(given.scope.module.address)
        return self.of_reference(ref, module, inside, after) if isinstance(ref, Ref) and module is not None else None

    def _step(self, step: Any, given: GivenExpression) -> Step | None:
        if isinstance(step, (GetAttr, GetIndex)):
            return step
        if step is EVERY:
            return None
        key = given.evaluate(step)
        return GetIndex(key, step.start, step.end) if key.__class__ in (str, int) else None

    def _rest(self, suffix: tuple[Any, ...], given: GivenExpression) -> Path:
        steps = (self._step(step, given) for step in suffix)
        return tuple(ANY if step is None else path_step(step) for step in steps)

    def of_reference(
        self, ref: Ref, module: ModuleInstance, inside: ValueLocation | None, after: Path = ()
    ) -> ValueLocation | None:
        """The place to which a reference refers; None if the reference has no place. `inside`: the place of the
        expression with the reference, which is needed for each.value. `after`: further steps of the path."""
        path = (*map(path_step, ref.rest), *after)
        config = module.config
        if ref.kind == "var" and ref.name in config.variables:
            return ValueLocation(module, "var", ref.name, None, path)
        if ref.kind == "local" and ref.name in config.locals:
            return ValueLocation(module, "local", ref.name, None, path)
        if ref.kind == "resource" and ref.name in config.resources:
            return self._resource(module, ref.name, ref.key, path)
        if ref.kind in ("output", "module") and ref.name in config.calls:
            return self._call(module, ref, path)
        if ref.kind == "each" and ref.name == "value" and inside is not None:
            return self._each_value(inside, path)
        return None

    def _resource(self, module: ModuleInstance, name: str, key: InstanceKey, path: Path) -> ValueLocation:
        decl = module.config.resources[name]
        if key is None and (decl.count is not None or decl.for_each is not None):
            return ValueLocation(module, "resources", name, None, path)
        return ValueLocation(module, "resource", name, key, path)

    def _call(self, module: ModuleInstance, ref: Ref, path: Path) -> ValueLocation | None:
        instances = module.calls.get(ref.name, {})
        if ref.kind == "output" and ref.key in instances:
            return ValueLocation(instances[ref.key], "output", ref.output, None, path)
        steps: Path = () if ref.key is None else (("index", ref.key),)
        return ValueLocation(module, "call", ref.name, None, (*steps, *path))

    def _each_value(self, inside: ValueLocation, path: Path) -> ValueLocation | None:
        if inside.kind == "resource":
            return ValueLocation(inside.module, "each", inside.name, None, (("index", inside.key), *path))
        if inside.kind == "var" and inside.module.parent is not None:
            name = inside.module.address.steps[-1][0]
            return ValueLocation(inside.module.parent, "each_call", name, None, (("index", inside.module.key), *path))
        return None

    # ---------------------------------------------------------------- parts of all instances of a block

    def owner(self, place: ValueLocation) -> ValueLocation | None:
        """The place in one resource instance, or in an output of one module instance, that corresponds to a place in
        all instances of a resource or module. None if the path does not lead to one instance or output."""
        module, path = place.module, place.path
        if place.kind == "resources" and path and path[0] != ANY:
            return ValueLocation(module, "resource", place.name, path[0][1], path[1:], place.fresh and len(path) > 1)
        if place.kind == "call":
            key, rest = (path[0][1], path[1:]) if path and place.is_repeated_call else (None, path)
            instance = module.calls.get(place.name, {}).get(key)
            if instance is not None and rest and rest[0][1] in instance.config.outputs:
                return ValueLocation(instance, "output", str(rest[0][1]), None, rest[1:], place.fresh and len(rest) > 1)
        return None

    # ---------------------------------------------------------------- addresses from users

    def read(self, text: str) -> ValueLocation | None:
        """The place that a user names with an address (`text`); None if the address is not valid, or names nothing that
        is declared."""
        from planner.language.syntax.parse import parse_expression

        node, problems = parse_expression(Source("", text))
        if problems or not isinstance(node, Traversal):
            return None
        steps: list[Step] = [GetAttr(node.root, node.start, node.root_end), *node.steps]
        module = self.context.root
        while _is(steps, 0, "module") and len(steps) > 1 and isinstance(steps[1], GetAttr):
            name, used, key = steps[1].name, 2, None
            if len(steps) > 2 and isinstance(steps[2], GetIndex):
                key, used = steps[2].key, 3
            instance = module.calls.get(name, {}).get(key)
            if instance is None:
                return None
            module, steps = instance, steps[used:]
        return self._named(module, steps)

    def _named(self, module: ModuleInstance, steps: list[Step]) -> ValueLocation | None:
        if not steps or not isinstance(steps[0], GetAttr):
            return None
        first = steps[0].name
        if first == "output" and len(steps) > 1:
            first, steps = getattr(steps[1], "name", ""), steps[1:]
            rest = tuple(map(path_step, steps[1:]))
            return ValueLocation(module, "output", first, None, rest) if first in module.config.outputs else None
        if module.parent is not None and first in module.config.outputs:
            return ValueLocation(module, "output", first, None, tuple(map(path_step, steps[1:])))
        made = Traversal(first, steps[0].end, tuple(steps[1:]), 0, 0) if len(steps) > 1 else None
        ref = parse_reference(made) if made is not None else None
        return self.of_reference(ref, module, None) if isinstance(ref, Ref) else None


# ---------------------------------------------------------------- helpers


def repeatable(place: ValueLocation) -> Repeatable:
    """The resource or module call at the place of a repetition."""
    config = place.module.config
    return config.calls[place.name] if place.kind == "each_call" else config.resources[place.name]


def repetition(block: Repeatable) -> tuple[str, Expr | None]:
    """(argument, expression) of the repetition of a block; ("for_each", None) for a block without a repetition."""
    name = repetition_argument(block)
    return ("for_each", None) if name == "none" else (name, getattr(block, name))


def place_name(name: str, path: tuple[Any, ...]) -> str:
    """The name of the part at `path` of the value `name`. Attribute names that are not valid after a dot are written in
    brackets."""
    steps = (("index", key) if not valid_identifier(str(key)) else (kind, key) for kind, key in path)
    inside = path_text(tuple((kind, _printable(key)) for kind, key in steps))
    return name + (f".{inside}" if inside and inside[0] != "[" else inside)


def _printable(key: Any) -> Any:
    """A key in the form in which it is printed in a name: control characters are escaped."""
    return quote(key)[1:-1] if key.__class__ is str and not key.isprintable() else key


def _is(steps: list[Step], index: int, name: str) -> bool:
    return len(steps) > index and getattr(steps[index], "name", None) == name


def open_parts(value: Value) -> Iterator[Path]:
    """The paths of the unknown parts of a value. A set with an unknown part is treated as unknown."""
    stack: list[tuple[Path, Value]] = [((), value)]
    while stack:
        path, here = stack.pop()
        if here.__class__ is Marked:
            here = here.value
        if here.__class__ is Unknown or (here.__class__ is Set and not is_wholly_known(here)):
            yield path
        elif here.__class__ is not Set:
            stack += [((*path, step), part) for step, part in reversed(list(parts(here)))]


def block_name(block: Block) -> str:
    """The type of a nested block; for a dynamic block, the type of the blocks that it creates."""
    return block.labels[0].value if block.type == "dynamic" and block.labels else block.type


def _file_calls(body: Body) -> Iterator[tuple[Call, Source]]:
    for attribute in body.just_attributes()[0].values():
        with suppress(Failure):
            for call in function_calls(attribute.expr):
                if reads_files((call.name,)):
                    yield call, attribute.source
    for block in getattr(body, "blocks", ()):
        yield from _file_calls(block.body)
