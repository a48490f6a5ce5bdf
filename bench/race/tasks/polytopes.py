"""Labels of an intersection of halfspaces: paper threshold."""

import numpy as np

from ..problem import Instance

TITLE = "Polytopes"
ABOUT = ("Labels say whether a Gaussian point of R^8 lies in the intersection of 6 halfspaces, normals at least 60 degrees apart, all at the same "
         "distance from the origin; n = 200000. Exhume's method rests on high thresholds. Success: at most one fresh label in a thousand wrong.")
VARIANTS = {"thresholds 2.2": {"threshold": 2.2}, "thresholds 2.2, 1% of the labels turned": {"threshold": 2.2, "flips": 0.01},
            "thresholds 1.5": {"threshold": 1.5}}
CONTESTANTS = ["exhume", "tree", "svm-ensemble", "lightgbm"]
SUCCESS = "labels"
QUICK = {"limit": 2}
TEST_ROWS = 20000
WHY = ("The method looks at rows that are outside of one face alone. At low thresholds most outside rows are "
       "outside of several, and Exhume says that units are missing.")


def apart(random, k, d, cosine):
    rows = []
    while len(rows) < k:
        w = random.standard_normal(d)
        w /= np.linalg.norm(w)
        if all(abs(w @ v) <= cosine for v in rows):
            rows.append(w)
    return np.array(rows)


def make(random, threshold, flips=0.0, d=8, k=6, n=200000):
    W = apart(random, k, d, 0.5)
    x = random.standard_normal((n + TEST_ROWS, d))
    inside = (x @ W.T <= threshold).all(axis=1).astype(float)[:, None]
    y = inside[:n].copy()
    flipped = random.random(n) < flips
    y[flipped] = 1 - y[flipped]
    return Instance(x[:n], y, x[n:], inside[n:], None, {"hidden": k, "kind": "intersection", "labels": True,
                                                        "command": "halfspaces"})
