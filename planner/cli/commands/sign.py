"""`sign`: approves a saved plan."""

from __future__ import annotations

import os

from planner.api.making import Making
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON_LINES, SIGNATURES, VARIABLES, plan_calls, required_signatures
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal


@command(
    "[options] PLAN | DIR",
    """Signs a plan saved by `planner plan -out=PLAN`, or the plans of a fleet saved by `planner batch plan -out=DIR`:
`planner apply -require-signature=KEYS PLAN` applies only signed plans. A signature is valid for one file, with its name
and its content.

The key is an ed25519 or ECDSA private key (in PEM or OpenSSH format); if the file contains an OpenSSH public key, the
SSH agent at SSH_AUTH_SOCK signs. A passphrase is read from PLANNER_SIGNING_PASSPHRASE. Signatures are added to
PLAN.intoto.jsonl, for a fleet to DIR/manifest.json.intoto.jsonl: DSSE envelopes with an in-toto statement, one on each
line.

With -require-signature=KEYS, nothing is signed: the command checks the signatures in the same way as apply.""",
    (
        Flag("key", "string", "Sign with the key in this file.", value="FILE"),
        Flag("expires", "duration", "How long the signature is valid (default: forever).", 0.0, "DURATION"),
        *SIGNATURES,
        *VARIABLES,
        *JSON_LINES,
    ),
)
def sign(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, and if signatures are missing."""
    path = arguments.only_word("One plan is needed", "Name a saved plan, or the directory with a fleet's plans.")
    required = required_signatures(arguments)
    if bool(arguments["key"]) == bool(required):
        raise UsageError(
            "Expected either -key or -require-signature",
            "Name either a key for signing (-key) or keys for verifying (-require-signature).",
        )
    view = open_plain_view(arguments, terminal)
    calls = plan_calls(Making, arguments)
    name = os.path.join(path, "manifest.json") if os.path.isdir(path) else path
    if required:
        approval = calls.check_signatures(name)
        plan, *signers = approval
        keys = [key for key, _ in signers]
        view.say(f"Approved by {', '.join(keys)}.", signers=keys, plan=plan[1])
        return 0
    target, key_id = calls.sign(name, arguments["key"], arguments["expires"])
    view.say(f"Signed {path} with the key {key_id}: {target}", signature=target, key=key_id)
    return 0
