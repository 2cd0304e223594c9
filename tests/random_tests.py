"""How many examples random tests try: a quarter by default, all of them with `--hypothesis-profile=nightly`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

WHOLE = 100
"""percent of the examples, which is what Hypothesis tries where a test says no number"""


def register_profiles() -> None:
    """The profiles; neither limits the time of an example, which depends on what else the machine does. Examples may
    share a fixture of their test."""
    allowed = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    usual = settings(max_examples=WHOLE // 4, deadline=None, suppress_health_check=allowed)
    settings.register_profile("usual", usual)
    settings.register_profile("nightly", usual, max_examples=WHOLE)
    settings.load_profile("usual")


def examples(number: int) -> int:
    """The share of the profile of this run in so many examples."""
    return max(1, number * settings.default.max_examples // WHOLE)
