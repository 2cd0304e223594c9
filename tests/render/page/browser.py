"""A headless Chromium for tests of pages: Playwright's package with the system's browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run", "--disable-quic", "--disable-dev-shm-usage", "--font-render-hinting=none"]
MISSING = "no Chromium is installed here" if CHROMIUM is None else "" if find_spec("playwright") else "no playwright"
needs_browser = pytest.mark.skipif(bool(MISSING), reason=MISSING)


_shared: list[Any] = []


@contextmanager
def browsing() -> Iterator[Any]:
    """One browser for all pages that are opened inside."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        _shared.append(browser)
        try:
            yield browser
        finally:
            _shared.remove(browser)
            browser.close()


@contextmanager
def opened(
    page: Path | str, dark: bool = False, width: int = 1280, height: int = 800, allowed: str = "blob:"
) -> Iterator[Any]:
    """The page (a file or an address) in a browser. It must not say anything on the console, fail, or request anything
    but itself and what begins with `allowed`."""
    uri = page.as_uri() if isinstance(page, Path) else page
    said: list[str] = []
    with nullcontext(_shared[0]) if _shared else browsing() as browser:
        scheme: Any = "dark" if dark else "light"
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
        try:
            tab = context.new_page()
            tab.on("console", lambda message: said.append(message.text))
            tab.on("pageerror", lambda problem: said.append(str(problem)))
            tab.on(
                "request",
                lambda request: said.append(request.url) if not request.url.startswith((uri, allowed)) else None,
            )
            tab.goto(uri)
            tab.wait_for_function("document.body.dataset.drawn")
            yield tab
        finally:
            context.close()
    assert said == []
