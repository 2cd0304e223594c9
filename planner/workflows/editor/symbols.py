"""The declarations and references of a configuration file. Both are identified by keys: `var.a`, `local.a`, `output.a`,
`module.a`, `module.a.out` (an output of a call), `instances.a.out` (an output of a repeated call's instances),
`argument.a.b` (an argument of a call), `provider.aws.west`, and resources (`aws_vpc.a`, `data.aws_ami.b`). Declarations
of other blocks have the block's type as a prefix, as in `run.a`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.references import BadReference, Ref, parse_reference
from planner.language.syntax.body import (
    PARTS,
    Attribute,
    Block,
    Body,
    BodySchema,
    ExpectedBlock,
    Label,
    NativeBody,
    variables,
)
from planner.language.syntax.nodes import (
    Call,
    Expression,
    For,
    GetAttr,
    Index,
    Literal,
    Relative,
    Splat,
    SyntaxNode,
    TemplateFor,
    Traversal,
    Variable,
)

BLOCKS: dict[str, tuple[str, ...]] = {
    "resource": ("type", "name"),
    "data": ("type", "name"),
    "ephemeral": ("type", "name"),
    "action": ("type", "name"),
    "list": ("type", "name"),
    "module": ("name",),
    "variable": ("name",),
    "output": ("name",),
    "locals": (),
    "provider": ("name",),
    "check": ("name",),
    "terraform": (),
    "moved": (),
    "removed": (),
    "import": (),
    "run": ("name",),
    "variables": (),
    "override_resource": (),
    "override_data": (),
    "override_ephemeral": (),
    "override_module": (),
    "mock_provider": ("name",),
    "component": ("name",),
    "deployment": ("name",),
    "unit": ("name",),
}
"""{block type: names of its labels}"""
RESOURCES = ("resource", "data", "ephemeral", "action", "list")
_RUN = BodySchema({}, (ExpectedBlock("variables"), ExpectedBlock("module")))
FILE = BodySchema({}, tuple(ExpectedBlock(name, labels) for name, labels in BLOCKS.items()))


@frozen
class DeclaredName:
    """A declaration. `name_start` and `name_end`: the range of its name. `start` and `end`: the range of the whole
    declaration. `block`: the type of the block, or `local`."""

    key: str
    name: str
    block: str
    name_start: int
    name_end: int
    start: int
    end: int


@frozen
class NameUse:
    """A reference. `start` and `end`: the range of the name, which a rename replaces. `is_history`: whether the
    reference is in a `moved` or `removed` block, which names former addresses."""

    key: str
    start: int
    end: int
    is_history: bool = False


@frozen(eq=False)
class FileSymbols:
    """The declarations and references of a file, in their order in the file. `sources`: {module call: source, or "" if
    it is not a literal string}. `repeated`: module calls with `count` or `for_each`. `problems`: syntax errors."""

    symbols: tuple[DeclaredName, ...] = ()
    mentions: tuple[NameUse, ...] = ()
    sources: dict[str, str] = field(factory=dict)
    repeated: frozenset[str] = frozenset()
    problems: tuple[Diagnostic, ...] = ()

    def at(self, offset: int) -> DeclaredName | NameUse | None:
        """The reference or declaration whose name contains an offset or ends there; None if there is neither."""
        for mention in self.mentions:
            if mention.start <= offset <= mention.end:
                return mention
        for symbol in self.symbols:
            if symbol.name_start <= offset <= symbol.name_end:
                return symbol
        return None


NOTHING = FileSymbols()


def symbols_of(body: Body, text: str, is_values: bool = False) -> FileSymbols:
    """The declarations and references in a file. `is_values`: whether the file is a variables file (`.tfvars`)."""
    if is_values:
        attributes = body.just_attributes()[0].values()
        return FileSymbols((), tuple(NameUse(f"var.{a.name}", *name_range(a, text)) for a in attributes))
    content, rest = body.partial_content(FILE)
    symbols: list[DeclaredName] = []
    mentions: list[NameUse] = []
    sources: dict[str, str] = {}
    repeated: set[str] = set()
    for block in content.blocks:
        symbols += _declarations(block, text)
        mentions += _mentioned(block, text)
        if block.type == "module":
            arguments, name = attributes_of(block.body), block.labels[0].value
            source = arguments.get("source")
            sources[name] = literal(source.literal) if source is not None else ""
            if "for_each" in arguments or "count" in arguments:
                repeated.add(name)
    for attribute in rest.just_attributes()[0].values():
        mentions += _in_expression(attribute, text, False)
    mentions.sort(key=lambda mention: (mention.start, -mention.end))
    return FileSymbols(tuple(symbols), tuple(mentions), sources, frozenset(repeated))


def literal(node: Expression) -> str:
    """The value of an expression that is a literal string; "" for other expressions."""
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else ""


def label_range(label: Label, text: str) -> tuple[int, int]:
    """The range of a label's text, without the quotation marks."""
    if text[label.start : label.start + 1] == '"':
        return label.start + 1, max(label.start + 1, label.end - 1)
    return label.start, label.end


def name_range(attribute: Attribute, text: str) -> tuple[int, int]:
    """The range of an attribute's name, without the quotation marks that it has in JSON."""
    start, end = attribute.start, attribute.name_end
    return (start + 1, end - 1) if text[start : start + 1] == '"' and end - start > 1 else (start, end)


def attributes_of(body: Body) -> dict[str, Attribute]:
    try:
        return body.just_attributes()[0]
    except Failure:
        return {}


def _declarations(block: Block, text: str) -> Iterator[DeclaredName]:
    kind = block.type
    if kind in ("locals", "variables"):
        for attribute in attributes_of(block.body).values():
            where = name_range(attribute, text)
            if kind == "locals":
                yield DeclaredName(
                    f"local.{attribute.name}", attribute.name, "local", *where, attribute.start, attribute.end
                )
        return
    if not block.labels:
        yield DeclaredName(kind, kind, kind, block.start, block.type_end, block.start, block.end)
        return
    label = block.labels[-1]
    name = label.value
    key = name
    if kind in RESOURCES:
        key = f"{block.labels[0].value}.{name}" if kind == "resource" else f"{kind}.{block.labels[0].value}.{name}"
    elif kind == "provider":
        alias = attributes_of(block.body).get("alias")
        key = f"provider.{name}" + (f".{literal(alias.literal)}" if alias is not None else "")
    else:
        key = f"{'var' if kind == 'variable' else kind}.{name}"
    yield DeclaredName(key, name, kind, *label_range(label, text), block.start, block.end)


def _mentioned(block: Block, text: str) -> Iterator[NameUse]:
    is_history = block.type in ("moved", "removed")
    name = block.labels[-1].value if block.labels else ""
    attributes = attributes_of(block.body)
    providers = []
    if block.type in RESOURCES and "provider" in attributes:
        providers = [attributes["provider"]]
    elif block.type == "module":
        for attribute in attributes.values():
            yield NameUse(f"argument.{name}.{attribute.name}", *name_range(attribute, text))
        providers = [attributes["providers"]] if "providers" in attributes else []
    elif block.type in ("variables", "run"):
        inner = [block] if block.type == "variables" else block.body.partial_content(_RUN)[0].blocks
        values = [a for one in inner if one.type == "variables" for a in attributes_of(one.body).values()]
        if any(one.type == "module" for one in inner):  # the run tests another module
            for attribute in values:
                yield from _in_expression(attribute, text, is_history)
            return
        for attribute in values:
            yield NameUse(f"var.{attribute.name}", *name_range(attribute, text))
    passed = [(one.start, one.end) for one in providers]
    for attribute in providers:
        yield from _providers(attribute, text)
    for mention in _in_expression(block.body, text, is_history):
        if not any(start <= mention.start < end for start, end in passed):
            yield mention


def _providers(attribute: Attribute, text: str) -> Iterator[NameUse]:
    for node in variables(attribute):
        if isinstance(node, Variable):
            yield NameUse(f"provider.{node.name}", node.start, node.end)
        elif node.steps[0].__class__.__name__ == "GetAttr":
            yield NameUse(f"provider.{node.root}.{node.steps[0].name}", node.start, node.steps[0].end)  # type: ignore[union-attr]


def _in_expression(part: Any, text: str, is_history: bool) -> Iterator[NameUse]:
    hits = [node for node in variables(part) if isinstance(node, Traversal)]
    uses = [use for node in hits for use in mentions_of(node)]
    for key, start, end in (*uses, *_outputs(part, {id(node) for node in hits})):
        if text[start:end] == key.rpartition(".")[2]:  # false in JSON if the string has escapes
            yield NameUse(key, start, end, is_history)


def _outputs(part: Any, free: set[int]) -> Iterator[tuple[str, int, int]]:
    """References to outputs of module calls in which the output's name follows a splat (`module.a[*].out`), a computed
    key (`module.a[each.key].out`) or, in a `for` expression over the instances, the loop variable (`[for v in module.a
    : v.out]`). `free`: ids of the traversals that do not begin with a loop variable."""
    for node in nodes(part):
        steps: list[Any] = []
        call = None
        if isinstance(node, Splat):
            call, steps = _call_of(node.source, free), [node.each]
        elif isinstance(node, Relative) and isinstance(node.source, Index):
            call, steps = _call_of(node.source.collection, free), [node]
        elif isinstance(node, For | TemplateFor) and (name := _call_of(node.collection, free)):
            inside = (node.body,) if isinstance(node, TemplateFor) else (node.key_expr, node.value_expr, node.condition)
            uses = (one for one in variables(inside) if isinstance(one, Traversal))  # type: ignore[arg-type]
            for use in uses:
                if use.root == node.value and isinstance(step := use.steps[0], GetAttr):
                    yield f"instances.{name}.{step.name}", step.start + 1, step.end
        for one in steps if call else ():
            if isinstance(one, Relative) and isinstance(step := one.steps[0], GetAttr):
                is_map = isinstance(node, Splat) and isinstance(node.source, Call)
                yield f"{'instances' if is_map else 'module'}.{call}.{step.name}", step.start + 1, step.end


def _call_of(node: Any, free: set[int]) -> str:
    """The name of the module call, if an expression is the collection of a call's instances (`module.a` or
    `values(module.a)`); "" for other expressions."""
    if isinstance(node, Call) and node.name.removeprefix("core::") == "values" and len(node.arguments) == 1:
        node = node.arguments[0]
    if isinstance(node, Traversal) and node.root == "module" and id(node) in free and len(node.steps) == 1:
        return node.steps[0].name if isinstance(node.steps[0], GetAttr) else ""
    return ""


def nodes(part: Any) -> Iterator[Any]:
    """All attributes, blocks and expressions in a part of a file; each comes before those that it contains."""
    stack = [part]
    while stack:
        node = stack.pop()
        if node is None:
            continue
        if isinstance(node, tuple | list):
            stack += reversed(node)
            continue
        cls = node.__class__
        if cls is not NativeBody and not isinstance(node, SyntaxNode):
            continue  # a JSON body, whose meaning only a schema determines
        if cls is not NativeBody:
            yield node
        if cls is NativeBody:
            stack += sorted([*node.attributes.values(), *node.blocks], key=lambda one: -one.start)
        elif cls in PARTS:
            stack += [getattr(node, name) for name in PARTS[cls]]
        elif isinstance(node, Attribute):
            stack.append(node.expr)
        elif cls is For:
            stack += [node.condition, node.value_expr, node.key_expr, node.collection]
        elif cls is TemplateFor:
            stack += [node.body, node.collection]
        elif cls.__name__ == "Relative":
            stack.append(node.source)


def mentions_of(node: Traversal) -> Iterator[tuple[str, int, int]]:
    """The declared objects to which a traversal refers: (key, start of the name, end of the name)."""
    steps = node.steps
    if node.root == "action" and len(steps) > 1 and isinstance(steps[0], GetAttr) and isinstance(steps[1], GetAttr):
        yield f"action.{steps[0].name}.{steps[1].name}", steps[1].start + 1, steps[1].end
        return
    ref = parse_reference(node)
    if isinstance(ref, BadReference):
        return
    if ref.kind in ("var", "local"):
        yield f"{ref.kind}.{ref.name}", steps[0].start + 1, steps[0].end
    elif ref.kind in ("module", "output"):
        yield f"module.{ref.name}", steps[0].start + 1, steps[0].end
        if ref.kind == "output":
            step = steps[2 if ref.key is not None else 1]
            yield f"module.{ref.name}.{ref.output}", step.start + 1, step.end
    elif ref.kind == "resource":
        step = steps[_name_step(node, ref)]
        yield ref.name, step.start + 1, step.end


def _name_step(node: Traversal, ref: Ref) -> int:
    return 0 if ref.mode == "managed" and node.root != "resource" else 1
