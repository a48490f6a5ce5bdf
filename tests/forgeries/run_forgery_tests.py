#!/usr/bin/env python3
"""Folders that were forged with all digests renewed: run_forgery_tests.py PATH/TO/exhume [unittest's arguments]

Every forgery of FORGERIES must be caught by `exhume verify` from the samples, with the part named, or be one that only a
signature shows; then `verify --key` must catch it. The table of docs/certificate.md is compared with this list;
`run_forgery_tests.py --table` prints it. Standard library only.
"""

import array
import hashlib
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

OK, NOT_CERTIFIED = 0, 3
EXHUME = ""
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/certificate.md"
BEGIN, END = "<!-- forgeries: begin -->", "<!-- forgeries: end -->"


class Number(float):
    """A number that is written as it was read."""

    def __new__(cls, text):
        number = float.__new__(cls, text)
        number.text = text
        return number


def dump(value, indent=0):
    """As the program writes it."""
    pad, inner = " " * indent, " " * (indent + 2)
    if isinstance(value, dict) and value:
        rows = [f"{inner}{json.dumps(k, ensure_ascii=False)}: {dump(v, indent + 2)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + pad + "}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(inner + dump(v, indent + 2) for v in value) + "\n" + pad + "]"
    if isinstance(value, Number):
        return value.text
    return json.dumps(value, ensure_ascii=False)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Folder:
    """A result, to be edited and then sealed again."""

    def __init__(self, run, root, name):
        self.run, self.root, self.path = run, root, root / name
        self.json = json.loads((self.path / "certificate.json").read_text(), parse_float=Number)
        self.page = None  # a page that is not that of the certificate

    def check(self, words):
        return next(c for c in self.json["assumptions"] if words in c["name"])

    def samples(self, name):
        """Numbers of x.npy or y.npy, and a function that puts them back."""
        path = self.root / pathlib.Path(next(f["path"] for f in self.json["files"] if f["path"].endswith(name)))
        data = path.read_bytes()
        start = 10 + struct.unpack("<H", data[8:10])[0]
        values = array.array("d")
        values.frombytes(data[start:])
        return values, lambda: path.write_bytes(data[:start] + values.tobytes())

    def tensors(self):
        """Tensors of network.safetensors by name, as (shape, numbers), and a function that puts them back."""
        path = self.path / "network.safetensors"
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors[name] = [entry["shape"], array.array("d", data[8 + size + begin:8 + size + end])]

        def put_back():
            out, buffer = {k: v for k, v in header.items() if k == "__metadata__"}, b""
            for name, (shape, values) in tensors.items():
                raw = values.tobytes()
                out[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(buffer), len(buffer) + len(raw)]}
                buffer += raw
            text = json.dumps(out).encode()
            text += b" " * (-len(text) % 8)
            path.write_bytes(struct.pack("<Q", len(text)) + text + buffer)

        return tensors, put_back

    def seal(self):
        """Renews every digest, and the page."""
        for file in self.json["written"]:
            if "sha256" in file and (self.path / file["path"]).exists():
                file["sha256"] = sha256(self.path / file["path"])
        for file in self.json["files"]:
            if "sha256" in file:
                file["sha256"] = sha256(self.root / file["path"])
        self.json.pop("digest", None)
        self.json["digest"] = hashlib.sha256(dump(self.json).encode()).hexdigest()
        (self.path / "certificate.json").write_text(dump(self.json) + "\n")
        self.run("report", self.path)
        if self.page is not None:
            self.page(self.path / "report.html")


# Edits.

def put(*path, to):
    """Sets a key of the certificate; `to` may be a function of what was there."""
    def edit(folder):
        where = folder.json
        for key in path[:-1]:
            where = where[key]
        where[path[-1]] = to(where[path[-1]]) if callable(to) else to
    return edit


def times(factor):
    return lambda value: value * factor


def drop(*path):
    def edit(folder):
        where = folder.json
        for key in path[:-1]:
            where = where[key]
        del where[path[-1]]
    return edit


def check(words, **to):
    def edit(folder):
        folder.check(words).update(to)
    return edit


def without_check(words):
    def edit(folder):
        folder.json["assumptions"].remove(folder.check(words))
    return edit


def all_of(*edits):
    def edit(folder):
        for one in edits:
            one(folder)
    return edit


def move_weight(name, by):
    def edit(folder):
        tensors, put_back = folder.tensors()
        tensors[name][1][0] += by
        put_back()
    return edit


def errors_halved(folder):
    path = folder.path / "errors.safetensors"
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    values = array.array("d", data[start:])
    path.write_bytes(data[:start] + array.array("d", [value / 2 for value in values]).tobytes())


def intervals_halved(folder):
    for weight in folder.json["pictures"]["intervals"]["weights"]:
        weight[4] /= 2


def other_network(folder):
    for name in ("network.safetensors", "network.onnx"):
        shutil.copy(folder.root / "other-result" / name, folder.path / name)


def unit_beside(folder):
    """One more unit that never counts."""
    tensors, put_back = folder.tensors()
    (k, d), m = tensors["W"][0], tensors["A"][0][0]
    tensors["W"] = [[k + 1, d], tensors["W"][1] + array.array("d", [1.0] + [0.0] * (d - 1))]
    tensors["b"] = [[k + 1], tensors["b"][1] + array.array("d", [0.5])]
    rows = [tensors["A"][1][i * k:(i + 1) * k] + array.array("d", [1e-14]) for i in range(m)]
    tensors["A"] = [[m, k + 1], sum(rows[1:], rows[0])]
    folder.json["hidden_units"] = k + 1
    put_back()


def unit_less(folder):
    tensors, put_back = folder.tensors()
    (k, d), m = tensors["W"][0], tensors["A"][0][0]
    rows = [tensors["A"][1][i * k:(i + 1) * k - 1] for i in range(m)]
    tensors["W"] = [[k - 1, d], tensors["W"][1][:(k - 1) * d]]
    tensors["b"] = [[k - 1], tensors["b"][1][:k - 1]]
    tensors["A"] = [[m, k - 1], sum(rows[1:], rows[0])]
    folder.json["hidden_units"] = k - 1
    put_back()


def other_onnx(folder):
    shutil.copy(folder.root / "other-result/network.onnx", folder.path / "network.onnx")


def unspoken(name):
    def edit(folder):
        folder.json["written"] = [f for f in folder.json["written"] if f["path"] != name]
    return edit


def undigested(name):
    def edit(folder):
        for file in folder.json["written"]:
            if file["path"] == name:
                del file["sha256"]
    return edit


def page(change):
    def edit(folder):
        folder.page = change
    return edit


def page_says(old, new):
    def change(path):
        text = path.read_text()
        assert old in text, old
        path.write_text(text.replace(old, new))
    return page(change)


def other_page(folder):
    folder.page = lambda path: shutil.copy(folder.root / "other-result/report.html", path)


def entry_moved(by):
    def edit(folder):
        values, put_back = folder.samples("y.npy")
        values[1234] += by
        put_back()
    return edit


def outputs_swapped(folder):
    """The outputs of the first two rows, the one for the other."""
    values, put_back = folder.samples("y.npy")
    values[0:2], values[2:4] = values[2:4], values[0:2]
    put_back()


def outputs_rounded(folder):
    values, put_back = folder.samples("y.npy")
    for i, value in enumerate(values):
        values[i] = round(value, 6)
    put_back()


def samples_of(name):
    """The files are others, and the certificate names them."""
    def edit(folder):
        for file in folder.json["files"]:
            file["path"] = name + "/" + pathlib.PurePath(file["path"]).name
    return edit


def memorized(folder):
    folder.json.update(kind="memorized network", tolerance=1.0, relative_error=1.0)
    for name, source in (("inputs.npy", "x.npy"), ("labels.npy", "y.npy")):
        shutil.copy(folder.root / "noisy" / source, folder.path / name)
        folder.json["written"].append({"role": "rows memorised", "path": name, "sha256": ""})


def all_hold(folder):
    for one in folder.json["assumptions"]:
        one.update(holds=True)
        if one["required"]:
            one["value"] = one["threshold"]


def certificate_of(name, status):
    """The certificate of another result, with the files of this one."""
    def edit(folder):
        ours = folder.json
        folder.json = json.loads((folder.root / name / "certificate.json").read_text(), parse_float=Number)
        assert folder.json["status"] == status
        folder.json.update(files=ours["files"], written=ours["written"])
    return edit


CERTIFIED, ESTIMATED, UNCERTIFIED = "certified", "estimated", "uncertified"
HELD_OUT, CERTIFICATE, NETWORK, SAMPLES, REPORT, ONNX = (
    "held-out rows", "certificate", "network", "samples", "report", "network for other programs")

# (what was forged, in which folder, how, the part that is found bad); or, where samples cannot show it, (what, folder, how,
# None, why).
FORGERIES = [
    ("a weight of the network moved by 0.001", CERTIFIED, move_weight("W", 1e-3), SAMPLES),
    ("a weight of the network moved by 1e-8", CERTIFIED, move_weight("A", 1e-8), SAMPLES),
    ("a weight moved by far less than the noise", ESTIMATED, move_weight("W", 1e-3), HELD_OUT),
    ("network replaced by another of the same shape", CERTIFIED, other_network, SAMPLES),
    ("network replaced by another of the same shape", ESTIMATED, other_network, HELD_OUT),
    ("a unit added that does next to nothing", CERTIFIED, unit_beside, CERTIFICATE),
    ("a unit left out", ESTIMATED, unit_less, HELD_OUT),
    ("`network.onnx` replaced", CERTIFIED, other_onnx, ONNX),
    ("`network.onnx` replaced and no longer listed in `written`", ESTIMATED, all_of(other_onnx, unspoken("network.onnx")), ONNX),
    ("network no longer listed in `written`", CERTIFIED, unspoken("network.safetensors"), NETWORK),
    ("network listed without a digest", CERTIFIED, undigested("network.safetensors"), NETWORK),
    ("a word of `report.html` changed", ESTIMATED, page_says("estimated", "certified"), REPORT),
    ("`report.html` replaced by that of another result", CERTIFIED, other_page, REPORT),
    ("one output of the samples moved by 0.001", CERTIFIED, entry_moved(1e-3), SAMPLES),
    ("one output of the samples moved by 1", ESTIMATED, entry_moved(1.0), CERTIFICATE),
    ("the outputs of two rows swapped", CERTIFIED, outputs_swapped, SAMPLES),
    ("outputs rounded to six decimals", CERTIFIED, outputs_rounded, CERTIFICATE),
    ("noisy samples put in the place of exact ones", CERTIFIED, samples_of("noisy"), CERTIFICATE),
    ("exact samples put in the place of noisy ones", ESTIMATED, samples_of("exact"), CERTIFICATE),
    ("the certificate of another, certified result", ESTIMATED, certificate_of("other-result", "certified"), CERTIFICATE),
    ("`status` certified made estimated", CERTIFIED, put("status", to="estimated"), CERTIFICATE),
    ("`status` estimated made certified", ESTIMATED, put("status", to="certified"), CERTIFICATE),
    ("`status` estimated made certified, to a coarse `precision`", ESTIMATED,
     all_of(put("status", to="certified"), put("precision", to="1 decimals, 1e-01"), put("noise_sd", to=0.0)), CERTIFICATE),
    ("`status` uncertified made certified, all checks with it", UNCERTIFIED, all_of(put("status", to="certified"), all_hold), CERTIFICATE),
    ("`status` uncertified made estimated, all checks with it", UNCERTIFIED, all_of(put("status", to="estimated"), all_hold), CERTIFICATE),
    ("`status` uncertified made estimated, the checks left", UNCERTIFIED, put("status", to="estimated"), CERTIFICATE),
    ("checks of an uncertified result made to hold", UNCERTIFIED, all_hold, CERTIFICATE),
    ("`precision` made coarser", CERTIFIED, put("precision", to="single precision, 2e-08"), CERTIFICATE),
    ("`precision` made coarser, by a version of which sentences are not compared", CERTIFIED,
     all_of(put("precision", to="single precision, 2e-08"), put("version", to="9.9.9")), CERTIFICATE),
    ("`split` removed", CERTIFIED, drop("split"), CERTIFICATE),
    ("`split` removed", ESTIMATED, drop("split"), CERTIFICATE),
    ("`split` and `seed` of other rows", CERTIFIED, all_of(put("split", "seed", to=7), put("seed", to=7)), CERTIFICATE),
    ("`split` and `seed` of other rows", ESTIMATED, all_of(put("split", "seed", to=7), put("seed", to=7)), HELD_OUT),
    ("`split` of another period, `held_out` with it", ESTIMATED, all_of(put("split", "period", to=40), put("held_out", to=100)), CERTIFICATE),
    ("`seed` alone", CERTIFIED, put("seed", to=5), CERTIFICATE),
    ("`noise_sd` raised from 0", CERTIFIED, put("noise_sd", to=0.5), CERTIFICATE),
    ("`noise_sd` raised by a thousandth", ESTIMATED, put("noise_sd", to=times(1.001)), CERTIFICATE),
    ("`noise_sd` halved", ESTIMATED, put("noise_sd", to=times(0.5)), CERTIFICATE),
    ("`max_standard_error` halved", ESTIMATED, put("max_standard_error", to=times(0.5)), CERTIFICATE),
    ("`errors.safetensors` halved", ESTIMATED, errors_halved, CERTIFICATE),
    ("the intervals of the report halved", ESTIMATED, intervals_halved, CERTIFICATE),
    ("`functional_error_bound` halved", ESTIMATED, put("functional_error_bound", to=times(0.5)), CERTIFICATE),
    ("`functional_error_bound` divided by 1e10", CERTIFIED, put("functional_error_bound", to=times(1e-10)), CERTIFICATE),
    ("`epsilon` divided by 1e5", CERTIFIED, put("identifiability", "epsilon", to=times(1e-5)), CERTIFICATE),
    ("`delta` halved", ESTIMATED, put("identifiability", "delta", to=times(0.5)), CERTIFICATE),
    ("`delta` divided by 1e5", CERTIFIED, put("identifiability", "delta", to=times(1e-5)), CERTIFICATE),
    ("`smallest_singular` doubled", CERTIFIED, put("identifiability", "smallest_singular", to=times(2)), CERTIFICATE),
    ("`identifiability` removed", ESTIMATED, drop("identifiability"), CERTIFICATE),
    ("`confidence` raised", ESTIMATED, put("confidence", to=0.999999), CERTIFICATE),
    ("`heldout_mean_square` lowered", ESTIMATED, put("heldout_mean_square", to=times(0.9)), HELD_OUT),
    ("`heldout_relative_mse` lowered", ESTIMATED, put("heldout_relative_mse", to=times(0.9)), CERTIFICATE),
    ("`training_relative_mse` lowered", ESTIMATED, put("training_relative_mse", to=times(0.9)), CERTIFICATE),
    ("`hidden_units` lowered", CERTIFIED, put("hidden_units", to=2), NETWORK),
    ("`rows` raised", CERTIFIED, put("rows", to=40000), SAMPLES),
    ("`samples` lowered", CERTIFIED, put("samples", to=3999), CERTIFICATE),
    ("`held_out` raised", ESTIMATED, put("held_out", to=2000), CERTIFICATE),
    ("`activation` changed", CERTIFIED, put("activation", to="square"), CERTIFICATE),
    ("`kind` made a memorized network, of which less is asked", ESTIMATED,
     memorized, CERTIFICATE),
    ("`linear_term` set", CERTIFIED, put("linear_term", to=True), CERTIFICATE),
    ("`signs_identifiable` cleared", CERTIFIED, put("signs_identifiable", to=False), CERTIFICATE),
    ("a check left out", ESTIMATED, without_check("heavy tails"), CERTIFICATE),
    ("the `threshold` of a check raised", ESTIMATED, check("heavy tails", threshold=100.0), CERTIFICATE),
    ("the `value` of a check lowered", ESTIMATED, check("similar rows", value=0.001), CERTIFICATE),
    ("a check no longer `required`", CERTIFIED, check("linear term", required=False), CERTIFICATE),
    ("an assumption on the inputs that holds said not to", CERTIFIED, check("light-tailed", holds=False), CERTIFICATE),
    ("`verdict` changed", ESTIMATED, put("verdict", to="The network was recovered."), CERTIFICATE),
    ("`reason` changed", CERTIFIED, put("reason", to="proved"), CERTIFICATE),
    ("`conclusion` without its condition", ESTIMATED, put("conclusion", to=lambda s: s[s.index("If they are, ") + 13:]), CERTIFICATE),
    ("`assumed` emptied", ESTIMATED, put("assumed", to=[]), CERTIFICATE),
    ("`bound_from` changed", ESTIMATED, put("bound_from", to="held-out rows"), CERTIFICATE),
    ("the picture of the held-out rows made to agree", ESTIMATED,
     lambda f: f.json["pictures"]["heldout"].update(predicted=f.json["pictures"]["heldout"]["observed"]), CERTIFICATE),
    ("the picture of the weights changed", CERTIFIED, put("pictures", "weights", 0, 0, to=9.0), CERTIFICATE),
    ("the rows along a unit moved onto its line", ESTIMATED,
     lambda f: f.json["pictures"]["profiles"][0].update(mean=f.json["pictures"]["profiles"][0]["own"]), CERTIFICATE),
    ("a route that does not exist", CERTIFIED, put("route", to="miracle"), CERTIFICATE),

    ("`date` changed", CERTIFIED, put("date", to="2001-01-01T00:00:00Z"), None, "rows do not say when they were looked at"),
    ("`host` changed", CERTIFIED, put("host", to="a faster one"), None, "nor where"),
    ("`command` changed", CERTIFIED, put("command", to="exhume recover --seed 9"), None,
     "the network does not say how it was asked for"),
    ("`timings` changed", ESTIMATED, put("timings", to={"fit": 0.001}), None, "nor how long it took"),
    ("`tried` changed", ESTIMATED, put("tried", to=[]), None, "nor what was tried before it was found"),
    ("`route` made another that exists", ESTIMATED, put("route", to="any_inputs"), None,
     "several routes lead to the same network"),
    ("`version` changed", CERTIFIED, put("version", to="9.9.9"), None,
     "sentences of another version cannot be compared, and `verify` says so"),
    ("`version` changed, and `verdict` with it", CERTIFIED,
     all_of(put("version", to="9.9.9"), put("verdict", to="The network was recovered.")), None, "the same"),
    ("pictures of the search changed", CERTIFIED, put("pictures", "gap_units", to=7), None,
     "they show moments of a search that is over"),
    ("a key of no meaning added", ESTIMATED, lambda f: f.json.update(approved_by="somebody"), CERTIFICATE),
    ("`kind` emptied, and a network that is 0.5 off", CERTIFIED, all_of(put("kind", to=""), move_weight("c", 0.5)), CERTIFICATE),
    ("`kind` left out", ESTIMATED, drop("kind"), CERTIFICATE),
    ("the result of a new, honest run in the place of the first", CERTIFIED, None, None,
     "it is a result of these samples; only its signature tells whose"),
]


def table():
    rows = ["| forgery | folder | caught by |", "| --- | --- | --- |"]
    for what, folder, _, part, *why in FORGERIES:
        rows.append(f"| {what} | {folder} | " + (part if part else f"a signature only: {why[0]}") + " |")
    return "\n".join(rows)


class ForgeryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A certified folder, an estimated and an uncertified one, all signed, and one of another network."""
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="exhume-forgeries-")) / "all"
        cls.addClassCleanup(shutil.rmtree, cls.root.parent, ignore_errors=True)
        cls.root.mkdir()
        shape = ["-d", 4, "-k", 3, "-m", 2, "-n", 4000]
        cls.run_exhume("keys", "--out", "mine")
        cls.run_exhume("keys", "--out", "theirs")
        cls.run_exhume("generate", *shape, "--seed", 1, "--out", "exact")
        cls.run_exhume("generate", *shape, "--seed", 1, "--noise-relative", 0.1, "--out", "noisy")
        cls.run_exhume("generate", *shape, "--seed", 2, "--out", "other")
        sign = ["--sign", "mine.key"]
        cls.run_exhume("recover", "exact/x.npy", "exact/y.npy", "--out", CERTIFIED, *sign)
        cls.run_exhume("recover", "noisy/x.npy", "noisy/y.npy", "--out", ESTIMATED, *sign)
        cls.run_exhume("recover", "noisy/x.npy", "noisy/y.npy", "--hidden", 2, "--out", UNCERTIFIED, *sign,
                       code=NOT_CERTIFIED)
        cls.run_exhume("recover", "other/x.npy", "other/y.npy", "--out", "other-result")

    @classmethod
    def run_exhume(cls, *arguments, code=OK):
        done = subprocess.run([EXHUME, *map(str, arguments)], cwd=cls.root, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)
        if code is not None and done.returncode != code:
            raise AssertionError(f"{arguments} ended with {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        return done

    def verify(self, folder, *options):
        done = self.run_exhume("verify", folder, "--json", *options, code=None)
        answer = json.loads(done.stdout) if done.stdout else {"findings": [], "error": done.stderr}
        return done.returncode, answer, [f["part"] for f in answer["findings"] if f["checked"] and not f["good"]]

    @staticmethod
    def words(answer):
        return answer.get("error") or [f["words"] for f in answer["findings"] if f["checked"] and not f["good"]]

    def forge(self, what, folder, edit, part, *why):
        before = self.root.with_name(self.root.name + "-before")
        shutil.copytree(self.root, before)
        try:
            if edit is None:  # an honest run of another seed, under the signature of the first
                signature = (self.root / folder / "certificate.json.sig").read_bytes()
                self.run_exhume("recover", "exact/x.npy", "exact/y.npy", "--seed", 3, "--out", folder)
                (self.root / folder / "certificate.json.sig").write_bytes(signature)
            else:
                forged = Folder(self.run_exhume, self.root, folder)
                edit(forged)
                forged.seal()
            code, answer, bad = self.verify(folder)
            edited = [f for f in answer["findings"] if "it was edited" in f["words"]]
            self.assertFalse(edited, "the digests were not renewed")
            if part:
                self.assertEqual(code, NOT_CERTIFIED)
                self.assertIn(part, bad)
                self.assertTrue(folder == UNCERTIFIED or not answer["agrees"])
            else:
                self.assertTrue(code == OK and not bad, self.words(answer))
            code, answer, bad = self.verify(folder, "--key", "mine.pub")
            # Changed samples and pages alone leave the certificate's bytes, but not its digests.
            self.assertEqual(code, NOT_CERTIFIED)
            self.assertIn(part or "signature", bad)
        finally:
            shutil.rmtree(self.root)
            before.rename(self.root)

    def forge_all(self, folder):
        for forgery in FORGERIES:
            if forgery[1] == folder:
                with self.subTest(forgery[0]):
                    self.forge(*forgery)


class Honest(ForgeryTest):
    def test_what_was_not_forged_agrees_signed_or_not(self):
        for folder, code in ((CERTIFIED, OK), (ESTIMATED, OK), (UNCERTIFIED, NOT_CERTIFIED)):
            for options in ([], ["--key", "mine.pub"]):
                found, answer, bad = self.verify(folder, *options)
                self.assertTrue(found == code and not bad and answer["agrees"], (folder, options, found, answer))
            found, _, bad = self.verify(folder, "--key", "theirs.pub")
            self.assertEqual((found, bad), (NOT_CERTIFIED, ["signature"]), folder)
            said = self.run_exhume("verify", folder, code=code).stdout
            self.assertEqual(said.startswith("Agrees"), code == OK, said)
        found, _, bad = self.verify("other-result", "--key", "mine.pub")
        self.assertEqual((found, bad), (NOT_CERTIFIED, ["signature"]))


class Certified(ForgeryTest):
    def test_every_forgery_is_caught(self):
        self.forge_all(CERTIFIED)


class Estimated(ForgeryTest):
    def test_every_forgery_is_caught(self):
        self.forge_all(ESTIMATED)


class Uncertified(ForgeryTest):
    def test_every_forgery_is_caught(self):
        self.forge_all(UNCERTIFIED)


class Table(unittest.TestCase):
    def test_the_page_on_certificates_has_it(self):
        page = PAGE.read_text()
        self.assertIn(BEGIN, page)
        self.assertEqual(page.split(BEGIN)[1].split(END)[0].strip(), table(),
                         "write the table that `run_forgery_tests.py --table` prints into docs/certificate.md")

    def test_every_forgery_has_its_class(self):
        self.assertLessEqual({forgery[1] for forgery in FORGERIES}, {CERTIFIED, ESTIMATED, UNCERTIFIED})


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(table())
    else:
        EXHUME = str(pathlib.Path(sys.argv.pop(1)).resolve())
        unittest.main(verbosity=2)
