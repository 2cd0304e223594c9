variable "vpc" {
  type = string
}

variable "name" {
  type = string
}

resource "terraform_data" "service" {
  input = { vpc = var.vpc, name = var.name }
}

output "name" {
  value = terraform_data.service.output.name
}
