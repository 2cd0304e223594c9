# The units of the fleet. What reads a remote state needs no mention here: planner finds those edges itself.
unit "network" {
  path = "live/network"
  tags = ["core"]
}

unit "dns" {
  path = "live/dns"
  tags = ["core"]
}

unit "identity" {
  path = "live/identity"
  tags = ["core"]
}

# The two databases are the same module with other variables, each with a workspace, and so a state, of its own.
unit "orders-db" {
  path      = "live/database"
  tags      = ["stateful"]
  workspace = "orders"
  variables = { name = "orders", size = 3 }
  inputs    = { network_id = unit.network.id }
}

unit "users-db" {
  path      = "live/database"
  tags      = ["stateful"]
  workspace = "users"
  variables = { name = "users" }
  inputs    = { network_id = unit.network.id }
}

unit "queue" {
  path = "live/queue"
}

unit "orders" {
  path   = "live/service"
  tags   = ["web"]
  workspace = "orders"
  variables = { name = "orders" }
  inputs = {
    database = unit.orders-db.address
    domain   = "orders.${unit.dns.zone}"
  }
  depends_on = [unit.queue]
}

unit "users" {
  path   = "live/service"
  tags   = ["web"]
  workspace = "users"
  variables = { name = "users" }
  inputs = {
    database = unit.users-db.address
    domain   = "users.${unit.dns.zone}"
  }
}

unit "monitoring" {
  path = "live/monitoring"
}

group "shop" {
  units     = ["orders*", "users*"]
  variables = { team = "shop" }
}
