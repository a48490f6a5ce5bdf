"""Every contestant's file has what the registry says; those of this environment solve something easy."""

import numpy as np
import pytest

from race import contestants, planted, problem, running, tasks, worker
from race.contestants.relu_model import ReluModel


def test_names_of_tasks_and_contestants_agree():
    for task in tasks.all_tasks():
        variants, who = task.plan(quick=True)
        assert "exhume" in who and set(variants) <= set(task.variants) and set(who) <= set(task.file.CONTESTANTS)
        for name in task.file.CONTESTANTS:
            contestants.get(name)


def test_jacobian_by_differences():
    random = np.random.default_rng(0)
    model = ReluModel(random.standard_normal((7, 3)), random.standard_normal((7, 2)), 4)
    p = model.random_start(random)
    J = model.jacobian(p)
    for j in range(len(p)):
        step = np.zeros(len(p))
        step[j] = 1e-6
        assert np.allclose((model.residuals(p + step) - model.residuals(p - step)) / 2e-6, J[:, j], atol=1e-7)


def test_what_cannot_run_is_skipped_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(running.environment, "python_of", lambda name: None)
    race = running.Race("exhume", running.Results(tmp_path / "r.jsonl"), quick=True, instances=1, report=lambda line: None)
    task = tasks.Task("few_points")
    race.variant(task, "24 points", ["scipy-lm"], 1)
    (line,) = running.read(tmp_path / "r.jsonl")
    assert line["outcome"] == "skipped" and line["success"] is False and "no environment" in line["reason"]


@pytest.mark.parametrize("name", ["exhume", "scipy-lm", "sklearn-lbfgs"])
def test_a_network_of_two_units_is_found(name, tmp_path):
    random = np.random.default_rng(5)
    instance = planted.sampled(random, planted.network(random, 3, 2, 2, bias=0.3), 600)
    instance.facts["seed"] = 7
    problem.save(instance, tmp_path / "i")
    line = worker.run_one(contestants.get(name), tmp_path / "i", 10, 1)
    assert line["outcome"] == "done", line
    predicted = np.load(tmp_path / "i" / name / "predictions.npy")
    error = np.sqrt(np.mean((predicted - instance.test_y) ** 2)) / instance.test_y.std()
    assert error < (1e-2 if name == "sklearn-lbfgs" else 1e-8)


def test_a_contestant_that_does_not_stop_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "START", 0.5)
    class Stubborn:
        name = "stubborn"

        def run(self, problem, budget):
            while True:
                pass

    random = np.random.default_rng(5)
    instance = planted.sampled(random, planted.network(random, 3, 2, 1), 20)
    problem.save(instance, tmp_path / "i")
    assert worker.run_one(Stubborn(), tmp_path / "i", 0.1, 1)["outcome"] == "timeout"
