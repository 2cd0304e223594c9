"""Addresses of providers and modules, versions and their constraints."""

from __future__ import annotations

import pytest

from planner.foundation.vocabulary.version_constraints import Version, parse_constraints
from planner.language.config.sources import (
    BUILTIN,
    SourceError,
    default_provider,
    parse_module_source,
    parse_provider_source,
    provider_display,
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("aws", "registry.opentofu.org/hashicorp/aws"),
        ("HashiCorp/AWS", "registry.opentofu.org/hashicorp/aws"),
        ("example.com/a/b", "example.com/a/b"),
        ("Example.COM:8443/a/b", "example.com:8443/a/b"),
        ("terraform.io/builtin/terraform", BUILTIN),
        ("-/x", "registry.opentofu.org/-/x"),
    ],
)
def test_provider_sources(text, address):
    assert parse_provider_source(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "a/", "/a", "a/b/c/d", "a_b", "a/-b", "a/b--c", "a/terraform-provider-x", "x/opentofu-y", "h.com/-/x", "a.b"],
)
def test_bad_provider_sources(text):
    with pytest.raises(SourceError):
        parse_provider_source(text)


def test_default_providers():
    assert default_provider("terraform") == BUILTIN
    assert provider_display(default_provider("aws")) == "hashicorp/aws"


@pytest.mark.parametrize(
    ("text", "kind", "normal"),
    [
        ("./m/", "local", "./m"),
        ("./", "local", "./."),
        ("../m/../n", "local", "../n"),
        (".\\m", "local", "./m"),
        ("a/b/c", "registry", "registry.opentofu.org/a/b/c"),
        ("app.example.com/a/b/c//sub/x", "registry", "app.example.com/a/b/c//sub/x"),
        ("github.com/a/b", "remote", "git::https://github.com/a/b.git"),
        ("github.com/a/b//sub?ref=v1", "remote", "git::https://github.com/a/b.git//sub?ref=v1"),
        ("git@github.com:a/b.git", "remote", "git::ssh://git@github.com/a/b.git"),
        ("git::https://x/y.git//z?ref=1", "remote", "git::https://x/y.git//z?ref=1"),
        ("https://x.com/y.zip", "remote", "https://x.com/y.zip"),
        ("/abs/path", "remote", "file:///abs/path"),
    ],
)
def test_module_sources(text, kind, normal):
    source = parse_module_source(text)
    assert (source.kind, source.text) == (kind, normal)
    assert parse_module_source(normal).text == normal


@pytest.mark.parametrize("text", ["foo", "a/b/C", "github.com/a", "example.com/x", "a/b/c//../x"])
def test_bad_module_sources(text):
    with pytest.raises(SourceError):
        parse_module_source(text)


def test_versions_are_ordered():
    ordered = ["0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0", "1.0.1", "1.2", "1.10"]
    assert sorted(map(Version, ordered[::-1])) == list(map(Version, ordered))
    assert Version("1.0") == Version("v1.0.0")
    with pytest.raises(ValueError, match="not a valid version"):
        Version("x.y")


@pytest.mark.parametrize(
    ("constraint", "allowed", "refused"),
    [
        (">= 1.2, < 2.0", ["1.2.0", "1.9"], ["1.1.9", "2.0.0", "1.5.0-beta"]),
        ("~> 1.2", ["1.2.0", "1.9.9"], ["1.1.0", "2.0.0"]),
        ("~> 1.2.3", ["1.2.3", "1.2.9"], ["1.2.2", "1.3.0"]),
        ("!= 1.5", ["1.5.1"], ["1.5.0"]),
        ("1.5", ["1.5.0"], ["1.5.1"]),
        ("> 1.0.0-alpha", ["1.0.0-beta", "1.0.0"], ["1.0.0-alpha", "2.0.0-alpha"]),
    ],
)
def test_constraints(constraint, allowed, refused):
    constraints = parse_constraints(constraint)
    assert all(map(constraints.allows, allowed))
    assert not any(map(constraints.allows, refused))


@pytest.mark.parametrize("text", ["", "x", ">= ", "1.0 2.0", ">> 1"])
def test_bad_constraints(text):
    with pytest.raises(ValueError, match="not a valid version"):
        parse_constraints(text)
