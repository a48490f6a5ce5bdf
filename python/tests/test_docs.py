"""What the documentation shows, run."""

import subprocess
import sys

import pytest


def test_every_block_of_code_of_every_page(root, cli):
    pytest.importorskip("markdown_it")
    done = subprocess.run(
        [sys.executable, root / "scripts/docs/blocks.py", cli], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", ["broken", "marked", "refused"])
def test_blocks_that_fail_are_found(root, cli, page):
    """The runner itself: a wrong output, a mark, and a refusal that does not come, in pages made for it."""
    pytest.importorskip("markdown_it")
    texts = {
        "broken": "    >>> 1 + 1\n    3\n\n```python\nraise KeyError\n```\n\n"
        "    exhume recover nowhere.npy nowhere.npy\n",
        "marked": "<!-- not run: it would fail -->\n```python\nraise KeyError\n```\n\n    make it so\n",
        "refused": "    $ exhume inspect x.npy y.npy\n    exhume: never.\n",
    }
    path = root / f"build/{page}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(texts[page])
    try:
        done = subprocess.run(
            [sys.executable, root / "scripts/docs/blocks.py", cli, path], capture_output=True, text=True
        )
    finally:
        path.unlink()
    failures = {"broken": 3, "marked": 0, "refused": 1}[page]
    assert f"{failures} failed" in done.stdout and done.returncode == bool(failures), done.stdout
