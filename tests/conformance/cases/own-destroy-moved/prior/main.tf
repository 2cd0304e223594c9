resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "c" { input = terraform_data.a.id }
