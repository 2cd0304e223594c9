variable "v" {
  default = 1
  validation {
    condition     = var.v > 0
    error_message = "v"
  }
}
resource "terraform_data" "a" {
  for_each = toset(["p", "q"])
  lifecycle {
    postcondition {
      condition     = self.id != "" || each.key == "z"
      error_message = "c"
    }
  }
}
check "c" {
  assert {
    condition     = terraform_data.a["p"].id != null
    error_message = "c"
  }
}
output "o" {
  value = 1
  precondition {
    condition     = var.v == 1
    error_message = "o"
  }
}
