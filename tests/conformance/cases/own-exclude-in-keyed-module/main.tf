resource "terraform_data" "a" {
  triggers_replace = "s"
  lifecycle {
    create_before_destroy = true
  }
}
module "m" {
  source = "./m"
  count = 2
  v = terraform_data.a.input
  depends_on = [terraform_data.a]
}
resource "terraform_data" "b" {
  input = terraform_data.a.id
  triggers_replace = terraform_data.a.output
}
