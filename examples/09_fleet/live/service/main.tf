terraform {
  backend "local" {}
}

variable "name" {
  type = string
}

variable "team" {
  type = string
}

variable "database" {
  type = string
}

variable "domain" {
  type = string
}

data "terraform_remote_state" "identity" {
  backend = "local"
  config  = { path = "../identity/terraform.tfstate" }
}

resource "terraform_data" "service" {
  input = {
    database = var.database
    domain   = var.domain
    issuer   = data.terraform_remote_state.identity.outputs.issuer
    owner    = var.team
  }
}

output "url" {
  value = "https://${var.domain}"
}
