"""`batch` commands that query a fleet, combine the results of parallel jobs, or run as the worker of an executor."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from planner.cli.batch_options import REPORTS, REUSE, RUN, SELECT, WORDS, batch_options
from planner.cli.finish import finish, json_text, show_verdicts, write_page
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON, SERVED
from planner.foundation.support.signals import install
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.nearest import word
from planner.foundation.vocabulary.records import evolve
from planner.render.terminal import Terminal
from planner.workflows.batch.model import diagnostics_json, units_text
from planner.workflows.batch.schedule import BatchListener

if TYPE_CHECKING:
    from planner.answers.policy.model import Verdict
    from planner.render.page.document import Page


@command(
    "[options] [WORDS...]",
    f"""Prints the graph of the units in the DOT language, after transitive reduction; with -json all edges, the
waves, and why each unit is selected.

{WORDS}""",
    (JSON, *SELECT),
)
def batch_graph(arguments: Arguments, terminal: Terminal) -> int:
    from planner.workflows.batch.questions import analysed, graph_dot, graph_json

    analysis = analysed(batch_options(arguments))
    document = graph_json(analysis)
    if arguments["json"]:
        terminal.data(json_text(document))
    elif document["nodes"]:
        terminal.data(graph_dot(document))
    return finish([d for d in analysis.diagnostics if d.is_error or d.code == "batch.refused"], terminal) or int(
        has_errors(analysis.diagnostics)
    )


@command(
    "[options] 'QUESTION' [WORDS...]",
    """Runs a query over the units of a fleet. If it reads plans, the units are planned first:
  planner batch query 'edge(U, "network")'
  planner batch query 'unit_change(U, Address, "delete")'
  planner batch query 'unit_planned(U, A, "input.name", N), U != "app"'

The most useful relations:
  unit(U, Directory), tag(U, Tag), group(U, Group), wave(U, Number)
  edge(U, V)                         U waits for V directly
  waits_for(U, V)                    directly or through others
  reads_state(U, Object, State), writes_state(U, State)
  takes_output(U, Variable, V, Output), reads_file(U, File)
  status(U, Outcome)                 changes, incomplete, unchanged, ...
  pending(U, V, Output, Path)        U's plan depends on a value of V's output
                                     that is known only after V is applied
  unit_change(U, Address, Action)    the planned action of an instance
  kind_of(U, Address, Mode, Type), unit_reason(U, Address, Reason)
  unit_planned(U, Address, Path, V)  a value after apply; also unit_prior
  unit_unknown_after(U, Address, P)  a value that is known only after apply

Sensitive values are omitted. For WORDS see planner batch plan.""",
    (
        Flag("timeout", "duration", "Stop the query after this time (default: 30s).", 30.0, "DURATION"),
        Flag("csv", "bool", "Print comma-separated values."),
        JSON,
        REUSE,
        *SELECT,
        *RUN,
    ),
)
def batch_query(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 even if the query has no answers."""
    from planner.render.rows import csv_text, json_text, table
    from planner.workflows.batch.questions import query

    if not arguments.words:
        raise UsageError("Missing query", "Write the query in single quotes.")
    if arguments["csv"] and arguments["json"]:
        raise UsageError("Conflicting options", "Choose one of -json and -csv.")
    question = arguments.words.pop(0)
    answers, diagnostics = query(batch_options(arguments), question, BatchListener(), arguments["timeout"])
    if has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if arguments["json"] or arguments["csv"]:
        terminal.data((json_text if arguments["json"] else csv_text)(answers.columns, answers.rows))
        return 0
    if not answers.columns:
        terminal.out("Yes." if answers.rows else "No.")
    else:
        terminal.out(table(answers.columns, answers.rows) if answers.rows else "No answer.")
    return finish(diagnostics, terminal)


PENDING = "pending"


@command(
    "[options] UNIT OTHER | [pending] UNIT",
    """Explains why UNIT waits for OTHER: prints the chain of units between them, and the reason and the source line of
each edge. With -not, explains why UNIT does not wait.

`pending UNIT` lists the parts of the unit's plan that are unknown until other units are applied, by output and path;
with -not it explains why the plan does not wait for other units. Both forms plan the dependencies of the unit, too.

`UNIT` alone explains the outcome of its plan; with a selection (-tag, -group, -changed, -exclude, -select) it explains
why the unit is selected.""",
    (
        Flag("not", "bool", "Explain why UNIT does not wait for OTHER."),
        Flag("full", "bool", "Show the whole proof."),
        Flag("select", "list", "A set of units, as in batch plan. May be repeated.", value="WORD"),
        JSON,
        *SELECT,
    ),
)
def batch_why(arguments: Arguments, terminal: Terminal) -> int:
    """Raises Failure if no proof answers the question."""
    from planner.render.proof import proof_text
    from planner.render.why import why_text
    from planner.workflows.batch.questions import selection_proof, why, why_outcome, why_pending

    if not 1 <= len(arguments.words) <= 2:
        raise UsageError("Expected one or two units", "See planner batch why -help.")
    options = evolve(batch_options(arguments), words=tuple(arguments["select"]))
    words = arguments.words
    if len(words) == 2 and words[0] == PENDING:
        return _pending(why_pending(options, words[1], arguments["not"], BatchListener()), arguments, terminal)
    if len(words) == 2:
        proof = why(options, words[0], words[1], arguments["not"])
    elif any(arguments[name] for name in ("select", "tag", "group", "changed", "exclude")):
        proof = selection_proof(options, words[0])
    else:
        proof = why_outcome(options, words[0], BatchListener())
        causes = sorted({one["goal"][2] for one in proof.get("pending", ())})
        if not arguments["json"]:
            because = f", {units_text(causes)}" if causes else ""
            terminal.out(f"{words[0]}: {proof['goal'][2]}{because}")
            if causes and not arguments["full"]:
                return _pending({"proofs": proof["pending"]}, arguments, terminal)
    if arguments["json"]:
        terminal.data(json_text(proof))
    elif "proofs" in proof and proof["goal"][0] in ("edge", "waits_for") and not arguments["full"]:
        terminal.out(why_text(proof, terminal.paint))
    else:
        terminal.out(proof_text(proof, terminal.paint, arguments["full"]))
    return 0


def _pending(document: dict[str, Any], arguments: Arguments, terminal: Terminal) -> int:
    """Print the unknown values on which a plan depends, or the reason why it does not depend on any."""
    from planner.render.proof import proof_text

    if arguments["json"]:
        terminal.data(json_text(document))
        return 0
    for number, proof in enumerate(document["proofs"]):
        if number:
            terminal.out()
        terminal.out(proof_text(proof, terminal.paint, arguments["full"]))
    return 0


@command(
    "[options] [WORDS...]",
    f"""Checks the plans of all units together against rules that derive deny(code, unit, message) or warn(code, unit,
message) from the relations of planner batch query:
  deny("bucket", U, M) :-
    unit_planned(U, _, "input.bucket", N),
    unit_planned(V, _, "input.bucket", N),
    U < V, M = "owns the bucket " ++ N ++ ", and so does " ++ V.

{WORDS}

A verdict that depends on values that are not known yet (a new object's id, a changed output of a unit) is undecided
until the values are known. If the computation of a policy fails, the policy is broken, which counts as a denial.

The policies in .planner/batch-policies and those of the organisation also apply to batch plan, apply and destroy: if
they deny a unit, no plan is saved or applied.

The exit code is 0, or 1 if the fleet is denied, if a unit has no plan, or on other errors.""",
    (
        Flag(
            "policy",
            "list",
            "A file or directory of policies (default: .planner/batch-policies). May be repeated.",
            value="PATH",
        ),
        Flag("proofs", "bool", "Show the proof below each verdict."),
        JSON,
        REUSE,
        *SELECT,
        *RUN,
    ),
)
def batch_policy(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if a policy denies an object or a unit."""
    from planner.render.verdicts import count_verdicts
    from planner.workflows.batch.questions import policy

    verdict, diagnostics = policy(batch_options(arguments), tuple(arguments["policy"]), BatchListener())
    findings = verdict.findings
    if arguments["json"]:
        terminal.data(_document(verdict, diagnostics))
        return int(verdict.is_denied or has_errors(diagnostics))
    show_verdicts([("", verdict)], "UNIT", arguments["proofs"], terminal)
    code = finish(diagnostics, terminal)
    if not code:
        terminal.out(("\n" if findings else "") + count_verdicts(verdict))
    return max(code, int(verdict.is_denied))


def _document(verdict: Verdict, diagnostics: list[Diagnostic]) -> str:
    from planner.answers.policy.combined_plans import combined_json

    return json_text({**combined_json(verdict), "diagnostics": list(diagnostics_json(diagnostics))})


@command(
    "[options] [WORDS...]",
    f"""Plans the units of a fleet as `batch plan` does, and writes one HTML page that needs no network. The page shows
the order of units with its reasons, and the plan of each unit. `batch plan -html=FILE` and `batch apply
-html=FILE` also write this page. With -serve the page is served to browsers on this machine until Ctrl-C, at an
address with a secret token, and is updated when files of the units are saved.

{WORDS}""",
    (Flag("out", "string", "Write the page to this file.", value="FILE"), *SERVED, REUSE, *SELECT, *RUN),
)
def batch_explore(arguments: Arguments, terminal: Terminal) -> int:
    from planner.cli.batch_lines import BatchLines
    from planner.cli.batch_view import edge_grounds, texts
    from planner.workflows.batch import plan as batch
    from planner.workflows.batch.reports.document import report_json, summary_line
    from planner.workflows.batch.reports.html import below, errors_of_units, html, page_of_batch

    if bool(arguments["out"]) == arguments["serve"]:
        detail = "Name the file to write: batch explore -out=fleet.html, or serve the page: batch explore -serve"
        raise UsageError("Exactly one of the options -out and -serve is required", detail)
    if terminal.owns_process:
        install()
    if arguments["serve"]:
        from planner.cli.live_server import LiveReport, quiet_terminal, serve

        def make() -> tuple[Page | None, str, list[Diagnostic], list[str]]:
            report = batch.plan(evolve(batch_options(arguments), text=True), BatchLines(quiet_terminal()), "plan")
            if not report.done:
                return None, "", list(report.diagnostics), []
            document = report_json(report)
            page = page_of_batch(document, texts(report), edge_grounds(report))
            return page, below(document), list(report.diagnostics), errors_of_units(document)

        live = LiveReport(f"Fleet {os.path.basename(os.getcwd())}", make, partial(_answer, arguments))
        return serve(live, arguments["port"], terminal)
    report = batch.plan(evolve(batch_options(arguments), text=True), BatchLines(terminal), "plan")
    problems = list(report.diagnostics)
    if report.done:
        document = report_json(report)
        problems += write_page(arguments["out"], html(document, texts(report), edge_grounds(report)))
        terminal.out(summary_line(document))
    code = finish(problems, terminal)
    if report.done and not code:
        terminal.out(f"The page is in {arguments['out']}.")
    return 1 if report.failed else code


def _answer(served: Arguments, kind: str, text: str, words: list[str], is_full: bool, terminal: Terminal) -> None:
    """Answer a question that was entered on the served page. It is about all units that the page shows."""
    if kind == "query":
        arguments = served.like(batch_query)
        arguments.words = [text, *served.words]
        asked = batch_query
    else:
        arguments = served.like(batch_why, "tag", "group", "changed", "exclude")
        arguments.words = words
        arguments.values.update({"not": kind == "why-not", "full": is_full})
        asked = batch_why
    assert asked.run is not None
    asked.run(arguments, terminal)


@command(
    "[options] SHARD...",
    """Joins the results of jobs that shared the units of one command (-shard=K/N): SHARD is the file of
-report=FILE, or the directory of batch plan -out=DIR. The result is one report for all units, as if a single job had
run, and with -out one saved plan, which planner batch apply DIR applies.

Every shard is required exactly once, and all shards need the same files, selection and options. If a shard also
planned a unit of another shard to obtain its values, both shards must have read the same objects. Otherwise the command
fails and prints the reason.

The fleet's files are not needed, only the shards. The exit code is that of a single job: 0; 1 when a unit failed; 2
with -detailed-exitcode when there are changes.""",
    (
        Flag("out", "string", "Save the plans of all shards here, for batch apply DIR.", value="DIR"),
        Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
        Flag("strict", "bool", "Exit with 1 if removed units still have objects."),
        *(flag for flag in REPORTS if flag.name != "show"),
    ),
)
def batch_join(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, 2 if there are changes and -detailed-exitcode is set, and 0 otherwise."""
    from planner.cli.batch_view import conclude_with
    from planner.workflows.batch.join import join

    if not arguments.words:
        raise UsageError("Missing shards", "Name the report files or plan directories of the jobs.")
    joined = join(arguments.words, arguments["out"])
    code = conclude_with(joined.document, joined, arguments, terminal)
    if arguments["out"] and not arguments["json"]:
        out = arguments["out"]
        saved = f"The plans are saved. To apply them: planner batch apply {word(out)}"
        terminal.out(saved if joined.is_saved else f"No plans are saved in {out}, because of the errors.")
    return code


# `batch clean`: remove the records of old runs


@command(
    "[options]",
    """Removes the records of old runs below .planner/batch: options, events, logs, and plan files, which contain
values. The newest record is kept unless -keep=0 is given. The record of an interrupted run that was changing objects is
kept as long as planner batch resume can continue it.

Without this command the newest 200 records are kept. The caches of configurations are stored elsewhere and are not
removed; a unit whose plan is removed is planned again.""",
    (
        Flag("keep", "int", "The number of newest records to keep (default: 1).", 1, "N"),
        Flag("older-than", "duration", "Remove only records older than this.", 0.0, "DURATION"),
        Flag("dry-run", "bool", "List what would be removed without removing it."),
        Flag("file", "string", "The fleet file (planner.batch.hcl).", value="FILE"),
    ),
)
def batch_clean(arguments: Arguments, terminal: Terminal) -> int:
    from planner.workflows.batch.remove_records import clean

    arguments.no_words("The records of the fleet in the working directory are removed.")
    if arguments["keep"] < 0:
        raise UsageError("Option -keep must not be negative")
    root = os.path.dirname(os.path.abspath(arguments["file"])) if arguments["file"] else os.getcwd()
    done = clean(root, arguments["keep"], arguments["older-than"], arguments["dry-run"])
    for name in done.removed:
        terminal.out(name)
    for name in done.kept:
        terminal.out(f"{name} is kept: the run was interrupted, and planner batch resume can continue it.")
    what = "would be removed" if arguments["dry-run"] else "removed"
    number = len(done.removed)
    terminal.out(f"{number} record{'' if number == 1 else 's'} {what}, {done.size:,} bytes.")
    return 0


# `batch work`: run one unit for another machine, which does not share files with this machine


@command(
    "< BUNDLE > RESULT",
    """Executes the work described by the bundle on standard input, and writes the result to standard output. This
is the remote end of `batch plan -executor='command:ssh host planner batch work'`, not a command to type.

The bundle is unpacked below PLANNER_BUNDLE_DIR (default: the temporary directory). Plugins are installed according to
the lock files in the bundle, with the settings of this machine; credentials come from this environment and the unit's
auth command. Both machines need the same version of planner.""",
)
def batch_work(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 if a result was written, even a result with errors."""
    from planner.workflows.batch.bundles.host import work

    if terminal.owns_process:
        install()
    source = getattr(terminal.stdin, "buffer", None)
    answer = work(source.read() if source is not None else b"")
    terminal.outputs[0].write_bytes(answer)
    return 0
