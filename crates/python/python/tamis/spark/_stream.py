"""Streams: sketches that learn with every micro-batch, and answers against what they know.

The state of `train_stream` is a folder. Each micro-batch leaves one more file there, which appears whole:
``sketch-QUERY-BATCH.tamis``, the sketch after that batch, or ``empty-QUERY-BATCH`` where it brought nothing, with the
name of the sketch that stays. Spark may run its last batch again after a failure, with the same rows and the same
number; it is in the state then, and nothing changes. Any other batch must be the next: else state and checkpoint do not
belong together, and rows would be missing.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Mapping
from typing import Any, Callable, Optional, Union

import tamis
from tamis import Sketch, _tamis
from tamis._sketch import HashKey, make_known, params_as_json
from tamis.spark._answers import Contains, Estimates
from tamis.spark._batch import (
    Fields,
    Source,
    _key_columns,
    _of_rows,
    counts,
    estimates,
    local_parts,
    merged_ranges,
    passed,
    warn_of_classes,
    with_codes,
)
from tamis.spark._files import Folder
from tamis.spark._session import active, classic_session_of, explained, temporary_file
from tamis.spark._tasks import Carried

_NAME = re.compile(r"(?:sketch|empty)-([0-9a-f]{12})-(\d{12})(?:\.tamis)?")

# What a filter is planned for where nobody says how many keys there will be.
_KEYS = 10_000_000

# Older sketches that stay, for who reads just now.
_KEPT = 2


class _State:
    """The folder of a state."""

    def __init__(self, spark: Any, uri: str, create: bool = False) -> None:
        self.folder = Folder(spark, uri, create)

    def all(self) -> list[tuple[int, str, str]]:
        """Numbers of batches, the queries that they belong to, and names; the latest last."""
        found = [match for match in map(_NAME.fullmatch, self.folder.names()) if match]
        return sorted((int(match.group(2)), match.group(1), match.group(0)) for match in found)

    def last(self) -> Optional[tuple[int, str, str]]:
        """The latest batch, the query that it belongs to, and the name of the sketch after it, which may be empty."""
        while found := self.all():
            number, query, name = found[-1]
            sketch = name.encode() if name.startswith("sketch") else self.folder.read(name)
            if sketch is not None:
                return number, query, sketch.decode()
            # It was removed just now, since another one came.
        return None

    def put(self, query: str, batch: int, path: str) -> None:
        """Commits what is known after a batch."""
        self._put(f"sketch-{query}-{batch:012d}.tamis", path)

    def put_empty(self, query: str, batch: int, sketch: str) -> None:
        """Commits a batch that brought nothing."""
        path = temporary_file(f"empty-{os.urandom(8).hex()}")
        with open(path, "w", encoding="ascii") as file:
            file.write(sketch)
        self._put(f"empty-{query}-{batch:012d}", path)
        os.unlink(path)

    def _put(self, name: str, path: str) -> None:
        self.folder.put(name, path)
        names = [name for _, _, name in self.all()]
        sketches = [name for name in names if name.startswith("sketch")]
        for old in set(names[:-1]) - set(sketches[-1 - _KEPT :]):
            self.folder.remove(old)


def train_stream(
    df: Any,
    key: Fields = None,
    group: Optional[str] = None,
    *,
    state: str,
    keys: Optional[int] = None,
    fpr: Optional[float] = None,
    bits_per_key: Optional[float] = None,
    kind: Optional[str] = None,
    hash: Optional[str] = None,
    seed: Optional[int] = None,
    hash_key: HashKey = None,
    weight: Optional[str] = None,
    epsilon: Optional[float] = None,
    delta: Optional[float] = None,
    width: Optional[int] = None,
    depth: Optional[int] = None,
    counter_bits: Optional[int] = None,
    params: Union[Mapping[str, Any], Sketch, str, os.PathLike[str], None] = None,
    null: Optional[str] = None,
    bad_rows: str = "fail",
    checkpoint: Optional[str] = None,
    trigger: Optional[Mapping[str, Any]] = None,
    name: Optional[str] = None,
    range_bytes: int = _tamis.RANGE_BYTES,
) -> Any:
    """Starts a query of Structured Streaming that learns filters or counts; returns the query.

    Parameters come first, since a stream cannot be counted: `keys` to plan a filter for (10 million, with a warning,
    where it is left out), or `params` (with groups, these: `tamis.spark.plan` of a sample that has all of them, with
    `keys`). Counts need neither; `epsilon` says how near they are. Filters that grow, as `tamis stream` makes them where it
    is told no number, are not made of parts; a filter that holds more keys than it was planned for says so by a warning.

    Each micro-batch makes parts on the executors; they are brought together with what was known, and the result
    is stored in the folder `state` with the number of the batch, in one step. A query that is killed and started
    again goes on from its checkpoint (``STATE/checkpoint`` where none is named), and a batch that Spark runs again
    changes nothing, of counts either: the bytes are those of a run that nobody disturbed.

    `open_state` opens what is known, `query_stream` answers another stream by it.

    >>> from tamis.spark import train_stream                                       # doctest: +SKIP
    >>> query = train_stream(stream, key="ip", keys=10_000_000, state="hdfs:///state/ips")  # doctest: +SKIP
    """
    given = {
        one: value
        for one, value in locals().items()
        if one not in ("df", "state", "params", "checkpoint", "trigger", "name", "range_bytes")
    }
    classic_session_of(df)  # refuses what is none, and Connect
    if not df.isStreaming:
        raise ValueError("this DataFrame is no stream: tamis.spark.build builds of it")
    given = {**given, "hash_key": make_known(hash_key), "params": params_as_json(params)}
    query, _ = learn_source(Source(df), given, state, checkpoint, trigger, name, range_bytes)
    return query


def learn_source(
    source: Source,
    given: Mapping[str, Any],
    state: str,
    checkpoint: Optional[str] = None,
    trigger: Optional[Mapping[str, Any]] = None,
    name: Optional[str] = None,
    range_bytes: int = _tamis.RANGE_BYTES,
) -> tuple[Any, _Learning]:
    """Starts a query that learns of a stream; the query, and what it learns."""
    options, planned = _planned(source.options(given))
    source.rows(options)  # says which columns are missing
    place = f"{state.rstrip('/')}/checkpoint" if checkpoint is None else checkpoint
    known = _State(source.spark, state, create=True)
    last = known.last()
    if last is not None and last[2]:
        _refuse_other(state, known.folder.open(last[2]), planned)
    learning = _Learning(known, Folder(source.spark, place), source, options, planned, range_bytes)
    writer = source.df.writeStream.foreachBatch(learning.learn).option("checkpointLocation", place)
    return _started(writer, trigger, name), learning


def _planned(options: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The options of a stream, with a number of keys where nobody gave one, and the parameters that follow."""
    params = options.get("params")
    if params:
        _tamis.planned_without_rows(options)  # says what is wrong with it
    called = options.get("kind") or (json.loads(params)["kind"] if params else "blocked")
    if called in ("fuse", "ribbon", "scalable"):
        raise ValueError(f'a {called} filter cannot be made of parts of a stream: use kind="blocked" and keys=N')
    planned = _tamis.planned_without_rows(options)
    if planned is None and options.get("group") is None:
        warnings.warn(f"this {called} filter is planned for {_KEYS:,} keys: keys=N plans it for others", stacklevel=4)
        options = {**options, "keys": _KEYS}
        planned = _tamis.planned_without_rows(options)
    if planned is None:
        raise ValueError(
            "the groups of a stream are not known first: give params= that have them all, such as tamis.spark.plan of "
            "a sample, with keys=N"
        )
    return options, planned


class _Learning:
    """A query that learns, batch after batch."""

    def __init__(
        self,
        known: _State,
        checkpoint: Folder,
        source: Source,
        options: dict[str, Any],
        planned: str,
        range_bytes: int,
    ) -> None:
        self.known = known
        self.checkpoint = checkpoint
        self.source = source
        self.options = options
        self.planned = planned
        self.range_bytes = range_bytes
        self.query: Optional[str] = None
        self.warned = False
        self.batches = 0
        self.skipped = 0

    def learn(self, batch: Any, number: int) -> None:
        """Learns a batch, unless the state has it."""
        if self.query is None:
            self.query = _query_of(self.checkpoint)
        last = self.known.last()
        if last is not None and last[1] != self.query:
            raise tamis.Error(
                f"{self.state}: this state was learned by another query than that of {self.checkpoint.uri}: name its "
                "checkpoint, or another state"
            )
        if last is not None and number == last[0]:
            return  # it is in there
        following, before = (0, "") if last is None else (last[0] + 1, last[2])
        if number != following:
            raise tamis.Error(
                f"{self.state}: batch {number} is the next by the checkpoint {self.checkpoint.uri}, and batch {following} "
                "by this state: rows would be missing. Bring back the state that belongs to the checkpoint, or start over "
                "with an empty state and another checkpoint"
            )
        with explained():
            path = temporary_file(f"batch-{os.urandom(8).hex()}.tamis")
            self.batches += 1
            if not self._put_together(batch, before, path):
                self.known.put_empty(self.query, number, before)
                return
            self.known.put(self.query, number, path)
            self._warn(path)
            os.unlink(path)

    @property
    def state(self) -> str:
        return self.known.folder.uri

    def _put_together(self, batch: Any, before: str, path: str) -> bool:
        """Writes what is known after a batch, unless it brings nothing."""
        with_params = {**_of_rows(self.options), "params": self.planned}
        assembly = _tamis.Assembly(self.planned, self.range_bytes, path)
        changed = False
        rows = Source(batch, self.source.text)
        merged = merged_ranges(rows.rows(self.options), with_params, self.planned, self.range_bytes)
        for _, part in local_parts(merged, _tamis.data_bytes(self.planned)):
            if not changed and before:
                assembly.begin(self.known.folder.open(before)._file)
            changed = True
            assembly.put(part)
        if changed:
            assembly.see(rows.classes(self.options) or ["text"])
            self.skipped += assembly.finish()
        return changed

    def _warn(self, path: str) -> None:
        """Says once that there are more keys than were planned for."""
        if not self.warned and (too_full := tamis.open(path)._file.overfull()):
            warnings.warn(f"{self.state}: {too_full}; start over with a larger keys=", stacklevel=1)
            self.warned = True


def _query_of(checkpoint: Folder) -> str:
    """The query whose checkpoint this is: Spark gives it a number that lasts."""
    metadata = checkpoint.read("metadata")
    if metadata is None:
        raise tamis.Error(f"{checkpoint.uri}: this checkpoint has no metadata")
    return str(json.loads(metadata)["id"]).replace("-", "")[:12]


def _refuse_other(state: str, sketch: Sketch, planned: str) -> None:
    if sketch.params != json.loads(planned):
        raise tamis.Error(
            f"{state}: the state there has other parameters ({sketch!r}): name another folder, or give the "
            "parameters that it has"
        )


def _started(writer: Any, trigger: Optional[Mapping[str, Any]], name: Optional[str]) -> Any:
    if trigger is not None:
        writer = writer.trigger(**trigger)
    if name is not None:
        writer = writer.queryName(name)
    return writer.start()


def open_state(state: str, spark: Any = None, *, hash_key: HashKey = None) -> Sketch:
    """What a query of `train_stream` knows by now: the sketch after its latest batch.

    >>> from tamis.spark import open_state                                         # doctest: +SKIP
    >>> open_state("hdfs:///state/ips").contains("10.0.0.1")                       # doctest: +SKIP
    True

    What was learned with ``hash="siphash"`` needs the same `hash_key`, here and in `query_stream`.
    """
    make_known(hash_key)
    known = _State(active() if spark is None else spark, state)
    last = known.last()
    if last is None or not last[2]:
        raise tamis.Error(f"{state}: nothing was learned yet")
    return known.folder.open(last[2])


def query_stream(
    df: Any,
    state: str,
    key: Fields = None,
    *,
    answer: Callable[[Any, int], None],
    checkpoint: str,
    group: Union[str, bytes, int, None] = None,
    once: bool = True,
    bad_rows: str = "fail",
    trigger: Optional[Mapping[str, Any]] = None,
    name: Optional[str] = None,
    hash_key: HashKey = None,
) -> Any:
    """Starts a query that answers another stream by what `train_stream` learned; returns the query.

    For each micro-batch `answer` is called with a DataFrame and the number of the batch: the rows whose key was
    seen; of counts all rows, with a column ``estimate``. If `once`, one row of each key, as its columns have it, is
    there. The DataFrame serves as long as the call. The state is looked up again for each batch. Before anything was
    learned, nothing was seen, and the DataFrame is empty; a state that `train_stream` never began is refused.

    A batch is answered at least once: where all ended before Spark knew that `answer` was done, it is called again,
    with the same rows and the same number, but with what is known by then. So write what a batch gives over what it
    gave before, not behind it, as here:

    >>> from tamis.spark import query_stream                                       # doctest: +SKIP
    >>> def answer(seen, batch):                                                   # doctest: +SKIP
    ...     seen.write.mode("overwrite").json(f"hdfs:///answers/batch={batch}")
    >>> query_stream(asked, "hdfs:///state/ips", key="ip", answer=answer, checkpoint="hdfs:///asked")  # doctest: +SKIP
    """
    make_known(hash_key)
    spark = classic_session_of(df)
    if not df.isStreaming:
        raise ValueError("this DataFrame is no stream: tamis.spark.filter_df filters it")
    known = _State(spark, state)
    last = known.last()
    if last is not None and last[2]:
        latest = known.folder.open(last[2])
        _key_columns(df, latest._file, key)  # says which columns are missing
        warn_of_classes(df, latest._file, key, 2)
        (Estimates if counts(latest) else Contains).refuse(latest._file, group, bad_rows)
    opened: dict[str, tuple[Sketch, Carried]] = {}

    def ask(batch: Any, number: int) -> None:
        last = known.last()
        if last is None or not last[2]:
            answer(batch.limit(0), number)
            return
        if last[2] not in opened:
            # Files that are shipped stay where they came to: of states there are too many for that.
            for _, old in opened.values():
                old.broadcast.destroy()
            opened.clear()
            latest = known.folder.open(last[2])
            opened[last[2]] = latest, Carried(spark.sparkContext.broadcast(latest))
        sketch, sent = opened[last[2]]
        with explained():
            if counts(sketch):
                found = estimates(batch, sketch, key, group, bad_rows, sent)
            else:
                found = passed(with_codes(batch, sketch, key, group, bad_rows, sent))
            if once:
                columns = _key_columns(batch, sketch._file, key)
                parts = {f"part {at} of the key": column for at, column in enumerate(columns)}
                found = found.withColumns(parts).dropDuplicates([*parts]).drop(*parts)
            answer(found, number)

    writer = df.writeStream.foreachBatch(ask).option("checkpointLocation", checkpoint)
    return _started(writer, trigger, name)
