"""Expand-and-cluster: several students of four times the width, units that most of them share, merged and finished.

The method of Martinelli, Simsek, Gerstner and Brea (2024) with PyTorch: students by Adam from different seeds, units of all
students clustered by direction, clusters that occur in at least half of the students kept, the largest ones first.
"""

import numpy as np
import torch
from scipy.cluster.hierarchy import fcluster, linkage

from ..answer import Answer
from ..networks import one_layer
from .merge import DEAD, directions
from .relu_model import ReluModel
from .torch_student import adam, finish, network_of, student

PACKAGES = ["torch", "scipy", "numpy"]
STUDENTS = 4
FACTOR = 4
SHARE = 0.75  # of the time, for students
ANGLE = 0.2  # radians within a cluster


def shared_units(students, count):
    """Mean directions of clusters that at least half of the students have, those in most students first."""
    rows, weights, owner = [], [], []
    for number, network in enumerate(students):
        r, w = directions(network)
        alive = w > DEAD * w.max()
        rows.append(r[alive])
        weights.append(w[alive])
        owner += [number] * alive.sum()
    rows, weights, owner = np.concatenate(rows), np.concatenate(weights), np.array(owner)
    groups = fcluster(linkage(rows / np.linalg.norm(rows, axis=1, keepdims=True), "average"), ANGLE, "distance")
    found = []
    for group in np.unique(groups):
        at = groups == group
        mean = np.average(rows[at], axis=0, weights=weights[at])
        found.append((len(set(owner[at])), weights[at].sum(), mean))
    found.sort(key=lambda unit: (-unit[0], -unit[1]))
    common = [unit for unit in found if 2 * unit[0] >= len(students)] or found
    return np.array([mean for _, _, mean in common[:count]])


def run(problem, budget):
    torch.set_num_threads(budget.threads)
    x, y = torch.tensor(problem.x), torch.tensor(problem.y)
    scale = float(y.std())
    students = []
    for number in range(STUDENTS):
        module = student(x.shape[1], [FACTOR * problem.hidden], y.shape[1], problem.seed * 100 + number)
        adam(module, x, y / scale, budget, budget.seconds * SHARE * (number + 1) / STUDENTS)
        network = network_of(module)
        network.A, network.c = network.A * scale, network.c * scale
        students.append(network)
    rows = shared_units(students, problem.hidden)
    W, b = rows[:, :-1], rows[:, -1]
    merged = one_layer(W, b, *ReluModel(problem.x, problem.y, len(rows)).solve_outputs(W, b))
    merged = finish(merged, problem, budget, budget.seconds)
    return Answer(merged, facts={"units": len(rows)})
