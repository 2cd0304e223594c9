"""Policies: rules that deny a plan, warn about it, or stay undecided until values are known.

load(words) -> Policies; facts_of_plan(plan, config, policies) -> PolicyFacts; judge(policies, facts) -> Verdicts
"""
