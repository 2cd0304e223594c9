"""The folders that come with the package, and the user's cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.foundation.support import assets


def test_grammar_and_rules_exist() -> None:
    assert assets.grammar_path("config.lark").is_file()
    assert (assets.rules_path() / "atoms.dl").is_file()


def test_an_installed_package_has_its_own_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "PACKAGE", tmp_path / "planner")
    assert assets.rules_path() == tmp_path / "rules"
    (tmp_path / "planner" / "_assets" / "rules").mkdir(parents=True)
    assert assets.rules_path() == tmp_path / "planner" / "_assets" / "rules"


def test_cache_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert assets.cache_dir() == tmp_path / "cache" / "planner"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert assets.cache_dir() == tmp_path / ".cache" / "planner"


def test_no_cache_where_none_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert assets.cache_dir() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/x")
    assert assets.cache_dir() is None
