variable "zone" {
  type = string
}

variable "subnet" {
  type = string
}

resource "terraform_data" "server" {
  input = { name = "server-${var.zone}", subnet = var.subnet }
}

output "name" {
  value = terraform_data.server.output.name
}
