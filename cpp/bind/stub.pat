# Corrections to the generated src/ramify/_core.pyi. The stub is committed; after a change to cpp/bind run
#   PYTHONPATH=src python -m nanobind.stubgen -q -m ramify._core -p cpp/bind/stub.pat -O src/ramify

# Names that signatures in cpp/bind/*.cpp use.
ramify._core.__prefix__:
    from collections.abc import Callable
    from typing import Any, SupportsIndex

ramify._core.hooks:
    hooks: dict[str, Callable[..., Any]]
