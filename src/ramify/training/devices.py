"""What a network is run on, chosen by name."""

from __future__ import annotations

import torch

from ramify.training.config import checked_device


def choose_device(name: str | None) -> torch.device:
    """The device of that name, if it is there; None: what there is."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(checked_device(name))
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise ValueError(f"there is no device {name}: torch finds {count or 'no'} GPU{'s' * (count > 1)} here")
    return device
