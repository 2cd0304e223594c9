"""`policy init`: install the packs of a policy.toml, or write a first policy."""

from __future__ import annotations

import os

from planner.answers.policy.standing_policies import own
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag
from planner.render.terminal import Terminal

USAGE = "[options] [FILE]"
HELP = """Installs the external packs of .planner/policy.toml (or FILE) in the versions of policy.lock next to it,
and adds new packs to the lock file. A pack that does not match the lock file is rejected.

If .planner has neither policies nor a policy.toml, the command writes a first policy, with its cases, into
.planner/policies."""
FLAGS: tuple[Flag, ...] = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a pack cannot be fetched or does not match."""
    from planner.answers.policy import policy_packs

    arguments.at_most_one_word("Name one policy.toml, or none for .planner/policy.toml.")
    if not arguments.words and not os.path.lexists(policy_packs.OWN):
        if own(os.curdir):
            terminal.out("No pack has an external source.")
        else:
            policy_packs.first_policy(terminal.out)
        return 0
    config = arguments.words[0] if arguments.words else policy_packs.OWN
    return finish(policy_packs.packs("init", config, terminal.out), terminal)
