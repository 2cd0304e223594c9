variable "i" {}
resource "terraform_data" "a" { 
  input = var.i 
}
output "o" { value = terraform_data.a.id }
