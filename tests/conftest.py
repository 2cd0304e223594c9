"""For all tests."""

from __future__ import annotations

import os

for settings in ("TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"):  # of the machine: what is not there is warned about
    if not os.path.exists(os.environ.get(settings, "")):
        os.environ.pop(settings, None)
