resource "terraform_data" "z" { }
data "terraform_remote_state" "d" {
  backend = "local"
  config = { path = "${path.module}/other.tfstate" }
  depends_on = [terraform_data.z]
}
resource "terraform_data" "a" { input = data.terraform_remote_state.d.outputs }
