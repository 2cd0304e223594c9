"""`discover`: search for existing objects as the list blocks of query files describe, and write configuration for
them."""

from __future__ import annotations

from planner.engine.plan.generation import check_output
from planner.engine.plan.make_plan import make_plan
from planner.engine.walk.hooks import FoundResource, HookGroup, Hooks
from planner.foundation.support.disk import on_disk
from planner.foundation.vocabulary.address import ROOT, ResourceAddress
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.records import evolve
from planner.language.config.file_content import QUERIES
from planner.operations import graphs
from planner.operations.options import OperationOptions
from planner.operations.plan import plan_options
from planner.operations.providers_needed import selection_problems
from planner.operations.state_access import load_with_values

HEADER = "# __generated__ by planner"
REQUEST = "# Please review these resources and move them into your main configuration files."


def discover(options: OperationOptions, hooks: Hooks, is_streamed: bool = False) -> list[Diagnostic]:
    """Run the list blocks in the query files of a directory, in the order that their references require; `hooks` get
    the results. `is_streamed`: generated configuration is passed to the hooks, and not written to a file."""
    told = Diagnostics()
    path = options.generate_config_out or ""
    with told.until_an_error():
        if path and not is_streamed:
            told.check(check_output(path, "normal"))
        start, variables = load_with_values(evolve(options, queries=True), told)
        root = start.config.root.resources
        searches = [decl for _, decl in sorted(root.items()) if decl.mode == "list"]
        if not searches:
            raise Failure(_nothing(options.directory))
        told.check(selection_problems(start.config, options.directory))
        told.check()
        limits = Limits(tuple(ResourceAddress(ROOT, "list", decl.type, decl.name) for decl in searches))
        start = evolve(start, options=evolve(start.options, limits=limits))
        texts = _Blocks()
        _, problems = make_plan(
            start.config,
            start.state,
            variables,
            start.schemas,
            evolve(plan_options(start), describes_found=bool(path), refresh=False),
            lambda walk, state: graphs.build(walk, start, state, limits),
            HookGroup((texts, _SearchEvents(hooks))),
        )
        told += [problem for problem in problems if problem.code != "plan.targeting"]  # limiting it was our idea
        if path and not is_streamed:
            told += texts.write(path)
    return told


def _nothing(directory: str) -> Diagnostic:
    detail = f"There is no list block in a file of {directory} whose name ends with {QUERIES}."
    return error("query.nothing", "No resource to query", detail)


class _SearchEvents(Hooks):
    """Passes on the events of searches, and nothing of the plan."""

    def __init__(self, hooks: Hooks) -> None:
        self.list_start, self.list_found = hooks.list_start, hooks.list_found  # type: ignore[method-assign]
        self.list_complete = hooks.list_complete  # type: ignore[method-assign]


class _Blocks(Hooks):
    """Collects the generated configuration of results, by the addresses of their list blocks."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}

    def list_found(self, address: str, result: FoundResource) -> None:
        if result.config:
            text = f"\n{HEADER} from {address}\n{result.import_config}\n\n{result.config}\n"
            self._texts.setdefault(address, []).append(text)

    def write(self, path: str) -> list[Diagnostic]:
        """Write all to a new file; none if there is nothing."""
        if not self._texts:
            return []
        parts = [text for _, texts in sorted(self._texts.items()) for text in texts]
        try:
            with open(on_disk(path), "x", encoding="utf-8") as file:
                file.write("".join([f"{HEADER}\n{REQUEST}\n", *parts]))
        except OSError as problem:
            detail = f"{path}: {problem.strerror or problem}."
            return [error("plan.generate_write", "Cannot write the generated configuration", detail)]
        return []
