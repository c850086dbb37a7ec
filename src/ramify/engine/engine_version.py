"""Which results the search engine gives: results of equal versions can be compared and reused, others cannot."""

ENGINE_VERSION = "37c6d698"  # the signature of tests/golden/signature.txt; `make signature ARGS=--write` writes both
