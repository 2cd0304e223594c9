"""The validation of a configuration by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.api.base import Work
from planner.foundation.vocabulary.diagnostic import Diagnostic

if TYPE_CHECKING:
    from planner.operations.variables import GivenValue as GivenValue
    from planner.operations.variables import VariableReport as VariableReport


class Validation(Work):
    """Calls that need only the configuration."""

    def problems(self, test_directory: str | None = None) -> list[Diagnostic]:
        """Errors and warnings of the configuration; with a directory of test files ("": the usual one) of these,
        too."""
        with self._session():
            if test_directory is None:
                from planner.operations.validate import validate

                return validate(self.options)
            from planner.workflows.testing.validate import validate_with_tests

            return validate_with_tests(self.options, test_directory)

    def variables(self) -> tuple[list[VariableReport], list[Diagnostic]]:
        """The input variables of the root module by name: values, their sources and their uses; and the problems of the
        values. Raises Failure if the configuration cannot be read."""
        from planner.operations.variables import report_variables

        with self._session():
            return report_variables(self.options)
