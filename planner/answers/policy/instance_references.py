"""Finds the instances to which a resource instance refers. The block of the instance is examined, but not evaluated.
Constant keys, `each.key`, `each.value`, `count.index` and lookups with such keys are traced through local values and
through the inputs and outputs of modules. If a key cannot be traced, because a function computes it or a conditional
selects it, the reference may mean any instance that the key could select."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from planner.foundation.values.types import SetType
from planner.foundation.values.value import Map, Set
from planner.foundation.vocabulary.address import InstanceKey, ModuleAddress, format_instance, format_key
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import frozen
from planner.language.config.model import Config, ModuleCall, ModuleConfig, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, NativeBody

Target: TypeAlias = tuple[str, str]
"""(resource with module keys, address of one of its instances). The second item is EVERY for all instances, SOME for an
unknown instance"""
Meant: TypeAlias = tuple[set[Target], set[Target]]
"""(certain targets, possible targets) of references"""
EVERY, SOME = "*", "?"
_ALL: Any = ("every element",)
"""a step that means every element"""
_ANY: Any = ("some element",)
"""a step that means an unknown element"""
LOOSE, UNSURE, SURE = 0, 1, 2
"""the certainty of a reference: SURE if it certainly refers to its target, UNSURE if another target may be chosen
instead, LOOSE if it only decides which elements or instances exist (count, for_each, conditions)"""
_MOST_STEPS, _DEEPEST = 20_000, 60
_SAME_ELEMENTS = frozenset(("tomap", "tolist", "toset", "sensitive", "nonsensitive"))
"""functions whose result contains the elements of their argument under the same keys"""
_WHOLE = frozenset(
    (
        *("abspath", "base64encode", "concat", "distinct", "flatten", "format", "formatlist", "join", "jsonencode"),
        *(
            "keys",
            "lower",
            "merge",
            "replace",
            "reverse",
            "setunion",
            "sort",
            "title",
            "tostring",
            "trim",
            "trimprefix",
        ),
        *("trimspace", "trimsuffix", "upper", "values", "yamlencode", "zipmap", *_SAME_ELEMENTS),
    )
)
"""functions whose result depends on all their arguments"""


@frozen(eq=False)
class _ExpressionScope:
    """The context of an expression: its module instance, the repeated block that contains it with the key of the
    instance, and the names that are bound in it. `caller`: the context of the call of the module; None for the root
    module."""

    module: ModuleConfig
    address: ModuleAddress
    caller: _ExpressionScope | None
    repeated: ResourceDecl | ModuleCall | None = None
    key: InstanceKey = None
    bound: Mapping[str, Any] = {}

    def outside(self) -> _ExpressionScope:
        """The context of the same module without a repeated block and bound names."""
        return _ExpressionScope(self.module, self.address, self.caller)

    def of(self, block: ResourceDecl | ModuleCall, key: InstanceKey) -> _ExpressionScope:
        return _ExpressionScope(self.module, self.address, self.caller, block, key)

    def binding(self, names: Mapping[str, Any]) -> _ExpressionScope:
        return _ExpressionScope(
            self.module, self.address, self.caller, self.repeated, self.key, {**self.bound, **names}
        )


@frozen(eq=False)
class _Element:
    """The meaning of a bound name: the part at `steps` of the value of an expression."""

    node: nodes.Expression
    place: _ExpressionScope
    steps: tuple[Any, ...]


@frozen(eq=False)
class _Pair:
    """The meaning of the iterator of a dynamic block, or of the key of a `for` expression (without `value`)."""

    key: Any
    value: _Element | None


class _Lost(Exception):
    """The references cannot be traced, because they are nested too deeply or branch too often."""


class InstanceReferences:
    """Finds the references in a configuration. `variables`: the values of the root variables. `modules`: the existing
    module instances."""

    def __init__(self, config: Config, variables: Mapping[str, Any], modules: Iterable[ModuleAddress]) -> None:
        self.root, self.variables = config.root, variables
        self.instances: dict[tuple[ModuleAddress, str], set[InstanceKey]] = {}
        for module in modules:
            while not module.is_root:
                self.instances.setdefault((module.parent, module.steps[-1][0]), set()).add(module.key)
                module = module.parent

    def of(self, address: ModuleAddress, decl: ResourceDecl, key: InstanceKey) -> Meant:
        """(certain targets, possible targets) of the references of a resource instance; both are empty if the
        references cannot be traced. A reference that only determines the number of instances (count, for_each,
        conditions) is included only if no other reference of the instance means the same resource."""
        walk = _Walk(self)
        try:
            place = self._place(address)
            if place is not None:
                walk.resource(decl, place.of(decl, key))
        except (_Lost, Failure, RecursionError):
            return set(), set()
        known = {resource for resource, _ in walk.sure | walk.unsure}
        unsure = walk.unsure | {target for target in walk.loose if target[0] not in known}
        return walk.sure, unsure - walk.sure

    def _place(self, address: ModuleAddress) -> _ExpressionScope | None:
        place = _ExpressionScope(self.root, ModuleAddress(), None)
        for name, key in address.steps:
            call, child = place.module.calls.get(name), place.module.children.get(name)
            if call is None or child is None:
                return None
            place = _ExpressionScope(child, place.address.child(name, key), place.of(call, key))
        return place


class _Walk:
    """Traces references. In the methods, `steps` selects the part of an expression's value that is used. It consists of
    keys, `_ALL` and `_ANY`; () means the whole value. `mode`: LOOSE, UNSURE or SURE."""

    def __init__(self, about: InstanceReferences) -> None:
        self.variables, self.instances = about.variables, about.instances
        self.sure: set[Target] = set()
        self.unsure: set[Target] = set()
        self.loose: set[Target] = set()
        self.taken = 0
        self.depth = 0

    # -------- blocks

    def resource(self, decl: ResourceDecl, place: _ExpressionScope) -> None:
        """Trace the references in a resource block, and in the repetitions of the enclosing module calls."""
        self.body(decl.body, place)
        cycle = decl.lifecycle
        rules = (*cycle.preconditions, *cycle.postconditions)
        conditions = (expr for rule in rules for expr in (rule.condition, rule.error_message))
        for expr in (*cycle.replace_triggered_by, cycle.prevent_destroy, cycle.destroy, *conditions):
            if expr is not None:
                self.follow(expr.node, place)
        for provisioner in decl.provisioners:
            self.body(provisioner.body, place)
            if provisioner.connection is not None:
                self.body(provisioner.connection, place)
        if decl.connection is not None:
            self.body(decl.connection, place)
        around: _ExpressionScope | None = place
        while around is not None and around.repeated is not None:
            self._repetition(around.repeated, around)
            around = around.caller

    def _repetition(self, block: ResourceDecl | ModuleCall, place: _ExpressionScope) -> None:
        """Trace the references in depends_on of a block, and the references in its repetition that matter for the key
        of the instance. In depends_on, only a reference to a single instance is certain, because an object that waits
        for all instances of a resource may not need some of them."""
        outside = place.outside()
        if block.for_each is not None:
            self.follow(block.for_each.node, outside, (place.key,), LOOSE)
        for expr in (block.count, block.enabled):
            if expr is not None:
                self.follow(expr.node, outside, (), LOOSE)
        for reference in block.depends_on:
            ref = parse_reference(reference.node)
            names_instance = isinstance(ref, Ref) and ref.kind == "resource" and ref.key is not None
            self.follow(reference.node, outside, (), SURE if names_instance else UNSURE)

    def body(self, body: Any, place: _ExpressionScope) -> None:
        if not isinstance(body, NativeBody):
            self._attributes(body.just_attributes()[0].values(), place)
            return
        self._attributes((a for a in body.attributes.values() if a.name not in body.taken), place)
        for block in body.blocks:
            if block.type in body.taken_types:
                continue
            if block.type == "dynamic" and block.labels and isinstance(block.body, NativeBody):
                self._dynamic(block.labels[0].value, block.body, place)
            else:
                self.body(block.body, place)

    def _attributes(self, attributes: Iterable[Attribute], place: _ExpressionScope) -> None:
        for attribute in attributes:
            self.follow(attribute.expr, place)

    def _dynamic(self, kind: str, body: NativeBody, place: _ExpressionScope) -> None:
        inner = place
        each, named = body.attributes.get("for_each"), body.attributes.get("iterator")
        if each is not None:
            self.follow(each.expr, place, (), LOOSE)
            name = named.expr.name if named is not None and isinstance(named.expr, nodes.Variable) else kind
            inner = place.binding({name: _Pair(None, _Element(each.expr, place, (_ALL,)))})
        self._attributes((a for a in body.attributes.values() if a.name not in ("for_each", "iterator")), inner)
        for content in body.blocks:
            self.body(content.body, inner)

    # -------- expressions

    def follow(self, node: Any, place: _ExpressionScope, steps: tuple[Any, ...] = (), mode: int = SURE) -> None:
        self._step()
        visit = _VISITS.get(node.__class__)
        if visit is not None:
            self.depth += 1
            visit(self, node, place, steps, mode)
            self.depth -= 1

    def _step(self) -> None:
        self.taken += 1
        if self.taken > _MOST_STEPS or self.depth > _DEEPEST:
            raise _Lost

    def _variable(self, node: nodes.Variable, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        self._bind(place.bound.get(node.name), steps, mode)

    def _element(self, node: nodes.Element, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        self._bind(place.bound.get("*"), steps, mode)

    def _bind(self, bound: Any, steps: tuple[Any, ...], mode: int) -> None:
        if isinstance(bound, _Pair) and steps[:1] == ("value",):
            bound, steps = bound.value, steps[1:]
        if isinstance(bound, _Element):
            self.follow(bound.node, bound.place, bound.steps + steps, mode)

    def _traversal(self, node: nodes.Traversal, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        if node.root in place.bound:
            self._bind(place.bound[node.root], _written_steps(node.steps) + steps, mode)
            return
        ref = parse_reference(node)
        if not isinstance(ref, Ref):
            return
        named = (*((ref.key,) if ref.key is not None else ()), *((ref.output,) if ref.output else ()))
        steps = (*named, *_written_steps(ref.rest), *steps)
        if ref.kind == "resource":
            self._instance(place.module.resources.get(ref.name), place, steps, mode)
        elif ref.kind in ("module", "output"):
            self._outputs(place.module.calls.get(ref.name), place, steps, mode)
        else:
            alias = self._alias(ref, place)
            if alias is not None:
                self.follow(alias.node, alias.place, alias.steps + steps, mode)

    def _alias(self, ref: Ref, place: _ExpressionScope) -> _Element | None:
        """The expression of a local value, input variable or each.value; None for other references."""
        if ref.kind == "local" and ref.name in place.module.locals:
            return _Element(place.module.locals[ref.name].expr.node, place.outside(), ())
        if ref.kind == "var" and place.caller is not None and isinstance(place.caller.repeated, ModuleCall):
            given = place.caller.repeated.inputs.get(ref.name)
            return _Element(given.expr, place.caller, ()) if given is not None else None
        repeated = place.repeated
        if ref.kind == "each" and ref.name == "value" and repeated is not None and repeated.for_each is not None:
            return _Element(repeated.for_each.node, place.outside(), (place.key,))
        return None

    def _instance(self, decl: ResourceDecl | None, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        if decl is None:
            return
        resource = format_instance(str(place.address), decl.mode, decl.type, decl.name)
        if decl.count is None and decl.for_each is None:
            self._add((resource, resource), mode)
            return
        first = steps[0] if steps else _ALL
        key = _key(first, decl.count is not None)
        if key is not None:
            self._add((resource, resource + format_key(key)), mode)
        elif mode == SURE and first is _ALL:
            self._add((resource, EVERY), SURE)
        else:
            self._add((resource, SOME), min(mode, UNSURE))

    def _add(self, target: Target, mode: int) -> None:
        (self.loose, self.unsure, self.sure)[mode].add(target)

    def _outputs(self, call: ModuleCall | None, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        child = place.module.children.get(call.name) if call is not None else None
        if call is None or child is None:
            return
        keys: set[InstanceKey] = {None}
        if call.count is not None or call.for_each is not None:
            first = steps[0] if steps else _ALL
            key = _key(first, call.count is not None)
            keys = {key} if key is not None else self.instances.get((place.address, call.name), set())
            mode = mode if key is not None or first is _ALL else min(mode, UNSURE)
            steps = steps[1:]
        for key in keys:
            inner = _ExpressionScope(child, place.address.child(call.name, key), place.of(call, key))
            for name in child.outputs:
                if not steps or steps[0] in (name, _ALL, _ANY):
                    is_meant = not steps or steps[0] is not _ANY
                    self.follow(
                        child.outputs[name].value.node, inner, steps[1:], mode if is_meant else min(mode, UNSURE)
                    )

    def _relative(self, node: nodes.Relative, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        self.follow(node.source, place, _written_steps(node.steps) + steps, mode)

    def _index(self, node: nodes.Index, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        self._looked_up(node.collection, node.key, place, steps, mode)

    def _looked_up(self, collection: Any, key: Any, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        known = self.constant(key, place)
        self.follow(collection, place, (_ANY if known is None else known, *steps), mode)
        self.follow(key, place, (), mode)

    def _splat(self, node: nodes.Splat, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        first = steps[0] if steps else _ALL
        self.follow(node.each, place.binding({"*": _Element(node.source, place, (first,))}), steps[1:], mode)

    def _parts(self, node: Any, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        """Trace the references in a node whose value depends on all its parts."""
        parts = node.parts if isinstance(node, nodes.Template) else _OPERANDS[node.__class__](node)
        for part in parts:
            self.follow(part, place, (), mode)

    def _wrapped(
        self, node: nodes.Wrap | nodes.Parens, place: _ExpressionScope, steps: tuple[Any, ...], mode: int
    ) -> None:
        self.follow(node.expr, place, steps, mode)

    def _choose(
        self, node: nodes.Conditional | nodes.TemplateIf, place: _ExpressionScope, steps: tuple[Any, ...], mode: int
    ) -> None:
        self.follow(node.condition, place, (), LOOSE)
        holds = self.constant(node.condition, place)
        for branch, is_taken in ((node.then, True), (node.otherwise, False)):
            if holds is None or holds is is_taken:
                self.follow(branch, place, steps, mode if holds is is_taken else min(mode, UNSURE))

    def _call(self, node: nodes.Call, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        arguments = node.arguments
        if node.name in _SAME_ELEMENTS and len(arguments) == 1:
            self.follow(arguments[0], place, steps, mode)
        elif node.name == "lookup" and len(arguments) == 2:
            self._looked_up(arguments[0], arguments[1], place, steps, mode)
        else:
            is_used = node.name in _WHOLE and (not steps or steps[0] is _ALL)
            for argument in arguments:
                self.follow(argument, place, (), mode if is_used else min(mode, UNSURE))

    def _tuple(self, node: nodes.Tuple, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        first = steps[0] if steps else _ALL
        at = _key(first, True)
        for i, item in enumerate(node.items):
            if at is None or i == at:
                self.follow(item, place, steps[1:], mode if i == at or first is _ALL else min(mode, UNSURE))

    def _object(self, node: nodes.Object, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        first = steps[0] if steps else _ALL
        wanted = _key(first, False)
        for item in node.items:
            name = self._name(item, place)
            if wanted is None or name is None or name == wanted:
                is_meant = first is _ALL or (name is not None and name == wanted)
                self.follow(item.value, place, steps[1:], mode if is_meant else min(mode, UNSURE))
            self.follow(item.key, place, (), mode)

    def _name(self, item: nodes.ObjectItem, place: _ExpressionScope) -> Any:
        return (
            item.key.value
            if item.bare and isinstance(item.key, nodes.Literal)
            else _key(self.constant(item.key, place), False)
        )

    def _for(self, node: nodes.For, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        first = steps[0] if steps else _ALL
        keeps_keys = isinstance(node.key_expr, nodes.Variable) and node.key_expr.name == node.key and not node.group
        if first is not _ALL and not keeps_keys:
            first = _ANY
        if first is _ANY or (first is _ALL and node.condition is not None):
            mode = min(mode, UNSURE)
        inner = self._loop(node, place, first)
        self.follow(node.value_expr, inner, steps[1:], mode)
        for expr in (node.key_expr, node.condition):
            self.follow(expr, inner, (), LOOSE)

    def _templatefor(self, node: nodes.TemplateFor, place: _ExpressionScope, steps: tuple[Any, ...], mode: int) -> None:
        self.follow(node.body, self._loop(node, place, _ALL), (), mode)

    def _loop(self, node: nodes.For | nodes.TemplateFor, place: _ExpressionScope, element: Any) -> _ExpressionScope:
        """The context inside a loop. `element`: the step to the element of the collection that is bound."""
        self.follow(node.collection, place, (element,), LOOSE)
        names: dict[str, Any] = {node.value: _Element(node.collection, place, (element,))}
        if node.key is not None:
            names[node.key] = _Pair(None if element in (_ALL, _ANY) else element, None)
        return place.binding(names)

    # -------- keys

    def constant(self, node: Any, place: _ExpressionScope, steps: tuple[Any, ...] = ()) -> Any:
        """The string, integer or bool at `steps` in the value of an expression; None if it cannot be determined."""
        while True:
            self._step()
            if isinstance(node, nodes.Parens | nodes.Wrap):
                node = node.expr
            elif isinstance(node, nodes.Relative):
                node, steps = node.source, _written_steps(node.steps) + steps
            elif isinstance(node, nodes.Index):
                key = self.constant(node.key, place)
                if key is None:
                    return None
                node, steps = node.collection, (key, *steps)
            elif isinstance(node, nodes.Object) and steps:
                names = [self._name(item, place) for item in node.items]
                wanted = _key(steps[0], False)
                if wanted is None or None in names or names.count(wanted) != 1:
                    return None
                node, steps = node.items[names.index(wanted)].value, steps[1:]
            elif isinstance(node, nodes.Call) and node.name in _SAME_ELEMENTS and len(node.arguments) == 1:
                if node.name == "toset" and steps:
                    return steps[0] if len(steps) == 1 else None  # keys of a set are its elements
                node = node.arguments[0]
            elif isinstance(node, nodes.Traversal | nodes.Variable):
                if len(steps) == 1 and self._is_set(node, place):
                    return steps[0]
                result = self._look_up(node, place)
                if not isinstance(result, _Element):
                    result = _within(result, steps)
                    return result if result.__class__ in (str, int, bool) else None
                node, place, steps = result.node, result.place, result.steps + steps
            else:
                return None if steps else self._computed(node, place)

    def _look_up(self, node: nodes.Traversal | nodes.Variable, place: _ExpressionScope) -> Any:
        """The expression or value of a name; None if the name has neither."""
        name = node.root if isinstance(node, nodes.Traversal) else node.name
        steps = _written_steps(node.steps) if isinstance(node, nodes.Traversal) else ()
        bound = place.bound.get(name)
        if isinstance(bound, _Pair):
            return bound.key if not steps else None
        if isinstance(bound, _Element):
            return _Element(bound.node, bound.place, bound.steps + steps)
        ref = parse_reference(node) if name not in place.bound else None
        if not isinstance(ref, Ref):
            return None
        rest = _written_steps(ref.rest)
        if (ref.kind, ref.name) in (("each", "key"), ("count", "index")):
            return place.key
        if ref.kind == "var" and place.caller is None:
            return _within(self.variables.get(ref.name), rest)
        alias = self._alias(ref, place)
        return _Element(alias.node, alias.place, alias.steps + rest) if alias is not None else None

    @staticmethod
    def _is_set(node: nodes.Traversal | nodes.Variable, place: _ExpressionScope) -> bool:
        """Whether a name is an input variable whose value is a set. (The keys of a set are its elements.)"""
        ref = parse_reference(node) if isinstance(node, nodes.Traversal) and node.root == "var" else None
        decl = place.module.variables.get(ref.name) if isinstance(ref, Ref) and not ref.rest else None
        return decl is not None and isinstance(decl.constraint.type, SetType)

    def _computed(self, node: Any, place: _ExpressionScope) -> Any:
        if isinstance(node, nodes.Literal):
            return node.value if node.value.__class__ in (str, int, bool) else None
        if isinstance(node, nodes.Template):
            parts = [self.constant(part, place) for part in node.parts]
            return "".join(map(str, parts)) if all(part.__class__ in (str, int) for part in parts) else None
        if isinstance(node, nodes.Binary) and node.operator in ("==", "!="):
            left, right = self.constant(node.left, place), self.constant(node.right, place)
            if left is not None and left.__class__ is right.__class__:
                return (left == right) is (node.operator == "==")
        return None


def _within(value: Any, steps: tuple[Any, ...]) -> Any:
    """The part at `steps` of a value of the language or of JSON; None if there is none."""
    for step in steps:
        if isinstance(value, Set):
            value = step  # keys of a set are its elements
            continue
        items = value.items if isinstance(value, Map) else value
        if not isinstance(items, dict) or step.__class__ is not str:
            return None
        value = items.get(step)
    return value


def _written_steps(steps: tuple[nodes.Step, ...]) -> tuple[Any, ...]:
    return tuple(step.name if isinstance(step, nodes.GetAttr) else step.key for step in steps)


def _key(step: Any, is_number: bool) -> Any:
    """The key that a step selects, as a number (`is_number`) or string; None if it does not select one."""
    if step.__class__ is str:
        return (int(step) if step.isdecimal() else None) if is_number else step
    if step.__class__ is int:
        return step if is_number else str(step)
    return None


_OPERANDS: dict[Any, Any] = {
    nodes.Unary: lambda node: (node.operand,),
    nodes.Binary: lambda node: (node.left, node.right),
}
_VISITS: dict[Any, Any] = {
    nodes.Variable: _Walk._variable,
    nodes.Element: _Walk._element,
    nodes.Traversal: _Walk._traversal,
    nodes.Relative: _Walk._relative,
    nodes.Index: _Walk._index,
    nodes.Splat: _Walk._splat,
    nodes.Template: _Walk._parts,
    nodes.Unary: _Walk._parts,
    nodes.Binary: _Walk._parts,
    nodes.Wrap: _Walk._wrapped,
    nodes.Parens: _Walk._wrapped,
    nodes.Conditional: _Walk._choose,
    nodes.TemplateIf: _Walk._choose,
    nodes.TemplateFor: _Walk._templatefor,
    nodes.Call: _Walk._call,
    nodes.Tuple: _Walk._tuple,
    nodes.Object: _Walk._object,
    nodes.For: _Walk._for,
}
