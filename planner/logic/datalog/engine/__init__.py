"""Compilation of programs, and their evaluation on facts."""
