"""`why`: the proof of an edge, an action or an unknown value."""

from __future__ import annotations

from typing import Any

from planner.api.making import Making
from planner.api.questions import Questions, subject_of
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import DESTROY, JSON, OPERATION, POLICY, SINCE, STATE, VARIABLES, plan_calls
from planner.cli.views import PAGER, causes_of, paged, show_summary, summary_document
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.logic.programs.actions import verbs
from planner.render.terminal import Terminal, is_terminal


def _text(proof: dict[str, Any], arguments: Arguments, terminal: Terminal) -> str:
    from planner.render.why import answer_text

    width = terminal.width - 1 if is_terminal(terminal.stdout) else 0
    try:
        return answer_text(proof, terminal.paint, width, arguments["full"], arguments["depth"], arguments["expand"])
    except KeyError:
        detail = f"The steps of this proof are named p1 to p{len(proof['proofs'])}."
        raise UsageError(f"The proof has no step {arguments['expand']}", detail) from None


def _summary(arguments: Arguments, terminal: Terminal, calls: Questions) -> int:
    """Print the causes of a plan's changes."""
    answer = Making(calls.options, owns_process=True).plan_to_explain(arguments["plan"] or None)
    made = answer.complete
    if made is None:
        return finish(list(answer.diagnostics), terminal)
    if arguments["json"]:
        terminal.data(json_text(summary_document(made, terminal)))
    else:
        show_summary(made, terminal, arguments["full"])
    return finish(list(answer.diagnostics), terminal)


def _effects(arguments: Arguments, terminal: Terminal, calls: Questions, source: str) -> int:
    """Print the changes that follow from a value, a file or a module, or all changes with an action."""
    from planner.render.cause_summary import summary_json

    effects, diagnostics = calls.effects(source, arguments["plan"] or None)
    if effects is None:
        return finish(diagnostics, terminal)
    shown = causes_of(effects.plan, effects.because, terminal, notes=effects.notes)
    if arguments["json"]:
        terminal.data(json_text(summary_json(shown.groups, shown.planned)))
    elif not effects.because:
        has_none = f'No change of this plan has the action "{source}".'
        terminal.out(
            has_none if source in verbs() else f"{source} has no effect on this plan: no change follows from it."
        )
    else:
        whole = causes_of(effects.plan, effects.all, terminal)
        for line in shown.effects(source, terminal.paint, arguments["full"], whole.groups, source in verbs()):
            terminal.out(line)
    return finish(diagnostics, terminal)


MOST_ENTRIES = 11

"""maximum number of listed lines, unless all are requested"""


def _list(arguments: Arguments, terminal: Terminal, calls: Questions) -> int:
    """Print everything that matches a word such as `drift`, with explanations."""
    from planner.render.alike import alike

    (word,) = arguments.words
    of, diagnostics = calls.listing(word, arguments["plan"] or None)
    if of is None or has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if arguments["json"]:
        terminal.data(json_text(of.json(word)))
    elif of.remark and not arguments["full"]:
        terminal.out(of.remark)
    elif not of.names:
        terminal.out(f"{of.title}: none.")
    else:
        lines = list(of.names) if arguments["full"] else [one.text for one in alike(of.names)]
        shown = lines if arguments["full"] or len(lines) <= MOST_ENTRIES else lines[: MOST_ENTRIES - 1]
        terminal.out(f"{of.title} ({len(of.names)}):")
        for line in shown:
            terminal.out(f"  {line}")
        if len(shown) < len(lines):
            terminal.out(f"  ... {len(lines) - len(shown)} more (-full)")
    return finish(diagnostics, terminal)


def _fix(arguments: Arguments, terminal: Terminal, calls: Questions) -> int:
    from planner.render.why import fixes_text

    if arguments["not"]:
        raise UsageError("-fix and -not cannot be combined", "-fix can only avoid a result that is true.")
    document, diagnostics = calls.removals(tuple(arguments.words), arguments["type"], arguments["plan"] or None)
    if document is None or has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if arguments["json"]:
        terminal.data(json_text(document))
    else:
        width = terminal.width - 1 if is_terminal(terminal.stdout) else 0
        terminal.out(fixes_text(document, terminal.paint, width))
    return finish(diagnostics, terminal)


FLAGS = (
    Flag("type", "string", "The graph: plan, plan-refresh-only, plan-destroy or apply.", value="TYPE"),
    Flag("plan", "string", "Use the apply graph of this plan file.", value="FILE"),
    Flag("depth", "int", "Show only this many levels of the proof.", 0, value="N"),
    Flag("expand", "string", "Show one step of the proof in full, by its name in -json: p1, p2, ...", value="ID"),
    Flag("full", "bool", "Show the whole proof: every fact, rule and condition."),
    Flag("not", "bool", "Explain why something does not hold."),
    Flag("fix", "bool", "List the smallest sets of lines and options whose removal avoids the result."),
    PAGER,
    JSON,
    DESTROY,
    SINCE,
    *OPERATION,
    *STATE,
    *POLICY,
    *VARIABLES,
)


@command(
    "[options] [NODE NODE | [WORD] THING | FACT]",
    """Without an address, lists the root causes of all changes of a plan, each with its effects.
Otherwise explains, rule by rule, why something holds:

  planner why NODE OTHER        why NODE waits for OTHER in the graph
  planner why ADDRESS           why this action is planned for an instance or
                                output.NAME, or why a data source is read
                                during the plan; without keys for all
                                instances
  planner why var.NAME          the changes that follow from it; also
                                local.NAME, file PATH and module.NAME
  planner why replace           the causes of all replacements; also delete,
                                create, update, read and forget
  planner why replace ADDRESS   as for ADDRESS, but an error if the object is
                                not replaced
  planner why invoke ADDRESS    why an action is invoked, or what the change
                                of an object invokes
  planner why drift ADDRESS     how an object was changed outside planner
  planner why unknown VALUE     why a value is only known after the apply:
                                terraform_data.web[0].id, output.NAME,
                                local.NAME, module.net.id, module.net.local.x
  planner why targeted NODE     why -target or -exclude keeps NODE (selected),
                                or a single instance: terraform_data.web["a"]
  planner why excluded NODE     why -exclude leaves it out (excluded)
  planner why deferred ADDRESS  why -allow-deferral leaves it for later:
                                the unknown value, or the provider's answer
  planner why moved ADDRESS     why an object of the state has another address
  planner why forced NODE       why its new object is created before the old
                                one is destroyed, although its block does
                                not set this (forced_create_before_destroy)
  planner why moved             all objects that moved; also drift, unknown,
                                targeted, excluded, deferred and forced
  planner why deny CODE ADDR    why a policy denies it (-policy=DIR); also
                                warn, undecided, broken; CODE or ADDR alone
                                is enough
  planner why 'edge("a", "b")'  why a derived fact holds

With -fix, lists the smallest sets of places (lines, variables, options, your rules) whose removal avoids the result.
Each set is checked by deriving or planning again without it. If this is not possible, the reason is printed.
With -not, each form explains why something does not hold: it prints the nearest derivation, and with -full the first
failing condition of each rule. Every step has its reason, and every leaf its position in a file. Repeated steps are
abbreviated (p4, above).""",
    FLAGS,
)
def why(arguments: Arguments, terminal: Terminal) -> int:
    with paged(arguments, terminal):
        return answer(arguments, terminal, plan_calls(Questions, arguments))


def answer(arguments: Arguments, terminal: Terminal, calls: Questions) -> int:
    """Print the answer to the question on the command line. Returns the exit code. Raises UsageError."""
    if len(arguments.words) > 3:
        raise UsageError("Expected one to three arguments", "See planner why -help.")
    if not arguments.words:
        return _summary(arguments, terminal, calls)
    if arguments["fix"]:
        return _fix(arguments, terminal, calls)
    words = tuple(arguments.words)
    form, source = subject_of(words)
    if form == "list" and not arguments["not"]:
        return _list(arguments, terminal, calls)
    if form == "effects" and not arguments["not"]:
        return _effects(arguments, terminal, calls, source)
    proof, diagnostics = calls.proof(words, arguments["not"], arguments["type"], arguments["plan"] or None)
    if proof is None or has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if arguments["json"]:
        terminal.data(json_text(proof))
    else:
        terminal.out(_text(proof, arguments, terminal))
    return finish(diagnostics, terminal)
