resource "terraform_data" "a" { }
data "terraform_remote_state" "d" {
  backend = "local"
  config = { path = "/nonexistent/${terraform_data.a.id}" }
}
resource "terraform_data" "b" { input = data.terraform_remote_state.d.outputs }
resource "terraform_data" "c" { }
