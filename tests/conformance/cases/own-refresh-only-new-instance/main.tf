resource "terraform_data" "a" {
  for_each = toset(["x", "y"])
  input    = each.key
  lifecycle {
    postcondition {
      condition     = self.output == self.input
      error_message = "post"
    }
  }
}
output "o" {
  value = [for k, a in terraform_data.a : a.input]
}
