resource "terraform_data" "d" { count = 1 }
