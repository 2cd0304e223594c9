terraform {
  backend "pg" {
    schema_name = "service"
  }
}

variable "database" {
  type = string
}

resource "terraform_data" "service" {
  input = { database = var.database }
}
