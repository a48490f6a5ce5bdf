"""A PyTorch student of 1, 2 or 4 times the width, by Adam or by L-BFGS, in double precision.

Adam: batches of 256, rate 0.01 with a cosine to zero over the time it has. L-BFGS: full batches, strong Wolfe steps. A
student that is too wide is pruned and merged (merge.py) and finished by L-BFGS at the width asked for; whichever of
the two fits the samples better is handed in.
"""

import math

import numpy as np
import torch
from torch import nn

from ..answer import Answer
from ..networks import Network
from .merge import merge_units

PACKAGES = ["torch", "numpy"]
BATCH = 256
RATE = 0.01
TRAINING_SHARE = 0.7  # of the time, where merging follows
EXACT = 1e-24

# The first optimiser of a process imports a compiler for more than a second: not part of anyone's time.
torch.optim.Adam([torch.zeros(1, requires_grad=True)])


def student(inputs, widths, outputs, seed):
    torch.manual_seed(seed)
    sizes = [inputs, *widths]
    parts = []
    for before, after in zip(sizes, sizes[1:]):
        parts += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(sizes[-1], outputs)).double()


def network_of(module):
    pairs = [(part.weight.detach().numpy().copy(), part.bias.detach().numpy().copy())
             for part in module if isinstance(part, nn.Linear)]
    return Network(pairs[:-1], *pairs[-1])


def module_of(network):
    module = student(network.layers[0][0].shape[1], network.widths, len(network.c), 0)
    linear = [part for part in module if isinstance(part, nn.Linear)]
    for part, (W, b) in zip(linear, [*network.layers, (network.A, network.c)]):
        part.weight.data, part.bias.data = torch.tensor(np.ascontiguousarray(W)), torch.tensor(np.ascontiguousarray(b))
    return module


def adam(module, x, y, budget, until):
    """Trains until `budget.used()` reaches `until`."""
    start = budget.used()
    optimiser = torch.optim.Adam(module.parameters(), lr=RATE)
    rows = torch.Generator().manual_seed(1)
    step = 0
    while budget.used() < until:
        for part in torch.randperm(len(x), generator=rows).split(BATCH):
            optimiser.zero_grad()
            nn.functional.mse_loss(module(x[part]), y[part]).backward()
            optimiser.step()
            step += 1
            if step % 20 == 0:
                share = min(1.0, (budget.used() - start) / max(until - start, 1e-9))
                optimiser.param_groups[0]["lr"] = RATE * 0.5 * (1 + math.cos(math.pi * share))
                if share >= 1:
                    return


def lbfgs(module, x, y, budget, until):
    optimiser = torch.optim.LBFGS(module.parameters(), lr=1, max_iter=20, history_size=50, tolerance_grad=0,
                                  tolerance_change=0, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = nn.functional.mse_loss(module(x), y)
        loss.backward()
        return loss

    last = math.inf
    while budget.used() < until:
        loss = float(optimiser.step(closure))
        if not math.isfinite(loss) or loss >= last or loss < EXACT:
            break
        last = loss


def training_error(network, x, y):
    error = float(np.mean((network(x) - y) ** 2))
    return error if math.isfinite(error) else math.inf


def finish(network, problem, budget, until):
    module = module_of(network)
    lbfgs(module, torch.tensor(problem.x), torch.tensor(problem.y), budget, until)
    return network_of(module)


def run(problem, budget, how, factor):
    torch.set_num_threads(budget.threads)
    x, y = torch.tensor(problem.x), torch.tensor(problem.y)
    scale = y.std()
    widths = [factor * width for width in problem.facts.get("widths", [problem.hidden])]
    module = student(problem.x.shape[1], widths, y.shape[1], problem.seed)
    merging = factor > 1 and len(widths) == 1
    until = budget.seconds * (TRAINING_SHARE if merging else 1)
    (adam if how == "adam" else lbfgs)(module, x, y / scale, budget, until)
    wide = network_of(module)
    wide.A, wide.c = wide.A * float(scale), wide.c * float(scale)
    if not merging:
        return Answer(wide)
    merged = merge_units(wide, problem.x, problem.y, problem.hidden)
    merged = finish(merged, problem, budget, budget.seconds)
    errors = [training_error(network, problem.x, problem.y) for network in (merged, wide)]
    return Answer(merged if errors[0] <= errors[1] else wide, facts={"merged": errors[0] <= errors[1]})
