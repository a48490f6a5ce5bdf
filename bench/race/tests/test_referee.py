"""Scores, tables, what counts as a loss, the guard's judgement, the stored counts."""

import json

import numpy as np
import pytest

from race import baseline, compare, planted, report, scores
from race.losses import losses
from race.summary import latest, rows_of
from race.tasks import all_tasks


def line(contestant="exhume", instance=0, **more):
    return {"task": "one_output", "variant": "d = k = 10, n = 10000", "contestant": contestant, "instance": instance, "size": "quick",
            "seed": 1, "limit": 2, "threads": 1, "outcome": "done", "cpu_seconds": 1.0, "seconds": 1.0, "memory_mb": 50.0,
            "heldout_error": 1e-15, "success": True, "date": "2026-01-01", "commit": "abc", "versions": {"numpy": "2"},
            "machine": {"processor": "p", "cores": 2, "memory_gb": 8, "system": "Linux", "python": "3"}} | more


def test_an_efficient_estimator_scores_one():
    random = np.random.default_rng(0)
    instance = planted.sampled(random, planted.network(random, 4, 3, 2), 1000, noise=0.1)
    free = 3 * 4 + 3 + 2 * 3 + 2 - 3
    sd = np.array(instance.facts["noise_sd"])
    off = sd * np.sqrt(free / 1000 / 2)  # as large as the bound, shared by two outputs
    found = scores.score(instance, instance.test_y + off, None, None, "efficient")
    assert found["cramer_rao"] == pytest.approx(1) and found["success"]


def test_exact_is_one_in_a_million():
    random = np.random.default_rng(0)
    instance = planted.sampled(random, planted.network(random, 4, 3, 1), 10)
    sd = instance.test_y.std()
    assert scores.score(instance, instance.test_y + 0.9e-6 * sd, None, None, "exact")["success"]
    assert not scores.score(instance, instance.test_y + 1.1e-6 * sd, None, None, "exact")["success"]
    assert not scores.score(instance, instance.test_y * np.nan, None, None, "exact")["success"]


def test_instances_are_the_same_every_time():
    for task in all_tasks(["one_output", "few_points", "noise"]):
        variant = next(iter(task.variants))
        first, again, other = task.make(variant, 0), task.make(variant, 0), task.make(variant, 1)
        assert np.array_equal(first.y, again.y) and not np.array_equal(first.y, other.y)


def test_failures_stay_in_the_tables():
    lines = [line(instance=i) for i in range(5)]
    lines += [line("scipy-lm", i, outcome="timeout" if i else "done", success=not i, heldout_error=None if i else 1e-9) for i in range(5)]
    lines += [line("torch-adam-1x", i, outcome="skipped", reason="no environment", success=False, heldout_error=None) for i in range(5)]
    ours, theirs, absent = rows_of(lines)["one_output", "d = k = 10, n = 10000"]
    assert (ours.solved, theirs.solved) == (5, 1) and theirs.remark == "4 timeout" and theirs.median("heldout_error") is None
    text = "\n".join(report.table([ours, theirs, absent], judged=True))
    assert "| 1 of 5 |" in text and "4 timeout" in text and "5 skipped: no environment" in text


def test_full_lines_replace_quick_ones():
    lines = [line(size="full", heldout_error=2.0), line(heldout_error=1.0), line("lightgbm")]
    assert [kept["heldout_error"] for kept in latest(lines)] == [2.0]


def test_losses():
    def found(ours, theirs, judged=True):
        lines = [line(**ours), line("scipy-lm", **theirs)]
        return [loss.how for loss in losses(rows_of(lines), lambda _: judged)]

    assert found({"success": False}, {}) == ["solves 1 of 1, Exhume 0 of 1"]
    assert found({}, {"cpu_seconds": 0.4}) == ["as many solved, in 0.4 s against 1 s"]
    assert found({}, {"cpu_seconds": 0.6}) == [] and found({}, {"success": False}) == []
    assert found({"heldout_error": 1.0}, {"heldout_error": 0.9}, judged=False) == ["median error 0.9 against 1"]
    assert found({"heldout_error": 1.0}, {"heldout_error": 0.99}, judged=False) == []


def pairs(ratio, count=5, **more):
    return [{"task": "t", "variant": "v", "instance": i, "old_seconds": 1.0, "new_seconds": ratio * (1 + 0.01 * i), "old_success": True,
             "new_success": True} | more for i in range(count)]


def test_the_guard_fails_on_slowdowns_and_lost_successes_alone():
    assert not compare.judge(pairs(1.0))[1] and not compare.judge(pairs(0.5))[1]
    assert any("times as slow" in problem for problem in compare.judge(pairs(1.2))[1])
    assert any("not any more" in problem for problem in compare.judge(pairs(1.0, new_success=False))[1])
    assert not compare.judge(pairs(9.0, old_success=False))[1]  # what the old one could not do has no time


def test_stored_counts(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(line(instance=i, success=i > 1)) + "\n" for i in range(5)))
    found = baseline.counts(path)
    assert found["quick"]["one_output, d = k = 10, n = 10000"] == [3, 5]
    stored = {"quick": {"one_output, d = k = 10, n = 10000": [4, 5]}}
    assert baseline.lost(found, stored) == ["one_output, d = k = 10, n = 10000 (quick): 3 of 5 successes, 4 before"]
    assert not baseline.lost(found, {"quick": {"one_output, d = k = 10, n = 10000": [3, 5]}})


def test_the_page_is_made_from_lines_alone(tmp_path):
    lines = [line(instance=i) for i in range(5)] + [line("sklearn-lbfgs", i, success=False, heldout_error=0.1) for i in range(5)]
    text = report.page(lines, tmp_path)
    assert "| Exhume | 5 of 5 | 5 of 5 |" in text and "None was found" in text
    assert (tmp_path / "figures" / "race_solved.svg").is_file()
