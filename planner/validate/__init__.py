"""The validate walk."""
