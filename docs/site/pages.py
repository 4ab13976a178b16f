"""The pages of the site, and what a page is made of."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Heading, and below it the pages in their order, by their paths in the repository. The first heading has none.
CONTENTS = [
    ("", ["docs/README.md", "docs/tutorial.md"]),
    (
        "How to",
        [
            "docs/how-to/blocklist.md",
            "docs/how-to/dedup.md",
            "docs/how-to/join.md",
            "docs/how-to/ship.md",
            "docs/how-to/frequent.md",
            "docs/how-to/search.md",
            "docs/how-to/locate.md",
            "docs/how-to/stream.md",
            "docs/how-to/remove.md",
            "docs/how-to/prove.md",
            "docs/how-to/machines.md",
        ],
    ),
    (
        "Reference",
        [
            "docs/reference/verbs.md",
            "docs/reference/recipes.md",
            "docs/reference/inputs.md",
            "docs/reference/outputs.md",
            "docs/reference/streams.md",
            "docs/reference/programs.md",
            "docs/guarantees.md",
            "docs/format.md",
            "docs/formats.md",
            "docs/spark.md",
            "docs/results.md",
            "docs/scale.md",
            "crates/python/README.md",
            "crates/tamis/README.md",
        ],
    ),
    (
        "Explanation",
        [
            "docs/explanation/kinds.md",
            "docs/explanation/sizes.md",
            "docs/explanation/experiments.md",
            "docs/decisions.md",
            "ARCHITECTURE.md",
        ],
    ),
    ("Project", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]),
]

PAGES = [path for _, paths in CONTENTS for path in paths]


def all_documents():
    """Every Markdown file of the repository that a reader may open, pages of the site or not."""
    others = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("crates/*/**/README.md"))
    return PAGES + [path for path in others if path not in PAGES and "/target/" not in path]


@dataclass
class Block:
    """A fenced block: where it stands, the words behind its fence, and its lines."""

    line: int
    words: list[str]
    text: str
    inside: tuple[int, int]  # where its text begins and ends in the page


FENCE = re.compile(r"^(?P<fence>```+)(?P<words>[^\n`]*)\n(?P<text>.*?)^(?P=fence)\n", re.M | re.S)


def blocks(text):
    """The fenced blocks of a page, in their order."""
    return [
        Block(
            line=text.count("\n", 0, match.start()) + 1,
            words=match["words"].split(),
            text=match["text"],
            inside=match.span("text"),
        )
        for match in FENCE.finditer(text)
    ]


def title(text):
    """The title of a page: its first heading."""
    return re.search(r"^# (.*)$", text, re.M)[1]


def slug(heading, taken):
    """The anchor of a heading, as GitHub makes it; `taken` has those of the page so far.

    >>> taken = set()
    >>> [slug(heading, taken) for heading in ["Which kind?", "13g. Kind ribbon", "Which kind?"]]
    ['which-kind', '13g-kind-ribbon', 'which-kind-1']
    """
    base = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    name, more = base, 0
    while name in taken:
        more += 1
        name = f"{base}-{more}"
    taken.add(name)
    return name
