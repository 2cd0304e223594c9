resource "terraform_data" "database" {
  input = "db"
}

resource "terraform_data" "schema" {
  input      = "schema in ${terraform_data.database.id}"
  depends_on = [terraform_data.database]
}

resource "terraform_data" "app" {
  input = terraform_data.schema.id

  provisioner "local-exec" {
    when    = destroy
    command = "echo the app goes first"
  }
}
