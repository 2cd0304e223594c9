"""Stack files (`*.tfcomponent.hcl`, `*.tfdeploy.hcl` and their JSON forms): finds, reads and checks them."""
