"""Stack files (`*.tfcomponent.hcl`, `*.tfdeploy.hcl` and their JSON forms): finding and reading them, and their
model."""
