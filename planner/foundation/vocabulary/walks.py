"""The kinds of plans that are asked for, and the walks over a configuration: words of the command line, of the fact
`walk(kind)` that the graph rules read, and of evaluation."""

from __future__ import annotations

from typing import Literal, TypeAlias

Mode: TypeAlias = Literal["normal", "destroy", "refresh-only"]
"""what a plan is to do: bring about what the configuration says, destroy everything, or only look"""

Walk: TypeAlias = Literal["validate", "plan", "plan-destroy", "apply", "destroy", "eval"]
"""`plan-destroy` plans to destroy everything, and `destroy` does; `eval` has values alone, for questions"""

_OF_DESTROYING: dict[str, Walk] = {"plan": "plan-destroy", "apply": "destroy"}


def walk_of(verb: Literal["plan", "apply"], mode: Mode) -> Walk:
    """The walk that plans or applies in this mode."""
    return _OF_DESTROYING[verb] if mode == "destroy" else verb
