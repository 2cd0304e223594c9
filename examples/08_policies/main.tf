variable "environment" {
  type    = string
  default = "staging"
}

resource "terraform_data" "network" {
  input = { cidr = "10.1.0.0/16", tags = { Owner = "platform" } }
}

resource "terraform_data" "gateway" {
  input = { open_to = ["10.0.0.0/8", "0.0.0.0/0"], tags = { Owner = "platform" } }
}

resource "terraform_data" "database" {
  input = { network = terraform_data.network.id, tags = { Environment = var.environment } }
}

resource "terraform_data" "replica" {
  input = { tags = terraform_data.database.output.tags }
}
