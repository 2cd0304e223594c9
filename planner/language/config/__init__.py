"""The module tree: what the files of a configuration declare, as typed values."""
