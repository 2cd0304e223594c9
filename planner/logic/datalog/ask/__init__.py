"""Questions to what was derived, with limits of time and memory."""
