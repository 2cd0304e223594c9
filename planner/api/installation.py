"""Installing the things that a configuration needs: modules, providers, the backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from planner.api.arguments import several
from planner.api.base import Work, require
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics
from planner.foundation.vocabulary.records import frozen

if TYPE_CHECKING:
    from planner.api.events import Event
    from planner.api.session import Stop
    from planner.engine.walk.hooks import Hooks
    from planner.language.config.model import Config
    from planner.language.config.test_files.load import TestFiles
    from planner.operations.providers_needed import Needed as Needed
    from planner.world.install.placing import Progress
    from planner.world.provider.interface import ProviderSchema

Say = Callable[[str], None]
"""gets remarks"""


@frozen(eq=False)
class RequiredProviders:
    """The providers that a configuration and its state require, its test files, and diagnostics, errors of the test
    files, too."""

    configuration: Config
    needed: Needed
    tests: TestFiles
    diagnostics: tuple[Diagnostic, ...]

    def of(self, configuration: Config) -> Needed:
        """The providers that the module of a test requires."""
        from planner.operations.providers_needed import needed_providers

        return needed_providers(configuration)


class Installation(Work):
    """Calls that install something."""

    def init(
        self,
        *,
        upgrade: bool = False,
        on_event: Callable[[Event], None] | Hooks | None = None,
        stop: Stop | None = None,
        **more: Any,
    ) -> list[Diagnostic]:
        """Install modules and providers and set up the backend, as `planner init` does, and return warnings; `upgrade`
        selects the newest versions that are allowed. `more` are the arguments of `planner.operations.init`, such as
        `backend_config`. Raises Failure."""
        from planner.operations.init import init

        problems = self._run(lambda hooks: init(self.options, upgrade=upgrade, hooks=hooks, **more), on_event, stop)
        require(True, problems)
        return problems

    def get(
        self,
        *,
        upgrade: bool = False,
        test_directory: str = "",
        on_event: Callable[[Event], None] | Hooks | None = None,
        progress: Progress | None = None,
    ) -> list[Diagnostic]:
        """Install the modules that the configuration and its test files call, and return warnings. Raises Failure."""
        from planner.operations.get import get
        from planner.operations.test_modules import read_tests

        def work(hooks: Hooks) -> list[Diagnostic]:
            tests = read_tests(self.options.directory, test_directory)
            problems = [] if tests is None else list(tests.problems)
            require(True, problems)
            return problems + get(self.options, upgrade=upgrade, hooks=hooks, progress=progress, tests=tests)

        problems = self._run(work, on_event)
        require(True, problems)
        return problems

    def providers(self, test_directory: str = "") -> RequiredProviders:
        """The providers that are required. Raises Failure."""
        from planner.operations.providers_needed import needed_providers
        from planner.operations.state_access import load_with_values
        from planner.operations.test_modules import loaded_tests

        with self._session():
            told = Diagnostics()
            start, _ = load_with_values(self.options, told)
            tests = loaded_tests(start, test_directory)
            needed = needed_providers(start.config, start.state)
            return RequiredProviders(start.config, needed, tests, (*told, *tests.problems))

    def provider_schemas(self) -> tuple[dict[str, ProviderSchema], list[Diagnostic]]:
        """The schemas of the providers that are required, by source address, and warnings. Raises Failure."""
        from planner.operations.providers_needed import needed_providers
        from planner.operations.state_access import load_with_values

        with self._session():
            told = Diagnostics()
            start, _ = load_with_values(self.options, told)
            needed = needed_providers(start.config, start.state)
            sources = needed.recorded.union(*needed.of_modules.values())
            return {source: start.schemas.schema(source) for source in sorted(sources)}, told

    def lock_providers(
        self,
        providers: Sequence[str] = (),
        platforms: Sequence[str] = (),
        say: Say = lambda text: None,
        **more: Any,
    ) -> list[Diagnostic]:
        """Record the checksums of the packages of providers (those of the configuration, or the named ones) for
        platforms in the dependency lock file, and return warnings. `more` are the arguments of
        `planner.operations.install_providers.lock_providers`. Raises Failure."""
        from planner.operations.provider_packages import lock_providers

        with self._session():
            named, wanted = several(providers, "providers"), several(platforms, "platforms")
            problems = lock_providers(self.options, named, wanted, say, **more)
            require(True, problems)
            return problems

    def mirror_providers(
        self, target: str, platforms: Sequence[str] = (), say: Say = lambda text: None, **more: Any
    ) -> list[Diagnostic]:
        """Copy the packages of the required providers into a directory, and return warnings. Raises Failure."""
        from planner.operations.provider_packages import mirror_providers

        with self._session():
            problems = mirror_providers(self.options, target, tuple(platforms), say, **more)
            require(True, problems)
            return problems
