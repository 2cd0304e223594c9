variable "i" {}
resource "terraform_data" "a" { 
  input = var.i 
  provisioner "local-exec" {
    when = destroy
    command = "echo ${self.input}"
  }
}
output "o" { value = terraform_data.a.id }
