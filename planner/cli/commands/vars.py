"""`vars`: the input variables of the root module, their values, where these come from, and what reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.api.validation import Validation
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON, VARIABLES, state_calls
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.value import Unknown, unmark_deep
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.render.terminal import Terminal
from planner.render.value import format_value

if TYPE_CHECKING:
    from planner.api.validation import GivenValue, VariableReport


@command(
    "[options] [NAME...]",
    """Shows each input variable of the root module, or the named ones: type, value, where the value comes from,
which values it overrides, and what reads it. Sensitive values are hidden.
No state is read, and no provider is called.""",
    (
        *VARIABLES,
        JSON,
        Flag("show-sensitive", "bool", "Show sensitive values."),
    ),
)
def vars(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a value is missing or does not fit."""
    reports, problems = state_calls(Validation, arguments).variables()
    wanted = [word.removeprefix("var.") for word in arguments.words]
    known = [report.name for report in reports]
    for name in wanted:
        if name not in known:
            raise UsageError(f"There is no variable {name}", f"planner vars lists all.{did_you_mean(name, known)}")
    shown = [report for report in reports if not wanted or report.name in wanted]
    show_sensitive = arguments["show-sensitive"]
    if arguments["json"]:
        terminal.data(json_text({"format_version": "1.0", "variables": [_json(r, show_sensitive) for r in shown]}))
    else:
        terminal.out("\n\n".join(_text(report, show_sensitive) for report in shown) or "No input variables.")
    return finish(problems, terminal)


def _text(report: VariableReport, show_sensitive: bool) -> str:
    value = "(not set)" if report.given is None else _value(report.given, show_sensitive)
    lines = [f"var.{report.name}", f"  value      {value}", f"  type       {report.type}"]
    lines += [f"  from       {report.given.source}"] if report.given else []
    lines += [f"  overrides  {_value(one, show_sensitive)}   {one.source}" for one in report.overridden]
    lines += [f"  read by    {address}   {place}".rstrip() for address, place in report.readers]
    return "\n".join(lines if report.readers else [*lines, "  read by    nothing"])


def _value(given: GivenValue, show_sensitive: bool) -> str:
    if given.value is None:
        return "(not readable)"
    if isinstance(given.value, Unknown):
        return "(not valid)"
    return format_value(unmark_deep(given.value)[0] if show_sensitive else given.value, 13)


def _json(report: VariableReport, show_sensitive: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": report.name,
        "type": report.type,
        "description": report.description,
        "sensitive": report.sensitive,
    }
    if report.given is not None:
        document |= _json_value(report.given, show_sensitive)
    document["overrides"] = [_json_value(one, show_sensitive) for one in report.overridden]
    document["read_by"] = [{"address": address, "place": place} for address, place in report.readers]
    return document


def _json_value(given: GivenValue, show_sensitive: bool) -> dict[str, Any]:
    if given.value is None or isinstance(given.value, Unknown):
        return {"source": given.source}
    plain, marks = unmark_deep(given.value)
    return {"source": given.source, **({} if marks and not show_sensitive else {"value": simple_json(plain)})}
