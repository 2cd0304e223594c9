"""Finds the part of an expression from which a part of its value comes.

    { one = var.a, two = var.b }    at .two     var.b
    c ? var.a : var.b               anywhere    the branch that is taken, and c, which decides that
    { for k, v in var.m : k => v }  at .x       var.m at .x
    merge(local.base, var.more)     at .x       the last argument with an x, and those after it, which may have had one

If the source text does not show this part (as with other functions and templates), the result is the whole expression,
because everything in it may matter."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.values.operations import equality_key, same_value
from planner.foundation.values.paths import parts
from planner.foundation.values.value import (
    EPHEMERAL,
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
from planner.foundation.vocabulary.span import Source, Span
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax.chains import chains
from planner.language.syntax.nodes import (
    Call,
    Conditional,
    Expression,
    For,
    GetAttr,
    Index,
    Literal,
    Object,
    Parens,
    Relative,
    Template,
    Traversal,
    Tuple,
    Variable,
    Wrap,
)

Path: TypeAlias = tuple[tuple[str, Any], ...]

TRANSPARENT = frozenset(("sensitive", "nonsensitive", "tomap", "tostring", "tonumber", "tobool"))
"""functions whose result consists of the parts of their argument"""
MOST_PARTS = 20
"""maximum number of differing parts of a value for which origins are searched"""
ANY = ("any", None)
"""step of a path that means every element"""
_SECRET = frozenset((SENSITIVE, EPHEMERAL))


class GivenExpression(NamedTuple):
    """The expression from which the value at a place comes. `rest`: path to the part of the expression's value.
    `scope`: provides the values of names. `bound`: the names of the `for` expressions around the expression. `fresh`:
    whether the part exists only before or only after the plan. `before`: the former value of the part; None if it is
    unknown, or if the expression changed. `same_text`: whether it is certain that the expression did not change.
    `key_only`: whether the expression provides only the key of the part, whose value may differ."""

    node: Expression
    source: Source
    scope: ModuleScope
    rest: Path
    fresh: bool = False
    bound: Mapping[str, Bound] = {}
    before: Value = None
    same_text: bool = False
    key_only: bool = False

    @property
    def span(self) -> Span:
        return Span(self.source, self.node.start, self.node.end)

    def to(self, node: Expression, rest: Path = (), fresh: bool = False) -> GivenExpression:
        """Another expression in the same scope."""
        return self._replace(node=node, rest=rest, fresh=fresh and bool(rest), before=None)

    def into(self, node: Expression, rest: Path, fresh: bool = False) -> GivenExpression:
        """An inner expression that provides the same part of the value."""
        return self.to(node, rest, fresh)._replace(before=self.before)

    def evaluate(self, node: Expression) -> Value:
        """The value of an expression, without the marks of the value itself; its parts keep their marks."""
        return unmark(self._with_marks(node))[0]

    def _with_marks(self, node: Expression) -> Value:
        scope: Scope = _LoopScope(self.scope, self.bound) if self.bound else self.scope
        return try_evaluate(node, scope, self.source)[0]

    def parts(self) -> list[tuple[Path, Value]]:
        """(path, value) for each part to which `rest` leads (see `select`). Other items of objects and tuples are not
        evaluated."""
        node, rest = self.node, self.rest
        while rest and (item := _item(node, rest[0][1])) is not None:
            node, rest = item, rest[1:]
        above = self.rest[: len(self.rest) - len(rest)]
        value = self._with_marks(node) if above else self.evaluate(node)
        return [((*above, *path), part) for path, part in select(value, rest)]


def _item(node: Expression, key: Any) -> Expression | None:
    """The expression of the item with this key in an object or tuple expression; None if the source text does not show
    the item."""
    if isinstance(node, Object) and all(item.bare for item in node.items):
        named = (item.value for item in reversed(node.items) if isinstance(item.key, Literal) and item.key.value == key)
        return next(named, None)
    if isinstance(node, Tuple) and key.__class__ is int and 0 <= key < len(node.items):
        return node.items[key]
    return None


class Bound(NamedTuple):
    """The value of a name of a `for` expression, and the expression from which the value comes (None for a key)."""

    value: Value
    given: GivenExpression | None


class _LoopScope(Scope):
    """A scope in which names of `for` expressions hide names of the module."""

    def __init__(self, outer: ModuleScope, bound: Mapping[str, Bound]) -> None:
        self.outer, self.bound = outer, bound
        self.deprecations = outer.deprecations

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        bound = self.bound.get(node.root if isinstance(node, Traversal) else node.name)
        return self.outer.resolve(node, source) if bound is None else (bound.value, 0)

    def function(self, name: str) -> Any:
        return self.outer.function(name)

    @property
    def context(self) -> Any:
        return self.outer.context


def origins(given: GivenExpression) -> list[GivenExpression]:
    """The expressions from which the part at `rest` comes, as far as the source text shows them. Empty if the part
    comes only from the text of the expression itself, not from values that it mentions."""
    places: list[GivenExpression] = []
    waiting = [given]
    while waiting:
        at = waiting.pop()
        steps = _steps(at)
        if steps is None:
            places.append(at)
        else:
            waiting += reversed(steps)
    return places


def _steps(given: GivenExpression) -> list[GivenExpression] | None:
    """The expressions from which an expression directly takes its value: inner expressions, or the expression that is
    bound to a name of a `for` expression. None if they cannot be determined."""
    node, rest = given.node, given.rest
    if isinstance(node, (Parens, Wrap)):
        return [given._replace(node=node.expr)]
    if isinstance(node, Conditional):
        taken = _truth(given.evaluate(node.condition))
        if taken is not None and given.before is not None and _is_turned(given, node, taken):
            return [given.to(node.condition)]
        if taken is not None and given.same_text and _is_as_before(given, node, taken):
            return [given._replace(node=node.then if taken else node.otherwise)]
        branches = [node.then, node.otherwise] if taken is None else [node.then if taken else node.otherwise]
        return [*(given._replace(node=branch) for branch in branches), given.to(node.condition)]
    if isinstance(node, (Traversal, Variable)):
        return _bind(given, node)
    if isinstance(node, Relative) and not _is_reference(node.source):
        return [given.into(node.source, (*map(path_step, node.steps), *rest), given.fresh)]
    if isinstance(node, Index) and not _is_reference(node.collection):
        key = given.evaluate(node.key)
        if key.__class__ not in (str, int):
            return None
        return [given.into(node.collection, (("index", key), *rest), given.fresh), given.to(node.key)]
    if isinstance(node, Call) and node.name.removeprefix("core::") in TRANSPARENT and len(node.arguments) == 1:
        return [given._replace(node=node.arguments[0])]
    if not rest:
        return None
    if isinstance(node, Call) and node.name.removeprefix("core::") == "toset" and len(node.arguments) == 1:
        return [_of_set(given, node.arguments[0])]
    if isinstance(node, Object):
        return _of_object(given, node)
    if isinstance(node, Tuple):
        key = rest[0][1]
        if key.__class__ is not int:
            return None
        if (given.fresh and len(rest) == 1) or not 0 <= key < len(node.items):
            return []
        return [given.into(node.items[key], rest[1:], given.fresh)]
    if isinstance(node, For):
        return _of_loop(given, node)
    if isinstance(node, Call) and node.name.removeprefix("core::") == "merge" and not node.expand:
        return _of_merge(given, node)
    return None


def _is_reference(node: Any) -> bool:
    while isinstance(node, (Relative, Index, Parens)):
        node = node.source if isinstance(node, Relative) else node.expr if isinstance(node, Parens) else node.collection
    return isinstance(node, (Traversal, Variable))


def _bind(given: GivenExpression, node: Traversal | Variable) -> list[GivenExpression] | None:
    """The expressions from which a name of a `for` expression takes its value ([] for a key); None for other names."""
    name, steps = (node.root, node.steps) if isinstance(node, Traversal) else (node.name, ())
    bound = given.bound.get(name)
    if bound is None:
        return None
    if bound.given is None:
        return []
    rest = (*bound.given.rest, *map(path_step, steps), *given.rest)
    return [bound.given._replace(rest=rest, fresh=given.fresh)]


def _of_object(given: GivenExpression, node: Object) -> list[GivenExpression] | None:
    chosen = None
    for item in node.items:
        key = given.evaluate(item.key)
        if not is_wholly_known(key):
            return None
        if _text(key) == _text(given.rest[0][1]):
            chosen = item
    if chosen is None or (given.fresh and len(given.rest) == 1):
        if chosen is not None:
            return [given.to(chosen.key)]
        return [given.to(item.key) for item in node.items if not item.bare]
    return [given.into(chosen.value, given.rest[1:], given.fresh)]


def _of_loop(given: GivenExpression, node: For) -> list[GivenExpression] | None:
    """The value expression in the iteration of a `for` expression that produces the part, and the key expression. For a
    new or removed part, these are the collection, the condition and the key expression. None if the iteration cannot be
    determined."""
    collection = given.evaluate(node.collection)
    if collection.__class__ is Unknown or node.group or (node.condition is not None and node.key_expr is None):
        return None
    wanted = given.rest[0][1]
    if given.fresh and len(given.rest) == 1:
        same_keys = isinstance(node.key_expr, Variable) and node.key_expr.name == node.key
        kept = same_keys if collection.__class__ in (dict, Map) else node.key_expr is None
        deeper = given.rest if kept and collection.__class__ is not Set else ()
        is_copied = isinstance(node.value_expr, Variable) and node.value_expr.name == node.value
        over = given.to(node.collection, deeper, True)._replace(key_only=not is_copied)
        choosing = (node.condition, None if same_keys else node.key_expr)
        return [over, *(given.to(x) for x in choosing if x is not None)]
    for number, (step, value) in enumerate(parts(collection)):
        of = None if collection.__class__ is Set else given.to(node.collection, (step,))
        bound = {**given.bound, node.value: Bound(value, of or given.to(node.collection))}
        if node.key is not None:
            bound[node.key] = Bound(value if of is None else step[1], None)
        inside = given._replace(bound=bound)
        if node.key_expr is None:
            key: Value = number
        else:
            if node.condition is not None and inside.evaluate(node.condition) is not True:
                continue
            key = inside.evaluate(node.key_expr)
        if _text(key) == _text(wanted):
            keys = [inside.to(node.key_expr)] if node.key_expr is not None else []
            return [inside.into(node.value_expr, given.rest[1:], given.fresh), *keys]
    return None


def _of_set(given: GivenExpression, argument: Expression) -> GivenExpression:
    """The element of the argument of `toset(...)` that is equal to the first key of `rest`; the whole argument if there
    is none."""
    elements = given.evaluate(argument)
    for step, value in parts(elements) if elements.__class__ in (tuple, List) else ():
        if _text(value) == _text(given.rest[0][1]):
            return given.to(argument, (step,))
    return given.to(argument)


def _of_merge(given: GivenExpression, node: Call) -> list[GivenExpression] | None:
    """The last argument of `merge(...)` that contains the key and, unless the whole part is new or removed, the later
    arguments, which may have contained the key. All arguments if none contains the key. None if an argument is not a
    known object or map."""
    values = [given.evaluate(argument) for argument in node.arguments]
    if not all(v.__class__ in (dict, Map) for v in values):
        return None
    key = given.rest[0][1]
    having = [i for i, v in enumerate(values) if key in (v if v.__class__ is dict else v.items)]
    if having and given.fresh and len(given.rest) == 1:
        return [given._replace(node=node.arguments[having[-1]])]
    winners = [given._replace(node=node.arguments[i]) for i in having[-1:]]
    behind = range(having[-1] + 1 if having else 0, len(values))
    return winners + [given.to(node.arguments[i], given.rest[:1], True) for i in behind]


def _text(key: Value) -> str:
    key = unmark(key)[0]
    return key if key.__class__ is str else str(key)


def select(value: Value, path: Path) -> list[tuple[Path, Value]]:
    """(path, value) for each part of a value to which a path leads. A path ends early at an unknown value and at a set,
    because the elements of a set have no names."""
    values: list[tuple[Path, Value]] = [((), value)]
    for step in path:
        further: list[tuple[Path, Value]] = []
        for at, here in values:
            plain = here.value if here.__class__ is Marked else here
            if plain.__class__ is Unknown or plain.__class__ is Set:
                further.append((at, here))
                continue
            inner = list(parts(plain))
            wanted = inner if step == ANY else [(s, v) for s, v in inner if s[1] == step[1]]
            further += [((*at, s), v) for s, v in wanted]
        values = further
    return values


def part_at(value: Value, path: Path) -> Value:
    """The part of a value at a path; None if there is no such part, or no value."""
    result = select(value, path) if value is not None else []
    return result[0][1] if result and len(result[0][0]) == len(path) else None


def path_step(step: Any) -> tuple[str, Any]:
    return ("attr", step.name) if isinstance(step, GetAttr) else ("index", step.key)


# ---------------------------------------------------------------- values before and after


def differing(before: Value, after: Value) -> list[tuple[Path, bool]]:
    """(path, whether the part exists in only one of the values) for the first MOST_PARTS innermost parts in which two
    values differ. Sensitive values and sets are not divided. For a list that grew, the part is the list. For a list
    that shrank, it is the first lost element."""
    return list(islice(differences(before, after), MOST_PARTS))


def differences(before: Value, after: Value, path: Path = ()) -> Iterator[tuple[Path, bool]]:
    """All parts in which two values differ, as in `differing`. `path`: the path of the two values, with which all
    resulting paths begin."""
    if any(v.__class__ is Marked and v.marks & _SECRET for v in (before, after)):
        if not same_parts(before, after):
            yield path, False
        return
    old, new = _named_parts(before), _named_parts(after)
    if old is None or new is None or (old[0] != new[0]):
        if not same_parts(before, after):
            yield path, False
        return
    kind, before_parts, after_parts = old[0], old[1], new[1]
    if kind == "list" and len(before_parts) > len(after_parts):
        yield (*path, ("index", len(after_parts))), True
        return
    if kind == "list" and len(before_parts) < len(after_parts):
        yield path, False
        return
    for key in sorted({**before_parts, **after_parts}):
        step = (after_parts.get(key) or before_parts[key])[0]
        if key not in before_parts or key not in after_parts:
            yield (*path, step), True
        else:
            yield from differences(before_parts[key][1], after_parts[key][1], (*path, step))


def gained_and_lost(
    before: Value, after: Value, has_keys: bool = False
) -> tuple[Sequence[Value], Sequence[Value]] | None:
    """(gained elements, lost elements) of a list or set. If `has_keys`, also (gained keys, lost keys) of a map or
    object whose other parts are unchanged. None for other values, and for two lists of equal length in which no element
    changed its index."""
    before, after = unmark(before)[0], unmark(after)[0]
    if has_keys and all(value.__class__ in (dict, Map) for value in (before, after)):
        was, now = ({step[1]: part for step, part in parts(value)} for value in (before, after))
        if not all(same_parts(was[key], now[key]) for key in was if key in now):
            return None
        return [key for key in now if key not in was], [key for key in was if key not in now]
    old, new = (
        value if value.__class__ is tuple else value.items if value.__class__ in (List, Set) else None
        for value in (before, after)
    )
    if old is None or new is None:
        return None
    rest, gained = _by_key(enumerate(old)), []
    is_same_place = len(old) == len(new) and before.__class__ is not Set
    for index, item in enumerate(new):
        alike = rest.get(_key(item), [])
        here = [index] if index in alike else []
        at = next((at for at in (*here, *alike) if same_parts(old[at], item)), None)
        if at is None:
            gained.append(item)
            continue
        is_same_place = is_same_place and at == index
        alike.remove(at)
    lost = [old[at] for at in sorted(at for alike in rest.values() for at in alike)]
    return None if is_same_place else (gained, lost)


def _key(value: Value) -> Hashable:
    return equality_key(unmark_deep(value)[0])


def _by_key(items: Iterable[tuple[int, Value]]) -> dict[Hashable, list[int]]:
    """{key that is the same for equal items: their indexes}. With these keys, equal items of long lists are found
    without comparing all pairs."""
    indexes: dict[Hashable, list[int]] = {}
    for index, item in items:
        indexes.setdefault(_key(item), []).append(index)
    return indexes


def has_shifted(before: Value, after: Value) -> bool:
    """Whether a list contains unchanged elements at other indexes than before."""
    before, after = unmark(before)[0], unmark(after)[0]
    if not all(value.__class__ in (tuple, List) for value in (before, after)):
        return False
    old, new = ([part for _, part in parts(value)] for value in (before, after))
    first = next((at for at, pair in enumerate(zip(old, new, strict=False)) if not same_parts(*pair)), None)
    if first is None:
        return False
    later = _by_key((at, item) for at, item in enumerate(new) if at >= first)
    return any(same_parts(one, new[at]) for one in old[first:] for at in later.get(_key(one), ()))


def _named_parts(value: Value) -> tuple[str, dict[Any, tuple[tuple[str, Any], Value]]] | None:
    """("list" or "named", {key: (step, part)}) for the parts of a value; None for a value whose parts have no keys."""
    value = unmark(value)[0]
    if value.__class__ in (dict, Map, tuple, List):
        kind = "named" if value.__class__ in (dict, Map) else "list"
        return kind, {step[1]: (step, part) for step, part in parts(value)}
    return None


def same_parts(before: Value, after: Value) -> bool:
    """Whether two values are known to be equal. An object is equal to a map with the same parts."""
    old, new = _named_parts(before), _named_parts(after)
    if old is None or new is None:
        return same_value(unmark_deep(before)[0], unmark_deep(after)[0])
    if old[0] != new[0] or old[1].keys() != new[1].keys():
        return False
    return all(same_parts(part, new[1][key][1]) for key, (_, part) in old[1].items())


def _is_turned(given: GivenExpression, node: Conditional, taken: bool) -> bool:
    """Whether the condition must have changed, because the branch not taken has the former value and the branch taken
    cannot have this value."""
    here, other = (node.then, node.otherwise) if taken else (node.otherwise, node.then)
    if any(chains(here)):
        return False
    was, now = (_part(given.evaluate(branch), given.rest) for branch in (other, here))
    if was is None or not is_wholly_known(was) or not same_parts(was, given.before):
        return False
    return now is None or not same_parts(now, given.before)


def _is_as_before(given: GivenExpression, node: Conditional, taken: bool) -> bool:
    """Whether the condition cannot have changed, because the branch not taken never has the former value."""
    other = node.otherwise if taken else node.then
    if given.before is None or any(chains(other)):
        return False
    was = _part(given.evaluate(other), given.rest)
    return was is None or (is_wholly_known(was) and not same_parts(was, given.before))


def _part(value: Value, path: Path) -> Value:
    """The part of a value at a path; None if there is no such part."""
    for _, key in path:
        value = next((part for step, part in parts(unmark(value)[0]) if step[1] == key), None)
        if value is None:
            return None
    return value


def _truth(condition: Value) -> bool | None:
    """The value of a condition as a bool. The strings "true" and "false" are converted; None for other values."""
    if condition.__class__ is bool:
        return bool(condition)
    return {"true": True, "false": False}.get(condition) if condition.__class__ is str else None


def is_json(given: GivenExpression) -> bool:
    node = given.node
    return isinstance(node, Call) and node.name.removeprefix("core::") == "jsonencode" and len(node.arguments) == 1


def within_json(given: GivenExpression, before: Value, after: Value) -> list[GivenExpression]:
    """The origins of the parts in which the former and the current result of `jsonencode(...)` differ; only the
    expression itself if the two results cannot be compared."""
    old, new = _decoded(before), _decoded(after)
    if old is None or new is None or given.rest:
        return [given]
    assert isinstance(given.node, Call)
    (argument,) = given.node.arguments
    return [origin for path, fresh in differing(old, new) for origin in origins(given.to(argument, path, fresh))]


def shows_text(node: Expression, before: Value) -> bool:
    """Whether a template could have produced the former value if only its references had other values. If so, the
    literal text of the template may be unchanged."""
    text = unmark(before)[0]
    if text.__class__ is not str or not isinstance(node, Template):
        return False
    pieces = [(unmark(p.value)[0] if isinstance(p, Literal) else None, p) for p in node.parts]
    if not all(piece.__class__ is str or _is_mention(p) for piece, p in pieces):
        return False
    return _fits(text, [piece for piece, _ in pieces])


def _fits(text: str, pieces: Sequence[str | None]) -> bool:
    """Whether a string consists of these pieces in this order; None represents any string."""
    between = "".join("\0" if piece is None else piece for piece in pieces).split("\0")
    if len(between) == 1:
        return text == between[0]
    first, *middle, last = between
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        result = text.find(piece, at, end)
        if result < 0:
            return False
        at = result + len(piece)
    return True


def _is_mention(node: Expression) -> bool:
    """Whether an expression is only a reference or a call that reads a file."""
    return isinstance(node, (Traversal, Variable)) or (isinstance(node, Call) and reads_files((node.name,)))


def uses_files(call: Call) -> bool:
    """Whether a call reads or lists files."""
    return call.name.removeprefix("core::") == "fileset" or reads_files((call.name,))


def reads_files(names: Iterable[str]) -> bool:
    return any(name.removeprefix("core::").startswith(("file", "templatefile")) for name in names)


def _decoded(value: Value) -> Value:
    from planner.language.functions.json_reader import read

    plain, marks = unmark(value)
    if plain.__class__ is not str or marks & _SECRET:
        return None
    try:
        return read(plain)
    except (ValueError, RecursionError):
        return None
