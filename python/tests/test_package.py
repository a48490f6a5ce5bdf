"""The package itself: version, types, documentation, kernels, source distribution."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
import tarfile

import numpy as np
import pytest

import exhume
from exhume._blas import kernels_for


def run(*arguments, **options):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, **options)


def test_version_comes_from_cmake(root):
    declared = re.search(r"project\(exhume VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())[1]
    assert exhume.__version__ == declared == importlib.metadata.version("exhume")


def test_the_version_is_the_same_everywhere(root):
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(), re.M)[1]
    latest = re.search(r"^## \[([0-9.]+|Unreleased)\]", (root / "CHANGELOG.md").read_text(), re.M)[1]
    assert cited == exhume.__version__ and latest in (exhume.__version__, "Unreleased")


def modules():
    return [name for _, name, _ in pkgutil.iter_modules(exhume.__path__) if name not in ("_core", "_torch")]


@pytest.mark.parametrize("name", ["exhume", *(f"exhume.{name}" for name in modules())])
def test_examples_in_docstrings(name):
    module = pytest.importorskip(name, exc_type=ImportError)  # exhume.spark without pyspark
    assert doctest.testmod(module).failed == 0


def test_everything_public_is_documented():
    for name in exhume.__all__:
        value = getattr(exhume, name)
        assert value.__doc__, name
        if isinstance(value, type):
            for part, member in vars(value).items():
                if callable(member) and not part.startswith("_"):
                    assert member.__doc__, f"{name}.{part}"


def test_mypy_strict(root, tmp_path):
    config = root / "pyproject.toml"
    for what in (["-p", "exhume"], [root / "python/tutorial.py"]):
        done = run(
            "-m", "mypy", "--strict", "--config-file", config, "--cache-dir", tmp_path, *what, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_is_up_to_date(root, tmp_path):
    done = run(root / "scripts/python_reference.py", tmp_path / "python.md")
    assert done.returncode == 0, done.stderr
    made, kept = (tmp_path / "python.md").read_text(), (root / "docs/python.md").read_text()
    assert made == kept, "docs/python.md is old; run scripts/python_reference.py docs/python.md"


def test_tutorial(root, tmp_path):
    done = run("-W", "error", root / "python/tutorial.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DataError: x: row 7, column 1" in done.stdout


def test_source_distribution(root, tmp_path):
    done = run("-m", "build", "--sdist", "--no-isolation", "--outdir", tmp_path, root)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = tmp_path.glob("exhume-*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    needed = ["CMakeLists.txt", "python/CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "PKG-INFO"]
    needed += [str(path.relative_to(root)) for path in root.glob("src/**/*.cc")]
    needed += [str(path.relative_to(root)) for path in root.glob("include/**/*.h")]
    needed += [str(path.relative_to(root)) for path in (root / "python/package").glob("**/*.py")]
    assert set(needed) <= names
    assert not [name for name in names if name.startswith(("build/", ".venv"))]


CPU = (
    "processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nflags\t\t: fpu {} sse2\n\n"
    "processor\t: 1\nflags\t\t: avx2 fma\n"
)
AVX512 = "avx2 fma avx512f avx512vl avx512dq avx512bw"


@pytest.mark.parametrize(
    "vendor, family, flags, kernels",
    [
        ("GenuineIntel", 6, AVX512, "SkylakeX"),
        ("GenuineIntel", 6, "avx2 fma avx512f", "Haswell"),
        ("GenuineIntel", 6, "avx2", ""),
        ("GenuineIntel", 6, "", ""),
        ("AuthenticAMD", 25, AVX512, ""),
        ("AuthenticAMD", 26, AVX512, "SkylakeX"),
    ],
)
def test_kernels_for_processors(vendor, family, flags, kernels):
    assert kernels_for(CPU.format(vendor, family, flags)) == kernels


def test_kernels_for_nonsense():
    assert kernels_for("") == "" and kernels_for("no colon here") == ""


KERNELS = """
import os
import exhume
assert os.environ.get("OPENBLAS_CORETYPE") == {kept!r}
print(exhume.blas_kernels())
"""


def test_the_environment_is_left_as_it_was():
    import os

    bare = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    done = run("-W", "error", "-c", KERNELS.format(kept=None), env=bare)
    assert done.returncode == 0, done.stderr
    done = run("-c", KERNELS.format(kept="Prescott"), env=bare | {"OPENBLAS_CORETYPE": "Prescott"})
    assert done.returncode == 0 and done.stdout.strip() == "Prescott", done.stderr


def test_every_route_of_the_table_has_a_name_here():
    names = exhume.routes.names()
    assert "depth2" in names and "rectified-sparse-noise" in names and "any_inputs" in names
    for name in names:
        route = getattr(exhume.routes, name.replace("-", "_"))
        assert route.name == name and route.about and route.condition
    assert not hasattr(exhume.routes, "threshold")  # finds no network
    with pytest.raises(ValueError, match="leak"):
        exhume.routes.depth2(np.zeros((100, 2)), np.zeros(100), leak=0.5)


def test_the_module_is_the_command_line_and_warns_of_nothing():
    done = run("-W", "error", "-m", "exhume", "--version")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.strip() == f"exhume {exhume.__version__}"


def test_python_starts_no_program(root):
    sources = {path.name: path.read_text() for path in (root / "python/package/exhume").glob("*.py")}
    assert not [name for name, text in sources.items() if "subprocess" in text or "os.system" in text]
    # Only the command line itself hands over to the program, and comes back never.
    assert [name for name, text in sources.items() if "os.exec" in text] == ["__main__.py"]
