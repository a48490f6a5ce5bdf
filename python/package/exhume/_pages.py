"""Reports within notebooks."""

from __future__ import annotations

import html
import re


def in_notebook(page: str) -> str:
    """A report as a page within a page: its styles must not reach the notebook, and none of its files lie
    beside that.
    """
    alone = html.escape(re.sub(r'<a href="\./[^"]*"[^>]*>(.*?)</a>', r"\1", page), quote=True)
    return f'<iframe srcdoc="{alone}" style="width:100%;height:42em;border:0" title="Exhume report"></iframe>'
