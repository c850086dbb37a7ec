"""Choice of the device for networks."""

from __future__ import annotations

import torch


def choose_device(name: str | torch.device | None = None) -> torch.device:
    """The device of that name, if it is supported and available; None: CUDA if available, else the CPU."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device must be cpu, cuda, cuda:N or mps, not {name!r}") from None
    if device.type not in ("cpu", "cuda", "mps"):
        raise ValueError(f"device must be cpu, cuda, cuda:N or mps, not {str(name)!r}")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ValueError("device mps is not available: it is the GPU of a Mac with Apple silicon")
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise ValueError(f"device {name} is not available: torch finds {count or 'no'} GPU{'s' * (count > 1)}")
    return device


def gpu_name() -> str | None:
    """What the first GPU that torch finds is called; None where there is none."""
    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
