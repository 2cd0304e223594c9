"""Plans and states as `show -json` prints them (OpenTofu's, Terraform's and our own), as facts for policies."""
