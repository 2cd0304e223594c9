variable "a" {
  default = 1
  validation {
    condition     = var.a > 0
    error_message = "must be positive"
  }
  validation {
    condition     = var.a > 5
    error_message = "must be above five"
  }
  validation {
    condition     = var.a > 10
    error_message = "must be above ten"
  }
}
variable "b" {
  default = "x"
  validation {
    condition     = length(var.b) > 1
    error_message = "too short"
  }
}
resource "terraform_data" "r" {
  input = [var.a, var.b]
}
