variable "x" {}
resource "terraform_data" "a" { input = var.x }
resource "terraform_data" "c" { input = 1 }
resource "terraform_data" "e" { count = 0 }
resource "terraform_data" "f" { input = terraform_data.e[*].id }
