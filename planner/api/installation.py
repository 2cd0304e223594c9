"""Methods that install modules and providers, set up the backend, and validate the configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from planner.api.arguments import functions, one_of, path, several, switches, text
from planner.api.base import Work, require, warnings
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error
from planner.foundation.vocabulary.records import frozen

if TYPE_CHECKING:
    from planner.api.events import Event
    from planner.api.session import Stop
    from planner.engine.walk.hooks import Hooks
    from planner.language.config.model import Config
    from planner.language.config.test_files.load import TestFiles
    from planner.operations.providers_needed import Needed as Needed
    from planner.operations.state_access import Stored
    from planner.operations.variables import GivenValue as GivenValue
    from planner.operations.variables import VariableReport as VariableReport
    from planner.world.install.placing import Progress
    from planner.world.provider.interface import ProviderSchema
    from planner.world.state.migrate import Ask

Say = Callable[[str], None]
"""a function that receives messages about the progress"""


@frozen(eq=False)
class RequiredProviders:
    """The providers that a configuration and its state require, the test files of the configuration, and diagnostics of
    the configuration and the test files."""

    configuration: Config
    needed: Needed
    tests: TestFiles
    diagnostics: tuple[Diagnostic, ...]

    def of(self, configuration: Config) -> Needed:
        from planner.operations.providers_needed import needed_providers

        return needed_providers(configuration)


class Installation(Work):
    """Methods that install modules and providers, and set up the backend."""

    def init(
        self,
        *,
        upgrade: bool = False,
        install_modules: bool = True,
        backend: bool = True,
        backend_config: Sequence[str] = (),
        reconfigure: bool = False,
        migrate_state: bool = False,
        force_copy: bool = False,
        plugin_dirs: Sequence[str] = (),
        lockfile: Literal["", "readonly"] = "",
        from_module: str = "",
        test_directory: str = "",
        ask: Ask | None = None,
        progress: Progress | None = None,
        on_event: Callable[[Event], None] | Hooks | None = None,
        stop: Stop | None = None,
    ) -> list[Diagnostic]:
        """Install modules and providers and set up the backend, as `planner init` does, and return warnings. The
        arguments are the options of that command. `upgrade` selects the newest allowed versions.
        `install_modules=False` does not install modules, and `backend=False` does not set up the backend.
        `backend_config` contains paths of files and settings of the form NAME=VALUE. The function for prompts about the
        backend receives a question and an explanation, and returns the answer. `progress(what, done, all)` is called
        during downloads with the number of downloaded bytes and of all bytes. Raises Failure."""
        from planner.operations.init import init

        switches(upgrade=upgrade, install_modules=install_modules, backend=backend, reconfigure=reconfigure)
        switches(migrate_state=migrate_state, force_copy=force_copy)
        one_of("lockfile", lockfile, ("", "readonly"))
        settings, directories = several(backend_config, "backend_config"), several(plugin_dirs, "plugin_dirs")
        from_module, test_directory = text("from_module", from_module), path("test_directory", test_directory)

        def work(hooks: Hooks) -> list[Diagnostic]:
            return init(
                self.options,
                upgrade=upgrade,
                install_modules=install_modules,
                backend=backend,
                backend_config=settings,
                reconfigure=reconfigure,
                migrate_state=migrate_state,
                force_copy=force_copy,
                plugin_dirs=directories,
                lockfile=lockfile,
                from_module=from_module,
                test_directory=test_directory,
                hooks=hooks,
                ask=ask,
                progress=progress,
            )

        return warnings(self._run(work, on_event, stop))

    def get(
        self,
        *,
        upgrade: bool = False,
        test_directory: str = "",
        on_event: Callable[[Event], None] | Hooks | None = None,
        progress: Progress | None = None,
    ) -> list[Diagnostic]:
        """Install the modules that the configuration and its test files call, and return warnings. Raises Failure."""
        from planner.operations.get import get, read_tests

        switches(upgrade=upgrade)
        test_directory = path("test_directory", test_directory)

        def work(hooks: Hooks) -> list[Diagnostic]:
            tests = read_tests(self.options.directory, test_directory)
            problems = [] if tests is None else list(tests.problems)
            require(True, problems)
            return problems + get(self.options, upgrade=upgrade, hooks=hooks, progress=progress, tests=tests)

        return warnings(self._run(work, on_event))

    def providers(self, test_directory: str = "") -> RequiredProviders:
        """The providers that the configuration and its state require. Raises Failure."""
        from planner.operations.get import loaded_tests
        from planner.operations.providers_needed import needed_providers

        test_directory = path("test_directory", test_directory)
        with self._session():
            diagnostics = Diagnostics()
            start = self._with_state(diagnostics)
            if not start.config.files:
                detail = "There is no .tf file in this directory. Name the directory of the configuration with -chdir."
                raise Failure((*diagnostics, error("plan.no_configuration", "No configuration files", detail)))
            tests = loaded_tests(start, test_directory)
            needed = needed_providers(start.config, start.state)
            return RequiredProviders(start.config, needed, tests, (*diagnostics, *tests.problems))

    def provider_schemas(self) -> tuple[dict[str, ProviderSchema], list[Diagnostic]]:
        """The schemas of the required providers, by source address, and warnings. Raises Failure."""
        from planner.operations.providers_needed import needed_providers

        with self._session():
            diagnostics = Diagnostics()
            start = self._with_state(diagnostics)
            needed = needed_providers(start.config, start.state)
            sources = needed.recorded.union(*needed.of_modules.values())
            return {source: start.schemas.schema(source) for source in sorted(sources)}, diagnostics

    def _with_state(self, diagnostics: Diagnostics) -> Stored[Any]:
        """The configuration and its state, without values of variables. Raises Failure."""
        from planner.operations.load import load
        from planner.operations.state_access import open_backend, read_state

        try:
            return read_state(open_backend(load(self.options, diagnostics), diagnostics), diagnostics)
        except Failure as failure:
            raise Failure((*diagnostics, *failure.diagnostics)) from None

    def lock_providers(
        self,
        providers: Sequence[str] = (),
        platforms: Sequence[str] = (),
        say: Say = lambda text: None,
        *,
        fs_mirror: str = "",
        net_mirror: str = "",
        oci_mirror: str = "",
        progress: Progress | None = None,
    ) -> list[Diagnostic]:
        """Record the checksums of provider packages in the dependency lock file, and return warnings. `providers`: the
        addresses of the providers (default: all providers in the configuration). The packages come from the registries
        of the providers, or from a mirror: the directory `fs_mirror`, the URL `net_mirror`, or the OCI repositories of
        the template `oci_mirror`. Raises Failure."""
        from planner.operations.install_providers import lock_providers

        named, wanted = several(providers, "providers"), several(platforms, "platforms")
        mirrors: dict[str, Any] = {"fs_mirror": fs_mirror, "net_mirror": net_mirror, "oci_mirror": oci_mirror}
        for name, mirror in mirrors.items():
            text(name, mirror)
        functions(say=say)
        directory = self.options.directory
        with self._session():
            return self._with_configuration(
                lambda config: lock_providers(config, directory, named, wanted, say, progress=progress, **mirrors)
            )

    def mirror_providers(
        self,
        target: str,
        platforms: Sequence[str] = (),
        say: Say = lambda text: None,
        *,
        progress: Progress | None = None,
    ) -> list[Diagnostic]:
        """Copy the packages of the required providers into a directory, and return warnings. Raises Failure."""
        from planner.operations.install_providers import mirror_providers

        functions(say=say)
        with self._session():
            wanted, place, directory = several(platforms, "platforms"), path("target", target), self.options.directory
            return self._with_configuration(
                lambda config: mirror_providers(config, directory, place, wanted, say, progress=progress)
            )

    def _with_configuration(self, work: Callable[[Config], list[Diagnostic]]) -> list[Diagnostic]:
        """The warnings that `work` returns for the configuration. Raises Failure."""
        from planner.operations.load import load

        diagnostics = Diagnostics()
        with diagnostics.until_an_error():
            diagnostics += work(load(self.options, diagnostics).config)
        return warnings(diagnostics)


class Validation(Work):
    """Methods that return the problems and the variables of a configuration."""

    def problems(self, test_directory: str | None = None) -> list[Diagnostic]:
        """Errors and warnings of the configuration. With a directory of test files ("": the default directory), errors
        and warnings of the test files are included."""
        with self._session():
            if test_directory is None:
                from planner.operations.validate import validate

                return validate(self.options)
            from planner.workflows.testing.validate import validate_with_tests

            return validate_with_tests(self.options, test_directory)

    def variables(self) -> tuple[list[VariableReport], list[Diagnostic]]:
        """The input variables of the root module, sorted by name, and problems of their values. A report contains the
        value of the variable, the source of the value, and the uses of the variable. Raises Failure if the
        configuration cannot be read."""
        from planner.operations.variables import report_variables

        with self._session():
            return report_variables(self.options)
