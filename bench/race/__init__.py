"""The same data, the same seconds, everyone: Exhume beside what people use today. `python -m race --help`, from bench/."""
