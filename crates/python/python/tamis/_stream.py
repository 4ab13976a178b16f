"""Rows that come in batches, and are never held all at once."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional

from tamis import _tamis
from tamis._data import as_rows, is_arrow, library

# The columns that are asked of a stream; all of them where they do not have names.
Columns = Optional[Sequence[str]]


class Batches:
    """Batches of rows: those that can be had again, or a stream that comes once."""

    def __init__(self, names: list[str], read: Callable[[Columns], Iterable[Any]], again: bool) -> None:
        self.names = names
        self.again = again
        self._read = read

    def of(self, columns: Columns) -> Iterator[Any]:
        """All batches, with these columns."""
        return iter(self._read(columns))


def as_batches(data: Any) -> Optional[Batches]:
    """A stream of batches; none where these are rows, or keys."""
    of = library(data)
    if of == "polars":
        return _of_polars(data)
    if of == "pyarrow":
        return _of_pyarrow(data)
    if of in ("duckdb", "_duckdb") and hasattr(data, "__arrow_c_stream__"):
        import pyarrow

        return _once(pyarrow.RecordBatchReader.from_stream(data))
    return None


# What an iterator gives that has ended: a key may be None.
_NOTHING: Any = object()


def first_of(data: Any) -> tuple[Any, Optional[Batches]]:
    """An iterator, looked at: with batches of Arrow it is a stream; else the same as before."""
    if not isinstance(data, Iterator):
        return data, None
    first = next(data, _NOTHING)
    whole = itertools.chain([] if first is _NOTHING else [first], data)
    if not is_arrow(first) or library(first) not in ("pyarrow", "polars"):
        return whole, None
    names = [str(name) for name in getattr(first, "column_names", None) or getattr(first, "columns", [])]

    def read(columns: Columns) -> Iterator[Any]:
        return (_select(batch, columns) for batch in whole)

    return whole, Batches(names, read, False)


def _of_polars(data: Any) -> Optional[Batches]:
    import polars

    if not isinstance(data, polars.LazyFrame):
        return None
    lazy: Any = data

    def read(columns: Columns) -> Iterable[Any]:
        chosen = lazy if columns is None else lazy.select(list(columns))
        if hasattr(chosen, "collect_batches"):
            return chosen.collect_batches()  # type: ignore[no-any-return]
        return [chosen.collect()]

    return Batches(list(lazy.collect_schema().names()), read, True)


def _of_pyarrow(data: Any) -> Optional[Batches]:
    import pyarrow

    if isinstance(data, pyarrow.RecordBatchReader):
        return _once(data)
    if type(data).__module__ != "pyarrow._dataset":
        return None
    import pyarrow.dataset

    if isinstance(data, pyarrow.dataset.Scanner):
        return _once(data.to_reader())
    schema: Any = data.schema

    def read(columns: Columns) -> Iterator[Any]:
        chosen = None if columns is None else list(columns)
        yield from data.to_batches(columns=chosen)
        # Of no rows at all, the types are still known.
        yield (schema if chosen is None else pyarrow.schema([schema.field(name) for name in chosen])).empty_table()

    return Batches(list(schema.names), read, True)


def _once(reader: Any) -> Batches:
    def read(columns: Columns) -> Iterator[Any]:
        for batch in reader:
            yield _select(batch, columns)
        yield _select(reader.schema.empty_table(), columns)

    return Batches(list(reader.schema.names), read, False)


def _select(batch: Any, columns: Columns) -> Any:
    return batch if columns is None else batch.select(list(columns))


class _Spool:
    """What came once, written to a file that goes away, to be read again."""

    def __init__(self) -> None:
        self._file: Any = tempfile.TemporaryFile(prefix="tamis-")
        self._writer: Any = None

    def put(self, batch: Any) -> None:
        import pyarrow

        table = pyarrow.table(batch)
        if self._writer is None:
            self._writer = pyarrow.ipc.new_stream(self._file, table.schema)
        self._writer.write_table(table)

    def again(self) -> Iterator[Any]:
        import pyarrow

        if self._writer is None:
            return
        self._writer.close()
        self._file.seek(0)
        yield from pyarrow.ipc.open_stream(self._file)

    def close(self) -> None:
        self._file.close()


# What is said of rows when the parameters are known.
_OF_ROWS = ("bad_rows", "threads", "note", "source")


def build_batches(batches: Batches, options: Mapping[str, Any]) -> _tamis.File:
    """The sketches of all batches: the bytes of one build of all rows. They are counted batch by batch; where the hashes
    that were counted are not enough (more than 2²⁴ keys, murmur3, counts), they are read again, or, if they come once,
    what is needed of them waits in a temporary file."""
    given = dict(options)
    columns = _named(given, batches.names)
    params = given.get("params") or _tamis.planned_without_rows(given)
    if params is not None:
        of_rows = {name: given.get(name) for name in (*_OF_ROWS, "key", "group", "keywords", "weight")}
        return _built(batches.of(columns), {**(of_rows if given.get("params") else _rest(given)), "params": params})
    spool = None if batches.again else _Spool()
    try:
        counter: Optional[_tamis.Counter] = None
        for batch in batches.of(columns):
            rows = as_rows(batch)
            if counter is None:
                given["classes"] = _tamis.key_classes(rows, given)
                counter = _tamis.Counter(given)
            counter.add(rows)
            if spool is not None:
                spool.put(batch)
        if counter is None:
            return _tamis.build([], given)
        return _concluded(counter, given, batches.of(columns) if spool is None else spool.again())
    finally:
        if spool is not None:
            spool.close()


def _concluded(counter: _tamis.Counter, given: Mapping[str, Any], again: Iterator[Any]) -> _tamis.File:
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        path = os.path.join(folder, "built.tamis")
        found = counter.conclude(path)
        if "params" not in found:
            return _tamis.take_over(path, found["skipped"])
    return _built(again, {**_rest(given), "params": found["params"]})


def _rest(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is left to say where parameters have the steps of the columns, and all else."""
    return {name: given.get(name) for name in _OF_ROWS}


def _built(batches: Iterator[Any], options: dict[str, Any]) -> _tamis.File:
    builder = _tamis.Builder(options)
    for batch in batches:
        builder.add(as_rows(batch))
    return builder.finish()


def _named(options: dict[str, Any], names: list[str]) -> Columns:
    """The names of the columns that a job asks for, where all of them have one."""
    return wanted_columns(options, None, names)


def wanted_columns(options: dict[str, Any], file: Optional[_tamis.File], names: list[str]) -> Columns:
    """The same; one that is not there is an error that lists those that are."""
    wanted = _tamis.asked_columns(options, file)
    if not all(isinstance(name, str) for name in wanted):
        return None
    if not set(wanted) <= set(names):
        _tamis.find_columns(options, file, names)
        return None  # found by another name
    return list(dict.fromkeys(wanted))
