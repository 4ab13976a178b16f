"""The program with --on: what is heard of spark-submit, and how it ends when it is asked to."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import tamis

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("java")]


def _environment(folder: Path) -> dict[str, str]:
    """All that is temporary goes to a folder."""
    import pyspark

    folder.mkdir()
    return {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "TMPDIR": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }


def _on(folder: Path) -> list[str]:
    java = f"--driver-java-options=-Djava.io.tmpdir={folder}"
    no_page = "--submit-arg=--conf=spark.ui.enabled=false"
    return ["--on", "local[2]", "--submit-arg=--driver-memory=512m", no_page, f"--submit-arg={java}"]


def test_a_driver_without_the_package_is_told_what_to_install(program: str, tmp_path: Path) -> None:
    data, bare, temporary = tmp_path / "d.txt", tmp_path / "bare", tmp_path / "temporary"
    data.write_text("a\n")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    environment = {**_environment(temporary), "PYSPARK_DRIVER_PYTHON": str(bare / "bin" / "python")}
    environment.pop("PYTHONPATH", None)
    command = [program, "build", data, "-o", tmp_path / "f.tamis", *_on(temporary)]
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and f"{bare}/bin/python, has no package tamis" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) < 5, done.stderr


def test_files_have_the_names_that_the_user_gave_them(program: str, tmp_path: Path) -> None:
    """Relative to the folder where the program runs, in whose own name nothing means anything."""
    folder, temporary = tmp_path / "w[1]*", tmp_path / "temporary"
    (folder / "logs" / "sub").mkdir(parents=True)
    for name in ("a.txt", "sub/b.txt"):
        (folder / "logs" / name).write_text(f"key of {name}\n")
    inputs = ["./logs/sub", "logs/*.txt", "--group", "(file)", "--format", "lines"]
    environment = _environment(temporary)
    for output, on in (("here", []), ("there", _on(temporary))):
        command = [program, "build", *inputs, "-o", output, *on]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert (folder / "there").read_bytes() == (folder / "here").read_bytes()
    found = subprocess.run([program, "locate", "there", "key of a.txt"], capture_output=True, text=True, cwd=folder)
    assert found.stdout == "logs/a.txt\n", found


def test_what_is_to_be_said_of_quotes_is_told_on_spark(spark: Any, program: str, tmp_path: Path) -> None:
    from tamis.spark import job

    filters, data = tmp_path / "f.tamis", tmp_path / "d.tsv"
    data.write_text('id\tn\n"a"\t1\n')
    subprocess.run([program, "build", data, "--key", "id", "-o", filters], check=True, capture_output=True)
    asked = {"inputs": [str(data)], "filters": str(filters), "group": None, "bad_rows": None}
    to_filter = {**asked, "output": None, "output_format": None, "invert": False, "partial": False}
    to_test = {**asked, "negatives": [], "random": 0, "seed": 1}
    assert job._filter(spark, to_filter)[0]["quoted"] == job._test(spark, to_test)[0]["quoted"] == ["none"]


@pytest.mark.full
def test_what_is_said_of_quotes_is_said_on_spark(program: str, tmp_path: Path) -> None:
    filters, data, temporary = tmp_path / "f.tamis", tmp_path / "d.tsv", tmp_path / "temporary"
    data.write_text('id\tn\n"a"\t1\n')
    environment = _environment(temporary)
    subprocess.run([program, "build", data, "--key", "id", "-o", filters], check=True, capture_output=True)
    notes = []
    for verb, on in (("filter", []), ("filter", _on(temporary)), ("test", _on(temporary))):
        command = [program, verb, filters, data, *(["--count"] if verb == "filter" else []), *on]
        done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        notes.append([line for line in done.stderr.splitlines() if "begins with a quote" in line])
    assert "(version 1) does not say how quotes were read" in notes[0][0]
    assert notes == [notes[0]] * 3


@pytest.mark.full
def test_published_experiments_run_on_spark_beside_ours(program: str, tmp_path: Path) -> None:
    """All answers and rates are those of one machine: the exit code says so, and here the figures do."""
    temporary = tmp_path / "temporary"
    environment = _environment(temporary)
    for arguments in (
        ["streams", "--rows", "2000", "--queries", "1000", "--batch", "1000", "--distinct", "500"],
        ["ratings", "--rows", "2000", "--repeats", "1", "--executors", "2"],
    ):
        command = [program, "reproduce", *arguments, "--json", *_on(temporary)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["on"] == "local[2]"
        with open(tmp_path / f"reproduce-{arguments[0]}.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        if arguments[0] == "streams":
            times = [row["spark_seconds"] for row in rows if row["run"] != "both streams"]
            assert len(times) == 6 and all(float(time) > 0 for time in times)
            continue
        printed = [row for row in rows if (row["scheme"], row["workers"]) == ("printed", "2")]
        rates = {
            program: [(row["p"], row["group"], row["false_positives"]) for row in printed if row["program"] == program]
            for program in ("tamis", "tamis on Spark")
        }
        assert rates["tamis"] == rates["tamis on Spark"] and len(rates["tamis"]) == 40
        there = [row for row in rows if row["program"] == "tamis on Spark"]
        assert all(float(row["start_seconds"]) > 0 and float(row["test_seconds"]) > 0 for row in there)


def test_several_jobs_are_done_in_one_session(spark: Any, tmp_path: Path) -> None:
    from tamis.spark import job

    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name}{i}\n" for i in range(100)))
    request = {"inputs": [], "bad_rows": None, "fpr": 0.01, "format": "lines"}
    builds = [
        {
            "job": "build",
            "request": {**request, "inputs": [str(tmp_path / f"{name}.txt")], "output": str(tmp_path / f"{name}.tamis")},
        }
        for name in ("a", "b")
    ]
    seconds: dict[str, float] = {}
    told = job._do(spark, {"job": "several", "request": builds}, seconds)
    assert len(told["told"]) == 2 and [*seconds] == ["count", "build"] and min(seconds.values()) > 0
    assert tamis.open(tmp_path / "b.tamis").contains("b7") and not tamis.open(tmp_path / "a.tamis").contains("b7")


def test_the_published_streams_answer_what_was_learned(spark: Any, tmp_path: Path) -> None:
    """Nothing that came is missing, and no estimate is below the truth; few of the others are given."""
    from tamis.spark import _published

    before = {name: spark.conf.get(name, None) for name in ("spark.sql.shuffle.partitions", _published.STATES)}
    trained = [f"10.0.{i % 7}.{i % 50}" for i in range(300)]
    asked = [f"10.0.{i % 9}.{i % 60}" for i in range(200)]
    for name, lines in (("train", trained), ("ask", asked)):
        (tmp_path / f"{name}.txt").write_text("".join(line + "\n" for line in lines))
    request = {"train": str(tmp_path / "train.txt"), "ask": str(tmp_path / "ask.txt"), "folder": str(tmp_path / "spark")}
    sizes = {"batch": 200, "bits": 10_000, "hashes": 7, "row": 300, "depth": 5}
    try:
        seconds = _published.streams(spark, {**request, **sizes})
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
    assert [*seconds] == ["train_filter", "train_counts", "ask_filter", "ask_counts"]

    def lines(name: str) -> list[str]:
        parts = sorted((tmp_path / "spark" / name / "batch=0").glob("part-*"))
        return [line for part in parts for line in part.read_text().splitlines()]

    seen = set(asked) & set(trained)
    given = lines("seen")
    assert len(given) == len(set(given)) and seen <= set(given) and len(set(given) - seen) < 5
    estimates = dict(line.split("\t") for line in lines("counts"))
    assert set(estimates) == set(asked)
    assert all(int(estimate) >= trained.count(address) for address, estimate in estimates.items())


@pytest.mark.parametrize(
    "verb, how", [("build", signal.SIGINT), pytest.param("filter", signal.SIGTERM, marks=pytest.mark.full)]
)
def test_an_interrupted_job_shows_its_progress_and_leaves_nothing(
    program: str, tmp_path: Path, verb: str, how: signal.Signals
) -> None:
    data, output, temporary = tmp_path / "d.txt", tmp_path / "out", tmp_path / "temporary"
    data.write_text("".join(f"key {i}\n" for i in range(100_000)))
    environment = _environment(temporary)
    filters = tmp_path / "f.tamis"
    if verb == "filter":
        subprocess.run([program, "build", data, "-o", filters, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    # This many tasks that it lasts.
    small = "--submit-arg=--conf=spark.sql.files.maxPartitionBytes=1000"
    of_filters = [filters] if verb == "filter" else []
    command = [program, verb, *of_filters, data, "-o", output, small, *_on(temporary)]
    ours, its = pty.openpty()
    process = subprocess.Popen(
        list(map(str, command)), env=environment, stdout=subprocess.DEVNULL, stderr=its, start_new_session=True
    )
    os.close(its)
    said = b""
    while not _tells_progress(said):
        said += _more(ours) or pytest.fail(f"it ended: {said.decode()}")
    process.send_signal(how)
    while more := _more(ours):
        said += more
    assert process.wait(timeout=60) == 128 + how, said.decode()
    assert b"interrupted" in said, said.decode()
    assert not output.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["d.txt", "temporary", *(path.name for path in of_filters)]
    )
    for _ in range(600):  # workers of Python end by themselves when they are no longer asked
        if not _processes(temporary):
            break
        time.sleep(0.1)
    assert not _processes(temporary)
    assert [path.name for path in temporary.iterdir()] == []


def _tells_progress(said: bytes) -> bool:
    """Whether some of the tasks are done: a bar with a share that is not 0."""
    shares = [part.rpartition(b" ")[2] for part in said.split(b"%")[:-1]]
    return any(share.isdigit() and int(share) > 0 for share in shares)


def _more(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""  # whoever wrote is gone


def _processes(temporary: Path) -> list[str]:
    """The processes that were given this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={temporary}\0".encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            pass
    return found
