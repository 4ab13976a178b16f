"""Learn a set once, in little memory; then sieve tables and streams of any size through it.

>>> import tamis
>>> users = tamis.build({"id": ["ann", "bob"], "country": ["at", "it"]}, key="id", group="country", fpr=0.001)
>>> users.contains("ann")
True
>>> users.contains(["ann", "bob"], group="it")
[False, True]

Files are those of the command line, byte for byte: `tamis.open` reads what ``tamis build`` wrote, and
``tamis query`` what `Sketch.save` wrote.
"""

from tamis._build import build, plan
from tamis._files import Files, files
from tamis._filter import Filter
from tamis._jobs import dedup, filter, test
from tamis._sieve import Params
from tamis._sketch import Builder, Sketch, add_hash_key, from_bytes, merge, open
from tamis._tamis import Error, KeyClassWarning, __version__
from tamis._types import CountsTestReport, DedupReport, FilterReport, Inspection, TestReport, Top

__all__ = [
    "Builder",
    "CountsTestReport",
    "DedupReport",
    "Error",
    "Files",
    "Filter",
    "FilterReport",
    "Inspection",
    "KeyClassWarning",
    "Params",
    "Sketch",
    "TestReport",
    "Top",
    "__version__",
    "add_hash_key",
    "build",
    "dedup",
    "files",
    "filter",
    "from_bytes",
    "merge",
    "open",
    "plan",
    "test",
]


def __dir__() -> list[str]:
    """What is meant to be used, and nothing that it is made of."""
    return sorted(__all__)
