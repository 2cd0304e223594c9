"""Fleets with stacks for tests: a network that publishes, a shop that reads it, a root module that reads
a component."""

from __future__ import annotations

from pathlib import Path

from batch.fleets import write

NET = {
    "net/x.tfcomponent.hcl": """
variable "zone" { type = string }
component "main" {
  source = "./main"
  inputs = { zone = var.zone }
}
output "id" {
  type  = string
  value = component.main.id
}
output "zone" {
  type  = string
  value = component.main.zone
}
""",
    "net/main/main.tf": """
terraform { required_version = ">= 1.0" }
variable "zone" { type = string }
resource "terraform_data" "net" { input = var.zone }
output "id" { value = terraform_data.net.id }
output "zone" { value = var.zone }
""",
    "net/x.tfdeploy.hcl": """
deployment "eu" { inputs = { zone = "eu" } }
deployment "us" { inputs = { zone = "us" } }
publish_output "id" { value = deployment.eu.id }
publish_output "zone" { value = deployment.us.zone }
""",
}
SHOP = {
    "shop/x.tfcomponent.hcl": """
variable "net" { type = string }
variable "names" { type = set(string) }
component "base" {
  source = "./service"
  inputs = { net = var.net, name = "base" }
}
component "web" {
  for_each = toset([for name in var.names : "${name}-${length(component.base.id)}"])
  source   = "./service"
  inputs   = { net = var.net, name = each.key }
}
output "id" {
  type  = string
  value = component.base.id
}
""",
    "shop/service/main.tf": """
variable "net" {}
variable "name" {}
resource "terraform_data" "service" { input = [var.net, var.name] }
output "id" { value = terraform_data.service.id }
output "name" { value = var.name }
""",
    "shop/x.tfdeploy.hcl": """
upstream_input "net" {
  type   = "stack"
  source = "../net"
}
locals { net = upstream_input.net }
deployment "live" { inputs = { net = local.net.id, names = ["a"] } }
deployment "test" { inputs = { net = "none", names = [] } }
""",
}
ROOT = {
    "root/main.tf": """
terraform {
  backend "local" {}
}
data "terraform_remote_state" "shop" {
  backend = "local"
  config  = { path = "../shop/stack-states/live.base/terraform.tfstate" }
}
resource "terraform_data" "root" { input = data.terraform_remote_state.shop.outputs.name }
""",
}


def linked(root: Path) -> Path:
    """All three of them."""
    write(root, {**NET, **SHOP, **ROOT})
    return root
