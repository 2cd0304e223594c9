"""A plan as facts for policies: the predicates of rules/policy, each built only when policies read it."""
