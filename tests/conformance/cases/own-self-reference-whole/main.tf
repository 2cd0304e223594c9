resource "terraform_data" "a" { 
  count = 2
  input = length(terraform_data.a)
}
