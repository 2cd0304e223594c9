"""`policy lock`: write the hashes of packs into the lock file."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag
from planner.render.terminal import Terminal

USAGE = "[options] [FILE]"
HELP = """Writes the version and hash of each external pack of .planner/policy.toml (or FILE) into policy.lock next
to it, and installs nothing. Existing entries of the lock file are kept."""
FLAGS: tuple[Flag, ...] = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a pack cannot be fetched or does not match."""
    from planner.answers.policy import policy_packs

    config = arguments.at_most_one_word("Name one policy.toml, or none for .planner/policy.toml.", policy_packs.OWN)
    return finish(policy_packs.packs("lock", config, terminal.out), terminal)
