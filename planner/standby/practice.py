"""Loading all that batch commands need: by planning a little fleet, once as a new one and once as a known one."""

from __future__ import annotations

import gc
import io
import os
from tempfile import TemporaryDirectory

_UNITS = {
    "a": 'output "x" {\n  value = 1\n}\n',
    "b": (
        'variable "v" {\n  type    = number\n  default = 1\n}\n'
        'locals {\n  l = "${var.v}-"\n}\n'
        'data "terraform_remote_state" "a" {\n  backend = "local"\n'
        '  config  = { path = "../a/terraform.tfstate" }\n}\n'
        'resource "terraform_data" "r" {\n  input = [local.l, data.terraform_remote_state.a.outputs.x]\n}\n'
    ),
}
_BLOCKS, _STRIDE = 50_000, 2_000
"""blocks of memory (of which 2,500 are a megabyte) that are asked for, and which of them are kept: so many that Python
gives nothing of the rest back to the system"""
_kept: list[bytes] = []


def load() -> None:
    """Afterwards, what batch commands need is in memory, and nothing of the practice."""

    _practise()

    gc.collect()
    gc.freeze()


def again() -> None:
    """In a fork: what is written to when commands run is no longer shared with the process that it was forked from, and
    there is memory at hand, which the system would otherwise have to find page by page."""
    _practise()
    blocks = [bytes(400) for _ in range(_BLOCKS)]
    _kept.extend(blocks[::_STRIDE])
    del blocks
    gc.collect(0)
    gc.freeze()


def _practise() -> None:
    from planner.cli.main import dispatch
    from planner.cli.terminal import Terminal

    here = os.getcwd()
    with TemporaryDirectory(prefix="planner-") as folder:
        for name, text in _UNITS.items():
            os.mkdir(os.path.join(folder, name))
            with open(os.path.join(folder, name, "main.tf"), "w", encoding="utf-8") as file:
                file.write('terraform {\n  backend "local" {}\n}\n' + text)
        with open(os.path.join(folder, "planner.batch.hcl"), "w", encoding="utf-8") as file:
            file.write('units "*" {}\n')
        os.chdir(folder)
        try:
            for _ in range(2):
                nowhere = io.StringIO()
                dispatch(["batch", "plan", "-executor=inline"], Terminal(nowhere, nowhere, nowhere))
                with open("b/main.tf", "a", encoding="utf-8") as file:
                    file.write("# changed\n")
        finally:
            os.chdir(here)
