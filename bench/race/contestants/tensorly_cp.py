"""TensorLy's CP decomposition of Hermite moment tensors, as in the papers on tensor methods for networks.

One output, x standard normal: E[y He_j(x)] = sum_i a_i g_j(b_i) w_i^(x j) for the orders j = 2, 3, 4, stacked along the last
mode: d x d x (1 + d + d^2), of rank k. Many outputs: E[He2(x) (x) y] = sum_i g2(b_i) w_i (x) w_i (x) a_i. parafac gives the directions; biases come from a scan, outputs
from least squares. `finish` goes on with SciPy's Levenberg–Marquardt from there.
"""

import numpy as np
import tensorly
from tensorly.decomposition import parafac

from ..answer import Answer, Failure
from .relu_model import ReluModel
from .scipy_lm import descend, polish, some_rows

PACKAGES = ["tensorly", "scipy", "numpy"]
BIASES = np.linspace(-1.5, 1.5, 13)  # of the scan, for both signs of a direction


def whiten(x):
    """x = mean + root z with z of covariance one."""
    mean = x.mean(axis=0)
    root = np.linalg.cholesky(np.cov(x.T))
    return np.linalg.solve(root, (x - mean).T).T, mean, root


def hermite(z, y):
    """The tensor whose CP factors are the units' directions."""
    n, d = z.shape
    y = y - y.mean(axis=0)
    eye = np.eye(d)
    if y.shape[1] > 1:
        return np.einsum("na,nb,no->abo", z, z, y, optimize=True) / n - np.einsum("ab,o->abo", eye, y.mean(axis=0))
    v = y[:, 0]
    third = np.einsum("na,nb,nc->abc", z * v[:, None], z, z, optimize=True) / n
    first = z.T @ v / n
    for axes in ("ab,c->abc", "ac,b->abc", "bc,a->abc"):
        third -= np.einsum(axes, eye, first)
    pairs = (z[:, :, None] * z[:, None, :]).reshape(n, -1)
    fourth = ((pairs * v[:, None]).T @ pairs / n).reshape(d, d, d, d)
    second = (z * v[:, None]).T @ z / n
    for axes in ("ab,cd->abcd", "ac,bd->abcd", "ad,bc->abcd", "bc,ad->abcd", "bd,ac->abcd", "cd,ab->abcd"):
        fourth -= np.einsum(axes, eye, second)
    # Normalised Hermite polynomials, so that all entries are as noisy: divided by the root of the order's factorial.
    slices = [second[:, :, None] / np.sqrt(2), third / np.sqrt(6), fourth.reshape(d, d, d * d) / np.sqrt(24)]
    return np.concatenate(slices, axis=2)


def run(problem, budget, finish=False):
    k, d = problem.hidden, problem.x.shape[1]
    z, mean, root = whiten(problem.x)
    tensor = hermite(z, problem.y)
    try:
        _, factors = parafac(tensorly.tensor(tensor), rank=k, init="svd" if k <= d else "random", n_iter_max=500, tol=1e-10,
                             normalize_factors=True, random_state=problem.seed)
    except np.linalg.LinAlgError as error:
        raise Failure(f"parafac: {error}") from error
    first, second = factors[0], factors[1]
    turned = np.sign(np.sum(first * second, axis=0))
    V = (first + second * np.where(turned == 0, 1, turned)).T
    V /= np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-12)
    W, b = scan(z, problem.y, V)
    W = np.linalg.solve(root.T, W.T).T
    b = b - W @ mean
    model = ReluModel(problem.x, problem.y, len(b))
    p = model.pack(W, b, *model.solve_outputs(W, b))
    if finish:
        p = descend(some_rows(model, np.random.default_rng(problem.seed)), p, budget)[0]
        p = polish(model, p, budget)
    return Answer(model.network(p))


def scan(z, y, V):
    """Sign and bias of every direction: greedy over candidates max(+-v.z + t, 0), each judged beside the others."""
    k = len(V)
    W, b = V.copy(), np.zeros(k)
    for _ in range(2):
        for i in range(k):
            others = np.column_stack([np.maximum(z @ np.delete(W, i, 0).T + np.delete(b, i), 0), z, np.ones(len(z))])
            basis = np.linalg.qr(others)[0]
            best, gain = (W[i], b[i]), -1.0
            rest = y - basis @ (basis.T @ y)
            for t in BIASES:
                h = np.maximum(z @ V[i] + t, 0)
                h = h - basis @ (basis.T @ h)
                worth = np.sum((h @ rest) ** 2) / max(h @ h, 1e-30)
                if worth > gain:
                    best, gain = (V[i], t), worth
            W[i], b[i] = best
    return signs(z, y, W, b)


def signs(z, y, W, b):
    """max(-u, 0) = max(u, 0) - u: what is left linear, L = -sum of a_i w_i over the turned units, says which they are."""
    k = len(b)
    design = np.column_stack([np.maximum(z @ W.T + b, 0), z, np.ones(len(z))])
    solved = np.linalg.lstsq(design, y, rcond=None)[0]
    A, linear = solved[:k], solved[k:-1]
    columns = np.stack([-np.outer(W[i], A[i]).ravel() for i in range(k)], axis=1)
    turned = np.linalg.lstsq(columns, linear.ravel(), rcond=None)[0] > 0.5
    sign = np.where(turned, -1.0, 1.0)
    return W * sign[:, None], b * sign
