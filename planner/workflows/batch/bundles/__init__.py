"""Units that run on machines without access to the files of this machine: the files that a unit needs are sent as a
bundle.

`pack` finds the files and makes an archive that is named by its content; `parcel` is a message; `stores` are places for
archives; `shipping` sends work and receives results; `host` does the work on the other machine. A carrier transports
the bytes: it starts a command for each unit, or uses a Dask cluster."""
