"""Real tables, where no network is behind the data: what a practitioner would fit."""

from ..problem import Instance
from .tables import table

TITLE = "Real tables"
ABOUT = ("No network is behind these data. Two thirds of the rows of a real table, drawn at random, to fit; the error is that of the other third. Eight hidden "
         "units. There is nothing to be exact about: the row with the least error is the better one.")
VARIANTS = {name: {"name": name} for name in ("diabetes", "breast cancer", "digits")}
CONTESTANTS = ["exhume", "ridge", "lightgbm", "sklearn-adam", "sklearn-lbfgs"]
SUCCESS = "none"
QUICK = {"variants": ["diabetes"]}
WHY = ("No network of eight units is behind these tables, rows are few, and the inputs are not continuous. Exhume"
       " says that it certifies nothing; what it fits has no penalty, so it follows the noise. Ridge regression "
       "or boosting is what such data call for.")


def make(random, name):
    x, y = table(name)
    rows = random.permutation(len(x))
    cut = 2 * len(x) // 3
    train, test = rows[:cut], rows[cut:]
    return Instance(x[train], y[train, None], x[test], y[test, None], None, {"hidden": 8})
