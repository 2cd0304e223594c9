"""Runs the provisioners of an instance: those for its creation, or those for its destruction."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.engine.apply.provisioners import provisioner_schema, run_provisioner, unsupported
from planner.engine.apply.shared_work import ApplyWork
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.repetition import Repetition
from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.language.config.model import Provisioner
from planner.language.config.provisioners import connection_schema, joined_connection
from planner.language.expressions.decode import decode_block
from planner.world.state.taint_record import TaintOrigin


def provisions_creation(it: Instance) -> bool:
    """Whether there are provisioners for the object's creation."""
    return it.decl is not None and any(p.when == "create" for p in it.decl.provisioners)


def provision_created(walk: ApplyWork, it: Instance, value: Value) -> list[Diagnostic]:
    """Run the create-time provisioners of a new object."""
    wanted = [p for p in it.decl.provisioners if p.when == "create"] if it.decl is not None else []
    if not wanted:
        return []
    assert it.objects is not None
    return _run(walk, it, wanted, it.scope.inside(self_value=it.objects.deprecated(value)))


def provision_departing(walk: ApplyWork, it: Instance, value: Value) -> list[Diagnostic]:
    """Run the destroy-time provisioners of an object that is about to be destroyed."""
    wanted = destroy_provisioners(walk, it)
    if not wanted:
        return []
    key = it.key
    repetition = Repetition(key if isinstance(key, int) else None, key if isinstance(key, str) else None)
    return _run(walk, it, wanted, walk.module_scope(it).inside(repetition, self_value=value))


def destroy_provisioners(walk: ApplyWork, it: Instance) -> list[Provisioner]:
    """The provisioners of the resource's block, or those of the block that removes it."""
    if it.decl is not None:
        return [p for p in it.decl.provisioners if p.when == "destroy"]
    removal = walk.removal(it.config_address)
    return [p for p in removal.provisioners if p.when == "destroy"] if removal is not None else []


def _run(walk: ApplyWork, it: Instance, wanted: Iterable[Provisioner], scope: ModuleScope) -> list[Diagnostic]:
    """Run provisioners one after the other; the first failure stops them, unless its on_failure is "continue"."""
    problems: list[Diagnostic] = []
    for provisioner in wanted:
        schema = provisioner_schema(provisioner.type)
        if schema is None:
            problem = unsupported(provisioner.type)
            return problems + in_body([problem] if problem else [], provisioner.body, it.address)
        config, found = decode_block(provisioner.body, schema, scope)
        problems += found
        if has_errors(problems):
            return problems
        connection: Value | None = None
        body = joined_connection(it.decl.connection if it.decl is not None else None, provisioner)
        if body is not None:
            marked, invalid = decode_block(body, connection_schema(), scope)
            problems += invalid
            if has_errors(problems):
                return problems
            connection = unmark_deep(marked)[0]
        walk.hooks.provision_start(it.address, provisioner.type)
        plain, marks = unmark_deep(config)
        output = _output(walk, it, provisioner.type, marks)
        results = run_provisioner(provisioner.type, plain, connection, output, walk.stopping)
        found = in_body(results, provisioner.body, it.address)
        if not has_errors(found):
            walk.hooks.provision_complete(it.address, provisioner.type)
            problems += found
            continue
        walk.hooks.provision_errored(it.address, provisioner.type)
        if provisioner.on_failure != "continue":
            if provisioner.when == "create":
                place = f"{provisioner.span.filename}:{provisioner.span.line}"
                how = next((result.ending for result in results if result.ending), "")
                walk.record.taints[it.address] = TaintOrigin(f'provisioner "{provisioner.type}"', place, how)
            return problems + found
    return problems


def _output(walk: ApplyWork, it: Instance, type: str, marks: frozenset[object]) -> Callable[[str], None]:
    """The receiver of a provisioner's output. It may contain secrets."""
    hidden = "ephemeral" if EPHEMERAL in marks else "sensitive" if SENSITIVE in marks else ""

    def show(text: str) -> None:
        if hidden:
            walk.hooks.provision_secret(it.address, type, text, hidden)
        else:
            walk.hooks.provision_progress(it.address, type, text)

    return show
