"""Ten filters of 1.26 million ratings, built and tested on Spark in several ways, and without it; in one run.

    pip install pyspark pyarrow 'pandas<3' mmh3
    pip install ./crates/python                            # a release build
    cargo build --release
    python crates/python/bench_spark.py [--rows 1260817] [--fpr 0.01] [--executors 1,2,3,4] [--rounds 3] [--on yarn]

- document: the way of the first published source, written again: one Python function call per row,
  lists of positions that are reduced by key, lists of 0 and 1 as filters.
- plain: what plain Spark can do at its best: rows stay columns, Spark hashes them, numpy sets and looks up bits in
  Arrow batches, filters are brought together by OR.
- tamis: `tamis.spark`, which reads the same file.
- without Spark: the program `tamis`, two processes.

With --on, executors are those of that cluster, which has the file and the packages where this machine has them, and all
three ways run there (EXECUTOR_MEMORY, 1g, is for each); otherwise each number of executors is a cluster of its own, for the last two.

Every way is a process of its own. Cold is from its start to the end of the first build and test; warm is the best
of the next rounds in the same session. Read the times as ratios of one run, on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[2]
BEGUN = time.perf_counter()


def session(master: str, executors: int) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("bench").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "2g")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
    builder = builder.config("spark.driver.maxResultSize", "0")
    if executors:
        builder = builder.config("spark.executor.instances", str(executors))
        builder = builder.config("spark.cores.max", str(executors)).config("spark.executor.cores", "1")
        builder = builder.config("spark.executor.memory", os.environ.get("EXECUTOR_MEMORY", "1g"))
    return builder.getOrCreate()


# The published way


def document(spark: Any, data: str, fpr: float) -> Callable[[], dict[str, float]]:
    import mmh3

    def positions(title: str, m: int, k: int) -> list[int]:
        return [mmh3.hash(title, seed, signed=False) % m for seed in range(k)]

    def run() -> dict[str, float]:
        rows = spark.read.csv(data, sep="\t", header=True).select("tconst", "averageRating").rdd
        by_rating = rows.map(lambda row: (round(float(row[1])), row[0]))

        def shape(n: int) -> tuple[int, int, int]:
            m = round(-n * math.log(fpr) / math.log(2) ** 2)
            return n, m, round(m / n * math.log(2))

        counts = by_rating.map(lambda pair: (pair[0], 1)).reduceByKey(lambda a, b: a + b)
        shapes = spark.sparkContext.broadcast({rating: shape(n) for rating, n in counts.collect()})

        def as_list(pair: tuple[int, list[int]]) -> tuple[int, list[int]]:
            bits = [0] * shapes.value[pair[0]][1]
            for position in pair[1]:
                bits[position] = 1
            return pair[0], bits

        def joined(some: list[int], others: list[int]) -> list[int]:
            some.extend(others)  # a + b would copy all that is there for every row
            return some

        touched = by_rating.map(lambda pair: (pair[0], positions(pair[1], *shapes.value[pair[0]][1:])))
        filters = touched.reduceByKey(joined).map(as_list).collect()
        known = spark.sparkContext.broadcast(dict(filters))

        def passing(pair: tuple[int, str]) -> Iterator[tuple[int, int]]:
            for rating, bits in known.value.items():
                if rating == pair[0]:
                    continue
                if all(bits[position] for position in positions(pair[1], *shapes.value[rating][1:])):
                    yield rating, 1

        wrong = dict(by_rating.flatMap(passing).reduceByKey(lambda a, b: a + b).collect())
        total = sum(n for n, _, _ in shapes.value.values())
        return {str(rating): wrong.get(rating, 0) / (total - n) for rating, (n, _, _) in shapes.value.items()}

    return run


# Plain Spark at its best


def plain(spark: Any, data: str, fpr: float) -> Callable[[], dict[str, float]]:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import functions as F

    def places(h1: Any, h2: Any, m: int, k: int) -> Iterator[Any]:
        for i in range(k):
            yield (h1 + np.uint64(i) * h2) % np.uint64(m)

    def run() -> dict[str, float]:
        table = spark.read.csv(data, sep="\t", header=True, schema="tconst string, averageRating double, numVotes long")
        rows = table.select(
            F.bround("averageRating").cast("int").alias("rating"),
            F.xxhash64("tconst").alias("h1"),
            F.xxhash64("tconst", F.lit(1)).alias("h2"),
        )
        counts = {row.rating: row.n for row in rows.groupBy("rating").agg(F.count_distinct("h1").alias("n")).collect()}
        shapes = {}
        for rating, n in counts.items():
            m = math.ceil(-n * math.log(fpr) / math.log(2) ** 2)
            shapes[rating] = (m, max(1, round(m / n * math.log(2))))

        def halves(batch: Any) -> Any:
            hashes = [batch.column(name).to_numpy().view(np.uint64) for name in ("h1", "h2")]
            return batch.column("rating").to_numpy(), hashes[0] >> np.uint64(1), hashes[1] >> np.uint64(33)

        def build(batches: Any) -> Any:
            bits = {rating: np.zeros(m, dtype=bool) for rating, (m, _) in shapes.items()}
            for batch in batches:
                ratings, h1, h2 = halves(batch)
                for rating in np.unique(ratings):
                    mine = ratings == rating
                    for place in places(h1[mine], h2[mine], *shapes[rating]):
                        bits[rating][place] = True
            packed = [np.packbits(bits[rating]).tobytes() for rating in shapes]
            yield pa.RecordBatch.from_arrays([pa.array(list(shapes), pa.int32()), pa.array(packed, pa.binary())], ["rating", "bits"])

        parts = rows.mapInArrow(build, "rating int, bits binary").collect()
        filters: dict[int, Any] = {}
        for row in parts:
            part = np.frombuffer(row.bits, np.uint8)
            filters[row.rating] = part.copy() if row.rating not in filters else filters[row.rating] | part
        known = spark.sparkContext.broadcast(filters)

        def test(batches: Any) -> Any:
            wrong = dict.fromkeys(shapes, 0)
            bits = {rating: np.unpackbits(known.value[rating], count=m).view(bool) for rating, (m, _) in shapes.items()}
            for batch in batches:
                ratings, h1, h2 = halves(batch)
                for rating in shapes:
                    others = ratings != rating
                    a, b = h1[others], h2[others]
                    found = np.ones(len(a), dtype=bool)
                    for place in places(a, b, *shapes[rating]):
                        found &= bits[rating][place]
                    wrong[rating] += int(found.sum())
            arrays = [pa.array(list(wrong), pa.int32()), pa.array(list(wrong.values()), pa.int64())]
            yield pa.RecordBatch.from_arrays(arrays, ["rating", "wrong"])

        found = rows.mapInArrow(test, "rating int, wrong long").groupBy("rating").sum("wrong").collect()
        total = sum(counts.values())
        return {str(row[0]): row[1] / (total - counts[row[0]]) for row in found}

    return run


# tamis on Spark, and without


def ours(spark: Any, data: str, fpr: float) -> Callable[[], dict[str, float]]:
    from tamis.spark import _batch, _read

    import tamis

    def run() -> dict[str, float]:
        options = {"key": "tconst", "group": "averageRating:round", "fpr": fpr}
        sketch, _ = _batch.build_source(_read.rows(spark, [data], {}, options), options)
        found = _batch.findings(_read.rows(spark, [data], {}, {}, sketch._file), sketch, {}, None, 0, 1)
        report = json.loads(tamis._tamis.conclude_test(sketch._file, found, True, False))
        return {group["group"]: group["fpr"] for group in report["groups"]}

    return run


def alone(program: str, data: str, fpr: float, folder: str) -> Callable[[], dict[str, float]]:
    def run() -> dict[str, float]:
        path = os.path.join(folder, "alone.tamis")
        keys = ["--key", "tconst", "--group", "averageRating:round", "--fpr", str(fpr)]
        subprocess.run([program, "build", data, *keys, "-o", path, "--quiet"], check=True, capture_output=True)
        said = subprocess.run([program, "test", path, data, "--json", "--quiet"], check=True, capture_output=True)
        return {group["group"]: group["fpr"] for group in json.loads(said.stdout)["groups"]}

    return run


WAYS = {"document": document, "plain": plain, "tamis": ours}


def one(way: str, master: str, executors: int, data: str, fpr: float, rounds: int) -> None:
    """One way, in this process: prints its times and rates."""
    spark = session(master, executors)
    if executors:  # all of them take part
        until = time.monotonic() + 300
        while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < executors + 1:
            assert time.monotonic() < until, f"the cluster gives no {executors} executors"
            time.sleep(0.05)
    run = WAYS[way](spark, data, fpr)
    rates = run()
    cold = time.perf_counter() - BEGUN
    warm = []
    for _ in range(rounds):
        since = time.perf_counter()
        assert run() == rates
        warm.append(time.perf_counter() - since)
    print(json.dumps({"cold": cold, "warm": min(warm), "rates": rates}))
    spark.stop()


def measured(way: str, master: str, executors: int, given: argparse.Namespace, data: str, environment: Any) -> dict[str, Any]:
    rounds = min(given.rounds, 1) if way == "document" else given.rounds
    command = [sys.executable, __file__, "--one", way, "--master", master, "--workers", str(executors)]
    command += ["--data", data, "--fpr", str(given.fpr), "--rounds", str(rounds)]
    said = subprocess.run(command, env=environment, capture_output=True, text=True)
    if said.returncode:
        sys.exit(said.stderr[-4000:])
    found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1_260_817)
    parser.add_argument("--fpr", type=float, default=0.01)
    parser.add_argument("--executors", default="1,2,3,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--on", help="a cluster that runs, as spark-submit --master takes it")
    parser.add_argument("--without", default="", help="ways to leave out, such as document")
    for hidden in ("--one", "--master", "--data"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one, given.master, given.workers, given.data, given.fpr, given.rounds)
        return
    program = os.environ.get("TAMIS", str(ROOT / "target" / "release" / "tamis"))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    results: list[tuple[str, float, float, dict[str, float]]] = []
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "ratings.tsv")
        subprocess.run([program, "generate", "ratings", "--rows", str(int(given.rows)), "-o", data, "--quiet"], check=True)

        def add(name: str, found: dict[str, Any]) -> None:
            results.append((name, found["cold"], found["warm"], found["rates"]))
            print(f"  {name}: cold {found['cold']:.2f} s, warm {found['warm']:.2f} s", file=sys.stderr, flush=True)

        for way in () if given.on else ("document", "plain", "tamis"):
            if way not in given.without.split(","):
                add(f"{way}, local[2]", measured(way, "local[2]", 0, given, data, environment))
        for executors in [int(number) for number in given.executors.split(",") if number]:
            several = f"{executors} executor{'s' if executors > 1 else ''}"
            if given.on:
                for way in ("document", "plain", "tamis"):
                    if way not in given.without.split(","):
                        found = measured(way, given.on, executors, given, f"file://{data}", environment)
                        add(f"{way}, {given.on} with {several}", found)
                continue
            sys.path.insert(0, str(Path(__file__).parent / "tests"))
            from test_cluster import Cluster

            cluster = Cluster(Path(tempfile.mkdtemp(dir=folder)))
            try:
                cluster.start()
                for _ in range(executors):
                    cluster.add_worker()
                for way in ("plain", "tamis"):
                    if way not in given.without.split(","):
                        name = f"{way}, cluster with {several}"
                        add(name, measured(way, cluster.url, executors, given, data, cluster.environment))
            finally:
                cluster.end()
        run = alone(program, data, given.fpr, folder)
        times = []
        for _ in range(given.rounds + 1):
            since = time.perf_counter()
            rates = run()
            times.append(time.perf_counter() - since)
        add("tamis, without Spark", {"cold": times[0], "warm": min(times[1:]), "rates": rates})
    print("| way | cold, s | warm, s | warm ÷ tamis on local[2] | rates |\n|---|---|---|---|---|")
    base = next((warm for name, _, warm, _ in results if name == "tamis, local[2]"), None)
    for name, cold, warm, rates in results:
        ratio = f"{warm / base:.2f}" if base else ""
        span = f"{min(rates.values()):.4f} to {max(rates.values()):.4f}"
        print(f"| {name} | {cold:.2f} | {warm:.2f} | {ratio} | {span} |")


if __name__ == "__main__":
    main()
