"""The command line: `tamis`, and ``python -m tamis``."""

from __future__ import annotations

import os
import signal
import sys

from tamis import _tamis


def main() -> int:
    """Runs the command with the arguments of this process, and gives its exit code."""
    # Ctrl-C would be Python's business, which does not listen while the command runs. What is to be ignored stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A file that is opened must not come in the place of a standard stream that is closed.
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    return _tamis.run_program(sys.executable or "python3", ["tamis", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
