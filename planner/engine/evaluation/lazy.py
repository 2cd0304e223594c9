"""Evaluates values on first use instead of in a walk. This is faster for questions about a few former or hypothetical
values of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from planner.engine.evaluation.context import EvaluationContext, ModuleInstance, ObjectSource, declared_marks
from planner.engine.evaluation.repetition import Repetition, expand
from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.variables import evaluate_argument, evaluate_local, output_value
from planner.foundation.values.value import mark
from planner.foundation.vocabulary.address import ModuleAddress
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.language.config.model import Config, ModuleConfig
from planner.language.config.variables import RootVariable

T = TypeVar("T")


class LazyTable(dict[str, T]):
    """A dictionary that creates an entry when it is first looked up. `make` is called with the name, and adds the entry
    if the name exists."""

    def __init__(self, make: Callable[[str], None]) -> None:
        super().__init__()
        self._make, self._begun = make, set[str]()

    def _begin(self, name: Any) -> None:
        if name not in self._begun:
            self._begun.add(name)
            self._make(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._begin(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> T:
        self._begin(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._begin(name)
        return super().__contains__(name)


class LazyModule(ModuleInstance):
    """A module instance that evaluates its values on first use. Values that cannot be evaluated are missing."""

    __slots__ = ()
    context: LazyContext

    def __init__(
        self,
        context: EvaluationContext,
        config: ModuleConfig,
        address: ModuleAddress,
        parent: ModuleInstance | None,
        repetition: Repetition,
    ) -> None:
        super().__init__(context, config, address, parent, repetition)
        self.variables = LazyTable(self._variable)
        self.locals = LazyTable(self._local)
        self.outputs = LazyTable(self._output)
        self.calls = LazyTable(self._call_instances)

    def _variable(self, name: str) -> None:
        if name not in self.config.variables:
            return
        if self.parent is not None:
            evaluate_argument(self, name)
        elif name in self.context.given:
            self.variables[name] = self.context.given[name].value

    def _local(self, name: str) -> None:
        if name in self.config.locals:
            evaluate_local(self, name)

    def _output(self, name: str) -> None:
        decl = self.config.outputs.get(name)
        if decl is None:
            return
        value, problems = output_value(self, decl)
        if not has_errors(problems):
            self.set_output(name, mark(value, declared_marks(decl.sensitive, decl.ephemeral)))

    def _call_instances(self, name: str) -> None:
        call = self.config.calls.get(name)
        if call is None or name not in self.config.children:
            return
        try:
            self.expand_call(name, expand(call, self.scope, str(self.address.child(name))))
        except Failure:
            return


class LazyContext(EvaluationContext):
    """The values of a configuration, evaluated on first use. `given`: the values of root variables. `objects`: the
    objects to which expressions can refer."""

    module_type: ClassVar[type[ModuleInstance]] = LazyModule
    may_lack_values = True

    def __init__(
        self,
        config: Config,
        given: Mapping[str, RootVariable],
        schemas: Schemas,
        objects: ObjectSource,
        workspace: str = "default",
        timestamp: str | None = None,
    ) -> None:
        self.given = given
        super().__init__(config, "plan", schemas, objects, workspace, timestamp)
