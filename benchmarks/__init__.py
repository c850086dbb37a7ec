"""The speed of the project, measured: `python -m benchmarks` runs every module here that has rows()."""
