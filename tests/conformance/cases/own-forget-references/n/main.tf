variable "v" { default = null }
data "terraform_remote_state" "c" {
  backend = "local"
  config = { path = "${path.root}/other.tfs" }
}
output "o" { value = var.v }
