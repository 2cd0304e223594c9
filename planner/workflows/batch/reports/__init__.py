"""Reports of fleets: the document, and the forms that it is printed in."""
