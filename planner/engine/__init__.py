"""The walks over derived graphs: evaluate, validate, plan, apply."""
