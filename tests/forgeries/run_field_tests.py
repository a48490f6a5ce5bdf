#!/usr/bin/env python3
"""Every field of every kind of certificate, edited with all digests renewed: run_field_tests.py PATH/TO/exhume [unittest's arguments]

For every kind of folder: it agrees as it is; then every field of its certificate.json is edited, one by one, every key is
dropped, and every file beside it is changed. Each of these `exhume verify` must find bad, or the field is one of OPEN, which no
file tells: the table of docs/certificate.md, printed by `run_field_tests.py --table`. `make test` edits a part of the fields, chosen
evenly; with EXHUME_FORGERIES=all (part of `make nightly`) all of them. Standard library only.
"""

import array
import copy
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from run_forgery_tests import NOT_CERTIFIED, OK, PAGE, Number, dump, sha256  # noqa: E402

EXHUME = ""
ALL = os.environ.get("EXHUME_FORGERIES") == "all"
PART = 14  # fields of a folder that `make test` edits
BEGIN, END = "<!-- fields: begin -->", "<!-- fields: end -->"

# Fields that no file tells: (pattern of the path, folders or None for all, why). Paths without places in lists.
OPEN = [
    ("date", None, "files do not say when they were looked at"),
    ("host", None, "nor where"),
    ("version", None, "nor by which program: what another version words otherwise is not compared, and `verify` says so"),
    ("command", None, "nor how it was asked for"),
    ("options.*", None, "the same"),
    ("timings.*", None, "nor how long it took"),
    ("tried.*", None, "nor what was tried before it was found"),
    ("input_shape", None, "that inputs are an image is what somebody said"),
    ("truth.path", ["certified"], "a true network that is not there, or not named, cannot be compared with"),
    ("pictures.residuals.*", ["certified", "deep", "extracted*"], "a histogram of rounding errors, of which two machines make different ones"),
    ("files.role", None, "what a file is called; which it is, its digest says"),
    ("written.role", None, "the same"),
    ("pictures.(singular_values|singular_value_count|noise_floor|gap_units|descent).*", None,
     "moments of a search that is over"),
    ("students.*", ["deep", "deep-estimated"], "students that were trained on the way"),
    ("resumed", ["extracted-resumed"], "how often the extraction was stopped"),
    ("queries_limit", ["extracted*"], "how many queries were allowed; that there were no more is checked"),
    ("queries_this_run", ["extracted*"], "how many of them were asked by the last run"),
    ("seed", ["memorized", "memorized-descent"], "without a perturbation no row was drawn"),
    (r"assumptions\[no structure left in the rounding errors\].value", ["single"], "only the search itself can make this check"),
    ("tolerance", ["memorized*"], "what was to count as memorised; the error beside it is checked"),
    (r"assumptions\[labels met: relative error\].threshold", ["memorized*"], "the same"),
    ("descent.(outcome|iterations|perturbations|seconds)", ["memorized-descent"], "how a descent went; where it ended is checked"),
    ("solver", ["memorized*"], "which of several ways of solving one system was taken"),
    ("method|route", ["memorized*"], "the same"),
    (r"(status|reason|verdict|bound_from|conclusion|assumed|assumptions.*|signs_identifiable|noise_sd|max_standard_error"
     r"|functional_error_bound|confidence|training_relative_mse|identifiability.*|route|kind|pictures.*|support_entries|activation|split.*|intervals.*|unseen_unit|effects)",
     ["uncertified"], "it claims nothing and never reads as verified"),
]


def open_field(path, folder):
    for pattern, folders, _ in OPEN:
        names = folders or [folder]
        if any(re.fullmatch(name.replace("*", ".*"), folder) for name in names) and re.fullmatch(pattern, path):
            return True
    return False


def table():
    rows = ["| field | folders | why no file tells it |", "| --- | --- | --- |"]
    for pattern, folders, why in OPEN:
        name = re.sub(r"\\", "", pattern).replace("|", ", ").replace(".*", " …")
        rows.append(f"| `{name}` | {', '.join(folders) if folders else 'all'} | {why} |")
    return "\n".join(rows)


# Edits of a document.

def places(value, path=(), name=""):
    """(path, name) of every leaf; of lists the first entry and the middle one."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from places(below, path + (key,), f"{name}.{key}" if name else key)
    elif isinstance(value, list) and value:
        if name == "assumptions":
            for i, check in enumerate(value):
                for key in check:
                    yield path + (i, key), f"assumptions[{check['name']}].{key}"
            return
        for i in sorted({0, len(value) // 2}):
            yield from places(value[i], path + (i,), name)
    else:
        yield path, name


def size_of(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return max([size_of(each) for each in value] or [0])
    return abs(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def short(value):
    """Nine digits: of seventeen the program's writer, which is fast, now and then prints one more than Python's."""
    return float(f"{value:.9g}")


def edited(value, name, around):
    """Another value of its kind, as far off as a forger needs."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        value = float(value)
        if name.startswith(("pictures", "sections")):
            return short(value + 0.02 * max(size_of(around), 1e-300))
        if abs(value) < 1e-9 or (abs(value) < 1e-3 and re.search("reproduced|answers|_worst", name)):
            # A rounding error, of which two machines make different ones.
            return short(max(value * 1e6, 1e-14)) if value else 0.5
        return short(value * 1.02)
    if isinstance(value, str):
        return value + " indeed"
    if value is None:
        return 1.5
    return [] if value else ["indeed"]  # an empty list or object


def change(document, path, what):
    where = document
    for key in path[:-1]:
        where = where[key]
    if what is None:
        del where[path[-1]]
    else:
        where[path[-1]] = what


# Edits of files.

def move_tensor(path, name):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    begin, end = json.loads(data[8:8 + size])[name]["data_offsets"]
    if begin == end:
        return False
    values = array.array("d", data[8 + size + begin:8 + size + end])
    values[0] += 1e-3 * max(1, abs(values[0]))
    path.write_bytes(data[:8 + size + begin] + values.tobytes() + data[8 + size + end:])
    return True


def tensors_of(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return [name for name in json.loads(data[8:8 + size]) if name != "__metadata__"]


def move_npy(path):
    data = bytearray(path.read_bytes())
    start = 10 + struct.unpack("<H", data[8:10])[0]
    at = start + (len(data) - start) // 16 * 8
    data[at:at + 8] = struct.pack("<d", struct.unpack("<d", data[at:at + 8])[0] + 0.5)
    path.write_bytes(data)


def records(data):
    at, found = 8, []
    while at < len(data):
        kind, size = struct.unpack("<IQ", data[at:at + 12])
        found.append([kind, data[at + 12:at + 12 + size]])
        at += 12 + size + 32
    return found


def sealed_log(magic, found):
    out, digest = bytearray(magic), b""
    for kind, payload in found:
        record = struct.pack("<IQ", kind, len(payload)) + payload
        digest = hashlib.sha256(digest + record).digest()
        out += record + digest
    return bytes(out), digest.hex()


class Folder:
    def __init__(self, root, name):
        self.root, self.path = root, root / name
        (self.path / "report.html").unlink(missing_ok=True)  # made from the certificate alone
        self.files = {f: f.read_bytes() for f in self.path.iterdir() if f.is_file()}
        self.text = (self.path / "certificate.json").read_text()

    def document(self):
        return json.loads(self.text, parse_float=Number)

    def seal(self, document):
        for file in document.get("written", []):
            if isinstance(file, dict) and (self.path / str(file.get("path"))).is_file():
                file["sha256"] = sha256(self.path / file["path"])
        document.pop("digest", None)
        document["digest"] = hashlib.sha256(dump(document).encode()).hexdigest()
        (self.path / "certificate.json").write_text(dump(document) + "\n")

    def restore(self):
        for path, data in self.files.items():
            path.write_bytes(data)


def exhume(root, *arguments, code=OK):
    done = subprocess.run([EXHUME, *map(str, arguments)], cwd=root, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=600)
    if code is not None and done.returncode != code:
        raise AssertionError(f"{arguments} ended with {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done


# The folders.

def samples(root, *options):
    exhume(root, "generate", *options, "--out", "data")


def npy_as(path, code):
    """The same numbers in single precision."""
    data = path.read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    values = array.array(code, array.array("d", data[start:]))
    path.write_bytes(data[:start].replace(b"<f8", b"<f4") + values.tobytes())


def table_of(root):
    """data/x.npy and y.npy as table.csv with names, outputs to six decimals, and a column that counts the rows."""
    def rows(name):
        data = (root / "data" / name).read_bytes()
        start = 10 + struct.unpack("<H", data[8:10])[0]
        columns = int(re.search(rb"\((\d+), (\d+)\)", data[:start]).group(2))
        values = array.array("d", data[start:])
        return [values[i:i + columns] for i in range(0, len(values), columns)]
    x, y = rows("x.npy"), rows("y.npy")
    lines = [",".join([f"in{i}" for i in range(len(x[0]))] + [f"out{i}" for i in range(len(y[0]))])]
    lines += [",".join([repr(v) for v in a] + [f"{v:.6f}" for v in b]) for a, b in zip(x, y)]
    (root / "table.csv").write_text("\n".join(lines) + "\n")
    return ",".join(f"out{i}" for i in range(len(y[0])))


def certified(root):
    samples(root, "-d", 4, "-k", 3, "-m", 2, "-n", 1500, "--seed", 1)
    exhume(root, "recover", "data/x.npy", "data/y.npy", "--truth", "data/network.safetensors", "--shape", "2x2", "--out", "r")


def single(root):
    samples(root, "-d", 4, "-k", 3, "-m", 1, "-n", 1500, "--seed", 2)
    for name in ("x.npy", "y.npy"):
        npy_as(root / "data" / name, "f")
    exhume(root, "recover", "data/x.npy", "data/y.npy", "--out", "r", code=None)


def decimals(root):
    samples(root, "-d", 3, "-k", 2, "-m", 2, "-n", 2000, "--seed", 3)
    target = table_of(root)
    exhume(root, "recover", "table.csv", "--target", target, "--out", "r")


def estimated(root):
    samples(root, "-d", 4, "-k", 3, "-m", 2, "-n", 3000, "--seed", 1, "--noise-relative", 0.1)
    exhume(root, "recover", "data/x.npy", "data/y.npy", "--out", "r")


def uncertified(root):
    samples(root, "-d", 4, "-k", 3, "-m", 2, "-n", 2000, "--seed", 1, "--noise-relative", 0.1)
    exhume(root, "recover", "data/x.npy", "data/y.npy", "--hidden", 2, "--out", "r", code=NOT_CERTIFIED)


def deep(root):
    samples(root, "-d", 3, "--layers", "3,2", "-m", 2, "-n", 2500, "--seed", 1)
    exhume(root, "recover", "data/x.npy", "data/y.npy", "--layers", 2, "--hidden", "3,2", "--out", "r", code=None)


def deep_estimated(root):
    samples(root, "-d", 3, "--layers", "3,2", "-m", 2, "-n", 4000, "--seed", 1, "--noise-relative", 0.03)
    exhume(root, "recover", "data/x.npy", "data/y.npy", "--layers", 2, "--out", "r", code=None)


def extracted(root):
    samples(root, "-d", 12, "-k", 4, "-m", 2, "-n", 10, "--seed", 1)
    exhume(root, "extract", "--network", "data/network.safetensors", "--out", "r", "--queries", 5000)


def extracted_in_box(root):
    samples(root, "-d", 5, "-k", 4, "-m", 1, "-n", 10, "--seed", 2)
    exhume(root, "extract", "--network", "data/network.safetensors", "--low", -4, "--high", 4, "--out", "r")


def extracted_deep(root):
    samples(root, "-d", 6, "--layers", "4,3", "-m", 2, "-n", 10, "--seed", 1)
    exhume(root, "extract", "--network", "data/network.safetensors", "--out", "r")


def lowest_layer(root):
    samples(root, "--model", "threshold", "-d", 6, "-k", 3, "-m", 1, "-n", 30000, "--threshold", 2, "--upper", "deep")
    exhume(root, "lowest-layer", "data/x.npy", "data/y.npy", "--out", "r")


def halfspaces(root):
    samples(root, "--model", "threshold", "-d", 5, "-k", 3, "-m", 1, "-n", 30000, "--activation", "sign", "--threshold", 2,
            "--least-angle", 60, "--upper", "intersection")
    exhume(root, "halfspaces", "data/x.npy", "data/y.npy", "--hidden", 3, "--out", "r", code=None)


def memorized(root):
    samples(root, "-d", 8, "-k", 3, "-m", 1, "-n", 30, "--seed", 3)
    exhume(root, "memorize", "data/x.npy", "data/y.npy", "--out", "r")


def memorized_perturbed(root):
    samples(root, "-d", 8, "-k", 3, "-m", 1, "-n", 30, "--seed", 3)
    exhume(root, "memorize", "data/x.npy", "data/y.npy", "--perturb", 0.01, "--normalize", "--layers", 3, "--out", "r",
           code=None)


def memorized_descent(root):
    samples(root, "-d", 6, "-k", 3, "-m", 1, "-n", 12, "--seed", 4)
    exhume(root, "memorize", "data/x.npy", "data/y.npy", "--method", "pgd", "--iterations", 3000, "--out", "r", code=None)


class FieldTest(unittest.TestCase):
    make = None
    name = ""

    @classmethod
    def setUpClass(cls):
        if cls.make is None:
            raise unittest.SkipTest("no folder")
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="exhume-fields-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.make[0](cls.root)
        cls.folder = Folder(cls.root, "r")
        if cls.name.startswith("deep") and cls.folder.document()["status"] == "uncertified":
            raise unittest.SkipTest("a busy machine: the search for several hidden layers ran out of time")

    def verify(self):
        done = exhume(self.root, "verify", "r", "--json", code=None)
        answer = json.loads(done.stdout) if done.stdout.strip() else {"findings": [], "agrees": False, "error": done.stderr}
        return done.returncode, answer

    @property
    def honest_code(self):
        return OK if self.folder.document()["status"] in ("certified", "estimated") else NOT_CERTIFIED

    def caught(self, what):
        """Whether verify finds something bad, never that the digests are old."""
        code, answer = self.verify()
        words = [f["words"] for f in answer["findings"] if f["checked"] and not f["good"]]
        self.assertFalse([w for w in words if "it was edited" in w], f"{what}: the digests were not renewed")
        self.assertIn(code, (OK, NOT_CERTIFIED, 4), f"{what}: {answer}")
        if code == OK:
            self.assertFalse(words, what)
        return not answer["agrees"] or code == 4

    def try_edit(self, what, path, document):
        self.folder.seal(document)
        try:
            caught = self.caught(what)
        finally:
            self.folder.restore()
        if not caught and not open_field(path, self.name):
            self.fail(f"{self.name}: {what} was accepted")
        return caught

    def test_as_it_is_it_agrees(self):
        code, answer = self.verify()
        bad = [(f["part"], f["words"]) for f in answer["findings"] if f["checked"] and not f["good"]]
        self.assertEqual((code, bad), (self.honest_code, []), answer.get("error"))

    def test_every_field_is_caught_or_named(self):
        document = self.folder.document()
        list_of = [(path, name) for path, name in places(document) if path[0] != "digest" and path[-1] != "sha256"]
        if not ALL:
            list_of = list_of[::max(1, len(list_of) // PART)]
        caught = 0
        for path, name in list_of:
            forged = copy.deepcopy(document)
            value, around = forged, forged
            for key in path:
                around, value = value, value[key]
            change(forged, path, edited(value, name, around))
            with self.subTest(name):
                caught += self.try_edit(f"{name} made {str(edited(value, name, around))[:60]}", name, forged)
        print(f"{self.name}: {len(list_of)} fields edited, {caught} caught, the others named", flush=True)

    def test_every_key_dropped_is_caught_or_named(self):
        document = self.folder.document()
        keys = [key for key in document if key not in ("digest", "status")]
        if not ALL:
            keys = [key for key in keys if key in ("kind", "written", "assumptions", "verdict")]
        for key in keys:
            forged = copy.deepcopy(document)
            del forged[key]
            named = key
            if any(open_field(name, self.name) for _, name in places(document[key], (key,), key)):
                named = next(name for _, name in places(document[key], (key,), key) if open_field(name, self.name))
            with self.subTest(key):
                self.try_edit(f"{key} left out", named, forged)

    def test_what_it_calls_itself_does_not_matter(self):
        document = self.folder.document()
        kinds = ["", "network", "deep network", "extracted network", "memorized network", "lowest layer", "halfspaces", "proof", 7]
        for kind in kinds if ALL else ["", "proof"]:
            if kind == document["kind"]:
                continue
            forged = copy.deepcopy(document)
            forged["kind"] = kind
            with self.subTest(kind):
                self.try_edit(f"kind made {kind!r}", "kind", forged)
        if document["status"] == "certified" or ALL:
            for status in ("certified", "estimated", "proved"):
                if status != document["status"]:
                    forged = copy.deepcopy(document)
                    forged["status"] = status
                    with self.subTest(status):
                        self.assertTrue(self.try_edit(f"status made {status}", "status!", forged))

    def test_every_file_changed_is_caught(self):
        for file in self.folder.document()["written"]:
            path = self.folder.path / file["path"]
            edits = []
            if path.suffix == ".safetensors":
                edits = [(name, lambda name=name: move_tensor(path, name)) for name in tensors_of(path)]
            elif path.suffix == ".npy":
                edits = [("a number", lambda: move_npy(path))]
            elif path.suffix in (".svg", ".csv"):
                edits = [("a digit", lambda: path.write_text(re.sub(r"1", "2", path.read_text(), count=1)))]
            elif path.suffix == ".onnx":
                edits = [("a byte", lambda: path.write_bytes(path.read_bytes()[:-1] + b"!"))]
            for what, edit in edits:
                with self.subTest(f"{file['path']}: {what}"):
                    if edit() is False:
                        continue
                    self.try_edit(f"{file['path']}: {what} changed", "file!", self.folder.document())


class Certified(FieldTest):
    name, make = "certified", [certified]


class Single(FieldTest):
    name, make = "single", [single]


class Decimals(FieldTest):
    name, make = "decimals", [decimals]


class Estimated(FieldTest):
    name, make = "estimated", [estimated]


class Uncertified(FieldTest):
    name, make = "uncertified", [uncertified]


class Deep(FieldTest):
    name, make = "deep", [deep]


class DeepEstimated(FieldTest):
    name, make = "deep-estimated", [deep_estimated]


class LogTest(FieldTest):
    """Extractions: their log too, its chain of digests renewed with it."""

    def reseal(self, change_records):
        path = self.folder.path / "queries.log"
        data = path.read_bytes()
        found = records(data)
        change_records(found)
        log, digest = sealed_log(data[:8], found)
        path.write_bytes(log)
        document = self.folder.document()
        document["log_digest"] = digest
        return document

    def test_every_entry_of_the_log_header_is_caught(self):
        if not type(self).make:
            return
        head = json.loads(records((self.folder.path / "queries.log").read_bytes())[0][1])
        edits = [("dimensions", 10.5), ("dimensions", -1), ("dimensions", 10**18), ("inputs", 10**9), ("fresh", 0), ("fresh", 10**15),
                 ("seed", -1), ("seed", 1 + head.get("seed", 0)), ("seed", None), ("low", "x"), ("high", 3.5), ("oracle", "another")]
        for key, value in edits if ALL else edits[:3] + edits[6:8]:
            def header(found, key=key, value=value):
                other = dict(head)
                other[key] = value
                found[0][1] = json.dumps(other).encode()
            with self.subTest(f"{key} {value}"):
                document = self.reseal(header)
                self.assertTrue(self.try_edit(f"{key} of the log made {value}", "log!", document))

    def test_answers_and_records_of_the_log_are_caught(self):
        if not type(self).make:
            return

        def answer(found):
            payload = bytearray(found[-1][1])
            payload[-8:] = struct.pack("<d", struct.unpack("<d", payload[-8:])[0] + 1e-6)
            found[-1][1] = bytes(payload)

        def without_last(found):
            del found[-2:]

        def cut(found):
            found[-1][1] = found[-1][1][:-8]
        for what, edit in (("an answer moved by 1e-6", answer), ("its last queries left out", without_last), ("a record cut short", cut)):
            with self.subTest(what):
                document = self.reseal(edit)
                self.assertTrue(self.try_edit(f"log: {what}", "log!", document))

    def test_two_units_that_cancel_excuse_nothing(self):
        """Two units of 1e13, the one less the other: their rounding errors are of size 1e-3."""
        document = self.folder.document()
        if not isinstance(document["hidden_units"], int):
            return
        path = self.folder.path / "network.safetensors"
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        tensors = {k: (v["shape"], array.array("d", data[8 + size + v["data_offsets"][0]:8 + size + v["data_offsets"][1]]))
                   for k, v in header.items() if k != "__metadata__"}
        (k, d), m = tensors["W"][0], tensors["A"][0][0]
        unit = tensors["W"][1][:d]
        tensors["W"] = ([k + 2, d], tensors["W"][1] + unit + array.array("d", [v * (1 + 1e-15) for v in unit]))
        tensors["b"] = ([k + 2], tensors["b"][1] + array.array("d", [1.0, 1.0]))
        rows = [tensors["A"][1][i * k:(i + 1) * k] + array.array("d", [1e13, -1e13]) for i in range(m)]
        tensors["A"] = ([m, k + 2], sum(rows[1:], rows[0]))
        out, buffer = {n: v for n, v in header.items() if n == "__metadata__"}, b""
        for name, (shape, values) in tensors.items():
            out[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(buffer), len(buffer) + 8 * len(values)]}
            buffer += values.tobytes()
        text = json.dumps(out).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(struct.pack("<Q", len(text)) + text + buffer)
        (self.folder.path / "network.onnx").unlink(missing_ok=True)
        document["written"] = [f for f in document["written"] if f["path"] != "network.onnx"]
        document["hidden_units"] = k + 2
        self.folder.seal(document)
        try:
            _, answer = self.verify()
            parts = [f["part"] for f in answer["findings"] if f["checked"] and not f["good"]]
            self.assertIn("network", parts)
        finally:
            self.folder.restore()


class Extracted(LogTest):
    name, make = "extracted", [extracted]


class ExtractedInBox(LogTest):
    name, make = "extracted-box", [extracted_in_box]


class ExtractedDeep(LogTest):
    name, make = "extracted-deep", [extracted_deep]


class LowestLayer(FieldTest):
    name, make = "lowest-layer", [lowest_layer]


class Halfspaces(FieldTest):
    name, make = "halfspaces", [halfspaces]


class Memorized(FieldTest):
    name, make = "memorized", [memorized]


class MemorizedPerturbed(FieldTest):
    name, make = "memorized-perturbed", [memorized_perturbed]


class MemorizedDescent(FieldTest):
    name, make = "memorized-descent", [memorized_descent]


# Honest folders of other kinds: samples, then the command that makes the folder. A few of them in `make test`, all in the nightly run.
HONEST = [
    ("inputs far from zero", ["-d", 4, "-k", 3, "-m", 2, "-n", 1500, "--mean", 1e6, "--seed", 2], ["recover"]),
    ("inputs of a cube", ["-d", 4, "-k", 3, "-m", 1, "-n", 3000, "--distribution", "cube", "--seed", 3], ["recover"]),
    ("heavy tails", ["-d", 3, "-k", 2, "-m", 1, "-n", 3000, "--distribution", "t5", "--seed", 4], ["recover"]),
    ("correlated inputs", ["-d", 4, "-k", 3, "-m", 3, "-n", 3000, "--condition", 1e4, "--seed", 5], ["recover"]),
    ("one unit", ["-d", 2, "-k", 1, "-m", 1, "-n", 800, "--seed", 6], ["recover"]),
    ("five outputs, as many units given", ["-d", 5, "-k", 4, "-m", 5, "-n", 2000, "--seed", 7], ["recover", "--hidden", 4]),
    ("much noise", ["-d", 3, "-k", 2, "-m", 1, "-n", 6000, "--noise-relative", 0.4, "--seed", 8], ["recover"]),
    ("sigmoids", ["--model", "threshold", "--activation", "sigmoid", "--threshold", 4, "--upper", "linear", "-d", 5, "-k", 3, "-m", 1,
                  "-n", 40000, "--seed", 1], ["lowest-layer", "--activation", "sigmoid", "--hidden", 3]),
    ("a union with labels turned", ["--model", "threshold", "-d", 5, "-k", 3, "-m", 1, "-n", 60000, "--activation", "sign", "--threshold", 2,
                                    "--least-angle", 60, "--upper", "union", "--flips", 0.01, "--seed", 2], ["halfspaces"]),
    ("three layers memorised", ["-d", 6, "-k", 3, "-m", 1, "-n", 60, "--seed", 3], ["memorize", "--layers", 3]),
    ("memorised by Adam", ["-d", 6, "-k", 3, "-m", 2, "-n", 40, "--seed", 3],
     ["memorize", "--layers", 3, "--method", "adam", "--iterations", 300]),
    ("a leaky network", ["-d", 6, "-k", 3, "-m", 1, "-n", 2000, "--leak", 0.1, "--seed", 9], ["recover", "--leak", 0.1]),
    ("an extraction of many inputs", ["-d", 60, "-k", 8, "-m", 1, "-n", 10, "--seed", 10],
     ["extract", "--network", "data/network.safetensors"]),
    ("an extraction of another seed", ["-d", 9, "-k", 5, "-m", 3, "-n", 10, "--seed", 11],
     ["extract", "--network", "data/network.safetensors", "--seed", 5, "--fresh", 40]),
    ("two layers in a box", ["-d", 5, "--layers", "4,3", "-m", 2, "-n", 10, "--seed", 12],
     ["extract", "--network", "data/network.safetensors", "--low", -3, "--high", 3]),
]


class HonestFolders(unittest.TestCase):
    def test_folders_of_all_kinds_agree(self):
        for name, planted, command in HONEST if ALL else HONEST[::4]:
            with self.subTest(name), tempfile.TemporaryDirectory(prefix="exhume-honest-") as root:
                samples(root, *planted)
                rows = [] if command[0] == "extract" else ["data/x.npy", "data/y.npy"]
                exhume(root, command[0], *rows, *command[1:], "--out", "r", code=None)
                status = json.loads((pathlib.Path(root) / "r/certificate.json").read_text())["status"]
                done = exhume(root, "verify", "r", "--json", code=None)
                answer = json.loads(done.stdout) if done.stdout.strip() else {"error": done.stderr}
                bad = [f["words"] for f in answer.get("findings", []) if f["checked"] and not f["good"]]
                self.assertTrue(answer.get("agrees"), (name, status, bad, answer.get("error")))
                self.assertEqual(done.returncode, OK if status in ("certified", "estimated") else NOT_CERTIFIED, name)


class FieldTable(unittest.TestCase):
    def test_the_page_on_certificates_has_it(self):
        page = PAGE.read_text()
        self.assertIn(BEGIN, page)
        self.assertEqual(page.split(BEGIN)[1].split(END)[0].strip(), table(),
                         "write the table that `run_field_tests.py --table` prints into docs/certificate.md")


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(table())
    else:
        EXHUME = str(pathlib.Path(sys.argv.pop(1)).resolve())
        unittest.main(verbosity=2)
