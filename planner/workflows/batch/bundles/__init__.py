"""Units that run on machines which share no files with this one: the files that a unit needs travel as a bundle.

`pack` finds the files and makes an archive named by its content, `parcel` is a message, `stores` are places where
archives lie, `shipping` sends and takes back, `host` does the work on the other machine. A carrier transports the
bytes: a command for each unit, or a Dask cluster."""
