"""The comment lines above a planned change: what will happen to the object, and why."""

from __future__ import annotations

from planner.foundation.vocabulary.address import format_key
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.actions import does
from planner.render.terminal import Paint

REPLACE = {
    "replace_because_tainted": ("is tainted, so it must be ", ""),
    "replace_by_request": ("will be ", ", as requested"),
    "replace_by_triggers": ("will be ", " due to changes in replace_triggered_by"),
}
READ = {
    "read_because_config_unknown": "(config refers to values not yet known)",
    "read_because_dependency_pending": "(depends on a resource or a module with changes pending)",
    "read_because_check_nested": "(config will be reloaded to verify a check block)",
}

UNDECIDED = {
    "object": "whether it is still as recorded",
    "replacement": "whether it can be changed in place",
    "values": "what it gives",
    "import": "what is imported",
}


def change_comment(change: ResourceChange, drift: bool, paint: Paint) -> list[str]:
    """The lines, indented and marked with `#`."""
    name = f"{change.address} (deposed object {change.deposed})" if change.deposed else change.address
    moved = change.previous_address != change.address
    lines = [f"{paint(f'  # {name}', 'bold')} {_headline(change, drift, paint)}"]
    if change.action == "no-op" and moved:
        lines = [f"{paint(f'  # {change.previous_address}', 'bold')} has moved to {paint(name, 'bold')}"]
    because = _because(change)
    if because:
        lines.append(f"  # {because}")
    if change.deposed and (does(change.action, "ends") or does(change.action, "forgets")):
        lines.append("  # (left over from a partially-failed replacement of this instance)")
    if moved and change.action != "no-op":
        lines.append(f"  # (moved from {change.previous_address})")
    if change.undecided:
        lines.append(f"  # (undecided without its provider: {', '.join(UNDECIDED[what] for what in change.undecided)})")
    if change.importing is not None:
        if change.generated_config:
            lines.append("  # (config will be generated)")
        if change.importing.id:
            lines.append(f'  # (imported from "{change.importing.id}")')
        else:
            lines.append("  # (will be imported first)")
        if does(change.action, "replaces"):
            lines.append(f"  # {paint('Warning: this will destroy the imported resource', 'yellow')}")
    return lines


def _headline(change: ResourceChange, drift: bool, paint: Paint) -> str:
    action = change.action
    if action == "create":
        return "will be created"
    if action == "read":
        return "will be read during apply"
    if action == "update":
        return "has changed" if drift else "will be updated in-place"
    if does(action, "removes"):
        return "has been deleted" if drift else f"will be {paint('destroyed', 'bold', 'red')}"
    if does(action, "releases"):
        return f"will be removed from the state {paint('but will not be destroyed', 'bold', 'red')}"
    if does(action, "replaces"):
        before, after = REPLACE.get(change.reason, ("must be ", ""))
        kept = " - the older instance will not be destroyed (lifecycle.destroy = false)"
        end = kept if does(action, "forgets") else ""
        return f"{before}{paint('replaced', 'bold', 'red')}{after}{end}"
    return "will be imported"


def _because(change: ResourceChange) -> str:
    """The reason in parentheses, where the headline does not already say it."""
    reason = change.reason
    if change.action == "read":
        return READ.get(reason, "")
    if reason == "delete_because_no_resource_config" and does(change.action, "removes"):
        return f"(because {change.type}.{change.name} is not in configuration)"
    if reason == "delete_because_no_move_target":
        return f"(because {change.previous_address} was moved to {change.address}, which is not in configuration)"
    if reason == "delete_because_no_module":
        return f"(because {change.module} is not in configuration)"
    if reason == "delete_because_wrong_repetition":
        if change.key is None:
            return "(because resource uses count or for_each)"
        return f"(because resource does not use {'for_each' if isinstance(change.key, str) else 'count'})"
    if reason == "delete_because_count_index":
        return f"(because index {format_key(change.key)} is out of range for count)"
    if reason == "delete_because_each_key":
        return f"(because key {format_key(change.key)} is not in for_each map)"
    if reason == "delete_because_enabled_false":
        return "(because enabled is false)"
    if reason == "forgot_because_lifecycle_destroy_in_state":
        return "(because it was created with lifecycle.destroy = false)"
    if reason == "forgot_because_lifecycle_destroy_in_config":
        return "(because lifecycle.destroy = false is set in the configuration)"
    return ""
