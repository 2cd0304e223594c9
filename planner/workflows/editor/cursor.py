"""Finds the context of an offset in a file that is being edited: the enclosing blocks, and what can be inserted. Only
the text before the offset is read, so the text after it may be invalid."""

from __future__ import annotations

import re

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.lexer import tokenize

_PATH = re.compile(r"(?:[^\W\d][\w-]*(?:::[\w-]*)*)(?:\[[^\[\]\n]*\]|\.[\w*-]*)*\Z")
_STEP = re.compile(r"\[[^\]]*\]|\.?[\w*:-]+|\.")
_CLOSING = {"RBRACE": "LBRACE", "RBRACKET": "LBRACKET", "RPAREN": "LPAREN"}


@frozen
class BlockHeader:
    """The type and the labels of a block."""

    type: str
    labels: tuple[str, ...] = ()


@frozen
class Place:
    """The context of an offset. `kind`: body (an argument or block can begin), label, value, text (in a string) or
    comment. `attribute`: the argument whose value contains the offset. `keys`: the keys that lead to the offset in the
    objects of this value, outermost first. `call`, `argument`: the name of the enclosing function call, and the index
    of its argument. `is_key`: whether the key of an object is expected. `head`: the words before the offset in the
    argument or block header. `given`: the arguments before the offset in the body. `path`: the complete steps of the
    reference before the offset. `typed`: the part of a name before the offset."""

    kind: str
    blocks: tuple[BlockHeader, ...] = ()
    attribute: str = ""
    keys: tuple[str, ...] = ()
    is_key: bool = False
    call: str = ""
    argument: int = 0
    head: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    typed: str = ""
    given: frozenset[str] = frozenset()


class _OpenBracket:
    """An open bracket. `block`: its block, if it opens one. `name`: the name before it. `head`: the tokens of the
    current item. `commas`: the number of commas before this item. `given`: the earlier arguments."""

    def __init__(self, token: str, block: BlockHeader | None = None, name: str = "") -> None:
        self.token, self.block, self.name = token, block, name
        self.head: list[tuple[str, str]] = []
        self.commas = 0
        self.given: set[str] = set()

    @property
    def is_value(self) -> bool:
        return any(kind == "EQUAL" for kind, _ in self.head)


def place_at(text: str, offset: int) -> Place:
    before = text[:offset]
    tokens = tokenize(before)
    stack = [_OpenBracket("LBODY")]
    for kind, token, _ in tokens:
        top = stack[-1]
        if kind in ("LBODY", "LBRACE", "LBRACKET", "LPAREN", "INTERPOLATE", "DIRECTIVE"):
            stack.append(_scope_of(kind, top))
        elif kind in ("QUOTE_OPEN", "HEREDOC_OPEN"):
            top.head.append((kind, token))
            stack.append(_OpenBracket(kind))
        elif _closes(kind, stack):
            closed = stack.pop()
            if closed.token == "LBODY":
                stack[-1].head = []
            elif closed.token in ("QUOTE_OPEN", "HEREDOC_OPEN"):
                stack[-1].head[-1] = ("STRING", "")
        elif kind == "NEWLINE":
            if token and top.token in ("LBODY", "LBRACE"):
                if top.is_value:
                    top.given.add(top.head[0][1])
                top.head = []
        elif kind == "COMMA":
            top.commas += 1
            if top.token == "LBRACE":
                top.head = []
        elif kind != "$END":
            top.head.append((kind, token))
    if _in_comment(before):
        return Place("comment")
    return _place(stack, before)


def _scope_of(kind: str, top: _OpenBracket) -> _OpenBracket:
    if kind == "LBODY":
        words = [text.strip('"') for _, text in top.head]
        return _OpenBracket(kind, BlockHeader(words[0], tuple(words[1:])) if words else BlockHeader(""))
    last = top.head[-1] if top.head else ("", "")
    if kind == "LPAREN":
        return _OpenBracket(kind, name=last[1] if last[0] in ("NAME", "PATH") else "")
    return _OpenBracket(kind, name=_key(top) if top.is_value or top.token == "LBRACE" else "")


def _key(scope: _OpenBracket) -> str:
    """The first word of the current item: the name of the argument, or the key in an object."""
    return scope.head[0][1].strip('"') if scope.head else ""


def _closes(kind: str, stack: list[_OpenBracket]) -> bool:
    top = stack[-1].token
    if len(stack) == 1:
        return False
    if kind in ("QUOTE_CLOSE", "HEREDOC_CLOSE"):
        return top in ("QUOTE_OPEN", "HEREDOC_OPEN")
    if kind == "TEMPLATE_CLOSE":
        return top in ("INTERPOLATE", "DIRECTIVE")
    return _CLOSING.get(kind) == top or (kind == "RBRACE" and top in ("LBODY", "LBRACE", "INTERPOLATE"))


def _in_comment(before: str) -> bool:
    line = before.rpartition("\n")[2]
    hit = re.match(r'(?:[^"#/]|"(?:[^"\\]|\\.)*"|/(?!/))*(#|//)', line)
    return hit is not None


def _place(stack: list[_OpenBracket], before: str) -> Place:
    blocks = tuple(scope.block for scope in stack if scope.block is not None)
    inner = stack[-1]
    bodies = [number for number, scope in enumerate(stack) if scope.token == "LBODY"]
    body = stack[bodies[-1]]
    inside = stack[bodies[-1] + 1 :]
    head = tuple(text.strip('"') for _, text in body.head)
    if not body.is_value:
        if inner.token == "QUOTE_OPEN":
            typed = before[before.rfind('"') + 1 :]
            return Place(
                "label", blocks, head=tuple(text for kind, text in body.head if kind != "QUOTE_OPEN"), typed=typed
            )
        words = [text for kind, text in body.head]
        typed = words[-1] if words and before.endswith(words[-1]) else ""
        if len(words) - bool(typed):
            return Place("label", blocks, head=tuple(words[: len(words) - bool(typed)]), typed=typed)
        return Place("body", blocks, typed=typed, given=frozenset(body.given))
    if inner.token in ("QUOTE_OPEN", "HEREDOC_OPEN"):
        return Place("text", blocks, head[0])
    call = next(((s.name, s.commas) for s in reversed(inside) if s.token == "LPAREN" and s.name), ("", 0))
    keys = tuple(scope.name for scope in inside if scope.token == "LBRACE")
    is_key = inner.token == "LBRACE" and not inner.is_value and not any(kind == "COLON" for kind, _ in inner.head)
    path, typed = path_before(before)
    return Place("value", blocks, head[0], keys[1:] if keys else (), is_key, *call, head, path, typed)


def path_before(before: str) -> tuple[tuple[str, ...], str]:
    """Split the reference at the end of a text into its complete steps and the last name, which may be incomplete.
    Returns (("a", "b"), "c") for `a.b.c`, and ((), "") if there is no reference."""
    match = _PATH.search(before[-400:])
    if match is None:
        return (), ""
    steps = [step if step.startswith("[") else step.lstrip(".") for step in _STEP.findall(match[0])]
    if steps and steps[-1].startswith("["):
        return (), ""
    return tuple(steps[:-1]), steps[-1]
