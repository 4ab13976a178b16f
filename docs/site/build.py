"""Makes the site: an HTML page of each page, a search, and no dead link.

    python3 docs/site/build.py FOLDER

Needs `markdown-it-py` (requirements.txt). Every link of every page to a file or a heading is checked, also in the
Markdown files that are no pages; links to other hosts are counted.
"""

import html
import json
import os
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt

import pages

HERE = Path(__file__).parent
# What pages with long titles are called in lists.
NAMES = {
    "README.md": "README",
    "docs/README.md": "Overview",
    "docs/guarantees.md": "Guarantees",
    "docs/format.md": "File format",
    "docs/formats.md": "Other systems' formats",
    "docs/spark.md": "Spark",
    "docs/scale.md": "Scale",
    "docs/explanation/experiments.md": "Published experiments",
    "docs/decisions.md": "Decisions",
    "crates/python/README.md": "Python",
    "crates/tamis/README.md": "Rust",
}
REPORT = pages.ROOT / "crates" / "report" / "src"


def out_name(path):
    """The file of a page in the site."""
    if path == "docs/README.md":
        return "index.html"
    return path.removeprefix("docs/").removesuffix(".md").replace("/README", "") + ".html"


def plain(tokens):
    """The text of a heading, without its marks."""
    return "".join(token.content for token in tokens.children or [] if token.type in ("text", "code_inline"))


class Document:
    """A Markdown file, parsed."""

    def __init__(self, path):
        self.path = path
        self.text = (pages.ROOT / path).read_text()
        self.tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(self.text)
        self.headings = []
        taken = set()
        for at, token in enumerate(self.tokens):
            if token.type == "heading_open":
                words = plain(self.tokens[at + 1])
                token.attrSet("id", pages.slug(words, taken))
                self.headings.append((int(token.tag[1]), token.attrs["id"], words))
        self.anchors = taken | set(re.findall(r'<a (?:id|name)="([^"]+)"', self.text))

    def links(self):
        """Where the links and pictures of the file go, as tokens with the attribute that says it."""
        for token in self.tokens:
            for child in token.children or []:
                if child.type == "link_open":
                    yield child, "href"
                elif child.type == "image":
                    yield child, "src"


class Site:
    """All documents, and the folder of the site."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.documents = {path: Document(path) for path in pages.all_documents()}
        self.dead, self.checked, self.outside = [], 0, 0
        self.files = set()

    def follow(self, document, target):
        """Checks a link; the path in the repository that it leads to, and its anchor."""
        if re.match(r"[a-z]+:", target):
            self.outside += 1
            return None
        self.checked += 1
        path, _, anchor = unquote(target).partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(document.path), path)) if path else document.path
        if not (pages.ROOT / path).exists():
            self.dead.append(f"{document.path}: {target}: there is no such file")
        elif anchor and path.endswith(".md"):
            other = self.documents.get(path) or Document(path)
            if anchor not in other.anchors:
                self.dead.append(f"{document.path}: {target}: there is no such heading")
        return path, anchor

    def relink(self, document):
        """Checks the links of a document, and lets them lead to pages of the site."""
        here = os.path.dirname(out_name(document.path))
        for token, attribute in document.links():
            found = self.follow(document, token.attrs[attribute])
            if not found or document.path not in pages.PAGES:
                continue
            path, anchor = found
            if path in pages.PAGES:
                to = os.path.relpath(out_name(path), here or ".")
            elif (pages.ROOT / path).is_file():
                self.files.add(path)
                to = os.path.relpath(f"files/{path}", here or ".")
            else:
                # A folder of the repository: its name says enough.
                del token.attrs[attribute]
                continue
            token.attrs[attribute] = to + (f"#{anchor}" if anchor else "")

    def render(self, document):
        """The inner HTML of a page."""
        renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        renderer.renderer.rules["fence"] = fence
        body = renderer.renderer.render(document.tokens, renderer.options, {})
        body = body.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
        return re.sub(
            r'<h([2-4]) id="([^"]+)">(.*?)</h\1>',
            r'<h\1 id="\2"><a class="anchor" href="#\2">\3</a></h\1>',
            body,
        )

    def build(self):
        for document in self.documents.values():
            self.relink(document)
        if self.dead:
            sys.exit("\n".join(self.dead))
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        index = []
        for path in pages.PAGES:
            self.write(out_name(path), self.page(path))
            index += entries(self.documents[path])
        self.write("search.js", f"const pages = {json.dumps(index, ensure_ascii=False)};\n" + (HERE / "search.js").read_text())
        style = (REPORT / "theme.css").read_text() + (HERE / "style.css").read_text()
        self.write("style.css", style)
        for path in self.files:
            to = self.folder / "files" / path
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pages.ROOT / path, to)
        print(f"{len(pages.PAGES)} pages in {self.folder}; {self.checked} links lead to files and headings that exist, "
              f"{self.outside} to other hosts, which were not asked")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def page(self, path):
        document = self.documents[path]
        up = "../" * out_name(path).count("/")
        at = pages.PAGES.index(path)
        around = [pages.PAGES[other] if 0 <= other < len(pages.PAGES) else None for other in (at - 1, at + 1)]
        turn = [
            f'<a class="{word}" href="{up}{out_name(other)}">{arrow} {html.escape(self.name(other))}</a>'
            for word, arrow, other in zip(("before", "after"), ("←", "→"), around)
            if other
        ]
        toc = [(level, anchor, words) for level, anchor, words in document.headings if level in (2, 3)]
        toc = "".join(f'<li class="l{level}"><a href="#{anchor}">{html.escape(words)}</a></li>' for level, anchor, words in toc)
        toc = f'<nav class="toc" aria-label="On this page"><p>On this page</p><ul>{toc}</ul></nav>' if toc else ""
        return TEMPLATE.format(
            title=html.escape(self.name(path)),
            up=up,
            navigation=self.navigation(path, up),
            body=self.render(document),
            turn="".join(turn),
            toc=toc,
        )

    def name(self, path):
        return plain_title(pages.title(self.documents[path].text), path)

    def navigation(self, here, up):
        out = ""
        for heading, paths in pages.CONTENTS:
            items = "".join(
                f'<li><a href="{up}{out_name(path)}"{" aria-current=page" if path == here else ""}>'
                f"{html.escape(self.name(path))}</a></li>"
                for path in paths
            )
            out += (f"<h2>{heading}</h2>" if heading else "") + f"<ul>{items}</ul>"
        return out


def plain_title(title, path):
    """What a page is called in lists."""
    return NAMES.get(path) or title.replace("`", "")


def fence(tokens, at, _options, _environment):
    """A fenced block. Comments of commands are quiet, and output looks like output."""
    words = tokens[at].info.split()
    text = html.escape(tokens[at].content, quote=False)
    language = words[0] if words else ""
    if language == "sh":
        text = re.sub(r"((?:^|(?<=\s))# .*)$", r'<span class="comment">\1</span>', text, flags=re.M)
        text = re.sub(r"(?m)(^|[|(;] ?)(tamis [a-z-]+)", r'\1<span class="verb">\2</span>', text)
    kind = {"sh": "sh", "output": "output"}.get(language, "code")
    return f'<pre class="{kind}" tabindex="0"><code>{text}</code></pre>\n'


def entries(document):
    """What the search knows of a page: each heading with the text below it."""
    heading, out, text = document.headings[0] if document.headings else (1, "", ""), [], []
    rest = iter(document.headings)

    def keep():
        words = " ".join(" ".join(text).split())
        page = plain_title(pages.title(document.text), document.path)
        out.append({"at": f"{out_name(document.path)}#{heading[1]}", "page": page, "heading": heading[2], "text": words})

    for token in document.tokens:
        if token.type == "heading_open":
            if text:
                keep()
            heading, text = next(rest), []
        elif token.type in ("inline", "fence"):
            text.append(token.content)
    keep()
    return out


TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · tamis</title>
<link rel="stylesheet" href="{up}style.css">
</head>
<body data-up="{up}">
<a class="skip" href="#content">Skip to the text</a>
<header class="top">
<a class="home" href="{up}index.html">tamis</a>
<label class="menu"><input type="checkbox" id="menu"> Contents</label>
<input id="search" type="search" placeholder="Search" aria-label="Search" autocomplete="off">
</header>
<ol id="found" hidden></ol>
<nav class="side" aria-label="Contents">{navigation}</nav>
<main id="content">
{body}
<p class="turn">{turn}</p>
</main>
{toc}
<script src="{up}search.js"></script>
</body>
</html>
"""

if __name__ == "__main__":
    Site(sys.argv[1]).build()
