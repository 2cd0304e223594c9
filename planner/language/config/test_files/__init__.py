"""Test files (`*.tftest.hcl`, `*.tofutest.hcl` and their JSON forms): found, read, and what they say as types."""
