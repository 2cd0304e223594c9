variable "environment" {
  type    = string
  default = "staging"

  validation {
    condition     = contains(["staging", "production"], var.environment)
    error_message = "The environment must be either staging or production."
  }
}

locals {
  name = "shop-${var.environment}"
}

resource "terraform_data" "network" {
  input = { name = "${local.name}-net", cidr = "10.0.0.0/16" }
}

resource "terraform_data" "server" {
  count = 2
  input = {
    name    = "${local.name}-${count.index}"
    network = terraform_data.network.id
  }
}

output "servers" {
  value = terraform_data.server[*].output.name
}
