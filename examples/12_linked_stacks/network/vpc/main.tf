variable "zone" {
  type = string
}

resource "terraform_data" "vpc" {
  input = var.zone
}

output "id" {
  value = terraform_data.vpc.id
}

output "zone" {
  value = var.zone
}
