"""`policy update`: choose packs anew."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag
from planner.render.terminal import Terminal

USAGE = "[options] [FILE]"
HELP = """Selects the newest versions of the external packs of .planner/policy.toml (or FILE) that the version
constraints allow, installs them and writes policy.lock next to it."""
FLAGS: tuple[Flag, ...] = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a pack cannot be fetched or does not match."""
    from planner.answers.policy import policy_packs

    config = arguments.at_most_one_word("Name one policy.toml, or none for .planner/policy.toml.", policy_packs.OWN)
    return finish(policy_packs.packs("update", config, terminal.out), terminal)
