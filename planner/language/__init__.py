"""From text to configuration: syntax trees, functions, expressions, and the module tree."""
