"""Documents for other programs: plan files, and plans, states, configurations and schemas as JSON."""
