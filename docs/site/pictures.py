"""Makes the pictures of the pages from what the program prints.

    python3 docs/site/pictures.py PROGRAM

Writes docs/terminal.svg, docs/rates.svg, and, if there is a Chromium, docs/report.png and docs/counts.png. docs/bits.svg was drawn by
hand.
"""

import html
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pages

# What the terminal shows: a command, and how many lines of what it prints.
SESSION = [
    ("tamis build ratings.tsv --key tconst --group averageRating:round --fpr 0.01 -o ratings.tamis --quiet", 0),
    ("tamis query ratings.tamis tt0000002 tt9999999", 9),
    ("tamis test ratings.tamis ratings.tsv", 16),
]
# The counts of docs/how-to/frequent.md.
COUNTS = """tamis generate ips --rows 200000 --distinct 20000 --skew 1.1 -o access.txt
tamis build access.txt --kind count-min --epsilon 0.0001 --delta 0.01 -o hits.tamis
tamis test hits.tamis access.txt --report hits.html"""
SIZE, LINE, EDGE = 12.5, 18, 16
CHROMIUM = ["chromium", "chromium-browser", "google-chrome"]


def terminal(folder):
    """The session as SVG."""
    lines = []
    for command, most in SESSION:
        lines.append(f'<tspan class="sign">$</tspan> <tspan class="typed">{html.escape(command)}</tspan>')
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=True)
        printed = (done.stderr + done.stdout).splitlines()[:most]
        lines += [html.escape(line.expandtabs(12)) for line in printed]
        if most:
            lines.append("")
    lines.append('<tspan class="sign">$</tspan> <tspan class="typed">▁</tspan>')
    widest = max(len(html.unescape(line)) for line in lines if "<tspan" not in line)
    width, height = EDGE * 2 + widest * SIZE * 0.602, EDGE * 2 + len(lines) * LINE + 18
    rows = "".join(
        f'<text x="{EDGE}" y="{EDGE + 30 + i * LINE}" xml:space="preserve">{line}</text>\n' for i, line in enumerate(lines)
    )
    dots = "".join(f'<circle cx="{EDGE + 6 + 18 * i}" cy="17" r="5" fill="#4a5561"/>' for i in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="tamis in a terminal">\n'
        "<style>text { font: %spx ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; "
        "fill: #c9d3dc; white-space: pre } .sign { fill: #3cc79d } .typed { fill: #fff; font-weight: 600 }</style>\n" % SIZE
        + f'<rect width="100%" height="100%" rx="10" fill="#151b21"/>\n{dots}\n{rows}</svg>\n'
    )


def screenshot(page, picture, size):
    """The page as Chromium draws it, if there is one."""
    browser = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if not browser:
        print(f"there is no Chromium: {picture.name} stays as it is")
        return
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--hide-scrollbars",
             "--force-device-scale-factor=1.5", f"--window-size={size}", f"--screenshot={picture}", page.as_uri()],
            check=True, capture_output=True, timeout=120,
        )


def main():
    docs = pages.ROOT / "docs"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tamis").symlink_to(Path(sys.argv[1]).resolve())
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        subprocess.run("tamis demo --quiet && tamis generate ratings -o ratings.tsv --quiet", shell=True, cwd=folder,
                       check=True, capture_output=True)
        (docs / "terminal.svg").write_text(terminal(folder))
        subprocess.run(["tamis", "plan", "--keys", "1e9", "--bits", "8e9", "--chart", "rates.svg", "--quiet"], cwd=folder,
                       check=True, capture_output=True)
        shutil.copy(folder / "rates.svg", docs / "rates.svg")
        screenshot(folder / "demo" / "report.html", docs / "report.png", "1180,975")
        subprocess.run(COUNTS, shell=True, cwd=folder, check=True, capture_output=True)
        screenshot(folder / "hits.html", docs / "counts.png", "1180,720")


if __name__ == "__main__":
    main()
