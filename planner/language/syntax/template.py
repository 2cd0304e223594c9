"""Assembles the parts of a quoted template, heredoc or template file into one expression: it applies strip markers and
the indentation of `<<-` heredocs, and nests directives.

The order, which affects results, is the order in OpenTofu: (1) strip markers, which affect the adjacent text token (in
a heredoc, a token is at most one line); (2) indentation; (3) consecutive texts are joined."""

from __future__ import annotations

from typing import Any, TypeAlias

from planner.language.syntax.lexer import SPACE, Token
from planner.language.syntax.literals import Complain, heredoc_text, normal, quoted_text
from planner.language.syntax.nodes import Expression, Literal, Template, TemplateFor, TemplateIf, Wrap


class Sequence:
    """A `${...}` or `%{...}` in a template. `kind` is the type of its first token, `value` its content."""

    __slots__ = ("end", "kind", "start", "strip_after", "strip_before", "value")

    def __init__(self, opening: Token, value: Any, closing: Token) -> None:
        self.kind = opening[0]
        self.value = value
        self.start = opening[2]
        self.end = closing[2] + len(closing[1])
        self.strip_before = opening[1][2:3] == "~"
        self.strip_after = closing[1] == "~}"


class _Text:
    __slots__ = ("end", "start", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end


Part: TypeAlias = Token | Sequence
_Flat: TypeAlias = "_Text | Sequence"


def assemble(
    parts: list[Part], start: int, end: int, inside: int, closing: tuple[int, int], complain: Complain, style: str
) -> Expression:
    """The expression of a template. [start, end) includes the quotes or markers. `inside` is the offset after the
    opening quote or marker, `closing` the span of the closing quote or marker. `style` is "quoted", "heredoc", "flush"
    (`<<-`) or "bare"."""
    flat = _strip(parts, complain, style == "quoted")
    if style == "flush":
        _unindent(flat)
    flat = _join_texts(flat)
    if len(flat) == 1:
        only = flat[0]
        if only.__class__ is _Text:
            return Literal(normal(only.text), start, end)
        if only.kind == "INTERPOLATE":  # type: ignore[union-attr]
            return Wrap(only.value, start, end)  # type: ignore[union-attr]
    elif not flat:
        return Literal("", start, end)
    return Template(tuple(_nest(flat, inside, closing, complain)), start, end)


def _strip(parts: list[Part], complain: Complain, quoted: bool) -> list[_Flat]:
    """Resolve escapes, and remove white space next to strip markers (`~`)."""
    flat: list[_Flat] = []
    strip = False
    for part in parts:
        if part.__class__ is tuple:
            _, raw, at = part
            text = quoted_text(raw, at, complain) if quoted else heredoc_text(raw)
            flat.append(_Text(text.lstrip(SPACE) if strip else text, at, at + len(raw)))
            strip = False
        else:
            assert isinstance(part, Sequence)
            if part.strip_before and flat:
                before = flat[-1]
                if before.__class__ is _Text:
                    before.text = before.text.rstrip(SPACE)
            strip = part.strip_after
            flat.append(part)
    return flat


def _unindent(flat: list[_Flat]) -> None:
    """Remove the smallest indentation of all lines from each line. Lines that contain only spaces do not count."""
    least: int | None = None
    starts: list[_Text] = []
    at_start = True
    for part in flat:
        is_text = part.__class__ is _Text
        if at_start:
            at_start = False
            spaces: int | None = 0
            if is_text:
                text = part.text  # type: ignore[union-attr]
                rest = text.lstrip(SPACE)
                if rest or not text.endswith("\n"):
                    spaces = len(text) - len(rest)
                    starts.append(part)  # type: ignore[arg-type]
                else:
                    spaces = None
            if spaces is not None and (least is None or spaces < least):
                least = spaces
        if is_text and part.text.endswith("\n"):  # type: ignore[union-attr]
            at_start = True
    for line in starts:
        assert least is not None
        line.text = line.text[least:]
        line.start += least


def _join_texts(flat: list[_Flat]) -> list[_Flat]:
    joined: list[_Flat] = []
    run: list[_Text] = []
    for part in [*flat, None]:
        if part.__class__ is _Text:
            run.append(part)
            continue
        if run:
            joined.append(run[0] if len(run) == 1 else _Text("".join(t.text for t in run), run[0].start, run[-1].end))
            run = []
        if part is not None:
            joined.append(part)
    return joined


class _Open:
    """A directive that is not closed yet, and its parts so far."""

    __slots__ = ("directive", "other", "otherwise", "parts")

    def __init__(self, directive: Sequence | None) -> None:
        self.directive = directive
        self.parts: list[Expression] = []
        self.otherwise: list[Expression] = []
        self.other = False  # whether the next part follows `else`

    @property
    def target(self) -> list[Expression]:
        return self.otherwise if self.other else self.parts


def _nest(flat: list[_Flat], inside: int, closing: tuple[int, int], complain: Complain) -> list[Expression]:
    """Move the parts between the beginning and the end of a directive (such as `%{ if }` and `%{ endif }`) into its
    node. Directives that are not closed correctly are left out and reported."""
    stack = [_Open(None)]
    for part in flat:
        top = stack[-1]
        if isinstance(part, _Text):
            top.target.append(Literal(normal(part.text), part.start, part.end))
            continue
        kind, opened = part.kind, top.directive
        if kind == "INTERPOLATE":
            top.target.append(part.value)
        elif kind in ("DIRECTIVE_IF", "DIRECTIVE_FOR"):
            stack.append(_Open(part))
        elif opened is None:
            complain("stray_directive", kind, part.start, part.end)
        elif kind == "DIRECTIVE_ELSE" and opened.kind == "DIRECTIVE_IF" and not top.other:
            top.other = True
        else:
            stack.pop()
            if kind == "DIRECTIVE_END" + opened.kind[10:]:
                stack[-1].target.append(_close(top, opened, part))
            else:
                complain("wrong_directive", kind, part.start, part.end)
    if len(stack) > 1:
        complain("open_directive", stack[-1].directive.kind, *closing)  # type: ignore[union-attr]
    return stack[0].parts


def _close(opened: _Open, directive: Sequence, end: Sequence) -> TemplateIf | TemplateFor:
    if directive.kind == "DIRECTIVE_FOR":
        (key, value), collection = directive.value
        body = _template(opened.parts, directive.end)
        return TemplateFor(key, value, collection, body, directive.start, end.end)
    otherwise = _template(opened.otherwise, end.start) if opened.other else None
    then = _template(opened.parts, directive.end)
    return TemplateIf(directive.value, then, otherwise, directive.start, end.end)


def _template(parts: list[Expression], at: int) -> Template:
    if not parts:
        parts.append(Literal("", at, at))
    return Template(tuple(parts), parts[0].start, parts[-1].end)
