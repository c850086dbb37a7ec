"""Networks need torch; one thread each, because tests run side by side."""

from importlib.util import find_spec

if find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    import torch

    torch.set_num_threads(1)
