# Three root modules whose states are rows of one PostgreSQL database, each in a schema of its own. Where the database is
# says the variable PG_CONN_STR; who waits for whom is derived from the states that they read.
unit "network" {
  path = "live/network"
}

unit "database" {
  path = "live/database"
}

unit "service" {
  path   = "live/service"
  inputs = { database = unit.database.address }
}
