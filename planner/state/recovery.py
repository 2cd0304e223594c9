"""A state with what the journal of an operation that was cut off adds to it."""

from __future__ import annotations

from planner.state.file import same_content
from planner.state.journal import Recorded, replayed, story
from planner.state.model import State
from planner.vocabulary.diagnostic import Diagnostic, error
from planner.vocabulary.records import frozen


@frozen
class Recovery:
    """What a journal came to: `adds` says whether it had anything that the state lacks."""

    state: State | None
    problems: tuple[Diagnostic, ...] = ()
    adds: bool = False


def recovered(state: State | None, recorded: Recorded, journal: str, place: str, is_at_work: bool) -> Recovery:
    """The state (None: there is none) in `place` with what the journal called `journal` says, or an error when it is
    of another state. `is_at_work`: whoever writes the journal is, so there is nothing to be said about it."""
    here = (state.lineage, state.serial) if state is not None else ("", 0)
    if here == recorded.saved or (state is not None and has_all(state, recorded)):
        return Recovery(state)  # cut off between saving the state and removing the journal
    if recorded.serial != here[1] or (here[0] and recorded.lineage != here[0]):
        detail = (
            f"{journal} was written by an {recorded.operation} that began at {recorded.time} with serial "
            f"{recorded.serial} of the state; {place} has serial {here[1]} now, so something else has "
            "changed it since. `state journal` shows what it says. Put the state of that time back and run any "
            "command, or use `state journal -discard` if the state is right without it."
        )
        return Recovery(None, (error("state.journal_foreign", "A journal of another state", detail),))
    told = () if is_at_work else tuple(story(journal, recorded))
    return Recovery(replayed(state or State(), recorded), told, True)


def has_all(state: State, recorded: Recorded) -> bool:
    """Whether a state is the one that was saved after the journal, although the journal does not say so."""
    follows = (state.lineage, state.serial) == (recorded.lineage, recorded.serial + 1)
    return follows and same_content(replayed(state, recorded), state)
