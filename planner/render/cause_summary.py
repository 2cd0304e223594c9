"""The causes of a plan, each with its consequences: the riskiest first, by module and type.

var.image "1.2" -> "1.3" (prod.tfvars:4) causes 9 of 11 changes: 2 replacements, 7 updates
  replace  module.web.aws_instance.a
  update   module.web.aws_instance.b
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.answers.explain.causes import Because, RootCause, grouped
from planner.logic.programs.actions import actions, verb_of, words_for
from planner.render.cause_line import difference_of, origin_of, words_of
from planner.render.terminal import Paint

MOST_LISTED = 20
"""the number of objects listed for one cause, unless all are requested"""
_THEMSELVES = {
    "create": "Declared, and not there yet",
    "delete_because_no_resource_config": "No longer declared",
    "delete_because_no_module": "Their module is no longer declared",
    "delete_because_no_move_target": "Moved to where nothing is declared",
    "replace_because_tainted": "Tainted",
    "replace_by_request": "Named by -replace",
    "everything": "-destroy",
    "delete": "To be destroyed",
    "forget": "To be forgotten",
}


def risks() -> dict[str, int]:
    """How early an action comes in a list: destroys first, then forgotten, changed and created objects."""
    order = sorted(actions(), key=lambda a: (words_for(a).risk, a))
    return {action: at for at, action in enumerate(order)}


def groups_of(chains: Mapping[str, Because], planned: Mapping[str, str]) -> tuple[RootCause, ...]:
    """The causes, the riskiest first."""
    return grouped(chains, planned, risks())


def summary_text(
    groups: Sequence[RootCause], planned: Mapping[str, str], paint: Paint, everything: bool = False
) -> str:
    """All causes. `planned`: the actions of everything that changes, by name."""
    lines: list[str] = []
    for group in groups:
        lines.append(f"{paint(title_of(group), 'bold')}{_of(group, len(planned))}")
        shown = group.changes if everything else group.changes[:MOST_LISTED]
        width = max(len(verb_of(action)) for _, action in shown)
        lines += [f"  {verb_of(action):<{width}}  {name}" for name, action in shown]
        if len(shown) < len(group.changes):
            lines.append(f"  ... {len(group.changes) - len(shown)} more (-full lists all)")
        lines.append("")
    told = {name for group in groups for name, _ in group.changes}
    untold = sorted(set(planned) - told)
    if untold:
        lines.append(paint("No cause on record", "bold") + f" for {_counts_text(planned[n] for n in untold)}")
        lines += [f"  {verb_of(planned[name])}  {name}" for name in untold]
    return "\n".join(lines).rstrip("\n")


def title_of(group: RootCause) -> str:
    """The root cause of a group in words."""
    root = group.root
    if not root.what:
        return _THEMSELVES.get(root.kind, root.kind)
    if root.kind == "variable":
        value = difference_of(root) or (f" = {root.value}" if root.value else "")
        return f"{root.what}{value} ({origin_of(root)})"
    return words_of(root, {})


def _of(group: RootCause, total: int) -> str:
    counted = _counts_text(action for _, action in group.changes)
    if not group.root.what:
        return f": {counted}"
    verb = "causes" if group.is_certain else "may be a cause of"
    number = len(group.changes)
    return f" {verb} {number} of {total} change{'s' if total != 1 else ''}: {counted}"


def _counts_text(planned: Iterable[str]) -> str:
    numbers: dict[str, int] = {}
    for action in sorted(planned, key=lambda action: words_for(action).risk):
        numbers[verb_of(action)] = numbers.get(verb_of(action), 0) + 1
    return ", ".join(f"{n} {words_for(word).noun[n != 1]}" for word, n in numbers.items())


def summary_json(groups: Sequence[RootCause], planned: Mapping[str, str]) -> dict[str, Any]:
    """The summary as JSON: `causes`, each with its `root`, its `changes` and whether it is `certain`."""
    return {
        "format_version": "1.0",
        "changes": len(planned),
        "causes": [
            {
                "root": group.root.json,
                "certain": group.is_certain,
                "changes": [{"address": name, "action": verb_of(action)} for name, action in group.changes],
            }
            for group in groups
        ],
    }
