"""links.py SITE

Checks every link and picture of the built site: what is inside must be there, its anchor too, and no page may load
anything from elsewhere. Addresses of other sites are counted, not asked for.
"""

from __future__ import annotations

import pathlib
import sys
import urllib.parse
from html.parser import HTMLParser

# Attributes that make a browser load something at once.
LOADED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
# Relations of <link> that only name an address.
NAMES_ONLY = {"canonical", "prev", "next", "alternate"}


class Page(HTMLParser):
    """The anchors of a page and what it refers to."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[tuple[str, bool]] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for name in ("href", "src"):
            if name in given and given.get("rel") not in NAMES_ONLY:
                self.targets.append((given[name], (tag, name) in LOADED))


def main(site: pathlib.Path) -> int:
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    problems, inside, outside = [], 0, set()
    for path, page in pages.items():
        for target, loaded in page.targets:
            url = urllib.parse.urlsplit(target)
            if url.scheme in ("http", "https") or url.netloc:
                outside.add(target)
                if loaded:
                    problems.append(f"{path.relative_to(site)} loads {target}")
                continue
            if url.scheme or path.name == "404.html":  # data:, mailto:; the 404 page may be served from anywhere
                continue
            inside += 1
            named = urllib.parse.unquote(url.path)
            place = (path.parent / named).resolve() if named else path
            if place.is_dir():
                place /= "index.html"
            if not place.is_file():
                problems.append(f"{path.relative_to(site)}: {target} does not exist")
            elif url.fragment and place in pages:
                anchor = urllib.parse.unquote(url.fragment)
                if anchor not in pages[place].anchors and not anchor.startswith("__"):
                    problems.append(f"{path.relative_to(site)}: {target} has no such anchor")
    print("\n".join(problems + [f"links: {len(pages)} pages, {inside} links inside, {len(problems)} dead; "
                                f"{len(outside)} addresses of other sites"]))
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
