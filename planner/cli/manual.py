"""The documentation by topic: pages that are written, and references that are made from the program itself."""

from __future__ import annotations

import os
from collections.abc import Callable

from planner.foundation.support.assets import PACKAGE, documents_folder, rules_folder

PAGES = {
    "start": ("Ten minutes", "docs/pages/start.md"),
    "install": ("Install", "docs/pages/install.md"),
    "why": ("Why", "docs/pages/guides/why.md"),
    "policies": ("Policies", "docs/pages/guides/policies.md"),
    "policy-tutorial": ("Policies, step by step", "rules/POLICIES.md"),
    "rules": ("Your own rules", "docs/pages/guides/rules.md"),
    "fleets": ("Fleets", "docs/pages/guides/fleets.md"),
    "stacks": ("Stacks", "docs/pages/guides/stacks.md"),
    "tests": ("Tests of modules", "docs/pages/guides/tests.md"),
    "states": ("Backends and encryption", "docs/pages/guides/states.md"),
    "discover": ("Find existing objects", "docs/pages/guides/discover.md"),
    "ci": ("CI and review", "docs/pages/guides/ci.md"),
    "python": ("The library", "docs/pages/guides/python.md"),
    "from-opentofu": ("Moving from OpenTofu", "docs/pages/guides/from-opentofu.md"),
    "from-terragrunt": ("Moving from Terragrunt", "docs/pages/guides/from-terragrunt.md"),
    "from-opa": ("Moving from OPA and Conftest", "docs/pages/guides/from-opa.md"),
    "rule-language": ("The rule language and all relations", "rules/README.md"),
    "fleet-file": ("Fleet files", "planner/workflows/batch/README.md"),
    "stack-files": ("Stack files", "planner/workflows/stacks/README.md"),
    "settings": ("Settings and environment variables", "docs/pages/reference/settings.md"),
    "exit-codes": ("Exit codes", "docs/pages/reference/exit-codes.md"),
    "how": ("How it works", "docs/pages/how/index.md"),
    "how-rules": ("How rules decide", "docs/pages/how/rules.md"),
    "performance": ("Performance", "docs/pages/how/performance.md"),
    "packages": ("Packages", "docs/pages/how/packages.md"),
    "compared": ("Compared", "docs/pages/compared.md"),
    "differences": ("Differences from OpenTofu", "docs/pages/differences.md"),
}
"""written pages: topic -> title and file of the repository"""

MADE = {
    "commands": "All commands and their flags",
    "functions": "Functions of the configuration language",
    "formats": "Documents that planner prints, with their schemas",
    "policy-library": "Policies that come with planner",
    "diagnostics": "Diagnostics by code, with causes and fixes",
    "licences": "Licences of the packages that planner uses",
}
"""references that planner.cli.reference makes: topic -> title"""


def page_file(path: str) -> str:
    """The file of a page, in a checkout or an installed wheel."""
    room, _, rest = path.partition("/")
    folders = {"docs": documents_folder(), "rules": rules_folder(), "planner": PACKAGE}
    return os.path.join(folders[room], rest)


def topic_text(topic: str) -> str:
    """The Markdown of a topic."""
    if topic in MADE:
        from planner.cli import reference

        make: Callable[[], str] = getattr(reference, topic.replace("-", "_"))
        return make()
    with open(page_file(PAGES[topic][1]), encoding="utf-8") as file:
        return file.read()
