"""Version of the search engine's results: only results of equal versions can be compared and reused."""

ENGINE_VERSION = "33e1af5d"  # the signature of tests/golden/signature.txt; `make signature ARGS=--write` writes both
