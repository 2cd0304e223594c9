"""For all tests."""

from __future__ import annotations

import os

os.environ["PLANNER_STANDBY"] = "0"  # every command is run by the code under test; tests of standing by say otherwise
for settings in ("TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"):  # of the machine: what is not there is warned about
    if not os.path.exists(os.environ.get(settings, "")):
        os.environ.pop(settings, None)
