"""Policies: rules over a plan that deny it, warn about it, or wait for values known only after apply.

load(words) -> Policies; facts_of_plan(plan, config, policies) -> PolicyFacts; judge(policies, facts) -> Verdicts
"""
