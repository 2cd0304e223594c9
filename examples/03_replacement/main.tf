variable "release" {
  type    = number
  default = 1
}

resource "terraform_data" "image" {
  triggers_replace = var.release
}

resource "terraform_data" "disk" {
  input            = "disk for ${terraform_data.image.id}"
  triggers_replace = terraform_data.image.id
}

resource "terraform_data" "server" {
  triggers_replace = terraform_data.disk.id

  lifecycle {
    create_before_destroy = true
  }
}
