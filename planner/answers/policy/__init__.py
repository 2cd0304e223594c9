"""Policies: rules that deny a plan or warn about it. A verdict is undecided as long as it depends on unknown values.

load(words) -> Policies; facts_of_plan(plan, config, policies) -> PolicyFacts; judge(policies, facts) -> Verdicts
"""
