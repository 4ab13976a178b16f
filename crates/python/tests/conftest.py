"""The command line, beside which the package is tested."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from hypothesis import settings

settings.register_profile("check", deadline=None, max_examples=60)
settings.load_profile("check")

ROOT = Path(__file__).resolve().parents[3]

# For the Java of Spark, wherever it is started: jobs of seconds are done before code is well compiled.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


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


@pytest.fixture(scope="session")
def memory_of() -> Callable[[str, str], int]:
    """The kilobytes by which the peak of a new process grows in its second step. Its `ru_maxrss` would begin with
    the peak of this one."""

    def measure(before: str, step: str) -> int:
        peak = "int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
        program = f"import re\n{before}\nbefore = {peak}\n{step}\nprint({peak} - before)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    return measure


@pytest.fixture(scope="session")
def java() -> None:
    """What Spark runs on."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.fail("Spark needs Java 17 or newer: install it, or leave these tests out with -m 'not spark'")


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator[Any]:
    """One session of Spark for all tests on this machine. What a job may give back is little, so that nothing
    rests on more."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("tests of tamis")
    settings_of_session = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.maxResultSize": "8m",
        "spark.sql.shuffle.partitions": "3",
        "spark.log.level": "ERROR",
    }
    for name, value in settings_of_session.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
