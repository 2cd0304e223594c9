"""`state`: lists, shows, edits, prints, replaces and checks the state."""

from __future__ import annotations

import sys

from planner.api.states import ShownState, States, shown_json
from planner.cli.approval import ask
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import (
    IGNORE_REMOTE_VERSION,
    INPUT,
    JSON_LINES,
    LOCK,
    SHOW_SENSITIVE,
    VARIABLES,
    may_ask,
    plan_calls,
    state_calls,
)
from planner.cli.views import open_plain_view, open_view
from planner.foundation.support.disk import MAX_BYTES, read_given
from planner.foundation.vocabulary.address import (
    Address,
    AddressError,
    ModuleAddress,
    ResourceAddress,
    format_key,
    parse_address,
    sort_key,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import instead
from planner.foundation.vocabulary.records import evolve
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.value import quoted
from planner.render.view import View
from planner.world.state.model import InstanceState, ResourceState, State
from planner.world.state.verify import VerifiedFile

STATE_FILE = Flag("state", "string", "Read the state from this file.", value="FILE")
BACKUP = Flag("backup", "string", "Keep the former state in this file.", value="FILE")
EDITED = (Flag("state", "string", "Edit this state file.", value="FILE"), BACKUP)
CHANGING = (IGNORE_REMOTE_VERSION, *LOCK, *VARIABLES, *JSON_LINES)
"""flags of commands that change the state"""


@command(
    "[options] [ADDRESS...]",
    "Lists the resource instances in the state, or those of the named modules and resources.",
    (
        STATE_FILE,
        Flag("id", "string", "List only instances with this id attribute.", value="ID"),
        *VARIABLES,
        *JSON_LINES,
    ),
)
def state_list(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if there is no state."""
    view = open_plain_view(arguments, terminal)
    shown, problems = state_calls(States, arguments).stored_state()
    if shown.state is None:
        return view.finish([no_state()])
    for address in instances(shown.state, arguments.words, arguments["id"]):
        view.say(address, type="resource_address")
    return view.finish(problems)


def no_state() -> Diagnostic:
    return error("state.none", "No state", "No state file was found: nothing has been applied here yet.")


def _unknown(address: str, known: list[str]) -> Diagnostic:
    hint = instead(address, known) or " To list its content: planner state list."
    return error("state.unknown_address", "Not in the state", f"The state does not contain {address}.{hint}")


def instances(state: State, wanted: list[str], id: str = "") -> list[str]:
    """The sorted addresses of instances with a current or deposed object: all of them, or only the instances at and
    below the `wanted` addresses. `id`: only instances whose attribute `id` has this value. Raises Failure for an
    address that is not in the state."""
    filters = [_parse(text) for text in wanted]
    addresses: list[str] = []
    used: set[int] = set()
    for resource, instance in state.instances():
        address = resource.address + format_key(instance.key)
        parsed = parse_address(address)
        hits = [i for i, f in enumerate(filters) if f.covers(parsed)]
        used.update(hits)
        if filters and not hits:
            continue
        current = instance.current
        if id and (current is None or current.attributes.get("id") != id):
            continue
        addresses.append(address)
    missing = [text for i, text in enumerate(wanted) if i not in used]
    if missing:
        known = [resource.address + format_key(instance.key) for resource, instance in state.instances()]
        raise Failure([_unknown(text, known) for text in missing])
    return sorted(addresses, key=sort_key)


def _parse(text: str) -> Address:
    try:
        address = parse_address(text)
    except AddressError as problem:
        raise Failure(error("cli.address", f'"{text}" is not a valid address', problem.detail)) from None
    assert isinstance(address, ModuleAddress | ResourceAddress)
    return address


def only(resource: ResourceState, instance: InstanceState) -> State:
    """A state that contains only this instance, without its deposed objects."""
    alone = evolve(resource, instances={instance.key: evolve(instance, deposed={})})
    return State(resources={resource.address: alone})


@command(
    "[options] ADDRESS",
    "Shows the attributes of one resource instance. `planner state list` lists the addresses.",
    (STATE_FILE, SHOW_SENSITIVE, *VARIABLES, *JSON_LINES),
)
def state_show(arguments: Arguments, terminal: Terminal) -> int:
    address = arguments.only_word("One address is needed", "Write the address of a resource instance.")
    view = open_plain_view(arguments, terminal)
    shown, problems = state_calls(States, arguments).stored_state()
    if shown.state is None:
        return view.finish([no_state()])
    return tell(shown, address, problems, view, arguments["show-sensitive"], terminal)


def tell(
    shown: ShownState, wanted: str, problems: list[Diagnostic], view: View, show_sensitive: bool, terminal: Terminal
) -> int:
    """Show one instance. Returns the exit code. Raises Failure if the state does not contain the instance."""
    from planner.render.state import StateText

    assert shown.state is not None
    result = instances(shown.state, [wanted])
    if result != [wanted]:
        detail = f"{wanted} matches several instances: {', '.join(result)}."
        return view.finish([error("state.not_an_instance", "Address of several instances", detail)])
    lookup = SchemaLookup(shown.schemas)
    text = StateText(lookup.resource_schema, lookup.decode, terminal, show_sensitive)
    for resource, instance in shown.state.instances():
        if resource.address + format_key(instance.key) == result[0] and instance.current is not None:
            alone = ShownState(only(resource, instance), shown.schemas)
            view.document(text.object(resource, instance, "", instance.current), shown_json(alone))
            return view.finish(problems)
    detail = f"{result[0]} has only deposed objects."
    return view.finish([error("state.no_current_object", "No current object", detail)])


@command(
    "[options] FROM TO",
    """Moves a resource instance, a resource or a module in the state to another address. The real objects are not
changed.""",
    (
        Flag("dry-run", "bool", "List what would be moved without moving it."),
        STATE_FILE,
        Flag("state-out", "string", "Move into this state file.", value="FILE"),
        BACKUP,
        Flag("backup-out", "string", "Keep the former state of -state-out in this file.", value="FILE"),
        *CHANGING,
    ),
)
def state_mv(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if nothing was moved."""
    if len(arguments.words) != 2:
        raise UsageError("Expected two addresses", "Write the old address and the new one.")
    dry = arguments["dry-run"]
    view = open_plain_view(arguments, terminal)
    old, new = arguments.words
    moved, diagnostics = state_calls(States, arguments).move_objects(old, new, dry_run=dry)
    for before, after in moved:
        view.say(f"{'Would move' if dry else 'Move'} {quoted(before)} to {quoted(after)}")
    if dry:
        view.say("" if moved else "Would have moved nothing.")
    else:
        view.say(f"Successfully moved {len(moved)} object(s)." if moved else "No matching objects found.")
    return view.finish(diagnostics)


@command(
    "[options] ADDRESS...",
    """Removes resource instances, resources or modules from the state. The real objects continue to exist,
unmanaged.""",
    (Flag("dry-run", "bool", "List what would be removed without removing it."), *EDITED, *CHANGING),
)
def state_rm(arguments: Arguments, terminal: Terminal) -> int:
    if not arguments.words:
        raise UsageError("Missing address")
    dry = arguments["dry-run"]
    view = open_plain_view(arguments, terminal)
    removed, diagnostics = state_calls(States, arguments).forget(arguments.words, dry_run=dry)
    for address in removed:
        view.say(f"{'Would remove' if dry else 'Removed'} {address}")
    if not dry:
        view.say(f"Successfully removed {len(removed)} resource instance(s).")
    elif not removed:
        view.say("Would have removed nothing.")
    return view.finish(diagnostics)


@command(
    "[options] FROM TO",
    "Changes the provider of all objects in the state whose provider is FROM.",
    (Flag("auto-approve", "bool", "Replace without prompting for approval."), *EDITED, INPUT, *CHANGING),
)
def state_replace_provider(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if the user does not approve the change."""
    if len(arguments.words) != 2:
        raise UsageError("Expected two providers", "Write the old provider and the new one.")
    view = open_plain_view(arguments, terminal)
    calls = state_calls(States, arguments)
    old, new = arguments.words
    affected, _ = calls.replace_provider(old, new, dry_run=True)
    if not affected:
        view.say("No matching resources found.")
        return 0
    number = f"{len(affected)} resource{'s' * (len(affected) != 1)}"
    text = "\n  ".join([f"The provider of {number} changes:", *affected])
    message = f"The provider of {number} changes from {old} to {new}"
    view.say(text, message, type="replace_provider", resources=affected, **{"from": old, "to": new})
    if not arguments["auto-approve"]:
        remark = "Only 'yes' will be accepted to continue."
        question, instead = "Do you want to make these changes?", "Use -auto-approve to approve in advance."
        if ask(question, remark, terminal, may_ask(arguments), instead=instead) != "yes":
            view.say("Cancelled replacing providers.")
            return 1
    affected, diagnostics = calls.replace_provider(old, new)
    view.say(f"Successfully replaced provider for {number}.")
    return view.finish(diagnostics)


@command("", "Prints the state of the selected workspace in the format of state files.", VARIABLES)
def state_pull(arguments: Arguments, terminal: Terminal) -> int:
    arguments.no_words("state pull takes no arguments; use -chdir=DIR before the command.")
    data, diagnostics = state_calls(States, arguments).pull_state()
    if data:
        terminal.stdout.write(data.decode("utf-8", "surrogateescape"))
    return finish(diagnostics, terminal)


@command(
    "[options] FILE",
    """Replaces the state of the selected workspace with a state file ("-": standard input). Unless -force is given, a
file is rejected if it has a different lineage, an older serial, or the same serial with different content.""",
    (Flag("force", "bool", "Write the state even if it would be rejected."), *CHANGING),
)
def state_push(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, for example if the stored state has a different lineage or a higher serial."""
    path = arguments.only_word("One file is needed", 'Write the path of a state file, or "-".')
    view = open_plain_view(arguments, terminal)
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            data = read_given(path, MAX_BYTES)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise Failure(error("state.read", "Cannot read the file", f"{path}: {reason}.")) from None
    return view.finish(state_calls(States, arguments).push_state(data, force=arguments["force"]))


@command(
    "[options]",
    """Checks the state file, its backup, and the journal of an interrupted apply: whether each can be read, and
whether they belong together. Nothing is changed. The exit code is 1 when something is missing or damaged.""",
    (Flag("state", "string", "Check this state file.", value="FILE"), *VARIABLES, *JSON_LINES),
)
def state_verify(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if a state or journal is lost or damaged."""
    arguments.no_words("To check another file, use -state=FILE.")
    view = open_plain_view(arguments, terminal)
    return _report(view, *state_calls(States, arguments).verify_state())


def _report(view: View, checked: list[VerifiedFile], problems: list[Diagnostic]) -> int:
    if not checked and not has_errors(problems):
        problems.append(no_state())
    for file in checked:
        text = f"{file.path}: {file.content}"
        view.say(text, text, type="state_checked", kind=file.kind, path=file.path)
    damaged = any(d.code == "state.journal_damaged" for d in problems)
    return max(view.finish(problems), int(damaged))


@command(
    "[options]",
    """Shows the journals of operations that ended before they could save the state: completed changes, and
operations that were in progress. Journals count as part of the state until planner writes the state again; -adopt
writes it immediately, so that other programs can read it. If another program has changed the state in the meantime,
each command reports the objects that are only in a journal: -adopt reads them and adds those that exist to the state,
and -discard sets the journals aside.""",
    (
        Flag(
            "adopt",
            "bool",
            "Save the state with the journals' changes, after reading the objects that the state lacks.",
        ),
        Flag("discard", "bool", "Set the journals aside: each is kept in a file that planner no longer reads."),
        *LOCK,
        *VARIABLES,
        *JSON_LINES,
    ),
)
def state_journal(arguments: Arguments, terminal: Terminal) -> int:
    arguments.no_words("state journal takes no arguments: it shows the journals of the selected workspace.")
    if arguments["adopt"] and arguments["discard"]:
        raise UsageError("Conflicting options", "Choose one of -adopt and -discard.")
    if arguments["adopt"]:
        return _adopt(arguments, terminal)
    view = open_plain_view(arguments, terminal)
    shown, problems = state_calls(States, arguments).journals(arguments["discard"])
    for one in shown:
        of = f"{one.operation} of {one.time}, serial {one.serial}" if one.operation else "not readable"
        lines = [f"{one.place}: {of}"]
        lines += [f"  changed    {address}" for address in one.changed]
        lines += [f"  unfinished {action} {address}" for action, address in one.under_way]
        lines += ["  discarded"] if arguments["discard"] else []
        text = "\n".join(lines)
        view.say(text, text, type="state_journal", place=one.place, changed=list(one.changed))
    if not shown and not problems:
        view.say("There is no journal, so no operation was interrupted.", "No journal exists.", type="state_journal")
    return view.finish(problems)


def _adopt(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if an object cannot be read; the journal is then kept."""
    view = open_view(arguments, terminal)
    adopted, problems = plan_calls(States, arguments).adopt_journals(view.hooks)
    lines = [f"{address}: added to the state" for address in adopted.added]
    lines += [f"{address}: no longer exists" for address in adopted.gone]
    if not lines and not any(problem.is_error for problem in problems):
        lines = ["No object was added to the state. The journals are no longer part of the state."]
        if not adopted.saved:
            lines = ["The state already contains all objects of the journals."]
    for line in lines:
        view.say(line, line, type="state_journal", added=list(adopted.added), gone=list(adopted.gone))
    return view.finish(problems)
