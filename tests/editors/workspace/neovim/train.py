import torch


def step(x: torch.Tensor, limit: float) -> torch.Tensor:
    if (x < 0).any():
        raise ValueError("negative")
    losses = []
    if x.mean() > limit:
        losses.append(limit)
    return x * 2
