"""Version of the search engine's results: only results of equal versions can be compared and reused."""

ENGINE_VERSION = "37c6d698"  # the signature of tests/golden/signature.txt; `make signature ARGS=--write` writes both
