"""Questions about plans: explanations, policies, and documents for other programs."""
