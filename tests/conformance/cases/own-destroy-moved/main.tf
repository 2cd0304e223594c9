resource "terraform_data" "b" { input = 1 }
resource "terraform_data" "c" { input = terraform_data.b.id }
moved {
  from = terraform_data.a
  to = terraform_data.b
}
