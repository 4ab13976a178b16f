"""Runs the commands of the pages, and compares what they print with what the pages show.

    python3 docs/site/run.py PROGRAM FOLDER [--rewrite] [PAGE…]

Each page has a folder of its own below FOLDER, and its commands run there from the first to the last, one by
one. What runs:

- A block ```sh has commands. One that a comment calls "refused" or "exit code 1" must fail with that code, every
  other must succeed.
- A block ```output below it, with nothing but blank lines between them, is what these commands print, notes on
  standard error included. A line "…" stands for any lines. Durations, speeds, numbers of threads and the width of
  columns may differ, for they do from machine to machine.
- A block ```sh cluster (or ```sh yarn) needs servers that are not here: `./check --clusters` has tests of these.
- Lines that install or build something are left to whoever tests that: `cargo`, `pip` and the like.

`--rewrite` writes what was printed into the pages instead, but for blocks with a line "…".
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pages

# What a line begins with that installs something.
INSTALLS = re.compile(r"(^|\| )(sudo|cargo|pip|pipx|uvx?|brew|apt(-get)?|dpkg|curl|python3? -m (venv|pip)) |^\./")
ELSEWHERE = {"cluster", "yarn"}
SECONDS = 120


def wanted_code(line):
    """The exit code that a comment announces.

    >>> [wanted_code(line) for line in ["tamis x", "tamis x  # refused: why", "x | y    # exit code 2: why", "echo a#1"]]
    [0, 1, 2, 0]
    """
    comment = re.search(r"(?:^|\s)#\s(.*)$", line)
    if not comment:
        return 0
    code = re.search(r"exit code (\d+)", comment[1])
    return int(code[1]) if code else int("refused" in comment[1])


def alike(text):
    """The text without what differs from machine to machine.

    >>> alike("time to open     427 µs\\nrows 1,000  (2 threads, 1 min 3 s)")
    'time to open TIME\\nrows 1,000 (N threads, TIME)'
    """
    time = r"\d[\d.,]*(?:e-?\d+)? ?(?:ns|µs|ms|s|min|h)\b"
    text = re.sub(rf"{time}(?: \d+ (?:s|min)\b)?", "TIME", text)
    text = re.sub(r"per second +[\d,]+|(?<=commits) +\d+", "N", text)
    text = re.sub(r"\d+ threads?\b", "N threads", text)
    text = re.sub(r"check value [0-9a-f]+", "check value", text)  # of a random key
    text = re.sub(r"─+", "─", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def matches(shown, printed):
    """Whether a page shows what was printed.

    >>> matches("rows  7\\ntime  2 s\\n", "rows 7\\ntime 31 ms\\n"), matches("rows 7\\n", "rows 8\\n")
    (True, False)
    >>> matches("first\\n…\\nlast\\n", "first\\na\\nb\\nlast\\n"), matches("first\\n…\\n", "other\\n")
    (True, False)
    """
    parts = [re.escape(alike(part)) for part in re.split(r"^…$", shown, flags=re.M)]
    return re.fullmatch(r"\s*(?:.*\n)*?".join(parts) if len(parts) > 1 else parts[0], alike(printed)) is not None


class Page:
    """The commands of one page."""

    def __init__(self, path, program, folder, rewrite):
        self.path = path
        self.text = (pages.ROOT / path).read_text()
        self.folder = Path(folder) / path.replace("/", "-").removesuffix(".md")
        self.rewrite = rewrite
        self.changes = []
        self.ran, self.compared, self.elsewhere = 0, 0, 0
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "bin" / "tamis").symlink_to(Path(program).resolve())
        self.work = self.folder / "work"
        self.work.mkdir()
        place = f"{self.folder.resolve()}/bin:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": place, "COLUMNS": "100"}

    def fail(self, line, what):
        sys.exit(f"{self.path}:{line}: {what}")

    def run(self):
        printed, end = None, 0
        for block in pages.blocks(self.text):
            match block.words:
                case ["sh"]:
                    printed = self.commands(block)
                case ["sh", where] if where in ELSEWHERE:
                    self.elsewhere += len(block.text.strip().splitlines())
                    printed = None
                case ["sh", *_]:
                    self.fail(block.line, f"no such words behind a fence: {' '.join(block.words)}")
                case ["output"]:
                    between = self.text[end : block.inside[0]].split("```output")[0]
                    if printed is None or between.removeprefix("```\n").strip():
                        self.fail(block.line, "output stands directly below its commands")
                    self.compare(block, printed)
                    printed = None
                case _:
                    printed = None
            end = block.inside[1]
        if self.changes:
            text = self.text
            for (start, stop), new in reversed(self.changes):
                text = text[:start] + new + text[stop:]
            (pages.ROOT / self.path).write_text(text)

    def commands(self, block):
        """Runs the commands of a block; what they print, together."""
        printed = ""
        for line in block.text.replace("\\\n", "").splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            if INSTALLS.search(line):
                self.elsewhere += 1
                continue
            try:
                done = subprocess.run(
                    ["bash", "-o", "pipefail", "-c", line],
                    cwd=self.work,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=SECONDS,
                )
            except subprocess.TimeoutExpired:
                self.fail(block.line, f"took more than {SECONDS} s: {line}")
            code = wanted_code(line)
            if done.returncode != code:
                self.fail(block.line, f"exit code {done.returncode}, not {code}: {line}\n{done.stdout}")
            printed += done.stdout
            self.ran += 1
        return printed

    def compare(self, block, printed):
        self.compared += 1
        if matches(block.text, printed):
            return
        if self.rewrite and not re.search("^…$", block.text, re.M):
            self.changes.append((block.inside, printed.rstrip("\n") + "\n"))
            return
        self.fail(block.line, f"the page shows\n{block.text}and the commands print\n{printed}")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--rewrite"]
    program, folder, *chosen = arguments
    ran = compared = elsewhere = with_commands = 0
    for path in chosen or pages.PAGES:
        page = Page(path, program, folder, "--rewrite" in sys.argv)
        page.run()
        ran, compared, elsewhere = ran + page.ran, compared + page.compared, elsewhere + page.elsewhere
        with_commands += page.ran > 0
    print(f"{ran} commands of {with_commands} pages do what these say; {compared} outputs are those that they show; "
          f"{elsewhere} commands need a cluster or install something")


if __name__ == "__main__":
    main()
