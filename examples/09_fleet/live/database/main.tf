terraform {
  backend "local" {}
}

variable "name" {
  type = string
}

variable "team" {
  type = string
}

variable "size" {
  type    = number
  default = 1
}

variable "network_id" {
  type = string
}

module "storage" {
  source = "../../modules/storage"
  name   = var.name
}

resource "terraform_data" "server" {
  count = var.size
  input = {
    network = var.network_id
    bucket  = module.storage.bucket
    owner   = var.team
  }
}

output "address" {
  value = "${var.name}-${substr(terraform_data.server[0].id, 0, 8)}"
}
