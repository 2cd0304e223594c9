"""Public records of the changes in a plan."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.api.model import Cause, Explanation
from planner.api.values import Path, Sensitive, sensitive_parts, share_secrets, to_python, unknown_parts, without_copies
from planner.foundation.vocabulary.address import parse_resource_instance
from planner.foundation.vocabulary.records import field, frozen
from planner.logic.programs.actions import NO_OP, words

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.logic.model.plan import OutputChange as OutputChangeModel
    from planner.logic.model.plan import ResourceChange
    from planner.world.state.model import OutputState

Explain = Callable[[str], Explanation]
"""a function that returns the explanation of a change, which is passed by its name (`ADDRESS`, `ADDRESS (deposed KEY)`
or `output.NAME`)"""


@frozen(eq=False)
class Change:
    """The change of one object.

    `action` is no-op, create, read, update, delete, forget, or a combination of steps in order: `delete-then-create`,
    `create-then-delete`, `create-then-forget`; `actions` are the steps as in plan JSON. `reason` is the `action_reason`
    of plan JSON, "" when there is none. `previous_address` is the former address of an object that moves, otherwise "".
    `deposed` is the key of a deposed object, "" for a current object. `import_id` is the id with which the object is
    imported, "" if it is not imported. `before` and `after` are the object before and after the change, as Python data
    (planner.api.values). They are None if the object does not exist. A part that is sensitive in `before` or `after` is
    sensitive in both. A string that equals a sensitive string of the plan is sensitive, too, because providers such as
    terraform_data copy sensitive strings into attributes that are not sensitive. `unknown` and `sensitive` are the
    paths of the unknown and sensitive parts of `after`; `forces_replacement` are the paths of the arguments that cannot
    be changed in place. A pickled change includes its explanation."""

    address: str
    action: str
    reason: str
    before: Any = field(repr=False)
    after: Any = field(repr=False)
    type: str = field(repr=False)
    name: str = field(repr=False)
    key: str | int | None = field(repr=False)
    module: str = field(repr=False)
    mode: str = field(repr=False)
    """managed or data"""
    provider: str = field(repr=False)
    """the source address of the provider"""
    previous_address: str = field(repr=False)
    deposed: str = field(repr=False)
    import_id: str = field(repr=False)
    forces_replacement: tuple[Path, ...] = field(repr=False)
    _explain: Callable[[str], Explanation] = field(repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle_form(self)

    @property
    def actions(self) -> tuple[str, ...]:
        """The steps of the action in order, as in plan JSON."""
        return tuple(words(self.action))

    @property
    def unknown(self) -> tuple[Path, ...]:
        """The paths of the parts of `after` that are known only after apply."""
        return unknown_parts(self.after)

    @property
    def sensitive(self) -> tuple[Path, ...]:
        """The paths of the sensitive parts of `after`."""
        return sensitive_parts(self.after)

    @property
    def explanation(self) -> Explanation:
        """Why the object changes: the root causes, the chain of causes, and whether the causes are certain. The
        explanations of all changes of the plan are computed together when the first one is requested. Raises
        Failure."""
        return self._explain(f"{self.address} (deposed {self.deposed})" if self.deposed else self.address)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The root causes of the change (`Cause`)."""
        return self.explanation.roots


@frozen(eq=False)
class OutputChange:
    """The change of a root output value. `action` is no-op, create, update or delete. `before` and `after` are the
    former and the new value as Python data, as in Change."""

    name: str
    action: str
    before: Any = field(repr=False)
    after: Any = field(repr=False)
    sensitive: bool = field(repr=False)
    _explain: Callable[[str], Explanation] = field(repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle_form(self)

    @property
    def explanation(self) -> Explanation:
        """The reason why the output changes, in the form of Change.explanation."""
        return self._explain(f"output.{self.name}")

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The root causes of the change (`Cause`)."""
        return self.explanation.roots


@frozen
class KnownExplanation:
    """A function that returns the stored explanation of a change. It replaces the reference to the plan when the change
    is pickled."""

    explanation: Explanation

    def __call__(self, name: str) -> Explanation:
        return self.explanation


def pickle_form(change: Change | OutputChange) -> tuple[Any, ...]:
    """The result of `__reduce__` for a change. The pickled change contains its explanation instead of a reference to
    the plan. Raises Failure."""
    state: Any = change.__getstate__()
    known = KnownExplanation(change.explanation)
    return copyreg.__newobj__, (type(change),), {**state, "_explain": known}  # type: ignore[attr-defined]


def forms_of(change: ResourceChange, schemas: Schemas) -> tuple[Any, Any]:
    """The object before and after a change, as Python data. A part that is sensitive in one of the two is sensitive in
    both."""
    from planner.engine.evaluation.schemas import marked_by_schema
    from planner.render.diff_block import SchemaLookup

    schema = SchemaLookup(schemas).resource_schema(change.provider, change.mode, change.type)
    before, after = (
        to_python(value if schema is None else marked_by_schema(value, schema.block))
        for value in (change.before, change.after)
    )
    return share_secrets(before, after), share_secrets(after, before)


def change_of(change: ResourceChange, forms: tuple[Any, Any], secrets: frozenset[str], explain: Explain) -> Change:
    """The public record of a planned change. `forms`: the object before and after the change. Strings that equal one of
    `secrets` become sensitive."""
    before, after = without_copies(*forms, secrets=secrets)
    return Change(
        change.address,
        change.action,
        change.reason,
        before,
        after,
        change.type,
        change.name,
        change.key,
        change.module,
        change.mode,
        _source(change.provider),
        change.previous_address if change.previous_address != change.address else "",
        change.deposed,
        (change.importing.id or "") if change.importing is not None else "",
        tuple(tuple(step[1] for step in path) for path in change.replace_paths),
        explain,
    )


def output_change_of(output: OutputChangeModel, explain: Explain) -> OutputChange:
    before, after = (hide(to_python(value), output.sensitive) for value in (output.before, output.after))
    return OutputChange(output.name, output.action, before, after, output.sensitive, explain)


def output_values(outputs: Mapping[str, OutputState]) -> dict[str, Any]:
    """The values of outputs as Python data, by name. The values of sensitive outputs are Sensitive."""
    return {name: hide(to_python(o.value), o.sensitive) for name, o in sorted(outputs.items())}


def order_of(change: ResourceChange) -> Any:
    """A sort key. Changes are sorted by address, and the current object comes before deposed objects."""
    return parse_resource_instance(change.address).sort_key, change.deposed


def hide(value: Any, sensitive: bool) -> Any:
    return Sensitive(value) if sensitive and value is not None and not isinstance(value, Sensitive) else value


def _source(configuration: str) -> str:
    from planner.foundation.vocabulary.provider_address import parse_provider_configuration

    return parse_provider_configuration(configuration).source


def changed_objects(objects: Sequence[Change]) -> tuple[Change, ...]:
    """The changes whose action is not no-op, and the changes of imported objects."""
    return tuple(change for change in objects if change.action != NO_OP or change.import_id)


def current_object(objects: Sequence[Change], address: str) -> Change:
    """The change of the current object at an address. Raises KeyError if there is no such object."""
    for change in objects:
        if change.address == address and not change.deposed:
            return change
    raise KeyError(address)
