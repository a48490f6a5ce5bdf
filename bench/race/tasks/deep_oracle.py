"""A network of two hidden layers that can be asked."""

from .. import planted

TITLE = "Two hidden layers that can be asked"
ABOUT = ("A d-k-k-1 network behind an interface. Exhume finds depth and widths; ART has no attack on two hidden layers; the students get 20,000 "
         "random queries and the widths.")
VARIANTS = {"5-5-5-1": {"d": 5, "k": 5}, "10-10-10-1": {"d": 10, "k": 10}}
CONTESTANTS = ["exhume", "art", "sklearn-lbfgs", "torch-lbfgs-4x"]
QUICK = {"contestants": ["exhume", "art", "sklearn-lbfgs"], "limit": 3}
WHY = ("Narrow second layers have units that act on few inputs. Exhume refuses where its queries do not meet "
       "them; a student that was trained on random answers always returns something, to two or three digits.")


def make(random, d, k):
    truth = planted.deep_network(random, d, [k, k], 1)
    return planted.sampled(random, truth, 20000, facts={"oracle": True, "widths": [k, k], "asked": 20000})
