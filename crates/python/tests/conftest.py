"""The command line, beside which the package is tested."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Callable

import pytest
from hypothesis import settings

settings.register_profile("check", deadline=None, max_examples=60)
settings.load_profile("check")

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def program() -> str:
    """The program: TAMIS names it, else it is built."""
    if "TAMIS" in os.environ:
        return os.environ["TAMIS"]
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--package", "tamis-cli"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    return str(ROOT / target / "debug" / "tamis")


@pytest.fixture(scope="session")
def cli(program: str) -> Callable[..., str]:
    """Runs the program, which must do its job."""

    def run(*arguments: object) -> str:
        texts = [program, *map(str, arguments)]
        done = subprocess.run(texts, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
