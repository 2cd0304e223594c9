"""`policy check`: checks plans and states against policies."""

from __future__ import annotations

from pathlib import Path

from planner.answers.policy.model import Verdict
from planner.answers.policy.standing_policies import NAME_POLICIES
from planner.api.judging import Judging, Known
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import DESTROY, INPUT, OFFLINE, OPERATION, POLICY, STATE, VARIABLES, plan_calls
from planner.cli.review import REVIEW, Review
from planner.foundation.support.forks import processors
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.render.terminal import Terminal

FORMATS = ("table", "json", "sarif", "junit", "markdown")

MOST_PROCESSES = 8


@command(
    "[options]",
    """Checks a plan against policies: a new plan, or a saved one. Every verdict has a proof: with -proofs in the
table, and always in JSON.

  deny        the plan must not be applied
  broken      the computation of the policy fails: treated like deny
  undecided   the verdict depends on values that are not known yet:
              apply decides it
  warn        a warning: the plan may be applied
  overridden  denied, and accepted by -policy-override
  waived      accepted by .planner/waivers.toml, until a date
  info        a message: the plan may be applied

A plan is a plan file of planner, or the output of show -json for a plan of planner, OpenTofu or Terraform ("-":
standard input). A state is a state file, or the output of show -json. Details that such a document lacks (lifecycle
blocks, for example) are read from the configuration in the directory, if the plan was made from it; otherwise policies
that need them are broken.

A policy that matched no object denies nothing. With -strict, it is an error if a policy has no row in the relation
judged(code, address), because the policy then has checked no object.

The exit code is 0, or 1 if a verdict is deny or broken, or on errors.""",
    (
        Flag("plan", "list", "Check this plan. May be repeated.", value="FILE"),
        Flag("state", "list", "Check the objects of this state. May be repeated.", value="FILE"),
        Flag("format", "string", "The output format: table, json, sarif, junit or markdown.", "table", "FORMAT"),
        Flag("json", "bool", "Same as -format=json."),
        Flag("proofs", "bool", "Show the proof below each verdict."),
        Flag("rule-times", "bool", "Below the table, show the time and the number of rows of the 30 costliest rules."),
        OFFLINE,
        Flag(
            "strict",
            "bool",
            "Fail for policies that checked no object, or that have no rule for the relation judged.",
        ),
        *REVIEW,
        *POLICY,
        DESTROY,
        INPUT,
        *OPERATION,
        *(flag for flag in STATE if flag.name != "state"),
        *VARIABLES,
    ),
)
def policy_check(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, if a policy denies an object, and if a policy is broken."""
    arguments.no_words("Name a saved plan with -plan=FILE, and policies with -policy=DIR.")
    format = "json" if arguments["json"] else arguments["format"]
    if format not in FORMATS:
        raise UsageError(f"Unknown format {format}", f"The formats are {', '.join(FORMATS)}.")
    if arguments["rule-times"] and format != "table":
        raise UsageError("Conflicting options", "-rule-times requires -format=table.")
    calls, review = plan_calls(Judging, arguments), Review(arguments, "policy")
    if not calls.options.judges and not arguments["plan"]:
        raise UsageError("No policies", _how_to_name())
    named = [("plan", path) for path in arguments["plan"]] + [("state", path) for path in arguments["state"]]
    if len(named) > 1:
        if review:
            raise UsageError("A review needs one plan", "Name one plan, or remove -markdown, -html and -review.")
        return _several(calls, named, format, arguments, terminal)
    if arguments["state"]:
        verdict, problems = calls.verdict(arguments["state"][0], "state")
    else:
        plan = arguments["plan"][0] if arguments["plan"] else None
        verdict, problems = calls.verdict(plan, processes=_processes(terminal, arguments["rule-times"]))
    if verdict is None:
        return finish(problems, terminal)
    problems = [*problems, *(_unmet(verdict) if arguments["strict"] else ())]
    problems += review.write_verdict(verdict, problems)
    if format == "table":
        terminal.out(_table(verdict, terminal, arguments["proofs"]))
        if arguments["rule-times"]:
            terminal.out(f"\n{_costs(verdict)}")
    else:
        terminal.data(_printed(verdict, format))
    return max(finish(problems, terminal), int(verdict.is_denied))


def _how_to_name() -> str:
    """Advice on how to name policies. It mentions the directory `policies` if that directory has rule files."""
    if not any(Path("policies").glob("**/*.dl")):
        return NAME_POLICIES
    return "To check against the policies in this directory: planner policy check -policy=policies"


def _processes(terminal: Terminal, is_profiled: bool) -> int:
    if is_profiled:
        return 0
    return processors(MOST_PROCESSES) if terminal.owns_process else 1


def _several(
    calls: Judging, named: list[tuple[str, str]], format: str, arguments: Arguments, terminal: Terminal
) -> int:
    """Print the verdicts about several documents, each with the name of its document."""
    judged: list[tuple[str, str, Verdict | None]] = []
    known: Known = []
    code = 0
    for kind, path in named:
        if kind == "state":
            verdict, problems = calls.verdict(path, kind, known=known)
        else:
            verdict, problems = calls.verdict(path, kind, _processes(terminal, arguments["rule-times"]), known)
        problems = [*problems, *(_unmet(verdict) if verdict is not None and arguments["strict"] else ())]
        if verdict is not None and format == "table":
            terminal.out(f"{terminal.paint(path, 'bold')}\n{_table(verdict, terminal, arguments['proofs'])}\n")
            if arguments["rule-times"]:
                terminal.out(f"{_costs(verdict)}\n")
        else:
            judged.append((kind, path, verdict))
        code = max(code, finish(problems, terminal), int(verdict is None or verdict.is_denied))
    if format != "table":
        terminal.data(_report(judged, format))
    return code


def _report(judged: list[tuple[str, str, Verdict | None]], format: str) -> str:
    """A report about several documents. `judged`: (kind, path, verdict) of each document."""
    from planner.render.verdicts_formats import junit_of_several, markdown_of_several, sarif_of_several

    if format == "junit":
        return junit_of_several((path, verdict) for _, path, verdict in judged)
    if format == "sarif":
        return json_text(sarif_of_several((path, verdict) for _, path, verdict in judged))
    if format == "markdown":
        return markdown_of_several((path, verdict) for _, path, verdict in judged)
    documents = [{kind: path, **verdict.to_json()} for kind, path, verdict in judged if verdict is not None]
    return json_text({"format_version": "1.0", "verdicts": documents})


def _unmet(verdict: Verdict) -> list[Diagnostic]:
    """Errors for policies that did not match any object, or do not declare which objects they examine."""
    diagnostics = []
    for code in sorted(verdict.codes.keys() | verdict.judged.keys()):
        if code not in verdict.judged:
            detail = (
                f"No rule derives the objects that the policy checks: add judged({json_text(code).strip()}, A) :- ..."
            )
            diagnostics.append(error("policy.unjudged", f"Policy {code} has no rule for the relation judged", detail))
        elif not verdict.judged[code]:
            detail = "The plan has no object that the policy checks, so the policy denies nothing."
            diagnostics.append(error("policy.met_nothing", f"Policy {code} matched no object", detail))
    return diagnostics


def _table(verdict: Verdict, terminal: Terminal, proofs: bool) -> str:
    from planner.render.verdicts import table

    return table(verdict, terminal.paint, proofs)


def _costs(verdict: Verdict) -> str:
    from planner.render.verdicts import costs

    return costs(verdict)


def _printed(verdict: Verdict, format: str) -> str:
    """The verdict as text in a machine-readable format."""
    from planner.render.verdicts_formats import junit, markdown, sarif

    if format == "junit":
        return junit(verdict)
    if format == "markdown":
        return markdown(verdict)
    return json_text(sarif(verdict) if format == "sarif" else verdict.to_json())
