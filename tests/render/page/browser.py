"""A headless Chromium for tests of pages: Playwright's package with the system's browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run", "--disable-quic", "--disable-dev-shm-usage", "--font-render-hinting=none"]
MISSING = "no Chromium is installed here" if CHROMIUM is None else "" if find_spec("playwright") else "no playwright"
needs_browser = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@contextmanager
def opened(page: Path, dark: bool = False, width: int = 1280, height: int = 800) -> Iterator[Any]:
    """The page in a browser. It must not say anything on the console, fail, or ask for anything but itself."""
    from playwright.sync_api import sync_playwright

    said: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            scheme: Any = "dark" if dark else "light"
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
            tab = context.new_page()
            tab.on("console", lambda message: said.append(message.text))
            tab.on("pageerror", lambda problem: said.append(str(problem)))
            tab.on("request", lambda request: said.append(request.url) if request.url != page.as_uri() else None)
            tab.goto(page.as_uri())
            tab.wait_for_function("document.body.dataset.drawn")
            yield tab
        finally:
            browser.close()
    assert said == []
