terraform {
  backend "local" {}
}

data "terraform_remote_state" "network" {
  backend = "local"
  config  = { path = "../network/terraform.tfstate" }
}

resource "terraform_data" "queue" {
  input = { network = data.terraform_remote_state.network.outputs.id }
}

output "url" {
  value = terraform_data.queue.id
}
