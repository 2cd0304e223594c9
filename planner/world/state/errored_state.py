"""`errored.tfstate`: where a state is that could not be saved after an apply, as OpenTofu makes it."""

from __future__ import annotations

import os
from contextlib import suppress

from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.diagnostic import Failure
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.file import read_state, same_content
from planner.world.state.model import State

ERRORED = "errored.tfstate"


def forget_rescued(saved: State | None, seal: Seal = PLAIN) -> None:
    """Remove the file when it is the very state that has been saved since: pushing it later would undo what came after.
    Any other one stays."""
    with suppress(OSError, Failure):
        kept, _ = read_state(seal.unseal(read_whole(ERRORED)).data, ERRORED)
        if kept is None or saved is None or (kept.lineage, kept.serial) != (saved.lineage, saved.serial):
            return
        if same_content(kept, saved):
            os.remove(ERRORED)
