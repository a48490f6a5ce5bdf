"""Trains the stored networks of tasks/trained_networks.py: python -m race.train_with_torch, in .venv-race-torch.

Five networks d-8-1 for each table, single precision, Adam at 0.01 for 500 steps on all rows.
"""

import numpy as np
import torch
from torch import nn

from .tasks.tables import table
from .tasks.trained_networks import COUNT, STORED


def train(name, seed):
    torch.manual_seed(seed)
    x, y = (torch.tensor(part, dtype=torch.float32) for part in table(name))
    module = nn.Sequential(nn.Linear(x.shape[1], 8), nn.ReLU(), nn.Linear(8, 1))
    optimiser = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(500):
        optimiser.zero_grad()
        nn.functional.mse_loss(module(x)[:, 0], y).backward()
        optimiser.step()
    parts = [part.detach().numpy() for part in module.parameters()]
    return dict(zip(("W", "b", "A", "c"), parts))


def main():
    stored = {}
    for name in ("diabetes", "wine", "breast cancer"):
        for number in range(COUNT):
            stored |= {f"{name}/{number}/{key}": part for key, part in train(name, number).items()}
    np.savez_compressed(STORED, **stored)


if __name__ == "__main__":
    main()
