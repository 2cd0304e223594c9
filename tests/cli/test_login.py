"""`login` and `logout`: tokens from a login service, from somebody who copies them, with a helper, and away again."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from conformance import forked
from state.backends.servers import tfe

from planner.foundation.clients.login import login_service
from planner.foundation.vocabulary.diagnostic import ServiceError

BASE = "https://h.test/"
GOOD = {"client": "client", "authz": "/a", "token": "/t"}


class Home:
    """A user's home, with the host `tfe.test`."""

    def __init__(self, folder: Path, login: bool, more: str = "") -> None:
        url = tfe()[0]
        root = url.removesuffix("api/v2/")
        services = f'    "tfe.v2" = "{url}"\n'
        if login:
            said = {"client": "client", "authz": f"{root}oauth/authorization", "token": f"{root}oauth/token"}
            body = "".join(f'      {name} = "{value}"\n' for name, value in said.items())
            services += f'    "login.v1" = {{\n{body}      grant_types = ["authz_code"]\n    }}\n'
        self.folder = folder
        (folder / ".tofurc").write_text(f'host "tfe.test" {{\n  services = {{\n{services}  }}\n}}\n{more}', "utf-8")
        self.file = folder / ".terraform.d" / "credentials.tfrc.json"
        names = ("TF_CLI_CONFIG_FILE", "TF_TOKEN_tfe_test", "XDG_CONFIG_HOME", "DISPLAY", "WAYLAND_DISPLAY")
        self.environment = {name: value for name, value in os.environ.items() if name not in names}
        self.environment |= {"HOME": str(folder), "NO_COLOR": "1"}

    def begun(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "planner", *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, answers: str = "") -> tuple[int, str]:
        done = forked.run(words, self.folder, self.environment, answers, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def kept(self) -> Any:
        return json.loads(self.file.read_text("utf-8"))


def test_a_login_service(tmp_path: Path) -> None:
    home = Home(tmp_path, login=True)
    process = home.begun("login", "TFE.test")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("yes\n")
    process.stdin.flush()
    said = ""
    while not (found := re.search(r"^ +(http://127\S+)$", said, re.M)):
        line = process.stdout.readline()
        assert line, said
        said += line
    port = re.search(r"localhost%3A(\d+)", found[1])
    assert port is not None
    with pytest.raises(urllib.error.HTTPError, match="400"):  # from somebody else
        urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/login?code=code&state=wrong", timeout=10)
    with urllib.request.urlopen(found[1].replace("localhost", "127.0.0.1"), timeout=10) as page:
        assert b"go back to the terminal" in page.read()
    said += process.stdout.read()
    assert process.wait(60) == 0 and "Success! planner has obtained and saved an API token." in said
    assert home.kept() == {"credentials": {"tfe.test": {"token": "secret"}}}
    assert stat.S_IMODE(home.file.stat().st_mode) == 0o600
    assert "secret" not in said


def test_a_token_that_is_copied(tmp_path: Path) -> None:
    home = Home(tmp_path, login=False)
    code, said = home.run("login", "tfe.test", answers="yes\nsecret\n")
    assert code == 0 and "Retrieved token for user somebody" in said
    assert "https://127.0.0.1/app/settings/tokens?source=terraform-login" in said
    home.file.write_text(json.dumps({"other": 1, "credentials": {**home.kept()["credentials"], "a": {"token": "b"}}}))
    code, said = home.run("logout", "tfe.test")
    assert code == 0 and "Success! planner has removed the stored API token for tfe.test." in said
    assert home.kept() == {"other": 1, "credentials": {"a": {"token": "b"}}}
    assert home.run("logout", "tfe.test") == (0, "No credentials for tfe.test are stored.\n")


@pytest.mark.parametrize(
    ("words", "answers", "text"),
    [
        (["login", "tfe.test"], "yes\nwrong\n", "Token is invalid"),
        (["login", "tfe.test"], "no\n", "Login cancelled"),
        (["login", "-input=false", "tfe.test"], "", "Login is an interactive command"),
        (["login", "a b"], "", "Invalid hostname"),
        (["login", "localhost:1"], "", "Service discovery failed for localhost:1"),
        (["login"], "", "The login command expects exactly one argument"),
        (["logout", "a", "b"], "", "The logout command expects exactly one argument"),
    ],
)
def test_what_goes_wrong(words: list[str], answers: str, text: str, tmp_path: Path) -> None:
    home = Home(tmp_path, login=False)
    code, said = home.run(*words, answers=answers)
    assert code == 1 and text in said
    assert not home.file.exists()


@pytest.mark.parametrize("command", ["login", "logout"])
def test_credentials_that_stand_elsewhere(command: str, tmp_path: Path) -> None:
    home = Home(tmp_path, login=False, more='credentials "tfe.test" {\n  token = "mine"\n}\n')
    code, said = home.run(command, "tfe.test", answers="yes\nsecret\n")
    assert code == 1 and "Credentials for tfe.test are manually configured" in said


def test_a_helper(tmp_path: Path) -> None:
    home = Home(tmp_path, login=False, more='credentials_helper "h" {\n  args = ["-x"]\n}\n')
    plugins = tmp_path / ".terraform.d" / "plugins"
    plugins.mkdir(parents=True)
    program = plugins / "terraform-credentials-h"
    program.write_text(
        '#!/bin/sh\necho "$@" >> "$HOME/asked"\ncase "$2" in\nstore) cat > "$HOME/stored" ;;\n'
        'get) cat "$HOME/stored" 2>/dev/null || echo "{}" ;;\nforget) rm "$HOME/stored" ;;\nesac\n',
        "utf-8",
    )
    program.chmod(0o755)
    code, said = home.run("login", "tfe.test", answers="yes\nsecret\n")
    assert code == 0 and '"h" credentials helper' in said and not home.file.exists()
    assert json.loads((tmp_path / "stored").read_text()) == {"token": "secret"}
    code, said = home.run("logout", "tfe.test")
    assert code == 0 and not (tmp_path / "stored").exists()
    assert "-x store tfe.test" in (tmp_path / "asked").read_text()


def test_a_host_without_tokens(tmp_path: Path) -> None:
    home = Home(tmp_path, login=False)
    (tmp_path / ".tofurc").write_text('host "tfe.test" {\n  services = {}\n}\n', "utf-8")
    code, said = home.run("login", "tfe.test", answers="yes\n")
    assert code == 1 and "Host does not support planner tokens API" in said


def test_what_hosts_say_of_login_services() -> None:
    service = login_service({**GOOD, "ports": [2000, 2001], "scopes": ["s"]}, BASE)
    assert service.authorization == "https://h.test/a" and service.ports == (2000, 2001) and service.scopes == ("s",)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"client": None}, 'missing required property "client"'),
        ({"authz": 1}, 'missing required property "authz"'),
        ({"token": "ftp://x"}, "unsupported scheme ftp"),
        ({"ports": [1]}, "must be a two-element array"),
        ({"ports": [80, 90]}, "both ports must be whole numbers between 1024 and 65535"),
        ({"ports": [2000, 1500]}, "minimum port cannot be greater than maximum port"),
        ({"scopes": [1]}, 'invalid "scopes"'),
    ],
)
def test_login_services_that_cannot_be_used(said: dict[str, Any], text: str) -> None:
    with pytest.raises(ServiceError, match=re.escape(text)):
        login_service({**GOOD, **said}, BASE)
