"""Documents that others read: plan files, and plans, states, configurations and schemas as JSON."""
