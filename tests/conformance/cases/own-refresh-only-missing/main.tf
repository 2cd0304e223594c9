resource "terraform_data" "d" { 
  count = 3
  lifecycle { 
    postcondition {
      condition = self.id == "zz"
      error_message = "c"
    }
  }
}
output "x" { value = terraform_data.d[*].id }
output "y" { value = length(terraform_data.d) }
