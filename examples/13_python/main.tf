variable "image" {
  default = "web:1.4"
}

variable "services" {
  type    = set(string)
  default = ["api", "worker"]
}

resource "terraform_data" "network" {
  input = { cidr = "10.0.0.0/16" }
}

resource "terraform_data" "database" {
  input            = { network = terraform_data.network.id, engine = "pg" }
  triggers_replace = [var.image]
}

resource "terraform_data" "service" {
  for_each = var.services
  input    = { name = each.key, image = var.image, database = terraform_data.database.id }
}

output "services" {
  value = [for service in terraform_data.service : service.output.name]
}
