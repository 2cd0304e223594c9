"""The site builds strictly: every page is in the navigation, every link and anchor leads somewhere, and nothing is
loaded from other servers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]* src=\"?(\w+:)?//|<link[^>]* rel=\"?(?:stylesheet|preconnect)[^>]* href=\"?(\w+:)?//"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(ROOT / "docs/mkdocs.yml"), "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    assert [page.name for page in pages if LOADED.search(page.read_text("utf-8"))] == []


@pytest.mark.slow
def test_the_search_knows_the_pages(site: Path) -> None:
    index = (site / "search/search_index.json").read_text("utf-8")
    for words in ("planner what-if", "terraform_data.database", "backup_retention", "PLANNER_RECORD_KEY"):
        assert words in index


def test_every_environment_variable_is_documented() -> None:
    names = set[str]()
    for file in (ROOT / "planner").rglob("*.py"):
        names |= set(
            re.findall(
                r"[\"'](?:environ\.get\()?((?:TF|PLANNER|TOFU|TERRAFORM|TG)_[A-Z0-9_]*[A-Z0-9])\b",
                file.read_text("utf-8"),
            )
        )
    page = (ROOT / "docs/pages/reference/settings.md").read_text("utf-8")
    assert sorted(name for name in names if name not in page) == ["TF_PLUGIN_MAGIC_COOKIE"]


def test_every_topic_is_shown() -> None:
    from planner.cli.manual import MADE, PAGES, terminal_text

    for topic in (*PAGES, *MADE):
        text = terminal_text(topic, 80)
        assert text.startswith("# "), topic
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
        assert "](" not in re.sub(r"`[^`]+`", "", prose), topic  # a link is a command, an address or a path
        assert set(re.findall(r"\(planner docs ([\w-]+)\)", prose)) <= {*PAGES, *MADE}


def test_manual_pages_are_made_for_every_command() -> None:
    from planner.cli.index import COMMANDS
    from planner.cli.reference import manual_pages

    pages = manual_pages()
    assert len(pages) == len(COMMANDS) + 1
    assert all(text.startswith(".TH ") and ".SH NAME" in text for text in pages.values())
