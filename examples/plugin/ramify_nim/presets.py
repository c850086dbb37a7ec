"""Settings for `ramify train`: a mapping, or the path of a YAML file. What is left out has its default."""

QUICK = {
    "game": "nim",
    "params": {"heaps": [2, 3]},
    "network": {"kind": "nim", "width": 16},
    "search": {"simulations": 16},
    "loop": {"iterations": 1, "games": 8},
}
