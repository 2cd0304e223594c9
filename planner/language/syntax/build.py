"""Builds the syntax tree: one action for each production of grammar/config.lark.

An action receives the children of its production: tokens (type, text, offset), nodes, or results of other actions. It
is allowed to keep the list of children and to change it. Mistakes that the grammar does not exclude are reported
here."""

from __future__ import annotations

from sys import intern  # names repeat: one shared object for each makes the tree smaller and the cache faster
from typing import Any, TypeAlias

from planner.foundation.values.value import NULL, UNKNOWN
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.body import Attribute, Block, Label, NativeBody
from planner.language.syntax.lexer import Token
from planner.language.syntax.literals import normal, number, quoted_text
from planner.language.syntax.mistakes import in_literal
from planner.language.syntax.nodes import (
    Binary,
    Call,
    Conditional,
    Element,
    Expression,
    For,
    GetAttr,
    GetIndex,
    Index,
    Literal,
    Object,
    ObjectItem,
    Parens,
    Relative,
    Splat,
    Step,
    Traversal,
    Tuple,
    Unary,
    Variable,
)
from planner.language.syntax.template import Part, Sequence, assemble

_CONSTANTS = {"true": True, "false": False, "null": NULL}
_PRECEDENCE = {
    **dict.fromkeys(("*", "/", "%"), 6),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys((">", ">=", "<", "<="), 4),
    **dict.fromkeys(("==", "!="), 3),
    "&&": 2,
    "||": 1,
}

Children: TypeAlias = list[Any]


class Builder:
    """Builds the tree of one source, and collects its problems."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    def complain(self, what: str, text: str, start: int, end: int) -> None:
        code, summary, detail = in_literal(what, text)
        self.report(code, summary, detail, start, end)

    def report(self, code: str, summary: str, detail: str, start: int, end: int) -> None:
        self.diagnostics.append(error(code, summary, detail, Span(self.source, start, end)))

    # ------------------------------------------------------------ lists

    def same(self, s: Children) -> Any:
        return s[0]

    def empty(self, s: Children) -> Any:
        return s

    def none(self, s: Children) -> Any:
        return None

    def second(self, s: Children) -> Any:
        return s[1]

    def begin(self, s: Children) -> Any:
        return s

    def append(self, s: Children) -> Any:
        s[0].append(s[1])
        return s[0]

    def append_after(self, s: Children) -> Any:
        s[0].append(s[2])
        return s[0]

    def extend(self, s: Children) -> Any:
        s[0] += s[1:]
        return s[0]

    # ------------------------------------------------------------ structure

    def file(self, s: Children) -> NativeBody:
        end = len(self.source.text)
        return self.body(s[0], s[0][0].start if s[0] else end, end)

    def file_after_newline(self, s: Children) -> NativeBody:
        return self.body(s[1], s[0][2], len(self.source.text))

    def body(self, items: Children, start: int, end: int) -> NativeBody:
        attributes: dict[str, Attribute] = {}
        blocks: Children = []
        for item in items:
            if item.__class__ is Attribute:
                first = attributes.setdefault(item.name, item)
                if first is not item:
                    line = self.source.line_number(first.start)
                    detail = f'The argument "{item.name}" was already set on line {line}. Keep one of the two.'
                    self.report("syntax.argument_redefined", "Argument set twice", detail, item.start, item.name_end)
            else:
                blocks.append(item)
        return NativeBody(attributes, blocks, self.source, start, end)

    def attribute(self, s: Children) -> Attribute:
        _, name, at = s[0]
        expression = s[2]
        return Attribute(intern(name), at + len(name), expression, self.source, at, expression.end)

    def header(self, s: Children) -> Any:
        return s

    def label_bare(self, s: Children) -> Any:
        _, name, at = s[1]
        s[0].append(Label(intern(name), at, at + len(name)))
        return s[0]

    def label_quoted(self, s: Children) -> Any:
        _, raw, at = s[1]
        s[0].append(Label(intern(quoted_text(raw[1:-1], at + 1, self.complain)), at, at + len(raw)))
        return s[0]

    def block(self, s: Children) -> Block:
        return self.make_block(s[0], s[3], s[1][2], s[4][2] + 1)

    def block_line(self, s: Children) -> Block:
        return self.make_block(s[0], [s[2]], s[2].start, s[3][2] + 1)

    def block_empty(self, s: Children) -> Block:
        return self.make_block(s[0], [], s[1][2], s[2][2] + 1)

    def make_block(self, header: Children, items: Children, start: int, end: int) -> Block:
        _, name, at = header[0]
        labels = tuple(header[1:])
        type_end = at + len(name)
        header_end = labels[-1].end if labels else type_end
        return Block(intern(name), type_end, labels, header_end, self.body(items, start, end), self.source, at, end)

    # ------------------------------------------------------------ operations

    def conditional(self, s: Children) -> Conditional:
        return Conditional(s[0], s[2], s[4], s[0].start, s[4].end)

    def operations(self, s: Children) -> Expression:
        """Build a left-associative tree from alternating operands and operators, according to the precedence of the
        operators."""
        items = s[0]
        operands, operators = [items[0]], []  # type: ignore[var-annotated]

        def combine() -> None:
            right = operands.pop()
            left = operands[-1]
            operands[-1] = Binary(operators.pop(), left, right, left.start, right.end)

        for i in range(1, len(items), 2):
            operator = items[i][1]
            precedence = _PRECEDENCE[operator]
            while operators and _PRECEDENCE[operators[-1]] >= precedence:
                combine()
            operators.append(operator)
            operands.append(items[i + 1])
        while operators:
            combine()
        return operands[0]  # type: ignore[no-any-return]

    def unary(self, s: Children) -> Unary:
        return Unary(s[0][1], s[1], s[0][2], s[1].end)

    # ------------------------------------------------------------ terms

    def variable(self, s: Children) -> Expression:
        _, name, at = s[0]
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name], at, at + len(name))
        return Variable(intern(name), at, at + len(name))

    def path(self, s: Children) -> Expression:
        _, text, at = s[0]
        root, *names = map(intern, text.split("."))
        root_end = at + len(root)
        end = at + len(text)
        steps = _attributes(names, root_end)
        if root in _CONSTANTS:
            return Relative(Literal(_CONSTANTS[root], at, root_end), steps, at, end)
        return Traversal(root, root_end, steps, at, end)

    def number(self, s: Children) -> Literal:
        _, text, at = s[0]
        return Literal(number(text, at, self.complain), at, at + len(text))

    def string(self, s: Children) -> Literal:
        _, raw, at = s[0]
        return Literal(normal(quoted_text(raw[1:-1], at + 1, self.complain)), at, at + len(raw))

    def quoted(self, s: Children) -> Expression:
        return self.make_quoted(s[1], s[0], s[2][2], s[2][2] + 1)

    def make_quoted(self, parts: list[Part], opening: Token, close: int, end: int) -> Expression:
        at = opening[2]
        return assemble(parts, at, end, at + 1, (close, end), self.complain, "quoted")

    def heredoc(self, s: Children) -> Expression:
        _, marker, close = s[2]
        return self.make_heredoc(s[1], s[0], close, close + len(marker))

    def make_heredoc(self, parts: list[Part], opening: Token, close: int, end: int) -> Expression:
        _, marker, at = opening
        style = "flush" if marker.startswith("<<-") else "heredoc"
        return assemble(parts, at, end, at + len(marker), (close, end), self.complain, style)

    def parens(self, s: Children) -> Parens:
        return Parens(s[1], s[0][2], s[2][2] + 1)

    def tuple_empty(self, s: Children) -> Tuple:
        return Tuple((), s[0][2], s[1][2] + 1)

    def tuple_full(self, s: Children) -> Tuple:
        return Tuple(tuple(s[1]), s[0][2], s[-1][2] + 1)

    def object_empty(self, s: Children) -> Object:
        return Object((), s[0][2], s[-1][2] + 1)

    def object_full(self, s: Children) -> Object:
        return Object(tuple(s[1]), s[0][2], s[-1][2] + 1)

    def object_after_newline(self, s: Children) -> Object:
        return Object(tuple(s[2]), s[0][2], s[-1][2] + 1)

    def pair(self, s: Children) -> ObjectItem:
        key, value = s[0], s[2]
        cls = key.__class__
        if cls is Variable:
            return ObjectItem(Literal(normal(key.name), key.start, key.end), True, value, key.start, value.end)
        if cls is Literal and (key.value is NULL or key.value.__class__ is bool):  # here, `null` and `true` are names
            name = Literal(self.source.text[key.start : key.end], key.start, key.end)
            return ObjectItem(name, True, value, key.start, value.end)
        return ObjectItem(key, False, value, key.start, value.end)

    # ------------------------------------------------------------ calls

    def function(self, s: Children) -> Any:
        _, name, at = s[0]
        return (name, at, at + len(name))

    def function_scoped(self, s: Children) -> Any:
        (scope, at, _), (_, name, name_at) = s[0], s[2]
        return (f"{scope}::{name}", at, name_at + len(name))

    def call_empty(self, s: Children) -> Call:
        return self.make_call(s[0], s[1], [], False, s[2][2])

    def call(self, s: Children) -> Call:
        return self.make_call(s[0], s[1], s[2], False, s[-1][2])

    def call_expand(self, s: Children) -> Call:
        return self.make_call(s[0], s[1], s[2], True, s[4][2])

    def make_call(self, function: Any, opening: Token, arguments: Children, expand: bool, close: int) -> Call:
        name, at, name_end = function
        return Call(name, name_end, tuple(arguments), expand, opening[2], close, at, close + 1)

    # ------------------------------------------------------------ for expressions

    def name_value(self, s: Children) -> Any:
        return (None, s[0][1])

    def name_key_value(self, s: Children) -> Any:
        return (s[0][1], s[2][1])

    def result(self, s: Children) -> Any:
        return (None, s[0], None)

    def result_group(self, s: Children) -> Any:
        return (None, s[0], s[1])

    def result_keyed(self, s: Children) -> Any:
        return (s[0], s[2], None)

    def result_keyed_group(self, s: Children) -> Any:
        return (s[0], s[2], s[3])

    def iteration(self, s: Children) -> Any:
        return s

    def for_tuple(self, s: Children) -> For:
        key, _, dots = s[1][5]
        if key is not None:
            detail = "Between brackets a for expression creates a list: leave out the key and the arrow, or use braces."
            self.report("syntax.for_key", "Unexpected key in a list", detail, key.start, key.end)
        if dots is not None:
            detail = "Only a for expression between braces, with a key, can group its results with an ellipsis."
            self.report("syntax.for_group", "Unexpected grouping in a list", detail, dots[2], dots[2] + 3)
        return self.make_for(s)

    def for_object(self, s: Children) -> For:
        key, value, _ = s[1][5]
        if key is None:
            detail = "Between braces a for expression creates an object: write the key and an arrow before the value."
            self.report("syntax.for_no_key", "Missing key in a for expression", detail, value.start, value.end)
        return self.make_for(s)

    def make_for(self, s: Children) -> For:
        opening, (_, names, _, collection, _, (key, value, dots), condition), closing = s
        name, at, close = names, opening[2], closing[2]
        return For(name[0], name[1], collection, key, value, condition, dots is not None, at + 1, close, at, close + 1)

    # ------------------------------------------------------------ steps

    def steps(self, s: Children) -> Any:
        _, text, at = s[1]
        return _attach(s[0], _attributes(list(map(intern, text[1:].split("."))), at), at + len(text), True)

    def step(self, s: Children) -> Any:
        dot, (_, name, at) = s[1], s[2]
        return _attach(s[0], (GetAttr(intern(name), dot[2], at + len(name)),), at + len(name), True)

    def step_path(self, s: Children) -> Any:
        dot, (_, text, at) = s[1], s[2]
        first, *names = map(intern, text.split("."))
        end = at + len(first)
        steps = (GetAttr(first, dot[2], end), *_attributes(names, end))
        return _attach(s[0], steps, at + len(text), True)

    def legacy_index(self, s: Children) -> Any:
        dot, (_, text, at) = s[1], s[2]
        end = at + len(text)
        if "." in text:
            first, _, second = text.partition(".")
            start, until = at, end
            if (
                s[0].__class__ is Splat and s[0].kind == "attr"
            ):  # OpenTofu reports the position of the star in this case
                start, until = s[0].marker_end - 1, s[0].marker_end
            detail = f"Two numbers after dots would be read as a fraction. Use brackets: [{first}][{second}]."
            self.report("syntax.legacy_index", "Two legacy indexes in a row", detail, start, until)
            key: Any = UNKNOWN
        else:
            key = number(text, at, self.complain)
        return _attach(s[0], (GetIndex(key, dot[2], end),), end, True)

    def index(self, s: Children) -> Any:
        key, bracket, end = s[2], s[1][2], s[3][2] + 1
        if key.__class__ is Literal:
            return _attach(s[0], (GetIndex(key.value, bracket, end),), end, False)
        holder, target = _target(s[0], False)
        return _replace_target(s[0], holder, Index(target, key, bracket, target.start, end), end)

    def full_splat(self, s: Children) -> Any:
        bracket, end = s[1][2], s[3][2] + 1
        holder, target = _target(s[0], False)
        splat = Splat(target, Element(bracket, end), "full", bracket, end, target.start, end)
        return _replace_target(s[0], holder, splat, end)

    def attribute_splat(self, s: Children) -> Any:
        dot, star = s[1][2], s[2][2]
        holder, target = _target(s[0], False)
        if target.__class__ is Splat:
            detail = "Only attributes may follow a splat with a dot. Use [*] for a splat inside a splat."
            self.report("syntax.nested_splat", "Splat inside a splat", detail, star, star + 1)
        splat = Splat(target, Element(dot, star + 1), "attr", dot, star + 1, target.start, star + 1)
        return _replace_target(s[0], holder, splat, star + 1)

    # ------------------------------------------------------------ templates

    def template(self, s: Children) -> Expression:
        end = len(self.source.text)
        start = s[0][0] if s[0] else end
        at = start[2] if start.__class__ is tuple else getattr(start, "start", end)
        return assemble(s[0], at, end, at, (end, end), self.complain, "bare")

    def interpolation(self, s: Children) -> Sequence:
        return Sequence(s[0], s[1], s[2])

    directive_if = interpolation

    def directive_end(self, s: Children) -> Sequence:
        return Sequence(s[0], None, s[1])

    def directive_for(self, s: Children) -> Sequence:
        return Sequence(s[0], (s[1], s[3]), s[4])


def _attributes(names: list[str], at: int) -> tuple[Step, ...]:
    """The nodes of the steps `.a.b.c`, which are written without spaces. `at`: the offset of the first dot."""
    steps = []
    for name in names:
        end = at + 1 + len(name)
        steps.append(GetAttr(name, at, end))
        at = end
    return tuple(steps)


def _target(term: Any, attribute: bool) -> tuple[Any, Any]:
    """Determine the expression to which the next step is appended. Returns (splat, expression) if a splat applies the
    step to each element: the innermost such splat, and the expression that it evaluates for each element. Returns
    (None, the term) if the step applies to the whole term. `[*]` applies all following steps to each element, `.*` only
    attributes (in `a.*.b[0]`, the index applies to the list)."""
    holder = None
    while term.__class__ is Splat and (attribute or term.kind == "full"):
        holder, term = term, term.each
    return holder, term


def _replace_target(term: Any, holder: Any, new: Any, end: int) -> Any:
    """Replace the expression that `_target` returned with `new`, and extend the nodes around it to `end`."""
    if holder is None:
        return new
    holder.each = new
    node = term
    while True:
        node.end = end
        if node is holder:
            return term
        node = node.each


def _attach(term: Any, steps: tuple[Step, ...], end: int, attribute: bool) -> Any:
    """Append constant steps to a term."""
    cls = term.__class__
    if cls is Variable:
        return Traversal(term.name, term.end, steps, term.start, end)
    if cls is Traversal or cls is Relative:
        term.steps += steps
        term.end = end
        return term
    if cls is not Splat:
        return Relative(term, steps, term.start, end)
    holder, target = _target(term, attribute)
    if target.__class__ is Relative:
        target.steps += steps
        target.end = end
    else:
        start = steps[0].start if holder is not None and holder.kind == "attr" else target.start
        target = Relative(target, steps, start, end)
    return _replace_target(term, holder, target, end)
