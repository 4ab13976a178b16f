"""Build from files, sieve a file, and test what was built: everything as the command line does it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import tamis


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "users-1.csv").write_text("id,country\nann,at\nbob,it\n")
        (folder / "users-2.csv").write_text("id,country\neve,at\n")
        (folder / "visits.csv").write_text("who,page\nann,/\nzoe,/login\neve,/about\n")

        users = tamis.build(str(folder / "users-*.csv"), key="id", exact=True, output=folder / "users.tamis")
        told = tamis.filter(folder / "visits.csv", users, key="who", strict=True, output=folder / "known.csv")
        print(f"{told.admitted} of {told.records} visits are of known users")
        print((folder / "known.csv").read_text(), end="")

        report = tamis.test(tamis.files(folder / "users-1.csv", folder / "users-2.csv"), users, random=100_000)
        assert isinstance(report, tamis.TestReport)
        print(f"passed: {report.passed}, false negatives: {report.false_negatives}")


if __name__ == "__main__":
    main()
