"""One hidden layer as a least-squares problem: residuals, analytic Jacobian, random starts.

    f(x) = A max(Wx + b, 0) + c,   parameters in one vector: W (k x d), b (k), A (m x k), c (m)
"""

import numpy as np

from ..networks import one_layer


class ReluModel:
    def __init__(self, x, y, hidden):
        self.x, self.y, self.k = x, y, hidden
        self.n, self.d = x.shape
        self.m = y.shape[1]
        self.ones = np.column_stack([x, np.ones(self.n)])

    def parts(self, p):
        k, d, m = self.k, self.d, self.m
        W, b, A, c = np.split(p, np.cumsum([k * d, k, m * k]))
        return W.reshape(k, d), b, A.reshape(m, k), c

    def network(self, p):
        return one_layer(*self.parts(p))

    def pack(self, W, b, A, c):
        return np.concatenate([np.ravel(part) for part in (W, b, A, c)])

    def residuals(self, p):
        W, b, A, c = self.parts(p)
        return (np.maximum(self.x @ W.T + b, 0) @ A.T + c - self.y).ravel()

    def jacobian(self, p):
        """(n m) x parameters; row (i, o) is the gradient of output o at row i."""
        W, b, A, c = self.parts(p)
        n, d, k, m = self.n, self.d, self.k, self.m
        z = self.x @ W.T + b
        on = (z > 0).astype(float)
        J = np.zeros((n, m, k * d + k + m * k + m))
        for o in range(m):
            slope = on * A[o]
            J[:, o, : k * d] = (slope[:, :, None] * self.x[:, None, :]).reshape(n, k * d)
            J[:, o, k * d : k * d + k] = slope
            J[:, o, k * d + k + o * k : k * d + k + (o + 1) * k] = z * on
            J[:, o, k * d + k + m * k + o] = 1
        return J.reshape(n * m, -1)

    def solve_outputs(self, W, b):
        """A and c by least squares for given hidden units."""
        h = np.column_stack([np.maximum(self.x @ W.T + b, 0), np.ones(self.n)])
        solved = np.linalg.lstsq(h, self.y, rcond=None)[0].T
        return solved[:, :-1], solved[:, -1]

    def random_start(self, random):
        """Unit rows in the scale of the inputs, kinks among the rows, outputs by least squares."""
        scale = self.x.std(axis=0)
        W = random.standard_normal((self.k, self.d)) / np.where(scale > 0, scale, 1)
        W /= np.linalg.norm(W * np.where(scale > 0, scale, 1), axis=1, keepdims=True)
        b = -np.einsum("kd,kd->k", W, self.x[random.integers(self.n, size=self.k)]) * 0.5
        return self.pack(W, b, *self.solve_outputs(W, b))

    def on_rows(self, rows):
        return ReluModel(self.x[rows], self.y[rows], self.k)
