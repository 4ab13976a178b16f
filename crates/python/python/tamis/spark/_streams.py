"""Streams of the command line: folders of files that are learned and asked, as `train_stream` and `query_stream` do it
for DataFrames.

The state is a folder. Beside what `_stream` keeps there, it has the checkpoints of both queries (``checkpoint`` and
``asked``) and, after a run that has ended, ``filter.tamis`` or ``counts.tamis``: what is known by then.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import tamis
from tamis import Sketch, _tamis
from tamis.spark import _batch, _tasks
from tamis.spark._batch import Source
from tamis.spark._files import Folder
from tamis.spark._inputs import _OWN, Found, _escaped, find
from tamis.spark._read import as_lines, refuse_unlike, understood
from tamis.spark._session import explained, temporary_file
from tamis.spark._store import Store
from tamis.spark._stream import _State, learn_source
from tamis.spark._tasks import Carried

# Spark forgets files of another time otherwise, and leaves out those that come later and are older.
_FOR_EVER = "36500d"


def run(spark: Any, request: Mapping[str, Any], learning: Optional[dict[str, Any]]) -> dict[str, Any]:
    """Learns and answers: all that is there, or with `follow` what comes, too, until it is ended. `learning` are the
    options of what is learned, where something is."""
    state: str = request["state"].rstrip("/")
    store, reading = Store.of(spark), request["reading"]
    trains, asks = learning is not None, bool(request["query"])
    told: dict[str, Any] = {"resumed": store.exists(f"{state}/checkpoint") or store.exists(f"{state}/asked")}
    before = _rows(_State(spark, state, create=trains))
    queries: list[Any] = []
    try:
        learned = None
        if learning is not None:
            source = _source(spark, request, request["train"], reading, learning, None, f"{state}/checkpoint")
            query, learned = learn_source(source, learning, state, trigger=_trigger(request))
            queries.append(query)
            if not request["follow"]:
                _await(queries)
        known = _State(spark, state)
        answers = None
        if asks:
            answers = _Answers(spark, known, request)
            answers.refuse_other(store)
            source = answers.source(learning)
            writer = source.df.writeStream.foreachBatch(answers.answer)
            writer = writer.option("checkpointLocation", f"{state}/asked").trigger(**_trigger(request))
            queries.append(writer.start())
        _await(queries)
    finally:
        for query in queries:
            query.stop()
    told.update(batches=0 if learned is None else learned.batches, skipped=0 if learned is None else learned.skipped)
    if answers is not None:
        told.update(queries=answers.queries, answers=answers.answers, asked=answers.batches)
        told["skipped"] += answers.skipped
    if trains:
        told["rows"] = _rows(known) - before
        told.update(_written(store, known, state, request))
    return told


def _rows(known: _State) -> int:
    """The rows that are in a state."""
    last = known.last()
    if last is None or not last[2]:
        return 0
    return sum(group["rows"] for group in known.folder.open(last[2]).inspect()["groups"])


def _trigger(request: Mapping[str, Any]) -> dict[str, Any]:
    if not request["follow"]:
        return {"availableNow": True}
    return {"processingTime": f"{request['every'] or 1.0} seconds"}


def _await(queries: Sequence[Any]) -> None:
    """Waits until all have ended, and ends where one fails. In small steps: between them, this process hears that it is to
    end."""
    while True:
        for query in queries:
            failure = query.exception()
            if failure is not None:
                raise failure
        if not any(query.isActive for query in queries):
            return
        time.sleep(0.2)


def _written(store: Store, known: _State, state: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Writes what is known to where the state and the command have it; its name in the state, and whether it has more
    keys than it was planned for. Nothing is told where nothing is known."""
    last = known.last()
    if last is None or not last[2]:
        return {}
    sketch = known.folder.open(last[2])
    place, staging = request["output"], request.get("staging")
    if place is None or staging is not None:
        place = temporary_file("learned.tamis")
    sketch.save(place)
    name = "counts.tamis" if _batch.counts(sketch) else "filter.tamis"
    store.put(place, f"{state}/{name}")
    if staging is not None:
        store.put(place, f"{staging}/built.tamis")
    return {"learned": name, "overfull": sketch._file.overfull()}


def _source(
    spark: Any,
    request: Mapping[str, Any],
    inputs: Sequence[str],
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
    file: Optional[_tamis.File],
    checkpoint: str,
) -> Source:
    """A stream of the rows of inputs, understood as their first file is."""
    files = find(spark, inputs)
    text = understood(spark, files[0], reading, options, file)
    if ... in _tamis.asked_columns({**options, "names": {}}, file):
        raise tamis.Error("(file) is not known of files that come later: leave out --on, or build on Spark")
    _refuse_changed(spark, files, checkpoint)
    reader = spark.readStream.option("recursiveFileLookup", "true").option("maxFileAge", _FOR_EVER)
    if text["format"] == "parquet":
        if request["follow"]:
            raise tamis.Error(
                "Parquet files that come later may have other types, which Spark would convert: leave out --follow, and run "
                "it again for what came"
            )
        df = spark.read.option("recursiveFileLookup", "true").parquet(*(one.pattern for one in files))
        refuse_unlike(spark, files, df, options, file)
        reader = reader.schema(df.schema)
    streams = [_stream(spark, reader, name, text["format"]) for name in inputs]
    df = streams[0]
    for more in streams[1:]:
        df = df.union(more)
    return Source(df, None if text["format"] == "parquet" else text)


def _stream(spark: Any, reader: Any, name: str, form: str) -> Any:
    """The files that a name means, now and later. Those of filters are none."""
    from pyspark.sql import functions as F

    store = Store.of(spark)
    _, path = store.find(name)
    # A name that exists is that file or folder, whatever characters it has.
    pattern = _escaped(str(path)) if store.exists(name) else store.above(name) + name
    if form == "parquet":
        return reader.parquet(pattern)
    lines = reader.option("lineSep", "\n").text(pattern)
    ours = "|".join(one.replace(".", r"\.") for one in _OWN)
    return as_lines(lines.where(~F.input_file_name().rlike(f"({ours})$")))


def _refuse_changed(spark: Any, files: Sequence[Found], checkpoint: str) -> None:
    """Refuses files that changed after they were read: Spark reads a file once, and would leave out what was added."""
    store = Store.of(spark)
    known: dict[str, int] = {}
    at = 0
    while store.exists(f"{checkpoint}/sources/{at}"):
        folder = Folder(spark, f"{checkpoint}/sources/{at}", create=False)
        for name in folder.names():
            entries = [] if name.startswith(".") else (folder.read(name) or b"").decode().splitlines()[1:]
            known.update((one["path"], one["timestamp"]) for one in map(json.loads, entries))
        at += 1
    for file in files:
        if known.get(str(file.status.getPath().toUri()), 0) not in (0, int(file.status.getModificationTime())):
            raise tamis.Error(
                f"{file.path}: this file was changed after it was read, and Spark reads a file once: what is new goes "
                "into files of their own, which are put into the folder when they are whole"
            )


class _Answers:
    """Answers batch after batch, each in a folder of its own, from what is known by then."""

    def __init__(self, spark: Any, known: _State, request: Mapping[str, Any]) -> None:
        self.spark, self.known, self.request = spark, known, request
        self.text: Any = None
        self.opened: dict[str, tuple[Sketch, Carried]] = {}
        self.queries = self.answers = self.skipped = self.batches = 0
        self.options = {
            "key": request["query_key"] or None,
            "bad_rows": request["reading"]["bad_rows"] or "fail",
            "marked": True,
        }

    def refuse_other(self, store: Store) -> None:
        """Refuses to write over answers of another state."""
        output = self.request["answers"]
        if store.exists(output) and not store.exists(f"{self.known.folder.uri}/asked"):
            raise tamis.Error(f"{output}: this is there already, and is not of this state; name another folder")

    def source(self, learning: Optional[Mapping[str, Any]]) -> Source:
        """The queries. Before anything is known, they are understood by what is learned."""
        sketch = self._newest()
        if sketch is None and learning is None:
            raise tamis.Error(f"{self.known.folder.uri}: nothing was learned yet")
        file = None if sketch is None else sketch._file
        options: dict[str, Any] = {**self.options, "without_group": True}
        if file is None:
            options = {**(learning or {}), "without_group": True}
            options["key"] = self.request["query_key"] or options.get("key")
        place = f"{self.known.folder.uri}/asked"
        source = _source(self.spark, self.request, self.request["query"], self._reading(), options, file, place)
        self.text = source.text
        return source

    def _reading(self) -> Mapping[str, Any]:
        """What is said of a table does not hold for lines that ask about it."""
        reading: dict[str, Any] = dict(self.request["reading"])
        if not self.request["query_is_lines"]:
            return reading
        return {"format": "lines", "bad_rows": reading["bad_rows"]}

    def _newest(self) -> Optional[Sketch]:
        last = self.known.last()
        if last is None or not last[2]:
            return None
        if last[2] not in self.opened:
            for _, old in self.opened.values():
                old.broadcast.destroy()
            self.opened.clear()
            sketch = self.known.folder.open(last[2])
            self.opened[last[2]] = sketch, Carried(self.spark.sparkContext.broadcast(sketch))
        return self.opened[last[2]][0]

    def answer(self, batch: Any, number: int) -> None:
        """Writes the answers of a batch over those that it had before, where it runs again."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        self.batches += 1
        sketch = self._newest()
        place = f"{self.request['answers'].rstrip('/')}/batch={number:09d}"
        with explained():
            if sketch is None:
                batch.limit(0).selectExpr("'' AS value").write.mode("overwrite").text(place)
                return
            ((_, sent),) = self.opened.values()
            source = Source(batch, self.text)
            options = source.options(self.options)
            task = _tasks.AnswerRows(sent, options)
            rows = source.rows({**options, "without_group": True}, sketch._file)
            found = rows.mapInArrow(_batch._function(task), _tasks.ANSWERED)
            asked, answered = Observation("asked"), Observation("answered")
            sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("queries", "skipped")]
            line = F.explode(F.split(F.col("text").cast("string"), "\n")).alias("value")
            lines = found.observe(asked, *sums).select(line).where("value != ''").distinct()
            lines.observe(answered, F.count(F.lit(1)).alias("answers")).write.mode("overwrite").text(place)
        self.queries += asked.get["queries"]
        self.skipped += asked.get["skipped"]
        self.answers += answered.get["answers"]
