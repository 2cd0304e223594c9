variable "v" { default = null }
data "terraform_remote_state" "d" {
  backend = "local"
  config = { path = "${path.root}/other.tfs" }
  defaults = { q = true }
}
resource "terraform_data" "c" {
  input = 1
  triggers_replace = 2
  depends_on = [data.terraform_remote_state.d]
  lifecycle {
    destroy = false
  }
}
resource "terraform_data" "b" {
  input = { p = 1 }
  triggers_replace = terraform_data.c.output
}
output "o" { value = terraform_data.c.id }
