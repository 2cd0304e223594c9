terraform {
  backend "pg" {
    schema_name = "network"
  }
}

resource "terraform_data" "network" {
  input = { cidr = "10.0.0.0/16" }
}

output "id" {
  value = terraform_data.network.id
}
