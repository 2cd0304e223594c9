resource "terraform_data" "ok" {
  input = "fine"
}

resource "terraform_data" "fails" {
  input = terraform_data.ok.id

  provisioner "local-exec" {
    command = "echo something is wrong here; exit 3"
  }
}

resource "terraform_data" "never_reached" {
  input = terraform_data.fails.id
}

resource "terraform_data" "unrelated" {
  input = "still created"
}
