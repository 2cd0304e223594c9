"""Differences as text in the configuration's syntax.

Lines begin with a column for a symbol (`+`, `-`, `~` or blank). Unchanged parts are only counted, except `id`, `name`
and `tags`, which identify the object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.foundation.values.value import Null, Value
from planner.logic.programs.actions import step_words
from planner.render.diff import aligned, diff_dynamic
from planner.render.diff_model import (
    MISSING,
    BlockDiff,
    BlockGroup,
    Diff,
    Digits,
    MappingDiff,
    PrimitiveDiff,
    SensitiveDiff,
    SequenceDiff,
    TypeChange,
    UnknownDiff,
    ValueChange,
    WriteOnlyDiff,
)
from planner.render.terminal import Paint
from planner.render.value import attribute_name, json_value, number_text, quoted, text_value

ALWAYS_SHOWN = frozenset(("id", "name", "tags"))
INDENT = "    "


class Style:
    """The style of the text of a difference. `plain_end`: whether to omit `-> null`. `forces`: whether to add the
    remark about replacement. `all`, `symbols`, `secrets`: whether to show unchanged parts, the column of symbols, and
    sensitive values."""

    __slots__ = ("all", "forces", "plain_end", "secrets", "symbols")

    def __init__(
        self,
        plain_end: bool = False,
        forces: bool = False,
        all: bool = False,
        symbols: bool = True,
        secrets: bool = False,
    ) -> None:
        self.plain_end = plain_end
        self.forces = forces
        self.all = all
        self.symbols = symbols
        self.secrets = secrets

    def but(self, plain_end: bool | None = None, forces: bool = False, all: bool | None = None) -> Style:
        """The style of a nested part, which does not inherit `forces`."""
        plain_end = self.plain_end if plain_end is None else plain_end
        all = self.all if all is None else all
        if plain_end == self.plain_end and all == self.all and forces == self.forces:
            return self
        key = (plain_end, forces, all, self.symbols, self.secrets)
        known = _STYLES.get(key)
        if known is None:
            known = _STYLES[key] = Style(*key)
        return known


_STYLES: dict[tuple[bool, ...], Style] = {}
"""the styles of nested parts; each style is created only once"""


class DiffText:
    """Formats differences as text."""

    def __init__(self, paint: Paint) -> None:
        self.paint = paint
        self._symbols: dict[str, str] = {}
        self._leads: dict[tuple[int, str], str] = {}

    def render(self, diff: Diff, indent: int, style: Style) -> str:
        """The text of a difference, which follows `name = ` or a block header. `indent`: the indentation level of the
        lines after the first."""
        return _RENDERERS[diff.__class__](self, diff, indent, style)

    def symbol(self, action: str) -> str:
        """An action's symbol, right-aligned in three columns."""
        known = self._symbols.get(action)
        if known is None:
            words = step_words(action)
            blanks = " " * (3 - len("/".join(step.sign for step in words)))
            known = self._symbols[action] = blanks + "/".join(self.paint(step.sign, step.colour) for step in words)
        return known

    # ---- pieces of lines

    def _lead(self, indent: int, action: str, style: Style) -> str:
        if not style.symbols:
            return INDENT * indent
        known = self._leads.get((indent, action))
        if known is None:
            known = self._leads[indent, action] = f"{INDENT * indent}{self.symbol(action)} "
        return known

    def _forces(self, replace: bool, style: Style) -> str:
        return " " + self.paint("# forces replacement", "red") if replace or style.forces else ""

    def _gone(self, action: str, style: Style) -> str:
        return " " + self.paint("-> null", "grey") if action == "delete" and not style.plain_end else ""

    def _unchanged(self, what: str, count: int, indent: int, style: Style) -> str:
        text = f"# ({count} unchanged {what}{'' if count == 1 else 's'} hidden)"
        return self._lead(indent, "no-op", style) + self.paint(text, "grey")

    def _arrow(self) -> str:
        return self.paint("->", "yellow")

    def _warnings(self, diff: Diff, indent: int) -> list[str]:
        """The lines before a part whose sensitivity changes."""
        if diff.__class__ is not SensitiveDiff or diff.was == diff.is_now or diff.inner.action in ("create", "delete"):
            return []
        what = "block" if diff.is_block else "attribute value"
        warning = self.paint("Warning", "yellow")
        lead = INDENT * indent + "  # "
        if diff.was:
            lines = [f"{lead}{warning}: this {what} will no longer be marked as sensitive", f"{lead}after this change."]
        else:
            lines = [
                f"{lead}{warning}: this {what} will be marked as sensitive and will not",
                f"{lead}display in UI output after this change.",
            ]
        if diff.inner.action == "no-op" and not diff.is_block:
            lines[-1] += " The value is unchanged."
        return lines

    # ---- leaves

    def _primitive(self, diff: PrimitiveDiff, indent: int, style: Style) -> str:
        if diff.before.__class__ is str or diff.after.__class__ is str:
            return self._string(diff, indent, style)
        before, after = self._scalar(diff.before), self._scalar(diff.after)
        end = self._forces(diff.replace, style)
        if diff.action == "create":
            return after + end
        if diff.action == "delete":
            return before + (end if diff.before.__class__ is Null else self._gone("delete", style) + end)
        if diff.action == "no-op":
            return before + end
        return f"{before} {self._arrow()} {after}{end}"

    def _scalar(self, value: Value) -> str:
        if value is MISSING or value.__class__ is Null:
            return self.paint("null", "grey")
        if value.__class__ is bool:
            return "true" if value else "false"
        if value.__class__ is Digits:
            return str(value)
        return number_text(value)

    def _string(self, diff: PrimitiveDiff, indent: int, style: Style) -> str:
        before, after = text_value(diff.before), text_value(diff.after)
        end = self._forces(diff.replace, style) if diff.replace or style.forces else ""
        old, new = json_value(before), json_value(after)
        if diff.action in ("create", "no-op", "delete"):
            text, parsed = (before, old) if diff.action == "delete" else (after, new)
            if text is None:
                return self.paint("null", "grey") + end
            if parsed is not MISSING:
                was = MISSING if diff.action == "create" else parsed
                is_now = MISSING if diff.action == "delete" else parsed
                return self._json(diff, was, is_now, indent, style)
            if "\n" not in text:
                return quoted(text) + self._gone(diff.action, style) + end
            lead = self._lead(indent + 1, "no-op", style)
            return self._heredoc(diff, [lead + line for line in text.strip().split("\n")], indent, style)
        if old is not MISSING and new is not MISSING:
            return self._json(diff, old, new, indent, style)
        if old is not MISSING or new is not MISSING:
            inner = style.but(plain_end=True)
            left = self.render(PrimitiveDiff("delete", False, diff.before, MISSING), indent, inner)
            right = self.render(PrimitiveDiff("create", False, MISSING, diff.after), indent, inner)
            return f"{left} {self._arrow()} {right}"
        if "\n" not in (before or "") and "\n" not in (after or ""):
            return f"{self._maybe_quoted(before)} {self._arrow()} {self._maybe_quoted(after)}{end}"
        lines = []
        a, b = (before or "null").strip().split("\n"), (after or "null").strip().split("\n")
        for i, j in aligned(a, b, lambda i, j: False):
            action = "create" if i is None else "delete" if j is None else "no-op"
            line = a[i] if i is not None else b[j] if j is not None else ""
            lines.append(self._lead(indent + 1, action, style) + line)
        return self._heredoc(diff, lines, indent, style)

    def _maybe_quoted(self, text: str | None) -> str:
        return self.paint("null", "grey") if text is None else quoted(text)

    def _heredoc(self, diff: Diff, lines: list[str], indent: int, style: Style) -> str:
        body = "\n".join(lines)
        end = self._lead(indent, "no-op", style) + "EOT" + self._gone(diff.action, style)
        return f"<<-EOT{self._forces(diff.replace, style)}\n{body}\n{end}"

    def _json(self, diff: PrimitiveDiff, before: Value, after: Value, indent: int, style: Style) -> str:
        """The text of the change of a string that contains JSON; the JSON values are compared instead of the
        strings."""
        inner = diff_dynamic(ValueChange(before, after))
        action, remark, part = diff.action, "", style.but(plain_end=True)
        end = self._forces(diff.replace, style)
        if inner.action == "no-op" and diff.action == "update":
            remark = " # whitespace changes force replacement" if diff.replace else " # whitespace changes"
            action, end, part = "no-op", "", style.but(plain_end=True, all=True)
        elif diff.action in ("create", "delete"):
            action = "no-op"
        text = self.render(inner, indent + 1, part)
        if "\n" not in text:
            return f"jsonencode({text}){remark}{end}"
        lead, close = self._lead(indent + 1, action, style), self._lead(indent, "no-op", style)
        return f"jsonencode({remark}\n{lead}{text}{end}\n{close}){self._gone(diff.action, style)}"

    def _unknown(self, diff: UnknownDiff, indent: int, style: Style) -> str:
        text = f"(known after apply){self._forces(diff.replace, style)}"
        if diff.before is None:
            return text
        return f"{self.render(diff.before, indent, style.but(plain_end=True))} -> {text}"

    def _sensitive(self, diff: SensitiveDiff, indent: int, style: Style) -> str:
        if style.secrets:
            return self.render(diff.inner, indent, style)
        forces = self._forces(diff.replace, style)
        if not diff.is_block:
            return f"(sensitive value){self._gone(diff.action, style)}{forces}"
        lead = self._lead(indent, "no-op", style)
        remark = [
            f"{lead}  # At least one attribute in this block is (or was) sensitive,",
            f"{lead}  # so its contents will not be displayed.",
        ]
        return "\n".join([f"{{{forces}", *remark, f"{lead}}}"])

    def _write_only(self, diff: WriteOnlyDiff, indent: int, style: Style) -> str:
        return f"(write-only attribute){self._forces(diff.replace, style)}{self._gone(diff.action, style)}"

    def _type_change(self, diff: TypeChange, indent: int, style: Style) -> str:
        part = style.but(plain_end=True)
        return f"{self.render(diff.before, indent, part)} {self._arrow()} {self.render(diff.after, indent, part)}"

    # ---- containers

    def _sequence(self, diff: SequenceDiff, indent: int, style: Style) -> str:
        pushes_down = diff.nested and not diff.ordered  # in a set of nested objects, each object has the remark instead
        own = self._forces(diff.replace and not pushes_down, style)
        if not diff.items:
            return f"[]{self._gone(diff.action, style)}{own}"
        part = style.but(plain_end=True, forces=diff.replace and pushes_down)
        kept = style.but(all=True)
        lines, waiting = [f"[{own}"], list[Diff]()
        with_neighbours = diff.ordered and not diff.nested
        next_too = False
        for item in diff.items:
            if item.action == "no-op" and not next_too and not style.all:
                waiting.append(item)
                continue
            now = part
            if with_neighbours:
                lines += self._before_change(waiting, indent, kept)
                waiting = []
                next_too = item.action != "no-op"
                now = part if next_too else kept
            if item.__class__ is SensitiveDiff:
                lines += self._warnings(item, indent + 1)
            lines.append(f"{self._lead(indent + 1, item.action, now)}{self.render(item, indent + 1, now)},")
        if waiting:
            lines.append(self._unchanged("element", len(waiting), indent + 1, style))
        lines.append(f"{self._lead(indent, 'no-op', style)}]{self._gone(diff.action, style)}")
        return "\n".join(lines)

    def _before_change(self, waiting: list[Diff], indent: int, style: Style) -> list[str]:
        """The lines before a change: the number of earlier unchanged items, and the unchanged item directly before the
        change."""
        lines = []
        if len(waiting) > 1:
            lines.append(self._unchanged("element", len(waiting) - 1, indent + 1, style))
        if waiting:
            lines.append(f"{self._lead(indent + 1, 'no-op', style)}{self.render(waiting[-1], indent + 1, style)},")
        return lines

    def _mapping(self, diff: MappingDiff, indent: int, style: Style) -> str:
        pushes_down = diff.nested and diff.quoted  # in a map of nested objects, each object has the remark instead
        own = self._forces(diff.replace and not pushes_down, style)
        if not diff.items:
            return f"{{}}{self._gone(diff.action, style)}{own}"
        if diff.quoted:
            part = style.but(plain_end=diff.action == "delete" or diff.nested, forces=diff.replace and pushes_down)
            names = {key: quoted(key) for key in diff.items}
        else:
            part = style.but(plain_end=not diff.nested)
            names = {key: attribute_name(key) for key in diff.items}
        width = 0 if diff.quoted and diff.nested else max(map(len, names.values()))
        lines, unchanged = [f"{{{own}"], 0
        for key in sorted(diff.items):
            item = diff.items[key]
            now = part.but(forces=part.forces, all=True) if not diff.quoted and key in ALWAYS_SHOWN else part
            if item.action == "no-op" and not now.all:
                unchanged += 1
                continue
            if item.__class__ is SensitiveDiff:
                lines += self._warnings(item, indent + 1)
            comma = "," if diff.quoted and isinstance(item, MappingDiff) and not item.quoted else ""
            lead = self._lead(indent + 1, item.action, now)
            lines.append(f"{lead}{names[key]:<{width}} = {self.render(item, indent + 1, now)}{comma}")
        if unchanged:
            what = "element" if diff.quoted else "attribute"
            lines.append(self._unchanged(what, unchanged, indent + 1, style))
        lines.append(f"{self._lead(indent, 'no-op', style)}}}{self._gone(diff.action, style)}")
        return "\n".join(lines)

    def _block(self, diff: BlockDiff, indent: int, style: Style) -> str:
        forces = self._forces(diff.replace, style)
        if not diff.attributes and not diff.blocks:
            return f"{{}}{forces}"
        names = {key: attribute_name(key) for key in diff.attributes}
        width = max(map(len, names.values()), default=0)
        lines, unchanged = [f"{{{forces}"], 0
        usual, whole = style.but(), style.but(all=True)
        for key in sorted(diff.attributes):
            item = diff.attributes[key]
            now = whole if key in ALWAYS_SHOWN else usual
            if item.action == "no-op" and not now.all:
                unchanged += 1
                continue
            if item.__class__ is SensitiveDiff:
                lines += self._warnings(item, indent + 1)
            lead = self._lead(indent + 1, item.action, now)
            lines.append(f"{lead}{names[key]:<{width}} = {self.render(item, indent + 1, now)}")
        if unchanged:
            lines.append(self._unchanged("attribute", unchanged, indent + 1, style))
        hidden_blocks = 0
        for key in sorted(diff.blocks):
            group, shown = diff.blocks[key], list[str]()
            for label, block in group.blocks:
                block = _sensitive_as_a_group(block, group)
                if block.action == "no-op" and not style.all:
                    hidden_blocks += 1
                    continue
                now = style.but(forces=group.replace)
                shown += self._warnings(block, indent + 1)
                header = f"{attribute_name(key)} {quoted(label)}" if label else attribute_name(key)
                lead = self._lead(indent + 1, block.action, now)
                shown.append(f"{lead}{header} {self.render(block, indent + 1, now)}")
            if shown and diff.attributes:
                lines.append("")
            lines += shown
        if hidden_blocks:
            lines += ["", self._unchanged("block", hidden_blocks, indent + 1, style)]
        lines.append(f"{self._lead(indent, 'no-op', style)}}}")
        return "\n".join(lines)


_RENDERERS: dict[type[Diff], Callable[[DiffText, Any, int, Style], str]] = {
    PrimitiveDiff: DiffText._primitive,
    UnknownDiff: DiffText._unknown,
    SensitiveDiff: DiffText._sensitive,
    WriteOnlyDiff: DiffText._write_only,
    TypeChange: DiffText._type_change,
    SequenceDiff: DiffText._sequence,
    MappingDiff: DiffText._mapping,
    BlockDiff: DiffText._block,
}


def _sensitive_as_a_group(block: Diff, group: BlockGroup) -> Diff:
    """The difference of a block, hidden if all blocks of its type are sensitive."""
    hides = {"create": group.is_now, "delete": group.was}.get(block.action, group.was or group.is_now)
    if not hides or isinstance(block, SensitiveDiff):
        return block
    action = "update" if block.action == "no-op" and group.was != group.is_now else block.action
    return SensitiveDiff(action, block.replace, block, group.was, group.is_now, is_block=True)
