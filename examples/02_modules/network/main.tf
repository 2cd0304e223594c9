variable "name" {
  type = string
}

variable "cidr" {
  type = string
}

resource "terraform_data" "vpc" {
  input = { name = var.name, cidr = var.cidr }
}

output "id" {
  value = terraform_data.vpc.id
}

output "cidr" {
  value = terraform_data.vpc.output.cidr
}
