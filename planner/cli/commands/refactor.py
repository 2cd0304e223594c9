"""`refactor`: edits the configuration without changing objects. Plans verify this before files are written."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from planner.api.making import Making
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import STATE, VARIABLES, plan_calls
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.workflows.editor.refactoring import Refactoring

_FLAGS = (
    Flag("dry-run", "bool", "Show the edits, and write nothing."),
    Flag("refresh", "bool", "Read the real objects before each plan (default: true).", default=True),
    *STATE,
    *VARIABLES,
)


@command(
    "[options] ADDRESS NAME",
    """Renames a resource, module call, variable, local value or output of a called module, with all references, also in
modules that call this one and in value and test files. Resources and modules get a moved block.

The edits are written only if the plan is the same with them as without them. `planner refactor undo` undoes them.

  planner refactor mv terraform_data.web gateway
  planner refactor mv module.net.var.cidr cidr_block""",
    _FLAGS,
)
def refactor_mv(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if the plan would change."""
    from planner.workflows.editor.refactoring import move

    old, new = _two_words(arguments, "an address and a new name")
    return _carry_out(arguments, terminal, lambda calls: move(calls.options, old, new))


@command(
    "[options] ADDRESS[KEY] KEY",
    """Renames the key of an instance of a resource or module with for_each, at the place that sets it (in the block, a
local value, a variable's default, a value file, or the argument of a call) and in references. Other objects that have
the key from the same place get the new key, too. Inserts moved blocks.

The edits are written only if the plan is the same with them as without them. `planner refactor undo` undoes them.

  planner refactor rename-key 'terraform_data.web["a"]' blue""",
    _FLAGS,
)
def refactor_rename_key(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if the plan would change."""
    from planner.workflows.editor.refactoring import rename_key

    old, new = _two_words(arguments, "an instance and a new key")
    return _carry_out(arguments, terminal, lambda calls: rename_key(calls.options, old, new))


@command(
    "[options] ADDRESS",
    """Changes the count of a resource or module to for_each, with its uses of count.index and the references to its
instances, and inserts a moved block for each instance. With count = length(LIST) the keys are the elements of the list,
otherwise numbers.

The edits are written only if the plan is the same with them as without them. `planner refactor undo` undoes them.""",
    _FLAGS,
)
def refactor_count_to_for_each(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if the plan would change."""
    from planner.workflows.editor.refactoring import count_to_for_each

    if len(arguments.words) != 1:
        raise UsageError("Wrong number of arguments", "Name one resource or module.")
    return _carry_out(arguments, terminal, lambda calls: count_to_for_each(calls.options, arguments.words[0]))


@command(
    "[options] [ADDRESS...]",
    """Writes configuration for objects of the state, and for targets of import blocks, that the configuration does not
declare. Several instances become one block with count or for_each. Values of other objects become references, and
repeated values become variables. An argument is left out if the provider sets the same value itself.

The file is written only if a plan with it does not change the objects. `planner refactor undo` removes it.

  planner refactor adopt
  planner refactor adopt aws_vpc.main -to=network.tf""",
    (Flag("to", "string", "The new file (default: adopted.tf).", "adopted.tf", value="FILE"), *_FLAGS),
)
def refactor_adopt(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if an object would change."""
    from planner.workflows.editor.adoption import adopt

    outcome, flags = "The plan does not change these objects.", [f"-to={arguments['to']}"]
    return _carry_out(
        arguments,
        terminal,
        lambda calls: adopt(calls.options, arguments.words, arguments["to"]),
        flags,
        needs_configuration=False,
        outcome=outcome,
    )


@command(
    "-to=DIR ADDRESS...",
    """Moves resources, data sources, module calls and local values of one module into a new module in the directory
DIR, and adds a call of it. Local values that only these blocks use are moved, too. The new module gets variables for
values from outside, outputs for values that are used outside, and requirements of providers. Resources get moved
blocks.

The edits are written only if the plan is the same with them as without them. `planner refactor undo` undoes them.

  planner refactor extract-module aws_vpc.main aws_subnet.a -to=modules/net""",
    (
        Flag("to", "string", "The directory of the new module.", value="DIR"),
        Flag("name", "string", "The name of the call (default: the last part of DIR).", value="NAME"),
        *_FLAGS,
    ),
)
def refactor_extract_module(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if the plan would change."""
    from planner.workflows.editor.extraction import extract_module

    if not arguments.words or not arguments["to"]:
        raise UsageError("Missing argument", "Name the objects to move, and a new directory with -to=DIR.")
    to, name = arguments["to"], arguments["name"] or ""
    words = [f"-to={to}", *([f"-name={name}"] if name else [])]
    return _carry_out(
        arguments, terminal, lambda calls: extract_module(calls.options, arguments.words, to, name), words
    )


@command(
    "[options] module.NAME",
    """Replaces the call of a local module with the blocks of the module. Arguments of the call replace the variables,
and the values of outputs replace references to them. Names that are already taken get the name of the module as a
prefix, and resources get moved blocks. Comments on the call, and on variables and outputs that are used, are kept.
The files of the module are removed, unless it has tests or is called elsewhere, too. It is an error if the call has
count or for_each.

The edits are written only if the plan is the same with them as without them. `planner refactor undo` undoes them.

  planner refactor inline-module module.net""",
    _FLAGS,
)
def refactor_inline_module(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if the plan would change."""
    from planner.workflows.editor.inlining import inline_module

    if len(arguments.words) != 1:
        raise UsageError("Wrong number of arguments", "Name exactly one module call.")
    return _carry_out(arguments, terminal, lambda calls: inline_module(calls.options, arguments.words[0]))


@command(
    "-to=DIR ADDRESS...",
    """Moves resources, data sources and module calls of this root module to the root module in the directory DIR, and
their objects to its state. Variables, local values, data sources and provider configurations that they need are copied;
outputs and checks that refer only to them are moved, too. If blocks of one root module refer to objects of the other,
the root module with the objects gets outputs, and the root module with the references gets a terraform_remote_state
that reads them. Only one of the two root modules can get outputs, and its state must be local.

Both root modules are planned first. If neither plan changes, the state of DIR is written, then the files, then the
state of this root module. `planner refactor undo` moves the objects back.

  planner refactor split-state module.dns -to=../dns""",
    (Flag("to", "string", "The directory of the other root module, which may be new.", value="DIR"), *_FLAGS),
)
def refactor_split_state(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if a plan would change."""
    from planner.workflows.editor.state_moves import split_state

    if not arguments.words or not arguments["to"]:
        raise UsageError(
            "Missing argument",
            "Pass the objects to move, and the directory of the other root module: -to=DIR ADDRESS...",
        )
    to = arguments["to"]
    return _carry_out(arguments, terminal, lambda calls: split_state(calls.options, arguments.words, to), [f"-to={to}"])


@command(
    "[options] DIR",
    """Moves all blocks of another root module, and all objects of its state, into this one: the reverse of split-state.
Blocks that are the same in both, such as variables and provider configurations, are not repeated. Different blocks with
the same name are an error. If one root module reads the local state of the other with a terraform_remote_state,
references to the outputs are replaced by the expressions that define them. The backend and the value files of DIR are
not moved.

The plans of both root modules are compared with the plan after the merge. If the changes are the same, the state of
this root module is written, then the files, then the state of DIR. `planner refactor undo` moves the objects back.

  planner refactor merge-state ../dns""",
    _FLAGS,
)
def refactor_merge_state(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if a plan would change."""
    from planner.workflows.editor.state_moves import merge_state

    if len(arguments.words) != 1:
        raise UsageError("Wrong number of arguments", "Name the directory of exactly one root module.")
    return _carry_out(arguments, terminal, lambda calls: merge_state(calls.options, arguments.words[0]))


@command(
    "",
    """Undoes the last refactoring: its files get their former content, byte for byte. It is an error if one of them was
changed since.""",
    (Flag("dry-run", "bool", "Show the edits, and write nothing."),),
)
def refactor_undo(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 if there is no refactoring to undo, or if a file has changed since the refactoring."""
    from planner.workflows.editor.refactoring import diff_of
    from planner.workflows.editor.refactoring_record import undo
    from planner.workflows.editor.state_moves import from_record

    is_dry = bool(arguments["dry-run"])
    words, files = undo(plan_calls(Making, arguments).options, from_record, is_written=not is_dry)
    shown = sorted(name for name in files if not name.endswith("modules.json"))
    if is_dry:
        terminal.out(diff_of({name: files[name] for name in shown}))
    terminal.out(f"{'Would be undone' if is_dry else 'Undone'}: planner refactor {shlex.join(words)}")
    for name in shown:
        terminal.out(f"  {name}")
    return 0


def _two_words(arguments: Arguments, what: str) -> tuple[str, str]:
    if len(arguments.words) != 2:
        raise UsageError("Wrong number of arguments", f"Name {what}.")
    return arguments.words[0], arguments.words[1]


def _carry_out(
    arguments: Arguments,
    terminal: Terminal,
    refactoring: Callable[[Making], Refactoring],
    flags: Sequence[str] = (),
    needs_configuration: bool = True,
    outcome: str = "The plan does not change.",
) -> int:
    from planner.workflows.editor.refactoring_record import write

    calls = plan_calls(Making, arguments, needs_configuration=needs_configuration)
    made = refactoring(calls)
    terminal.out(made.diff())
    for old, new in made.moved:
        terminal.out(f"{old} moves to {new}.")
    if made.unread:
        names = ", ".join(map(os.path.relpath, made.unread))
        terminal.out(f"The plan does not verify the edits in: {names}")
    number = f"{len(made.shown_paths)} file{'s' if len(made.shown_paths) != 1 else ''}"
    if arguments["dry-run"]:
        terminal.out(f"{outcome} {number} would be written.")
    else:
        write(calls.options, made, [arguments.command.partition(" ")[2], *arguments.words, *flags])
        terminal.out(f"{outcome} {number} written; planner refactor undo undoes this.")
    for note in made.notes:
        terminal.out(note)
    return 0
