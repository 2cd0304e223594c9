"""`policy`: the policy library, packs of policies, and test cases."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from planner.answers.policy.standing_policies import own
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON
from planner.foundation.vocabulary.diagnostic import Failure
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.api.rule_cases import Quality


@command(
    "[options] [FILE]",
    """Prepares the policies of a directory. If .planner has neither policies nor a policy.toml, writes a first policy,
with its cases, into .planner/policies.

Otherwise installs the external packs of .planner/policy.toml (or FILE) in the versions of policy.lock next to it, and
adds new packs to the lock file. A pack that does not match the lock file is rejected.""",
)
def policy_init(arguments: Arguments, terminal: Terminal) -> int:
    from planner.answers.policy import policy_packs

    arguments.at_most_one_word("Name at most one policy.toml; the default is .planner/policy.toml.")
    if not arguments.words and not os.path.lexists(policy_packs.OWN):
        if own(os.curdir):
            terminal.out("There is no pack with an external source.")
        else:
            policy_packs.first_policy(terminal.out)
        return 0
    config = arguments.words[0] if arguments.words else policy_packs.OWN
    return finish(policy_packs.packs("init", config, terminal.out), terminal)


@command(
    "[options] [NAME]",
    """Lists the policy library by pack. Use a policy with -policy=builtin:NAME, where NAME is a policy, a pack,
or all. With the NAME of a policy, prints its source, to read or to copy; with the NAME of a pack, its pack.toml, which
has the parameters.""",
    (JSON,),
)
def policy_list(arguments: Arguments, terminal: Terminal) -> int:
    from planner.answers.policy.library import library
    from planner.answers.policy.sources import policy_files

    arguments.at_most_one_word("Name one policy, or none to list all.")
    entries = library()
    if arguments.words:
        word = arguments.words[0].removeprefix("builtin:")
        packs = {entry.info.pack: entry.info.pack.removeprefix("planner.") for entry in entries}
        named = [entry for entry in entries if entry.name == word]
        chosen = [pack for pack, short in packs.items() if word in (pack, short)]
        if not named and not chosen:
            raise UsageError(f"No policy {arguments.words[0]}", "To list all policies: planner policy list.")
        entries = named or [entry for entry in entries if entry.info.pack in chosen]
        if not named and not arguments["json"]:
            (text,) = (text for file, text in policy_files([f"builtin:{chosen[0]}"]) if file.endswith("pack.toml"))
            terminal.out(text.rstrip("\n"))
            return 0
    if arguments["json"]:
        items = [
            {"name": e.name, "summary": e.summary, "description": e.doc, "text": e.text, **e.info.to_json()}
            for e in entries
        ]
        terminal.data(json_text({"format_version": "1.0", "policies": items}))
    elif arguments.words:
        terminal.out(entries[0].text.rstrip("\n"))
    else:
        width = max(len(entry.name) for entry in entries)
        for pack in sorted({entry.info.pack for entry in entries}):
            terminal.out(pack)
            for entry in entries:
                if entry.info.pack == pack:
                    terminal.out(f"  {entry.name:{width}}  {entry.summary}")
    return 0


@command(
    "[options] [FILE]",
    """Writes the version and hash of each external pack of .planner/policy.toml (or FILE) into policy.lock next
to it, and installs nothing. Existing entries of the lock file are kept.""",
)
def policy_lock(arguments: Arguments, terminal: Terminal) -> int:
    return _packs("lock", arguments, terminal)


@command(
    "[options] [FILE]",
    """Selects the newest versions of the external packs of .planner/policy.toml (or FILE) that the version
constraints allow, installs them and writes policy.lock next to it.""",
)
def policy_update(arguments: Arguments, terminal: Terminal) -> int:
    return _packs("update", arguments, terminal)


def _packs(verb: Literal["lock", "update"], arguments: Arguments, terminal: Terminal) -> int:
    from planner.answers.policy import policy_packs

    config = arguments.at_most_one_word(
        "Name at most one policy.toml; the default is .planner/policy.toml.", policy_packs.OWN
    )
    return finish(policy_packs.packs(verb, config, terminal.out), terminal)


_OWN = os.path.join(".planner", "policies")


@command(
    "[options] [FILE|DIRECTORY...]",
    """Runs the case files (.case) next to policies, as "rules test" does: facts, small configurations and plans
of show -json (.given "PATH"), and the expected verdicts. Without arguments, it runs the cases in .planner/policies, or
else in the working directory and below. -policy=NAME names policies as in "policy check", including the library
(builtin:NAME).

With -coverage, shows for each rule the literals that never hold, or never fail, in any case. With -mutants, introduces
small mistakes into the rules and shows the mistakes that no case detects.""",
    (
        Flag("policy", "list", "Run the cases of this directory, file or builtin:NAME. May be repeated.", value="DIR"),
        Flag("coverage", "bool", "Show the literals of rules that never hold, or never fail, in any case."),
        Flag("mutants", "bool", "Introduce small mistakes in the rules, and show those that no case detects. Slow."),
        Flag("watch", "bool", "Run the cases again whenever a file changes, until interrupted."),
        JSON,
    ),
)
def policy_test(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, if a case fails, and if no case tests a denying rule."""
    from planner.api.rule_cases import named_cases

    words = ([*arguments.words, *(path for policy in arguments["policy"] for path in named_cases(policy))]) or (
        [_OWN] if os.path.isdir(_OWN) else ["."]
    )
    if arguments["watch"] and arguments["json"]:
        raise UsageError("Conflicting options", "-watch cannot be combined with -json.")
    if not arguments["watch"]:
        return _once(words, arguments, terminal)
    return _watch(words, arguments, terminal)


def _once(words: list[str], arguments: Arguments, terminal: Terminal) -> int:
    from planner.api.rule_cases import run_cases
    from planner.render import rules as render_rules

    tested = run_cases(words, "policy")
    result = _quality(words, arguments) if tested.passed else None
    if arguments["json"]:
        terminal.data(render_rules.tested_json(tested, **render_rules.quality_json(result)))
        return int(not tested.passed)
    terminal.out(render_rules.tested_text(tested, terminal.paint))
    render_rules.show(tested.diagnostics, terminal)
    if result is not None:
        terminal.out(render_rules.quality_text(result, arguments["coverage"], terminal.paint))
    return int(not tested.passed)


def _quality(words: list[str], arguments: Arguments) -> Quality | None:
    """The coverage of the rules by cases and, with -mutants, the artificial mistakes in rules (mutants) that the cases
    detect or miss; None if neither is requested."""
    from planner.api.rule_cases import quality

    if not arguments["coverage"] and not arguments["mutants"]:
        return None
    return quality(words, "policy", arguments["mutants"])[0]


def _watch(words: list[str], arguments: Arguments, terminal: Terminal) -> int:
    """Run the cases now, and after each change of a file. Returns 0 after an interrupt."""
    from planner.foundation.support.watch import changes

    try:
        for _ in changes(words):
            try:
                _once(words, arguments, terminal)
            except Failure as failure:  # the file may be incomplete until its next change
                finish(failure.diagnostics, terminal)
            terminal.out("\nWaiting for changes; press Ctrl-C to stop.")
            terminal.stdout.flush()
    except KeyboardInterrupt:
        return 0
    return 0
