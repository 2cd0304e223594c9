resource "terraform_data" "a" { }
resource "terraform_data" "b" { input = terraform_data.a.id }
output "o" { value = terraform_data.b.id }
