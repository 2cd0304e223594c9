data "terraform_remote_state" "network" {
  backend = "local"
  config = {
    path = "../producer/terraform.tfstate"
  }
}

resource "terraform_data" "subnet" {
  input = cidrsubnet(data.terraform_remote_state.network.outputs.cidr, 8, 1)
}

output "subnet" {
  value = terraform_data.subnet.output
}
