"""A network that can be asked."""

from .. import planted

TITLE = "A network that can be asked"
ABOUT = ("One hidden layer behind an interface that answers any query in double precision. Exhume finds the width itself, the others are told it. "
         "`recover` and the students get 20 random queries for every parameter.")
VARIANTS = {"d = 10, k = 5, m = 3": {"d": 10, "k": 5, "m": 3}, "d = 20, k = 20, m = 5": {"d": 20, "k": 20, "m": 5}}
CONTESTANTS = ["exhume", "recover-random", "art", "sklearn-lbfgs", "torch-lbfgs-4x"]
QUICK = {"contestants": ["exhume", "recover-random", "art", "sklearn-lbfgs"], "limit": 3}
QUESTIONS = 20  # random ones for every parameter


def make(random, d, k, m):
    truth = planted.network(random, d, k, m)
    count = QUESTIONS * sum(part.size for part in truth.arrays().values())
    return planted.sampled(random, truth, count, facts={"oracle": True, "asked": count})
