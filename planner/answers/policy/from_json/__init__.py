"""Converts plans and states in the JSON of `show -json` (of planner, OpenTofu or Terraform) to facts for policies."""
