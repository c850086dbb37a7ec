"""What a network runs on: the one place that chooses."""

from __future__ import annotations

import torch


def choose_device(name: str | torch.device | None = None) -> torch.device:
    """The device of that name, if networks run there and it is there; None: CUDA where there is a GPU, else the CPU."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"networks run on cpu or cuda, not on {name!r}") from None
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"networks run on cpu or cuda, not on {str(name)!r}")
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise ValueError(f"there is no device {name}: torch finds {count or 'no'} GPU{'s' * (count > 1)} here")
    return device


def gpu_name() -> str | None:
    """What the first GPU that torch finds is called; None where there is none."""
    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
