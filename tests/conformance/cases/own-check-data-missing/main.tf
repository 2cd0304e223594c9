resource "terraform_data" "a" {
  input = 1
}
check "remote" {
  data "terraform_remote_state" "r" {
    backend = "local"
    config  = { path = "other.tfstate" }
  }
  assert {
    condition     = data.terraform_remote_state.r.outputs.x == "v"
    error_message = "x"
  }
}
output "o" {
  value = terraform_data.a.input
}
