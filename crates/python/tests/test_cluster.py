"""tamis on a cluster: a master and workers as processes of this machine, from the package pyspark."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

import tamis

pytestmark = [pytest.mark.spark, pytest.mark.full]


class Cluster:
    """A standalone cluster on the loopback interface."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_WORKER_DIR": str(folder / "work"),
        }
        self.url, self.page = "", ""
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Starts the master, on ports of its choice, which it logs."""
        self._start("master", "master.Master", "--port", 0, "--webui-port", 0)
        log = self.folder / "master.log"

        def told(pattern: str) -> str:
            found = re.search(pattern, log.read_text(errors="replace"))
            return found[1] if found else ""

        def ready() -> Optional[str]:
            self.url = told(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
            self.page = told(r"Bound MasterWebUI to .*, and started at http://.*:(\d+)")
            return (self.url and self.page) or None

        self._wait(ready)

    def _start(self, name: str, what: str, *arguments: object) -> subprocess.Popen[bytes]:
        command = [self.home / "bin" / "spark-class", f"org.apache.spark.deploy.{what}", "--host", "127.0.0.1"]
        log = open(self.folder / f"{name}.log", "wb")
        # In a group of its own, with whatever it starts.
        process = subprocess.Popen(
            [*map(str, command), *map(str, arguments)], env=self.environment, stdout=log, stderr=log, start_new_session=True
        )
        self.processes.append(process)
        return process

    def add_worker(self) -> subprocess.Popen[bytes]:
        before = self._wait(self.alive)
        worker = self._start(
            f"worker{len(self.processes)}", "worker.Worker", "--cores", 1, "--memory", "2g", "--webui-port", 0, self.url
        )
        self._wait(lambda: self.alive() - before or None)
        return worker

    def alive(self) -> set[str]:
        """The workers that the master knows and hears of."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.page}/json/", timeout=5) as answer:
            return {worker["id"] for worker in json.load(answer)["workers"] if worker["state"] == "ALIVE"}

    def _wait(self, ask: Callable[[], Any]) -> Any:
        """The answer, when there is one: the master may be slow, or not be there yet."""
        for _ in range(600):
            try:
                if (answer := ask()) is not None:
                    return answer
            except OSError:
                pass
            time.sleep(0.2)
        logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log"))
        pytest.fail(f"the cluster did not start:\n{logs}")

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Ends a process and all that it started, at once."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def end(self) -> None:
        for process in reversed(self.processes):
            self.kill(process)


@pytest.fixture(scope="module")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        cluster.add_worker()
        cluster.add_worker()
        yield cluster
    finally:
        cluster.end()


def _on(cluster: Cluster, program: str, *arguments: object, python: Optional[str] = None) -> Any:
    small = ["--executor-memory=512m", "--driver-memory=512m"]
    command = [program, *map(str, arguments), "--on", cluster.url, "--python", python or sys.executable]
    command += [f"--submit-arg={one}" for one in small]
    environment = {**cluster.environment, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


ONE = "--submit-arg=--total-executor-cores=1"


def test_build_test_and_filter_do_on_a_cluster_what_they_do_here(
    cluster: Cluster, program: str, cli: Callable[..., str], tmp_path: Path
) -> None:
    data, here, there = tmp_path / "ratings.tsv", tmp_path / "here.tamis", tmp_path / "there.tamis"
    cli("generate", "ratings", "--rows", 20000, "-o", data, "--quiet")
    options = ["--key", "tconst", "--group", "averageRating:round", "--fpr", "0.05"]
    said = cli("build", data, *options, "-o", here)
    done = _on(cluster, program, "build", data, *options, "-o", there)
    assert done.returncode == 0, done.stderr
    assert here.read_bytes() == there.read_bytes()
    assert done.stdout == said.replace("here.tamis", "there.tamis")

    # One executor will do for what follows.
    done = _on(cluster, program, "test", there, data, "--random", 1000, "--json", ONE)
    assert done.returncode == 0, done.stderr
    numbers = json.loads(cli("test", here, data, "--random", 1000, "--json"))
    assert {**json.loads(done.stdout), "seconds": 0} == {**numbers, "seconds": 0}

    output = tmp_path / "out"
    done = _on(cluster, program, "filter", there, data, "--group", 8, "-o", output, "--json", ONE)
    assert done.returncode == 0, done.stderr
    passed = tmp_path / "passed.tsv"
    numbers = json.loads(cli("filter", here, data, "--group", 8, "-o", passed, "--json"))
    times = {"phases": 0}
    assert {**json.loads(done.stdout), **times} == {**numbers, **times}
    header, *records = passed.read_text().splitlines()
    written = [line for path in sorted(output.glob("part-*")) for line in path.read_text().splitlines()]
    assert sorted(line for line in written if line != header) == sorted(records)


def test_what_is_wrong_is_said_in_the_words_of_the_command_line(
    cluster: Cluster, program: str, tmp_path: Path
) -> None:
    data, output = tmp_path / "d.csv", tmp_path / "f.tamis"
    data.write_text("key,n\na,1\n,2\n")
    done = _on(cluster, program, "build", data, "--key", "key", "-o", output)
    assert done.returncode == 1 and "--bad-rows skip" in done.stderr, done.stderr
    done = _on(cluster, program, "build", data, "--key", "kee", "-o", output)
    assert done.returncode == 1 and 'did you mean "key"' in done.stderr, done.stderr
    done = _on(cluster, program, "build", data, "--key", "key", "--fpr", "0.1", "--kind", "count-min", "-o", output)
    assert done.returncode == 2 and "--epsilon" in done.stderr, done.stderr
    tamis.build({"key": ["a"]}, key="key").save(tmp_path / "a.tamis")
    done = _on(cluster, program, "filter", tmp_path / "a.tamis", data, "-o", tmp_path)
    assert done.returncode == 1 and "there already" in done.stderr, done.stderr
    # Executors without the package: an environment that has nothing.
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    done = _on(cluster, program, "build", data, "--key", "n", "-o", output, python=str(bare / "bin" / "python"))
    assert done.returncode == 1 and "--archives" in done.stderr, done.stderr
    assert not output.exists()


@pytest.mark.parametrize("keys", [None, 60_000], ids=["while counting", "while building"])
def test_a_worker_that_is_killed_changes_nothing(cluster: Cluster, tmp_path: Path, keys: Optional[int]) -> None:
    """In a process of its own, since one has one session."""
    script = tmp_path / "build.py"
    script.write_text(_BUILD)
    victim = cluster.add_worker()
    mark, path = tmp_path / "under_way", tmp_path / "built.tamis"
    environment = {**cluster.environment, "PYSPARK_DRIVER_PYTHON": sys.executable}
    command = [sys.executable, script, cluster.url, mark, path, str(keys or 0)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.extend(process.stderr or []))
    reader.start()
    while not mark.exists() and process.poll() is None:
        time.sleep(0.05)
    assert process.poll() is None, b"".join(said).decode()
    cluster.kill(victim)
    code = process.wait(timeout=300)
    reader.join()
    assert code == 0, b"".join(said).decode()[-3000:]
    expected = tamis.build({"key": [f"key {i}" for i in range(60_000)]}, key="key", keys=keys)
    assert tamis.open(path) == expected
    log = b"".join(said).decode(errors="replace")
    assert "Lost executor" in log or "ExecutorLost" in log or "Lost task" in log, log[-3000:]


_BUILD = """
import pathlib, sys, threading, time
from pyspark.sql import SparkSession
import tamis.spark

url, mark, path, keys = sys.argv[1:]
spark = (
    SparkSession.builder.master(url).config("spark.ui.enabled", "false").config("spark.executor.memory", "512m")
    .config("spark.driver.host", "127.0.0.1")
    # All three workers are there before the first task is, the one that is killed among them.
    .config("spark.cores.max", "3").config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
    .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s").getOrCreate()
)


def slowly(batches):
    for batch in batches:
        time.sleep(0.5)
        yield batch


def watch():
    tracker = spark.sparkContext.statusTracker()
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage and stage.numTasks == 24 and stage.numCompletedTasks >= 6 for stage in stages):
            pathlib.Path(mark).touch()
            return
        time.sleep(0.05)


df = spark.range(0, 60_000, 1, 24).selectExpr("concat('key ', id) as key").mapInArrow(slowly, "key string")
threading.Thread(target=watch, daemon=True).start()
tamis.spark.build(df, key="key", keys=int(keys) or None, range_bytes=4096, path=path)
"""


@pytest.mark.parametrize("kind", ["bloom", "count-min"])
def test_a_stream_that_is_killed_goes_on_as_if_it_had_not_been(tmp_path: Path, kind: str) -> None:
    inputs, state, script = tmp_path / "in", tmp_path / "state", tmp_path / "learn.py"
    inputs.mkdir()
    script.write_text(_LEARN)
    rows = [f"10.{i % 97}.{i % 7}.{i % 251}" for i in range(12_000)]
    for number in range(12):
        (inputs / f"{number:02}.txt").write_text("\n".join(rows[number * 1000 : (number + 1) * 1000]) + "\n")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(script), str(inputs), str(state), kind]

    def known() -> list[str]:
        return sorted(path.name for path in state.glob("sketch-*.tamis"))

    for after in (2, 6):
        process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
        while process.poll() is None and not any(int(name[-18:-6]) >= after for name in known()):
            time.sleep(0.01)
        assert process.poll() is None, "it ended before it was killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command, env=environment, check=True, timeout=300)
    options: dict[str, Any] = {"keys": 20_000} if kind == "bloom" else {"epsilon": 0.001}
    expected = tamis.build({"ip": rows}, key="ip", kind=kind, **options)
    assert tamis.open(state / known()[-1]) == expected


_LEARN = """
import sys
from pyspark.sql import SparkSession
import tamis.spark

inputs, state, kind = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2").getOrCreate()
)
options = {"keys": 20_000} if kind == "bloom" else {"epsilon": 0.001}
stream = spark.readStream.option("maxFilesPerTrigger", 1).text(inputs).withColumnRenamed("value", "ip")
query = tamis.spark.train_stream(
    stream, key="ip", kind=kind, state=state, trigger={"availableNow": True}, range_bytes=4096, **options
)
query.awaitTermination()
"""
