resource "terraform_data" "a" {
  input = 2
}
check "f" {
  assert {
    condition     = terraform_data.a.output == 2
    error_message = "y ${terraform_data.a.output}"
  }
}
