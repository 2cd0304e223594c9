resource "terraform_data" "r0" {
  triggers_replace = 2
  depends_on       = [terraform_data.r2]
}
resource "terraform_data" "r1" {
  for_each = toset(["k1"])
  input    = [each.key, terraform_data.r0.id]
}
resource "terraform_data" "r2" {
  input = "alone"
}
