"""Test files (`*.tftest.hcl`, `*.tofutest.hcl` and their JSON forms): finding and reading them, and their model."""
