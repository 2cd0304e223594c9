terraform {
  backend "local" {}
}

data "terraform_remote_state" "shop" {
  backend = "local"
  config  = { path = "../shop/stack-states/eu/terraform.tfstate" }
}

resource "terraform_data" "monitor" {
  input = "watches ${data.terraform_remote_state.shop.outputs.name}"
}
