"""Plans and states from `show -json` (of planner, OpenTofu or Terraform) as facts for policies."""
