"""The notebooks as pages: those of docs/gallery, with the outputs that scripts/docs/notebooks.py left in build/docs/gallery."""

from __future__ import annotations

import html
import pathlib
import re

import nbformat
from nbconvert import MarkdownExporter

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXECUTED = ROOT / "build/docs/gallery"
# A report in a notebook is a page within the page; on the site it is a page of its own.
REPORT = re.compile(r'<iframe srcdoc="(.*?)" style=".*?" title="Exhume report"></iframe>', re.S)


def join_streams(cell: nbformat.NotebookNode) -> None:
    """What a cell printed came in pieces; it is one output."""
    joined: list[nbformat.NotebookNode] = []
    for output in cell.get("outputs", []):
        if joined and output.output_type == joined[-1].output_type == "stream":
            joined[-1].text += output.text
        else:
            joined.append(output)
    if joined:
        cell.outputs = joined


def gallery_files() -> dict[str, str | bytes]:
    """Every page and picture by its place on the site. Without notebooks that were run there are none to show."""
    files: dict[str, str | bytes] = {}
    exporter = MarkdownExporter()
    for source in sorted((ROOT / "docs/gallery").glob("*.ipynb")):
        executed = EXECUTED / source.name
        notebook = nbformat.read(executed if executed.exists() else source, as_version=4)
        for cell in notebook.cells:
            join_streams(cell)
        text, resources = exporter.from_notebook_node(notebook)
        name = source.stem
        for number, picture in enumerate(sorted(resources.get("outputs", {}))):
            files[f"gallery/{name}_{number}{pathlib.Path(picture).suffix}"] = resources["outputs"][picture]
            text = text.replace(f"]({picture})", f"]({name}_{number}{pathlib.Path(picture).suffix})")

        def own_page(match: re.Match[str]) -> str:
            place = f"{name}_report_{len(files)}.html"
            files[f"gallery/{place}"] = html.unescape(match[1])
            return f'<iframe src="{place}" style="width:100%;height:42em;border:0" title="Exhume report"></iframe>'

        text = REPORT.sub(own_page, text)
        # Tables as the site has them.
        text = re.sub(r"<style scoped>.*?</style>\s*", "", text, flags=re.S)
        text = text.replace('<table border="1" class="dataframe">', "<table>").replace('<tr style="text-align: right;">', "<tr>")
        files[f"gallery/{name}.md"] = text + f'\n\n<p>The notebook: <a href="{source.name}">{source.name}</a></p>\n'
    return files
