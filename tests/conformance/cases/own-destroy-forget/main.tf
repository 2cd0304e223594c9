resource "terraform_data" "b" {
  for_each = toset(["x", "y"])
  input = "s"
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "a" {
  input = terraform_data.b["y"].input
  lifecycle {
    destroy = false
  }
}
