terraform {
  backend "local" {}
}

locals {
  services = "../service/terraform.tfstate.d"
}

data "terraform_remote_state" "orders" {
  backend   = "local"
  workspace = "orders"
  config    = { workspace_dir = local.services }
}

data "terraform_remote_state" "users" {
  backend   = "local"
  workspace = "users"
  config    = { workspace_dir = local.services }
}

resource "terraform_data" "probe" {
  for_each = toset(["orders", "users"])
  input = {
    bucket = "probe-${each.key}"
    urls   = [data.terraform_remote_state.orders.outputs.url, data.terraform_remote_state.users.outputs.url]
  }
}
