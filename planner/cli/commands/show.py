"""`show` and `output`: print a state, a saved plan, or root outputs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planner.api.states import ShownState, States, shown_json
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON_DOCUMENT, SHOW_SENSITIVE, VARIABLES, WHY, loading_calls, plan_calls, state_calls
from planner.cli.review import REVIEW, Review
from planner.cli.views import PAGER, open_json_into, paged, told_causes
from planner.foundation.support.exact_json import dumps
from planner.foundation.values.types import friendly_name
from planner.foundation.values.value import Null, type_of, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve
from planner.logic.programs.actions import NO_OP, verb_of, verbs
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.api.making import MadePlan
    from planner.foundation.vocabulary.diagnostic import Diagnostic
    from planner.world.state.model import OutputState


@command(
    "[options] [FILE]",
    """Shows the state of the selected workspace, or the named plan file or state file. With a directory that
`planner batch plan -out=DIR` saved, the plan of the fleet is shown.

With -json it can also show the configuration (-config), or one module alone (-module=DIR), whose providers and modules
need not be installed.""",
    (
        Flag("plan", "string", "Show this plan file.", value="FILE"),
        Flag("state", "bool", "Show the state of the selected workspace (the default)."),
        Flag("config", "bool", "Show the configuration. Needs -json."),
        Flag("module", "string", "Show the module in this directory alone. Needs -json.", value="DIR"),
        Flag("only", "string", "Show only these actions of a plan: create, update, replace, ...", value="A,B"),
        SHOW_SENSITIVE,
        *REVIEW,
        PAGER,
        WHY,
        *VARIABLES,
        *JSON_DOCUMENT,
    ),
)
def show(arguments: Arguments, terminal: Terminal) -> int:
    file = arguments.at_most_one_word("show takes at most one file.")
    path = arguments["plan"] or file
    chosen = [name for name in ("state", "plan", "config", "module") if arguments[name]]
    if len(chosen) > 1 or (chosen and arguments.words):
        raise UsageError("Conflicting options", "Choose only one of a state, a plan, a configuration and a module.")
    if chosen in (["config"], ["module"]):
        return _show_configuration(arguments, terminal)
    return _show(arguments, path, terminal)


def _show(arguments: Arguments, path: str | None, terminal: Terminal) -> int:
    """Show a state or a plan, in the requested format. Raises UsageError."""
    from planner.world.state.remote.runs import saved_run

    if path is not None and os.path.isdir(path):
        return _show_fleet(path, arguments, terminal)
    calls, review = plan_calls(States, arguments), Review(arguments)
    stream = open_json_into(arguments, terminal)
    if path is not None and (saved := saved_run(path)) is not None:
        from planner.cli.remote_run import show_there

        return show_there(calls, saved, terminal, bool(arguments["json"]))
    only = _only(arguments["only"]) if arguments["only"] else frozenset()
    shown, problems = calls.state_or_plan(path)
    if only and isinstance(shown, ShownState):
        raise UsageError("Option -only applies only to plans", "Name a plan file.")
    if review:
        if isinstance(shown, ShownState):
            raise UsageError("A review needs a plan", "Name a plan file.")
        problems = [*problems, *_write_review(review, _part(shown, only), problems, path, bool(only))]
    if arguments["json"] or stream is not None:
        document = shown_json(shown if isinstance(shown, ShownState) else _part(shown, only))
        if arguments["explain"] in ("line", "full") and not isinstance(shown, ShownState):
            _add_causes(document, shown, arguments, terminal)
        text = dumps(document).decode("utf-8")
        if stream is None:
            terminal.data(text)
            return finish([problem for problem in problems if problem.is_error], terminal)
        with stream:
            print(text, file=stream)
    with paged(arguments, terminal):
        if not isinstance(shown, ShownState):
            _show_plan(shown, only, arguments, terminal)
        elif shown.state is None:
            terminal.out("No state.")
        else:
            from planner.render.diff_block import SchemaLookup
            from planner.render.state import StateText

            lookup = SchemaLookup(shown.schemas)
            StateText(lookup.resource_schema, lookup.decode, terminal, arguments["show-sensitive"]).show(shown.state)
    return finish(problems, terminal)


def _write_review(
    review: Review, shown: MadePlan[Any], problems: list[Diagnostic], path: str | None, is_part: bool
) -> list[Diagnostic]:
    """Write the requested review files. Returns problems. `is_part`: whether only some changes are shown, so that the
    review in the plan file is not used."""
    chains = review.chains(shown, "" if is_part else path or "")
    return review.write(shown, problems, chains=chains, plan_file=path or "", is_part=is_part)


def _add_causes(document: Any, shown: MadePlan[Any], arguments: Arguments, terminal: Terminal) -> None:
    """If the flags request causes, add `because`, `root_causes` and `because_is_certain` to each entry of
    `resource_changes`."""
    causes = told_causes(shown, arguments, terminal)
    if causes is None:
        return
    for change in document.get("resource_changes", ()):
        deposed = change.get("deposed")
        change.update(causes.json(f"{change['address']} (deposed {deposed})" if deposed else change["address"]))


def _only(words: str) -> frozenset[str]:
    """The actions that -only names. Raises UsageError for unknown actions."""
    known = verbs().keys() - {NO_OP}
    wanted = frozenset(word.strip() for word in words.replace("|", ",").split(",") if word.strip())
    if wanted - known:
        wrong = ", ".join(sorted(wanted - known))
        raise UsageError(f"Unknown action {wrong}", f"-only accepts {', '.join(sorted(known))}, separated by commas.")
    return wanted


def _part(shown: MadePlan[Any], only: frozenset[str]) -> MadePlan[Any]:
    """The plan with only the changes that have these actions; the whole plan if `only` is empty."""
    if not only:
        return shown
    plan = shown.plan
    return evolve(shown, plan=evolve(plan, changes=tuple(c for c in plan.changes if verb_of(c.action) in only)))


def _show_plan(shown: MadePlan[Any], only: frozenset[str], arguments: Arguments, terminal: Terminal) -> None:
    from planner.render.diff_block import SchemaLookup
    from planner.render.plan import PlanText, override_lines

    lookup = SchemaLookup(shown.loaded.schemas)
    causes = told_causes(shown, arguments, terminal)
    PlanText(shown.plan, lookup.resource_schema, terminal, arguments["show-sensitive"], causes, only).show()
    if lines := override_lines(shown.plan):
        terminal.out("\n".join(["", *lines]))


def _show_configuration(arguments: Arguments, terminal: Terminal) -> int:
    """Print the configuration, or one of its modules, as JSON. Raises UsageError."""
    if not arguments["json"] or arguments["json-into"]:
        raise UsageError("Option -json is needed", "A configuration can be shown only with -json.")
    open_json_into(arguments, terminal)
    document, problems = loading_calls(States, arguments).configuration_document(arguments["module"])
    if document is not None:
        terminal.data(dumps(document).decode("utf-8"))
    return finish([d for d in problems if d.is_error], terminal)


def _show_fleet(folder: str, arguments: Arguments, terminal: Terminal) -> int:
    """Show the saved plan of a fleet as `batch plan` printed it, with the table of units. Also write the requested
    reports. Returns 1 if the plan is incomplete. Raises Failure."""
    from planner.cli.batch_view import conclude_with
    from planner.workflows.batch.join import whole

    shown = whole(folder)
    return conclude_with(shown.document, shown, arguments, terminal)


@command(
    "[options] [NAME]",
    "Shows the output values of the root module as recorded in the state: all, or the named one.",
    (
        Flag("raw", "bool", "Print a string, number or bool without quotes or a line break."),
        Flag("state", "string", "Read the state from this file.", value="FILE"),
        SHOW_SENSITIVE,
        *VARIABLES,
        *JSON_DOCUMENT,
    ),
)
def output(arguments: Arguments, terminal: Terminal) -> int:
    from planner.render.diagnostics import show

    name = arguments.at_most_one_word("output takes at most one name.", "")
    if arguments["json"] and arguments["raw"]:
        raise UsageError("Conflicting options", "-json and -raw are different output formats: choose one.")
    if arguments["raw"] and not name:
        raise UsageError("Option -raw needs a name", "-raw prints a single output. Name it.")
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
    """The value of an output as plain text. Raises Failure for null, and for values of types other than string, number
    and bool."""
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
        detail += " The state has no outputs at all. An apply writes them."
    return error("cli.no_output", "Output not found", detail)


def _none() -> Diagnostic:
    return warning(
        "cli.no_outputs",
        "No outputs found",
        "The state has no outputs. Outputs are declared in the root module, and an apply writes them.",
    )
