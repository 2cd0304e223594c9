"""Policies beside the schemas of a plan's providers: what they ask of objects that never have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.vocabulary.diagnostic import Diagnostic, Failure

if TYPE_CHECKING:
    from planner.config.model import Config
    from planner.evaluation.schemas import Schemas
    from planner.operations.loading import Loaded
    from planner.policy.program import Policies
    from planner.policy.shapes import Shapes


MISFITS = ("policy.no_path", "policy.misfit", "rules.unknown_word", "policy.no_vertices", "policy.unknown_override")
"""the codes of what keeps a policy, or an override of one, from ever counting"""


def misfits_of(policies: Policies, loaded: Loaded[Any]) -> list[Diagnostic]:
    """Errors about rules of users (the library's are written for several versions of a provider)."""
    from planner.policy.library import own_files
    from planner.policy.shapes import misfits

    own = frozenset(own_files(policies.files))
    if not own:
        return []
    found = misfits(policies.program, shapes_of(loaded.schemas, loaded.config))
    return [problem for problem in found if problem.subject is not None and problem.subject.filename in own]


def shapes_of(schemas: Schemas, config: Config) -> Shapes:
    """The types of objects, by the schemas of the providers that a configuration uses."""
    from planner.values.schema import implied_type
    from planner.values.types import Type

    sources: set[str] = set()
    waiting = [config.root]
    while waiting:
        module = waiting.pop()
        sources |= {module.provider_source(decl.provider_name) for decl in module.resources.values()}
        waiting += module.children.values()
    known: dict[tuple[str, str], Type | None] = {}

    def shape(mode: str, type: str) -> Type | None:
        if (mode, type) not in known:
            found = [of(source, mode, type) for source in sorted(sources)]
            known[mode, type] = next((one for one in found if one is not None), None)
        return known[mode, type]

    def of(source: str, mode: str, type: str) -> Type | None:
        try:
            found = schemas.resource(source, mode, type)
        except Failure:
            return None
        return implied_type(found.block) if found is not None else None

    return shape
