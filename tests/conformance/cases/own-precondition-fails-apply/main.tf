resource "terraform_data" "x" {
  input = 5
}
resource "terraform_data" "a" {
  input = 1
  lifecycle {
    precondition {
      condition     = terraform_data.x.output > 5
      error_message = "bad ${terraform_data.x.output}"
    }
  }
}
output "o" {
  value = terraform_data.a.id
}
