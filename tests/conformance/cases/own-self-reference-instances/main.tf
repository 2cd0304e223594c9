resource "terraform_data" "a" { 
  count = 3
  input = count.index == 2 ? terraform_data.a[0].id : "none"
}
