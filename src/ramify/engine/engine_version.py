"""Version of the search engine's results: only results of equal versions can be compared and reused."""

ENGINE_VERSION = "bc85f710"  # the signature of tests/golden/signature.txt; `make signature ARGS=--write` writes both
