variable "v" { default = null }
data "terraform_remote_state" "e" {
  backend = "local"
  config = { path = "${path.root}/other.tfs" }
  defaults = { q = var.v }
}
resource "terraform_data" "g" {
  input = data.terraform_remote_state.e.outputs
  triggers_replace = true
  depends_on = [data.terraform_remote_state.e]
}
module "n" {
  source = "../n"
  v = var.v
}
output "o" { value = terraform_data.g.output }
