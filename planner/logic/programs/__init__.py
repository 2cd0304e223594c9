"""Which rule files make up which program."""
