"""Development tools; none of this is installed."""
