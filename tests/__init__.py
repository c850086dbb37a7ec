"""A package, so that it is found before packages of the same name that others install."""
