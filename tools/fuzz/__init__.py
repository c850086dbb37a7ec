"""Fuzzing: random inputs, files, programs and kills against the public interface. ``python -m tools.fuzz --help``."""
