"""Reports of fleets: the document and its output formats."""
