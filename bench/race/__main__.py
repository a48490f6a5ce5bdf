"""python -m race run | report | compare | baseline | success-table, from bench/ or with bench/ on PYTHONPATH."""

import argparse
import os
import pathlib

from . import environment


def parse():
    parser = argparse.ArgumentParser(prog="python -m race", description=__doc__)
    parser.add_argument("--exhume", default=os.environ.get("EXHUME", environment.ROOT / "build/release/apps/exhume"),
                        help="the program [build/release/apps/exhume]")
    commands = parser.add_subparsers(dest="what", required=True)

    race = commands.add_parser("run", help="run races, one JSON line an instance and contestant")
    size = race.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="smallest variants and short limits")
    size.add_argument("--full", dest="quick", action="store_false", help="everything [default]")
    race.add_argument("--task", action="append", help="only this one; may be repeated")
    race.add_argument("--variant", action="append")
    race.add_argument("--contestant", action="append")
    race.add_argument("--instances", type=int, default=5)
    race.add_argument("--limit", type=float, help="seconds a run, instead of the task's own")
    race.add_argument("--jobs", type=int, default=1, help="variants at a time")
    race.add_argument("--out", type=pathlib.Path, required=True, help="JSON lines")
    race.add_argument("--resume", action="store_true", help="keep the lines that are there, run the rest")

    report = commands.add_parser("report", help="tables and pictures from JSON lines")
    report.add_argument("results", type=pathlib.Path, nargs="+")
    report.add_argument("--docs", type=pathlib.Path, default=environment.ROOT / "docs")

    compare = commands.add_parser("compare", help="two programs in turn on the same instances")
    compare.add_argument("old", type=pathlib.Path)
    compare.add_argument("new", type=pathlib.Path)
    compare.add_argument("--rounds", type=int, default=5, help="times that both run on every instance")
    compare.add_argument("--instances", type=int, default=5)
    compare.add_argument("--task", action="append")
    compare.add_argument("--json", type=pathlib.Path, help="JSON lines of every pair")

    baseline = commands.add_parser("baseline", help="hold success counts of JSON lines against the stored ones, or store them")
    baseline.add_argument("results", type=pathlib.Path)
    baseline.add_argument("--store", action="store_true")

    table = commands.add_parser("success-table", help="how often scikit-learn finds the networks of `exhume reproduce depth2`")
    table.add_argument("out", type=pathlib.Path)
    table.add_argument("--instances", type=int, default=3)
    table.add_argument("--seed", type=int, default=0, help="as in exhume reproduce depth2")
    table.add_argument("--samples", type=int, nargs="+", default=[2000, 20000])
    return parser.parse_args()


def main():
    options = parse()
    if options.what == "run":
        from .running import Race, Results, run
        from .tasks import all_tasks

        if not pathlib.Path(options.exhume).is_file():
            raise SystemExit(f"{options.exhume} does not exist; `make program` builds it")
        race = Race(options.exhume, Results(options.out, options.resume), options.quick, options.instances, options.limit, options.contestant)
        run(race, all_tasks(options.task), options.jobs, options.variant)
    elif options.what == "report":
        from .report import write

        write(options.results, options.docs)
    elif options.what == "compare":
        from .compare import compare

        raise SystemExit(compare(options.old, options.new, options.rounds, options.instances, options.task, options.json))
    elif options.what == "success-table":
        from .success_table import write as write_table

        write_table(str(pathlib.Path(options.exhume).resolve()), options.out, options.instances, options.seed, options.samples)
    else:
        from .baseline import check, store

        raise SystemExit(store(options.results) if options.store else check(options.results))


if __name__ == "__main__":
    main()
