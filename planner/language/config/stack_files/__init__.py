"""Stack files (`*.tfcomponent.hcl`, `*.tfdeploy.hcl` and their JSON forms): found, read, and what they say as types."""
