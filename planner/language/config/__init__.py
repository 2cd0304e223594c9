"""The module tree: the declarations in the files of a configuration, as typed values."""
