#!/usr/bin/env python3
"""Checks that every link between the pages of a site, and every picture, leads somewhere: check-links.py DIRECTORY"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src", "srcset") and value and tag not in ("link", "script"):
                self.links.add(value)


site = Path(sys.argv[1]).resolve()
pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
broken = []
for path, page in pages.items():
    # 404 is shown at any address, so its links are absolute; print repeats what the others have.
    for link in sorted(page.links) if path.name not in ("404.html", "print.html", "toc.html") else ():
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file() or (parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids):
            broken.append(f"{path.relative_to(site)}: {link}")
if broken:
    sys.exit("links that lead nowhere:\n" + "\n".join(broken))
print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links: all lead somewhere")
