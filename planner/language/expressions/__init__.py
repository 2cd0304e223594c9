"""The configuration language: evaluation of expressions and bodies, and its functions."""
