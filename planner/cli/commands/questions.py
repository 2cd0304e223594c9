"""`what-if`, `drift`, `vars`, `explore` and `suggest`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from planner.api.installation import Validation
from planner.api.making import Making, actions_of
from planner.api.questions import Questions
from planner.cli.finish import finish, json_text, write_page
from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.cli.options import (
    DESTROY,
    INPUT,
    JSON,
    OPERATION,
    POLICY,
    SERVED,
    SINCE,
    STATE,
    VARIABLES,
    plan_calls,
    state_calls,
)
from planner.cli.review import REVIEW, Review
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.value import Unknown, unmark_deep
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.foundation.vocabulary.nearest import did_you_mean, word
from planner.render.terminal import Terminal, fold, is_terminal
from planner.render.value import format_value

if TYPE_CHECKING:
    from planner.api.installation import GivenValue, VariableReport
    from planner.api.questions import Remark


@command(
    "[options]",
    """Makes two plans, one of the current configuration and one with the given options, and shows the differences
and their causes:

  planner what-if -var=drop=true
  planner what-if -replace=terraform_data.web
  planner what-if -target=module.net

-var, -replace, -target, -exclude and -destroy apply only to the second plan, -var-file and -base-var to both plans.
Nothing is changed.""",
    (
        Flag("base-var", "list", "Set an input variable in both plans. May be repeated.", value="NAME=VALUE"),
        JSON,
        DESTROY,
        SINCE,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def what_if(arguments: Arguments, terminal: Terminal) -> int:
    from planner.render.what_if import what_if_json, what_if_text

    no_directory(arguments, "what-if")
    comparison, problems = plan_calls(Questions, arguments).comparison(tuple(arguments["base-var"]))
    if comparison is None and not problems:
        detail = "Name the difference between the plans with -var, -replace, -target, -exclude or -destroy."
        raise UsageError("Nothing to compare", detail)
    if comparison is None:
        return finish(problems, terminal)
    if arguments["json"]:
        terminal.data(json_text(what_if_json(comparison)))
    else:
        actions = {**actions_of(comparison.without), **actions_of(comparison.within)}
        terminal.out(what_if_text(comparison, actions, terminal.paint))
    return finish(problems, terminal)


_OTHERS = ("refresh", "minimal-refresh", "refresh-only", "replace", "allow-deferral")


@command(
    "[options]",
    """Compares the state with the real objects, and shows each attribute that was changed outside planner since the
last apply: its values, and whether applying the configuration would restore it. The time and the author of an object's
last modification are shown if the provider reports them. Nothing is changed or locked.

-markdown, -html and -review write the report to files; -json prints it.

The exit code is 0 without drift, 2 when there is drift, and 1 on errors.""",
    (*(flag for flag in OPERATION if flag.name not in _OTHERS), JSON, *REVIEW, *STATE, *VARIABLES),
)
def drift(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, 2 for drift, and 0 otherwise."""
    from planner.render.review.drift import drift_lines

    no_directory(arguments, "drift")
    calls = plan_calls(Making, arguments, "refresh-only", needs_configuration=True)
    review = Review(arguments, "drift", prints=True)
    document, problems = calls.drift(review.subject)
    problems += review.write_document(document)
    if arguments["json"]:
        terminal.data(json_text(document))
    elif not has_errors(problems):
        for line in drift_lines(document, terminal.paint):
            terminal.out(line)
    return finish(problems, terminal) or (2 if document["changes"] else 0)


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
    """Returns 1 on errors, and if a value is missing or has the wrong type."""
    reports, problems = state_calls(Validation, arguments).variables()
    wanted = [word.removeprefix("var.") for word in arguments.words]
    known = [report.name for report in reports]
    for name in wanted:
        if name not in known:
            raise UsageError(
                f"There is no variable {name}", f"To list all variables: planner vars.{did_you_mean(name, known)}"
            )
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


KINDS = {"": ("apply", "plan"), "plan": ("plan",), "apply": ("apply",)}


@command(
    "[options] -out=FILE.html | -serve",
    """Writes one HTML page about a plan, which needs no network. The page begins with the planned actions. It also
shows the graph, with search, zoom and collapsible modules; kinds of edges; changes and their causes; the rule and the
source line of each edge; the objects that a change may affect; the path between two nodes; and policy verdicts. The
drawing can be saved as SVG or PNG, and the changes as Markdown.

With -plan the page shows a saved plan, otherwise a new one. Nothing is changed.

With -serve the page is served to browsers on this machine until Ctrl-C, at an address with a secret token. The page
is updated when files are saved, as with planner watch, and answers the questions of why, why -not, query and what-if;
plans can be kept and compared. While the configuration has errors, the page shows them and the last plan without
errors.""",
    (
        *SERVED,
        Flag("out", "string", "Write the page to this file.", value="FILE"),
        Flag("plan", "string", "Show this plan file.", value="FILE"),
        Flag("type", "string", "Show only this graph: plan or apply (default: both).", value="TYPE"),
        DESTROY,
        INPUT,
        *POLICY,
        SINCE,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def explore(arguments: Arguments, terminal: Terminal) -> int:
    if arguments["serve"]:
        return _serve(arguments, terminal)
    from planner.render.hooks_human import ProgressHooks
    from planner.render.page.of_plan import page_of_plan
    from planner.render.page.page import page_html

    no_directory(arguments, "explore")
    if not arguments["out"]:
        detail = "Name the file to write: planner explore -out=plan.html, or serve the page: planner explore -serve"
        raise UsageError("Option -out is required", detail)
    if arguments["type"] not in KINDS:
        raise UsageError(f"Unknown graph type {arguments['type']}", "The types are: plan, apply.")
    plan_file = arguments["plan"] or None
    calls, kinds = plan_calls(Questions, arguments), KINDS[arguments["type"]]
    explored, problems = calls.exploration(kinds, plan_file, ProgressHooks(terminal))
    if explored is None:
        return finish(problems, terminal)
    title = f"Plan of {os.path.basename(plan_file or os.getcwd())}"
    asks = " ".join(["planner why -full", *([f"-plan={word(plan_file)}"] if plan_file else [])])
    page = page_of_plan(explored, title, asks)
    del explored  # this frees the memory of graphs and causes before the page is written
    problems += write_page(arguments["out"], page_html(page))
    if not has_errors(problems):
        terminal.out(f"The page is in {arguments['out']}.")
    return finish(problems, terminal)


def _serve(arguments: Arguments, terminal: Terminal) -> int:
    """Serve the page until an interrupt, then return 0."""
    from planner.cli.live_page import LivePage
    from planner.cli.live_server import serve

    no_directory(arguments, "explore")
    if arguments["out"] or arguments["plan"]:
        raise UsageError(
            "Conflicting options", "The served page shows a new plan when files change: remove -out and -plan."
        )
    if arguments["type"] not in KINDS:
        raise UsageError(f"Unknown graph type {arguments['type']}", "The types are: plan, apply.")
    names = os.listdir(".")
    if any(name.endswith((".tfcomponent.hcl", ".tfdeploy.hcl")) for name in names):
        detail = "Serve the page of a stack with: planner stacks plan -serve"
        raise UsageError("This directory is a stack", detail)
    if not any(name.endswith((".tf", ".tofu", ".tf.json", ".tofu.json")) for name in names):
        detail = "Write a .tf file, or name the directory with -chdir. For a fleet: planner batch explore -serve"
        raise UsageError("No configuration in this directory", detail)

    def calls() -> Questions:  # read for each plan, because policies may be added to the directory
        return plan_calls(Questions, arguments, needs_configuration=True)

    return serve(LivePage(calls, KINDS[arguments["type"]]), arguments["port"], terminal)


MOST_SHOWN = 10
"""maximum number of moved blocks shown for each file, and of commands shown for each remark"""


@command(
    "[options]",
    """Makes a plan, or reads one, and gives advice on surprising parts of it:

  destroy_before_update         an object is destroyed while still in use
  forced_create_before_destroy  create_before_destroy that is not configured
  index_shift                   objects that get each other's values, because
                                indexes of count have shifted
  likely_rename                 renamed objects that a moved block keeps
  possible_rename               objects that may have been renamed: a moved
                                block would keep or update some of them
  unkept_rename                 objects that a plan calls renamed, but that no
                                moved block keeps
  provider_of_unplanned         a provider that is configured with values of
                                an object that does not exist yet

Each moved block is tried in a plan before it is proposed; -write inserts the blocks of likely_rename into the
configuration. Your own rules can add advice: advice(code, address, message).""",
    (
        JSON,
        Flag("plan", "string", "Use this saved plan.", value="FILE"),
        Flag("write", "bool", "Insert the moved blocks of likely renames into the configuration."),
        DESTROY,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def suggest(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0, even if there is advice, or 1 on errors."""
    from planner.foundation.support.exact_json import dumps

    no_directory(arguments, "suggest")
    if arguments["write"] and arguments["plan"]:
        detail = "A saved plan contains its own copy of the configuration: remove -plan, or insert the blocks by hand."
        raise UsageError("Conflicting options", detail)
    result = plan_calls(Questions, arguments).advice(arguments["plan"] or None, arguments["write"])
    problems = result.diagnostics
    is_known = bool(result.remarks) or not has_errors(problems)
    if arguments["json"] and is_known:
        items = [remark.json for remark in result.remarks]
        written = {"written": result.written} if arguments["write"] else {}
        terminal.data(dumps({"format_version": "1.0", "advice": items, **written}).decode())
    elif is_known:
        width = terminal.width - 1 if is_terminal(terminal.stdout) else 0
        for part in _lines(result.remarks):
            for line in part.split("\n"):
                terminal.out("\n".join(fold(line, width, "") if line.startswith("  ") else [line]))
        if not result.remarks:
            terminal.out("No advice.")
        elif arguments["write"]:
            terminal.out(f"\nMoved blocks were written to: {', '.join(result.written) or 'no file'}")
    return finish(problems, terminal) if has_errors(problems) else 0


def _lines(remarks: Iterable[Remark]) -> Iterator[str]:
    """The advice as text, with proposed moved blocks."""
    shown: dict[str, int] = {}
    listed = list(remarks)
    for remark in listed:
        block = remark.block
        if block is None:
            commands = "".join(f"\n    {command}" for command in remark.commands[:MOST_SHOWN])
            hidden = len(remark.commands) - MOST_SHOWN
            more = f"\n    ... and {hidden} more (-json lists all)" if hidden > 0 else ""
            before = "\n" if commands else ""
            yield f"{remark.address}: {remark.code}\n  {remark.message}{before}{commands}{more}"
            continue
        shown[block.file] = shown.get(block.file, 0) + 1
        if shown[block.file] <= MOST_SHOWN:
            text = block.text.rstrip("\n").replace("\n", "\n    ")
            yield f"{remark.address}:\n  {remark.message}\n\n    {text}\n"
    if any(remark.code == "likely_rename" and remark.block is not None for remark in listed):
        yield "To insert the moved blocks: planner suggest -write"
    for file, number in shown.items():
        if number > MOST_SHOWN:
            rest = "(-json lists all, -write inserts the likely ones)"
            yield f"... and {number - MOST_SHOWN} more for {file} {rest}"
