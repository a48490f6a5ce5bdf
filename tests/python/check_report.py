"""The report as Chromium shows it: no console message, pictures as they were looked at, user strings as text.

The page of report/certificate.json is drawn at 1280 and 390 pixels, light and dark, and compared with the pictures in
report/. Fonts and browser versions move letters by a pixel, so the pictures are shrunk by eight before they are compared.
The picture of the README, docs/figures/report.png, is that of the run that the README shows, by this version: its version and its
machine are part of it, so parts of the page are compared with what is drawn today, and the version stands in the file too.
UPDATE=1 draws the pictures anew; look at them before you commit them.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

HERE = pathlib.Path(__file__).resolve().parent / "report"
VIEWS = {"1280": (1280, 5600, False), "390": (390, 9000, False), "1280-dark": (1280, 5600, True)}
ROOT = HERE.parents[2]
README_PICTURE, README_SIZE = ROOT / "docs/figures/report.png", (1280, 2600)
README_PARTS = (0, 445), (1558, 2318)  # the head of the page, and its pictures from the singular values on
SHRINK = 8
MEAN_DIFFERENCE = 3.0  # of 255, over the whole picture
WORST_SHARE = 0.02  # of the cells may be off by more than 48 of 255


def screenshot(chromium, page, picture, width, height, dark):
    """Draws a page; the lines that the console printed."""
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
               "--no-first-run", "--disable-background-networking", "--disable-component-update", "--force-device-scale-factor=1",
               "--enable-logging=stderr", "--log-level=0", f"--window-size={width},{height}", f"--screenshot={picture}"]
    if dark:
        command.append("--blink-settings=preferredColorScheme=0")
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([*command, f"--user-data-dir={profile}", page.as_uri()], capture_output=True, text=True, timeout=180)
    assert picture.exists(), done.stderr
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def shrunk(picture):
    image = Image.open(picture).convert("RGB")
    size = (image.width // SHRINK, image.height // SHRINK)
    return np.asarray(image.resize(size, Image.Resampling.BOX), dtype=float)


def compare(picture, golden):
    drawn, kept = shrunk(picture), shrunk(golden)
    assert drawn.shape == kept.shape, f"{golden.name}: {drawn.shape} instead of {kept.shape}"
    difference = np.abs(drawn - kept)
    mean, share = difference.mean(), (difference.max(axis=2) > 48).mean()
    print(f"  {golden.name}: mean difference {mean:.2f} of 255, {100 * share:.2f}% of cells off")
    assert mean <= MEAN_DIFFERENCE and share <= WORST_SHARE, f"the report no longer looks like {golden}"


def check_readme_picture(exhume, chromium, folder):
    """The run that the README shows, drawn again."""
    version = subprocess.run([exhume, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    asked = ["--network", ROOT / "examples/data/digits_64_16_1.npz", "--samples", "50000", "--seed", "1"]
    subprocess.run([exhume, "generate", *asked, "--out", folder / "asked", "--quiet"], check=True)
    samples = [folder / "asked/x.npy", folder / "asked/y.npy"]
    subprocess.run([exhume, "recover", *samples, "--out", folder / "recovered", "--quiet"], check=True)
    picture = folder / "readme.png"
    screenshot(chromium, folder / "recovered/report.html", picture, *README_SIZE, False)
    whole = Image.open(picture).convert("RGB")
    parts = [whole.crop((0, top, whole.width, bottom)) for top, bottom in README_PARTS]
    shown = Image.new("RGB", (whole.width, sum(part.height for part in parts)))
    for number, part in enumerate(parts):
        shown.paste(part, (0, sum(each.height for each in parts[:number])))
    shown.save(picture)
    if os.environ.get("UPDATE"):
        info = PngInfo()
        info.add_text("Software", version)
        Image.open(picture).convert("RGB").quantize(256).save(README_PICTURE, optimize=True, pnginfo=info)
    compare(picture, README_PICTURE)
    drawn_by = Image.open(README_PICTURE).text.get("Software")
    assert drawn_by == version, f"{README_PICTURE.name} was drawn by {drawn_by}, this is {version}; UPDATE=1 draws it anew"


def main(exhume):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "chromium is missing; scripts/setup.sh installs it"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(HERE / "certificate.json", folder)
        subprocess.run([exhume, "report", folder, "--quiet"], check=True)
        for view, (width, height, dark) in VIEWS.items():
            picture, golden = folder / f"{view}.png", HERE / f"{view}.png"
            console = screenshot(chromium, folder / "report.html", picture, width, height, dark)
            assert not console, f"the console says: {console}"
            if os.environ.get("UPDATE"):
                Image.open(picture).convert("RGB").quantize(64).save(golden, optimize=True)
            compare(picture, golden)

        check_readme_picture(exhume, chromium, folder)

        # A name with a script in it shows as text and does nothing.
        evil = "<script>console.log('ran')</script>"
        certificate = json.loads((HERE / "certificate.json").read_text())
        certificate["route"] = certificate["command"] = certificate["reason"] = evil
        certificate["files"] = [{"role": evil, "path": evil, "sha256": evil}]
        certificate["assumptions"][0]["name"] = certificate["tried"][0]["outcome"] = certificate["conclusion"] = evil
        (folder / "certificate.json").write_text(json.dumps(certificate))
        subprocess.run([exhume, "report", folder, "--quiet"], check=True)
        html = (folder / "report.html").read_text()
        assert "<script" not in html and "&lt;script&gt;" in html
        console = screenshot(chromium, folder / "report.html", folder / "evil.png", 1280, 800, False)
        assert not console, f"the console says: {console}"


if __name__ == "__main__":
    main(sys.argv[1])
