"""``python -m ramify``: the command line."""

from ramify.cli import main

main()
