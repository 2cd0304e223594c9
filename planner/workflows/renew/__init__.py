"""An earlier plan, renewed from stored data: only edited blocks are planned again."""
