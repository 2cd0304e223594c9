"""Where providers are found, and the settings that say so."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from planner.foundation.clients.cli_config import Mirror, load_cli_config
from planner.foundation.clients.settings_syntax import SettingsError, read_settings
from planner.foundation.vocabulary.diagnostic import Failure
from planner.world.provider.locate import Locator, own_platform, packages_in

ADDRESS = "example.com/acme/box"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    return {"HOME": str(tmp_path / "home"), "XDG_DATA_DIRS": str(tmp_path / "none")}


def package(base: Path, version: str, platform: str = "", address: str = ADDRESS, name: str = "") -> Path:
    folder = base.joinpath(*address.split("/"), version, platform or own_platform())
    folder.mkdir(parents=True)
    program = folder / (name or f"terraform-provider-box_v{version}")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def archive(base: Path, version: str, platform: str = "", **members: str) -> Path:
    folder = base.joinpath(*ADDRESS.split("/"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"terraform-provider-box_{version}_{platform or own_platform()}.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in (members or {"terraform-provider-box": "#!/bin/sh\n", "LICENSE": "free"}).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o100755 if name.startswith("terraform") else 0o100644) << 16
            file.writestr(info, text)
    return path


def locator(tmp_path: Path, environ: dict[str, str], *constraints: str) -> Locator:
    return Locator(str(tmp_path / "work"), environ, {ADDRESS: constraints})


def settings(tmp_path: Path, environ: dict[str, str], text: str) -> None:
    (tmp_path / "home" / ".tofurc").write_text(text)


def code(locate: Locator) -> str:
    with pytest.raises(Failure) as failure:
        locate.locate(ADDRESS)
    (diagnostic,) = failure.value.diagnostics
    return f"{diagnostic.code}: {diagnostic.detail}"


def test_what_init_left_is_found(tmp_path: Path, environ: dict[str, str]) -> None:
    wanted = package(tmp_path / "work" / ".terraform" / "providers", "1.2.3")
    package(tmp_path / "work" / "terraform.d" / "plugins", "9.0.0")
    found = locator(tmp_path, environ).locate(ADDRESS)
    assert (found.binary, str(found.version)) == (str(wanted), "1.2.3")


def test_the_newest_allowed_version_of_all_mirrors(tmp_path: Path, environ: dict[str, str]) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for base, version in ((one, "1.0.0"), (two, "1.5.0"), (one, "2.0.0"), (two, "3.0.0-beta1")):
        package(base, version)
    package(two, "4.0.0", platform="plan9_mips")
    settings(
        tmp_path,
        environ,
        f'provider_installation {{ filesystem_mirror {{ path = "{one}" }}\n filesystem_mirror {{ path = "{two}" }} }}',
    )
    for constraints, version in [((), "2.0.0"), (("~> 1.0",), "1.5.0"), (("< 2.0", "!= 1.5.0"), "1.0.0")]:
        assert str(locator(tmp_path, environ, *constraints).locate(ADDRESS).version) == version
    assert str(locator(tmp_path, environ, "3.0.0-beta1").locate(ADDRESS).version) == "3.0.0-beta1"
    text = code(locator(tmp_path, environ, ">= 5.0"))
    assert "the versions 1.0.0, 1.5.0, 2.0.0, 3.0.0-beta1 of" in text and ">= 5.0" in text


def test_include_and_exclude(tmp_path: Path, environ: dict[str, str]) -> None:
    package(tmp_path / "one", "1.0.0")
    method = f'filesystem_mirror {{ path = "{tmp_path / "one"}", %s }}'
    for rule, found in [
        ('include = ["example.com/*/*"]', True),
        ('include = ["example.com/other/*", "*/acme/box"]', True),
        ('include = ["acme/*"]', False),
        ('exclude = ["example.com/acme/*"]', False),
        ('include = ["*/*/*"], exclude = ["*/*/box"]', False),
    ]:
        settings(tmp_path, environ, f"provider_installation {{ {method % rule} }}")
        if found:
            assert locator(tmp_path, environ).locate(ADDRESS)
        else:
            assert code(locator(tmp_path, environ)).startswith("provider.not_found")


def test_settings_about_installation_replace_the_usual_places(tmp_path: Path, environ: dict[str, str]) -> None:
    wanted = package(tmp_path / "home" / ".terraform.d" / "plugins", "1.0.0")
    assert locator(tmp_path, environ).locate(ADDRESS).binary == str(wanted)
    settings(tmp_path, environ, "provider_installation { direct {} }")
    assert code(locator(tmp_path, environ)).startswith("provider.not_found")


def test_an_archive_is_unpacked_once(tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    base = tmp_path / "home" / ".terraform.d" / "plugins"
    archive(base, "1.0.0")
    archive(base, "2.0.0", platform="plan9_mips")
    first = locator(tmp_path, environ).locate(ADDRESS)
    assert os.access(first.binary, os.X_OK) and str(first.version) == "1.0.0"
    assert not os.access(Path(first.binary).with_name("LICENSE"), os.X_OK)
    stamp = os.stat(first.binary).st_mtime_ns
    assert locator(tmp_path, environ).locate(ADDRESS) == first and os.stat(first.binary).st_mtime_ns == stamp
    os.utime(archive(base, "1.0.0", other="x", **{"terraform-provider-box": "new"}), ns=(1, 1))
    assert Path(locator(tmp_path, environ).locate(ADDRESS).binary).read_text() == "new"


def test_an_unpacked_archive_is_used_only_as_it_was_unpacked(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody else put into the cache is a program that would be run."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    archive(tmp_path / "home" / ".terraform.d" / "plugins", "1.0.0")
    program = Path(locator(tmp_path, environ).locate(ADDRESS).binary)
    good = program.read_bytes()
    program.write_bytes(b"evil")
    assert Path(locator(tmp_path, environ).locate(ADDRESS).binary).read_bytes() == good
    program.with_name("more").write_bytes(b"evil")
    assert Path(locator(tmp_path, environ).locate(ADDRESS).binary) == program
    assert not program.with_name("more").exists()
    (tmp_path / "cache" / "planner" / "providers").chmod(0o777)
    assert "other users can write to it" in code(locator(tmp_path, environ))


def test_unusable_packages(tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    base = tmp_path / "home" / ".terraform.d" / "plugins"
    archive(base, "1.0.0").write_bytes(b"no zip")
    assert "cannot be unpacked" in code(locator(tmp_path, environ))
    package(base, "2.0.0", name="terraform-provider-boxes")
    assert "has no file terraform-provider-box" in code(locator(tmp_path, environ))
    package(base, "3.0.0").chmod(0o644)
    assert "is not executable" in code(locator(tmp_path, environ))


def test_a_member_of_an_archive_stays_inside(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    members = {"../../../evil": "x", "terraform-provider-box": "#!/bin/sh\n"}
    archive(tmp_path / "home" / ".terraform.d" / "plugins", "1.0.0", **members)
    assert "a member whose path is outside the archive" in code(locator(tmp_path, environ))
    assert not list(tmp_path.rglob("evil")) and not list((tmp_path / "cache").rglob("terraform-provider-box"))


def test_the_cache_of_packages_comes_last(tmp_path: Path, environ: dict[str, str]) -> None:
    wanted = package(tmp_path / "cache", "3.0.0")
    environ["TF_PLUGIN_CACHE_DIR"] = str(tmp_path / "cache")
    assert locator(tmp_path, environ).locate(ADDRESS).binary == str(wanted)
    package(tmp_path / "home" / ".terraform.d" / "plugins", "1.0.0")
    assert str(locator(tmp_path, environ).locate(ADDRESS).version) == "1.0.0"


def test_an_override_comes_first_and_asks_for_no_version(tmp_path: Path, environ: dict[str, str]) -> None:
    package(tmp_path / "work" / ".terraform" / "providers", "1.2.3")
    program = package(tmp_path / "dev", "0", name="terraform-provider-box")
    for path in (program.parent, program):
        settings(
            tmp_path, environ, f'provider_installation {{ dev_overrides {{ "{ADDRESS}" = "{path}" }} direct {{}} }}'
        )
        found = locator(tmp_path, environ, ">= 7").locate(ADDRESS)
        assert (found.binary, found.version) == (str(program), None)
    settings(tmp_path, environ, f'provider_installation {{ dev_overrides {{ "{ADDRESS}" = "/nowhere" }} }}')
    assert "/nowhere" in code(locator(tmp_path, environ))


def test_packages_in_ignores_what_is_none(tmp_path: Path) -> None:
    base = tmp_path / "m"
    package(base, "1.0.0")
    package(base, "latest")
    base.joinpath(*ADDRESS.split("/"), "notes.txt").write_text("")
    assert [str(p.version) for p in packages_in(base, ADDRESS)] == ["1.0.0"]
    assert packages_in(tmp_path / "none", ADDRESS) == []


# ---------------------------------------------------------------- settings


def test_which_files_are_read(tmp_path: Path, environ: dict[str, str]) -> None:
    home = tmp_path / "home"
    (home / ".terraformrc").write_text('plugin_cache_dir = "$HOME/old"')
    assert load_cli_config(environ).cache == f"{home}/old"
    (home / ".tofurc").write_text('plugin_cache_dir = "${HOME}/new" # comment')
    assert load_cli_config(environ).cache == f"{home}/new"
    (home / ".terraform.d").mkdir()
    (home / ".terraform.d" / "x.tfrc").write_text('{"plugin_cache_dir": "/json"}')
    assert load_cli_config(environ).cache == "/json"
    named = tmp_path / "named"
    assert load_cli_config({**environ, "TF_CLI_CONFIG_FILE": str(named)}).cache == ""
    named.write_text('credentials "x.org" { token = "t" }\nprovider_installation { filesystem_mirror { path = "p" } }')
    found = load_cli_config({**environ, "TF_CLI_CONFIG_FILE": str(named), "TF_PLUGIN_CACHE_DIR": "/c"})
    assert (found.mirrors, found.cache) == ((Mirror("p"),), "/c")


def test_the_syntax_of_settings() -> None:
    text = '/* a\n */ a = "x\\"y"\nb "c" "d" { "e/f" = 1, g = [true, false,] } // end\nh = { i = "j" }'
    assert read_settings(text) == [
        (("a",), 'x"y'),
        (("b", "c", "d"), [(("e/f",), 1.0), (("g",), [True, False])]),
        (("h",), [(("i",), "j")]),
    ]


@pytest.mark.parametrize(
    "text", ["a", "a =", "a = {", "a = [1", 'a "b" = 1', "= 1", "a = $", "} ", 'a = "x\n"', "a = b"]
)
def test_bad_syntax_names_the_line(text: str) -> None:
    with pytest.raises(SettingsError, match=r"line \d"):
        read_settings(text)


@pytest.mark.parametrize(
    "text",
    [
        "provider_installation { odd {} }",
        "provider_installation = 1",
        "provider_installation { dev_overrides { x = 1 } }",
        'provider_installation { dev_overrides { "a/b/c/d" = "x" } }',
        "provider_installation { filesystem_mirror {} }",
        'provider_installation { filesystem_mirror { path = "x", include = "y" } }',
        "provider_installation { direct {} }\nprovider_installation { direct {} }",
        "nonsense",
    ],
)
def test_settings_that_make_no_sense(tmp_path: Path, environ: dict[str, str], text: str) -> None:
    settings(tmp_path, environ, text)
    with pytest.raises(Failure) as failure:
        load_cli_config(environ)
    assert [d.code for d in failure.value.diagnostics] == ["provider.cli_config"]
