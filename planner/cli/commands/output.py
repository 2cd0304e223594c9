"""`output`: the output values of the root module, from the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.api.states import States
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON_DOCUMENT, SHOW_SENSITIVE, VARIABLES, state_calls
from planner.foundation.support.exact_json import dumps
from planner.foundation.values.types import friendly_name
from planner.foundation.values.value import Null, type_of, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.world.state.model import OutputState


@command(
    "[options] [NAME]",
    "Shows the output values of the root module as recorded in the state: all, or the named one.",
    (
        Flag("raw", "bool", "Print a string, number or bool without quotes and line break."),
        Flag("state", "string", "Read the state from this file.", value="FILE"),
        SHOW_SENSITIVE,
        *VARIABLES,
        *JSON_DOCUMENT,
    ),
)
def output(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the output does not exist or the state cannot be read."""
    from planner.cli.views import open_json_into
    from planner.render.diagnostics import show

    name = arguments.at_most_one_word("output takes at most one name.", "")
    if arguments["json"] and arguments["raw"]:
        raise UsageError("Conflicting options", "-json and -raw are two different forms: choose one.")
    if arguments["raw"] and not name:
        raise UsageError("Option -raw needs a name", "Only a single output can be printed raw.")
    stream = open_json_into(arguments, terminal)
    outputs, diagnostics = state_calls(States, arguments).outputs()
    show(diagnostics, terminal)
    if stream is not None:
        with stream:
            print(_json(outputs, name), file=stream)
    if arguments["json"]:
        terminal.data(_json(outputs, name))
    elif name and outputs:
        if arguments["raw"]:
            terminal.stdout.write(raw(name, _output_named(outputs, name)))
        else:
            from planner.render.value import format_value

            terminal.out(format_value(unmark_deep(_output_named(outputs, name).value)[0]))
    elif not outputs:
        show([_none()], terminal)
    else:
        from planner.render.value import all_outputs

        terminal.out(all_outputs(outputs, arguments["show-sensitive"]))
    return 0


def raw(name: str, output: OutputState) -> str:
    """The value as plain text. Raises Failure for values that have none."""
    from planner.render.value import number_text

    value, _ = unmark_deep(output.value)
    cls = value.__class__
    if cls is str:
        return str(value)
    if cls is bool:
        return "true" if value else "false"
    if cls is Null:
        raise Failure(error("cli.raw_null", "No raw form", f'The value of output "{name}" is null.'))
    kind = friendly_name(type_of(value))
    if kind != "number":
        detail = f'Output "{name}" is {kind}: only a string, number or bool can be printed raw. Use -json.'
        raise Failure(error("cli.raw_type", "No raw form", detail))
    return number_text(value)


def _json(outputs: Mapping[str, OutputState], name: str) -> str:
    from planner.render.state import output_json

    if name:
        return dumps(output_json(_output_named(outputs, name))["value"]).decode("utf-8")
    return dumps({n: output_json(outputs[n]) for n in sorted(outputs)}, indent=True).decode("utf-8")


def _output_named(outputs: Mapping[str, OutputState], name: str) -> OutputState:
    if name in outputs:
        return outputs[name]
    raise Failure(_unknown(outputs, name))


def _unknown(outputs: Mapping[str, OutputState], name: str) -> Diagnostic:
    detail = f'The state has no output "{name}".{did_you_mean(name, outputs)}'
    if not outputs:
        detail += " It has no outputs at all: they are written by apply."
    return error("cli.no_output", "Output not found", detail)


def _none() -> Diagnostic:
    return warning(
        "cli.no_outputs",
        "No outputs found",
        "The state has no outputs. They are declared in the root module and written by apply.",
    )
