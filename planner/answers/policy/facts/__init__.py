"""A plan as facts for policies (rules/policy); each relation is built only if policies read it."""
