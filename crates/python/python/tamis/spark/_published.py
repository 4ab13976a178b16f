"""The streams of Logothetis N. Fragkoulis (Implementation of Bloom Filter and Count-Min Sketch in Apache Spark) on
Structured Streaming, for ``tamis reproduce streams --on``. No code of tamis is in them: they are what it is measured
beside.

Addresses become positions by k hash functions, and positions are keys: of the filter their set is the state, of the
Count-Min sketch their counts are. Queries, each once in its batch, become positions, too, and are joined with the state.
Fragkoulis kept the state in memory; here Spark's RocksDB holds it while it learns, and it is cached while it is asked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from itertools import islice
from typing import Any, Callable

# What holds the state of a query, and that outside the memory of Java.
STATES = "spark.sql.streaming.stateStore.providerClass"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def streams(spark: Any, request: Mapping[str, Any]) -> dict[str, float]:
    """Learns both sketches and asks both; the seconds of each. The answers of batch n are in the folders
    ``seen/batch=n`` and ``counts/batch=n``."""
    cores = spark.sparkContext.defaultParallelism
    spark.conf.set("spark.sql.shuffle.partitions", str(cores))  # not 200 tasks for each batch
    spark.conf.set(STATES, _ROCKS)
    run = _Run(spark, request)
    steps = [run.train_filter, run.train_counts, run.ask_filter, run.ask_counts]
    seconds = {}
    for step in steps:
        since = time.monotonic()
        step()
        seconds[step.__name__] = time.monotonic() - since
    return seconds


def _cut(path: str, folder: str, lines: int) -> str:
    """Cuts a file into files of this many lines, which Spark takes one by one in the order of their times."""
    os.makedirs(folder)
    begun = time.time()
    names: list[str] = []
    with open(path, encoding="ascii") as file:
        while part := list(islice(file, lines)):
            names.append(os.path.join(folder, f"{len(names):06d}.txt"))
            with open(names[-1], "w", encoding="ascii") as out:
                out.writelines(part)
    for at, name in enumerate(names):
        when = begun - len(names) + at
        os.utime(name, (when, when))
    return folder


class _Run:
    """The files and the sizes of a run."""

    def __init__(self, spark: Any, request: Mapping[str, Any]) -> None:
        self.spark, self.folder = spark, request["folder"]
        self.train = _cut(request["train"], self._at("train"), request["batch"])
        self.ask = _cut(request["ask"], self._at("ask"), request["batch"])
        self.hashes = request["hashes"]
        bits, row, depth = request["bits"], request["row"], request["depth"]
        # The k functions are one with k further arguments; those of the rows of counters are others.
        self.positions = [f"pmod(xxhash64(value, {at}), {bits}L)" for at in range(self.hashes)]
        self.counters = [f"{at * row}L + pmod(xxhash64(value, {1000 + at}), {row}L)" for at in range(depth)]

    def _at(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _lines(self, folder: str) -> Any:
        """A file is a batch."""
        return self.spark.readStream.option("maxFilesPerTrigger", 1).text(folder)

    def _places(self, lines: Any, places: list[str]) -> Any:
        return lines.selectExpr("value", f"explode(array({', '.join(places)})) AS place")

    def _to_the_end(self, writer: Any, name: str) -> None:
        query = writer.option("checkpointLocation", self._at(f"checkpoint-{name}")).trigger(availableNow=True).start()
        query.awaitTermination()

    def train_filter(self) -> None:
        """The state is the set of positions that are 1; each comes out once."""
        places = self._places(self._lines(self.train), self.positions).select("place").dropDuplicates()
        writer = places.writeStream.format("parquet").option("path", self._at("positions"))
        self._to_the_end(writer, "train-filter")

    def train_counts(self) -> None:
        """The state are the counters; those that changed in a batch come out."""
        counted = self._places(self._lines(self.train), self.counters).groupBy("place").count()

        def write(batch: Any, number: int) -> None:
            batch.write.mode("overwrite").parquet(self._at(f"counters/batch={number}"))

        self._to_the_end(counted.writeStream.outputMode("update").foreachBatch(write), "train-counts")

    def ask_filter(self) -> None:
        """An address was seen if all its positions are in the state."""
        known = self.spark.read.parquet(self._at("positions"))

        def answer(asked: Any, known: Any) -> Any:
            places = self._places(asked, self.positions).join(known, "place")
            return places.groupBy("value").count().filter(f"count = {self.hashes}").select("value")

        self._ask(known, answer, "seen")

    def ask_counts(self) -> None:
        """The estimate of an address is the least of its counters."""
        counters = self.spark.read.parquet(self._at("counters"))
        known = counters.groupBy("place").agg({"count": "max"}).withColumnRenamed("max(count)", "count")  # the latest

        def answer(asked: Any, known: Any) -> Any:
            places = self._places(asked, self.counters).join(known, "place", "left")
            each = places.selectExpr("value", "coalesce(count, 0) AS estimate")
            least = each.groupBy("value").agg({"estimate": "min"})
            return least.selectExpr("concat(value, '\\t', `min(estimate)`) AS value")

        self._ask(known, answer, "counts")

    def _ask(self, known: Any, answer: Callable[[Any, Any], Any], name: str) -> None:
        known = known.cache()

        def write(batch: Any, number: int) -> None:
            answer(batch.distinct(), known).write.mode("overwrite").text(self._at(f"{name}/batch={number}"))

        self._to_the_end(self._lines(self.ask).writeStream.foreachBatch(write), f"ask-{name}")
        known.unpersist()
