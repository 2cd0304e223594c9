"""Reports about deployments in files that somebody names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.cli.finish import write_page
from planner.cli.flags import Arguments, Flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.foundation.vocabulary.diagnostic import Diagnostic
    from planner.workflows.batch.reports.deployments import DeploymentReport
    from planner.workflows.stacks.steps import DeploymentPlan

REPORTS = (
    Flag("markdown", "string", "Write a report for a comment, Markdown.", value="FILE"),
    Flag("html", "string", "Write a page with the graph of components and all changes.", value="FILE"),
)


def reported(arguments: Arguments, deployment: str, plans: Sequence[DeploymentPlan]) -> DeploymentReport | None:
    """What reports say of the plans of a deployment, round after round; None where nobody wants any."""
    if arguments["html"]:
        from planner.workflows.batch.reports.deployment_page import with_page

        return with_page(_part(deployment, plans), plans)
    return _part(deployment, plans) if arguments["markdown"] else None


def _part(deployment: str, plans: Sequence[DeploymentPlan]) -> DeploymentReport:
    from planner.workflows.batch.reports.deployments import part_of

    return part_of(deployment, plans)


def write_reports(
    arguments: Arguments, command: str, parts: list[DeploymentReport], told: list[Diagnostic], begun: float
) -> list[Diagnostic]:
    """Write the reports that are asked for; what went wrong. What has values is for its owner alone."""
    if not arguments["markdown"] and not arguments["html"]:
        return []
    return _write(arguments["markdown"], arguments["html"], command, parts, told, begun)


def _write(
    markdown_file: str,
    html_file: str,
    command: str,
    parts: list[DeploymentReport],
    told: list[Diagnostic],
    begun: float,
) -> list[Diagnostic]:
    from planner.workflows.batch.reports.deployments import stack_report
    from planner.workflows.batch.reports.markdown import markdown

    document = stack_report(command, parts, told, begun)
    problems = write_page(markdown_file, markdown(document, {})) if markdown_file else []
    return [*problems, *(_write_page(html_file, document, parts) if html_file else [])]


def _write_page(path: str, document: dict[str, Any], parts: list[DeploymentReport]) -> list[Diagnostic]:
    from planner.workflows.batch.reports.deployment_page import stack_page

    return write_page(path, stack_page(document, parts), 0o600)
