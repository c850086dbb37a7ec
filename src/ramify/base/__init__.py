"""Helpers shared by all layers: settings, files, hints for typos, seeds, deprecated names."""
