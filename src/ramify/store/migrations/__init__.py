"""What brings files of older versions up to date: one module in ``versions/`` for each change of the tables."""
