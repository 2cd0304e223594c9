# The units of the fleet. What reads a remote state needs no mention here: planner finds those edges itself.
locals {
  services = {
    orders = { size = 3 }
    users  = { size = 1 }
  }
}

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

unit "queue" {
  path = "live/queue"
}

# Each service has a database, and both are repeated: the same module with other variables, and with a workspace, and so
# a state, of its own. The units are database/orders, database/users, service/orders and service/users.
template "repeated" {
  for_each   = local.services
  workspace  = each.key
  variables  = { name = each.key }
  time_limit = "10m"
}

unit "database" {
  template  = "repeated"
  path      = "live/database"
  tags      = ["stateful"]
  variables = { size = each.value.size }
  inputs    = { network_id = unit.network.id }
}

unit "service" {
  template = "repeated"
  path     = "live/service"
  tags     = ["web"]
  inputs = {
    database = unit.database[each.key].address
    domain   = "${each.key}.${unit.dns.zone}"
  }
  depends_on = [unit.queue]

  # A service that does not answer is no success: then the unit has failed, and nothing goes on that waits for it.
  hook "smoke" {
    when     = "after"
    commands = ["apply"]
    run      = ["sh", "../../smoke-test.sh"]
  }
}

unit "monitoring" {
  path = "live/monitoring"
}

group "shop" {
  units     = ["database/*", "service/*"]
  variables = { team = "shop" }
}
