"""A hook of MkDocs: the pages that are not files of docs/, and links that work on the site as in the repository.

Added are the pages of the root (README.md is the first page), the reference of the command line, the notebooks with their
outputs, and, under source/, every other file of the repository that a page links to.
"""

from __future__ import annotations

import os
import pathlib
import posixpath
import re
import sys
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from commands import command_page  # noqa: E402
from gallery import gallery_files  # noqa: E402

# Pages of the root, and what they are called on the site.
ROOT_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def program() -> pathlib.Path:
    path = pathlib.Path(os.environ.get("EXHUME_CLI", ROOT / "build/release/apps/exhume"))
    if not path.is_file():
        raise PluginError(f"{path} does not exist; run make docs, which builds it, or set EXHUME_CLI")
    return path


def origin(uri: str) -> str:
    """The path in the repository of a page of the site."""
    return next((path for path, page in ROOT_PAGES.items() if page == uri), f"docs/{uri}")


def place(path: str) -> str:
    """The place on the site of a file of the repository."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if not path.startswith("docs/"):
        return f"source/{path}.txt"
    return re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))


def is_outside(target: str) -> bool:
    return bool(re.match(r"[a-z]+:|#", target))


def targets(text: str, page: str) -> list[str]:
    """The files of the repository that a page links to."""
    found = [match[2].partition("#")[0] for match in LINK.finditer(text) if not is_outside(match[2])]
    return [posixpath.normpath(posixpath.join(posixpath.dirname(origin(page)), target)) for target in found]


def on_files(files: Files, config: Any) -> Files:
    for path, uri in ROOT_PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / path).read_text()))
    files.append(File.generated(config, "commands.md", content=command_page(program())))
    for uri, content in gallery_files().items():
        files.append(File.generated(config, uri, content=content))
    sources = {path for file in files.documentation_pages() for path in targets(file.content_string, file.src_uri)}
    for path in sorted(sources):
        if place(path).startswith("source/") and (ROOT / path).is_file():
            files.append(File.generated(config, place(path), content=(ROOT / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    uri = page.file.src_uri

    def moved(match: re.Match[str]) -> str:
        if is_outside(match[2]):
            return match[0]
        path, mark, anchor = match[2].partition("#")
        here = posixpath.dirname(origin(uri))
        there = place(posixpath.normpath(posixpath.join(here, path)))
        return match[1] + posixpath.relpath(there, posixpath.dirname(uri) or ".") + mark + anchor + match[3]

    return LINK.sub(moved, markdown)
