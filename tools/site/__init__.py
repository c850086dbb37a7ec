"""The documentation site: what `make docs` adds to the pages under docs/, none of it written by hand."""
