"""The configuration language: types of variables, and the evaluation of expressions and bodies."""
