terraform {
  backend "pg" {
    schema_name = "database"
  }
}

data "terraform_remote_state" "network" {
  backend = "pg"
  config = {
    schema_name = "network"
  }
}

resource "terraform_data" "database" {
  input = { network = data.terraform_remote_state.network.outputs.id }
}

output "address" {
  value = "database-${terraform_data.database.id}"
}
