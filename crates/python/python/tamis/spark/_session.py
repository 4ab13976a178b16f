"""Sessions of Spark: what they must be, files that go to their executors, and failures that come back."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Optional

import tamis
from tamis import Sketch, _tamis
from tamis.spark._store import meant
from tamis.spark._tasks import Shipped, in_a_row

# The oldest with which the tests are run.
OLDEST = (3, 5)

_SHIP = (
    "the Python of an executor has no package tamis, or no pyarrow, or is of another version than this one. Executors on "
    f"this machine take this environment if PYSPARK_PYTHON={sys.executable} is set before the session starts. On others, "
    "install the wheel on every worker, or ship a packed environment (spark-submit --archives env.tar.gz#env, with "
    "PYSPARK_PYTHON=./env/bin/python; docs/spark.md shows how)"
)

# What Spark says where it is so.
_LACKS = re.compile(
    r"No module named '?(tamis|pyarrow)\b|PyArrow >= \S+ must be installed|PYTHON_VERSION_MISMATCH", re.IGNORECASE
)


def is_connect(session: Any) -> bool:
    """Whether a session, or what is of it, is one of Spark Connect: its driver is on another machine, and no part of it
    is at hand here."""
    return "connect" in type(session).__module__.split(".")


def classic_session_of(df: Any) -> Any:
    """The session of a DataFrame, for what needs its driver here."""
    spark = session_of(df)
    if is_connect(spark):
        raise tamis.Error(
            "this DataFrame belongs to Spark Connect, by which tables are built from, tested and filtered; streams need "
            "a classic session"
        )
    return spark


def session_of(df: Any) -> Any:
    """The session of a DataFrame, where it can serve."""
    if not hasattr(df, "mapInArrow"):
        found = type(df).__module__.partition(".")[0]
        if found == "pyspark":
            raise tamis.Error(f"this Spark is too old: {OLDEST[0]}.{OLDEST[1]} or later is needed")
        raise TypeError(f"a Spark DataFrame is needed, not one of {found}: tamis.build takes others")
    return usable(df.sparkSession)


def usable(spark: Any) -> Any:
    """The same session, where it can serve."""
    check_version(spark.version)
    refuse_other_python(spark)
    return spark


def check_version(version: str) -> None:
    """Refuses a Spark that is too old."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST:
        raise tamis.Error(f"this is Spark {version}: tamis needs {OLDEST[0]}.{OLDEST[1]} or later")


def refuse_other_python(spark: Any) -> None:
    """Refuses tasks on this machine by a Python without the package, which is what an environment that is not activated
    comes to: Spark takes python3. A question would fail later, and a column of answers not before it is computed."""
    if is_connect(spark) or not spark.sparkContext.master.startswith("local"):
        return
    python = spark.sparkContext.pythonExec
    found = shutil.which(python)
    if found is None or os.path.dirname(os.path.abspath(found)) == os.path.dirname(sys.executable):
        return
    if spark.sparkContext.getConf().get("spark.executorEnv.PYTHONPATH") is not None:
        return  # packages may lie there
    missing = _missing_in(found)
    if missing is not None:
        raise tamis.Error(
            f"the tasks of this session run by {python}, which is {found} and has no package {missing}: set "
            f"PYSPARK_PYTHON={sys.executable} before the session starts, or activate the environment"
        )


@lru_cache(maxsize=None)
def _missing_in(python: str) -> Optional[str]:
    """The package that a Python of this machine lacks; none where it does not tell."""
    try:
        tried = subprocess.run(
            [python, "-c", "import tamis, pyarrow"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    missing = re.search(r"No module named '(tamis|pyarrow)'", tried.stderr)
    return missing[1] if tried.returncode and missing else None


def active() -> Any:
    """The session that there is, or a new one."""
    from pyspark.sql import SparkSession

    # One of Connect is not found by getOrCreate, which asks for its address.
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


@contextmanager
def explained() -> Iterator[None]:
    """Failures of executors in the words of what failed there."""
    try:
        yield
    except (tamis.Error, ValueError, TypeError, OSError, KeyboardInterrupt):
        raise
    except Exception as error:
        said = _said(str(error)) or in_words(str(error))
        if said is None:
            raise
        raise tamis.Error(said) from error


def in_words(text: str) -> Optional[str]:
    """What a failure of the cluster means, and what to do about it; None if that is not known."""
    interpreter = re.search(r'Cannot run program "([^"]*)"|([^\s:]*/python[\w.]*): No such file or directory', text)
    if interpreter:
        return (
            f"there is no Python {interpreter[1] or interpreter[2]} where the tasks run: PYSPARK_PYTHON, or "
            "--python of the command line, names it as it is there, below the folder that an archive is unpacked to "
            "(--archives=env.tar.gz#env makes ./env/bin/python)"
        )
    memory = re.search(r"([\d.]+ [KMGT]?i?B) of ([\d.]+ [KMGT]?i?B) physical memory used", text)
    if memory or re.search(r"(running beyond|exceeding) (the )?'?(physical|memory)", text, re.IGNORECASE):
        took = f" ({memory[1]} of {memory[2]} were used)" if memory else ""
        return (
            f"YARN ended a container because it took more memory than it had asked for{took}: the Python of each task takes "
            "about 0.5 GB beside the JVM; give more by spark.executor.memoryOverhead, or run fewer tasks in an executor by "
            "spark.executor.cores"
        )
    failures = re.search(r"Max number of executor failures \((\d+)\) reached", text)
    if failures:
        return (
            f"executors ended {failures[1]} times, and the application with them: the logs of their containers say why (yarn "
            "logs -applicationId ID); often they have too little memory (spark.executor.memory, "
            "spark.executor.memoryOverhead), or their Java does not start"
        )
    return meant(text)


# An error of a task of tamis. A user function before it has no frame there, and speaks for itself.
_OF_TAMIS = re.compile(
    r'^  File "[^"\n]*[/\\]tamis[/\\]spark[/\\]\w+\.py".*\n(?:  .*\n)*'
    r"(?:tamis\.Error|tamis\._tamis\.Error|ValueError|TypeError): (.*)$",
    re.MULTILINE,
)


def sketch_of(sketch: Any) -> Sketch:
    """The sketch that was given, where it is one."""
    if not isinstance(sketch, Sketch):
        raise TypeError(f"a tamis.Sketch is needed, not {type(sketch).__name__}: tamis.open(path) opens one")
    return sketch


def _said(text: str) -> Any:
    if _LACKS.search(text):
        return _SHIP
    found = _OF_TAMIS.findall(text)
    if not found:
        return None
    return in_a_row(str(found[-1]))


_folder: list[str] = []
_shipped: dict[tuple[str, str], str] = {}


def _temporary() -> str:
    if not _folder:
        _folder.append(tempfile.mkdtemp(prefix="tamis-"))
        atexit.register(shutil.rmtree, _folder[0], ignore_errors=True)
    return _folder[0]


def temporary_file(name: str) -> str:
    """A place for a file that lasts as long as this process."""
    return os.path.join(_temporary(), name)


def ship(spark: Any, sketch: Sketch) -> Shipped:
    """Sends a file to all executors, once for each content."""
    file = sketch._file
    digest = _named(file)
    known = (str(spark.session_id) if is_connect(spark) else spark.sparkContext.applicationId, digest)
    if known not in _shipped:
        name = f"tamis-{digest}.tamis"
        place = temporary_file(name)
        with suppress(OSError):
            os.link(file.path or "", place)
        if not _has(place, digest):
            sketch.save(place)
        if is_connect(spark):
            spark.addArtifacts(place, file=True)
        else:
            spark.sparkContext.addFile(place)
        _shipped[known] = name
    return Shipped(_shipped[known])


def _named(file: _tamis.File) -> str:
    """A name for what a file holds and what is recorded about it: how it is asked depends on both."""
    about = file.about
    return file.digest if about == "{}" else f"{file.digest}-{zlib.crc32(about.encode()):08x}"


def _has(path: str, digest: str) -> bool:
    """Whether a file is this one: where a sketch was opened, another may lie by now."""
    try:
        return _named(_tamis.open(path)) == digest
    except (OSError, tamis.Error):
        return False
