"""What tests see of the machine: no variable that steers this program or what it uses, and a home of their own."""

from __future__ import annotations

import atexit
import os
import shutil
import site
import tempfile

STEERING = (
    "ACTIONS_", "ALIBABA_", "ALICLOUD_", "ALL_PROXY", "ALTERNATE_", "ARM_", "AWS_", "AZURE", "BAO_", "BITBUCKET_",
    "BUILDKITE", "CHECKPOINT_", "CI_", "CLICOLOR", "CLOUDSDK_", "COLUMNS", "CONSUL_", "COS_", "CURL_CA_BUNDLE",
    "ECS_", "FORCE_COLOR", "FTP_PROXY", "GCE_", "GCLOUD_", "GIT_", "GITHUB_", "GITLAB_", "GOOGLE_", "HELM_",
    "HTTPS_PROXY", "HTTP_PROXY", "IDENTITY_", "JENKINS_", "KUBE", "LINES", "MSI_", "NETRC", "NOMAD_", "NO_COLOR",
    "NO_PROXY", "OCI_", "OPENTOFU_", "OSS_", "OTEL_", "PG", "PLANNER_", "PLUGIN_", "REQUESTS_CA_BUNDLE", "RUNNER_",
    "SSH_", "SSL_CERT_", "STORAGE_EMULATOR_", "SYSTEM_", "TENCENTCLOUD_", "TERRAFORM_", "TERRAGRUNT_",
    "TEST_PROVIDER_", "TF_", "TFE_", "TG_", "TOFU_", "VAULT_", "XDG_",
)  # fmt: skip
"""beginnings of the names of variables, in capitals: those of services, clients, this program and its like"""
STEERING_NAMES = frozenset(
    ("BASE_BRANCH_NAME", "CI", "DISPLAY", "LESS", "NO_PAGER", "PAGER", "PULL_NUM", "WAYLAND_DISPLAY")
)
"""whole names, in capitals: a CI system's, a pager's, a screen's"""
OF_TESTS = frozenset(("CONSUL_BINARY", "PLANNER_GOLDEN"))
"""variables that the tests themselves ask for"""
MEMORY = "/dev/shm"
ENOUGH = 4 << 30
"""bytes; a whole run uses fewer than 1 GB at any time, and 2 GB if many tests fail"""
KEPT = "TESTS_KEPT"
"""the variable with the folder of what outlives the tests: environments that take minutes to make"""


def isolate() -> None:
    """Remove the steering variables, and make a home for this run: of pytest and its workers, which are started with
    its variables. Programs that the tests start find what this run has compiled, and nothing else."""
    if KEPT in os.environ:  # a worker
        return
    user, cache = os.path.expanduser("~"), os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    proxy = os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy")
    for name in [*os.environ]:
        is_steering = name.upper().startswith(STEERING) or name.upper() in STEERING_NAMES
        if is_steering and name not in OF_TESTS:
            del os.environ[name]
    room = os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _room())
    home = tempfile.mkdtemp(prefix="planner-tests-", dir=room)
    atexit.register(_remove, home, os.getpid())
    os.environ |= {
        "HOME": home,
        "XDG_CACHE_HOME": f"{home}/.cache",  # for programs with a home of their own, too
        "XDG_STATE_HOME": f"{home}/.local/state",
        KEPT: f"{cache}/planner-test-clients",
    }
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each worker and each program would compile every module
    # what installs, builds and is installed for the user stays where it is
    outside = {"PIP_PROXY": proxy, "GOPATH": f"{user}/go", "GOCACHE": f"{cache}/go-build"}
    for name, value in {**outside, "PYTHONUSERBASE": site.getuserbase()}.items():
        if value:
            os.environ.setdefault(name, value)


def _room() -> str:
    """Where tests write: in memory if there is enough, since their files are many and short-lived."""
    try:
        free = shutil.disk_usage(MEMORY).free
    except OSError:
        free = 0
    return MEMORY if free >= ENOUGH else tempfile.gettempdir()


def _remove(home: str, owner: int) -> None:
    if os.getpid() == owner:  # no process that a test has forked
        shutil.rmtree(home, ignore_errors=True)
