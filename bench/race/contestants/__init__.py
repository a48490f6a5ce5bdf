"""The contestants by name. One file a contestant; a file with several settings has a name for each.

A file has `run(problem, budget, **setting) -> Answer`, and PACKAGES, the distributions whose versions go into the
results. A contestant whose environment or package is missing is skipped by name.
"""

import importlib
import importlib.metadata
from dataclasses import dataclass, field

HOME = "race"  # the environments: .venv-race, .venv-race-torch, .venv-race-art
TORCH = "race-torch"
ART = "race-art"


@dataclass
class Contestant:
    name: str
    file: str
    label: str  # in tables
    environment: str = HOME
    setting: dict = field(default_factory=dict)
    all_threads: bool = False

    def module(self):
        return importlib.import_module(f".{self.file}", __package__)

    def run(self, problem, budget):
        return self.module().run(problem, budget, **self.setting)

    def versions(self):
        module = self.module()
        found = {name: importlib.metadata.version(name) for name in module.PACKAGES}
        return found | (module.own_version() if hasattr(module, "own_version") else {})


def _students():
    for how, label in (("adam", "Adam"), ("lbfgs", "L-BFGS")):
        for factor in (1, 2, 4):
            width = "" if factor == 1 else f", {factor} times the width, merged"
            yield Contestant(f"torch-{how}-{factor}x", "torch_student", f"PyTorch {label}{width}", TORCH,
                             {"how": how, "factor": factor})


_ALL = [
    Contestant("exhume", "exhume", "Exhume"),
    Contestant("exhume-all-threads", "exhume", "Exhume, all threads", all_threads=True),
    Contestant("exhume-descent", "exhume", "Exhume, gradient descent", setting={"descent": True}),
    Contestant("sklearn-lbfgs", "sklearn_mlp", "scikit-learn lbfgs", setting={"solver": "lbfgs"}),
    Contestant("sklearn-adam", "sklearn_mlp", "scikit-learn adam", setting={"solver": "adam"}),
    Contestant("sklearn-lbfgs-all-threads", "sklearn_mlp", "scikit-learn lbfgs, all threads",
               setting={"solver": "lbfgs"}, all_threads=True),
    *_students(),
    Contestant("expand-and-cluster", "expand_and_cluster", "expand-and-cluster (PyTorch)", TORCH),
    Contestant("scipy-lm", "scipy_lm", "SciPy Levenberg–Marquardt, restarts"),
    Contestant("scipy-lm-robust", "scipy_robust", "SciPy least_squares, soft L1, restarts"),
    Contestant("tensorly-cp", "tensorly_cp", "TensorLy CP of Hermite tensors"),
    Contestant("tensorly-cp-lm", "tensorly_cp", "TensorLy CP, then SciPy LM", setting={"finish": True}),
    Contestant("lightgbm", "boosting", "LightGBM"),
    Contestant("ridge", "ridge", "scikit-learn ridge regression"),
    Contestant("bootstrap", "bootstrap", "bootstrap of SciPy LM"),
    Contestant("art", "art_extraction", "adversarial-robustness-toolbox", ART),
    Contestant("recover-random", "exhume", "Exhume recover, random queries",
               setting={"questions": "random"}),
    Contestant("fastica", "fastica", "scikit-learn FastICA"),
    Contestant("scipy-lp", "linear_programs", "SciPy linear programs"),
    Contestant("tree", "tree", "decision tree, depth at most 12"),
    Contestant("svm-ensemble", "svm_ensemble", "ensemble of linear SVMs"),
    Contestant("kernel-ridge", "kernel_ridge", "scikit-learn kernel ridge"),
]
BY_NAME = {contestant.name: contestant for contestant in _ALL}


def get(name):
    if name not in BY_NAME:
        raise KeyError(f"no contestant is called {name}; there are {', '.join(BY_NAME)}")
    return BY_NAME[name]
