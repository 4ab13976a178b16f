"""What executors do with their rows. Instances of these classes are what Spark ships to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Optional

import pyarrow as pa
from pyarrow import compute

import tamis
from tamis import _tamis

# Its functions are made when it is imported, so type checkers do not know them.
pc: Any = compute

# Parts of a job, as rows that Spark moves: the number that they are brought together by, and the bytes.
PARTS = "part long, data binary"

# Bytes that a task holds before it hands them on: changes, of which more is less to move in the end, and keys.
CHANGES_HELD = 128 << 20
KEYS_HELD = 32 << 20

# Bytes of rows that are handed over together.
_BATCH = 32 << 20

_MARK = "\ufeff".encode()


def as_batches(parts: Iterable[tuple[int, bytes]]) -> Iterator[pa.RecordBatch]:
    """Parts as Arrow batches of a bounded size."""
    numbers: list[int] = []
    held: list[bytes] = []
    size = 0
    for number, data in parts:
        if held and size + len(data) > _BATCH:
            yield _batch(numbers, held)
            numbers, held, size = [], [], 0
        numbers.append(number)
        held.append(data)
        size += len(data)
    if held:
        yield _batch(numbers, held)


def _batch(numbers: list[int], held: list[bytes]) -> pa.RecordBatch:
    arrays = [pa.array(numbers, pa.int64()), pa.array(held, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["part", "data"])


def parts_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    """The parts in Arrow batches."""
    for batch in batches:
        for number, data in zip(batch.column(0), batch.column(1)):
            yield number.as_py(), data.as_py()


def marked(error: BaseException) -> str:
    """What an error says, with a mark for each option: whoever shows it puts its own words there."""
    return str(getattr(error, "marked", error))


class Task:
    """Work with the version of the driver: another one might do it differently."""

    def __init__(self, marked: bool = False) -> None:
        self.version = tamis.__version__
        self.marked = marked

    def __getstate__(self) -> dict[str, Any]:
        """What is shipped: with the secret hash keys of the driver, which stand in no request."""
        return {**self.__dict__, "hash_keys": _tamis.hash_keys()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for key in state.pop("hash_keys"):
            _tamis.add_hash_key(key)
        self.__dict__.update(state)

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Lets errors name options by marks, where whoever started the job spells them in another way."""
        try:
            yield
        except (tamis.Error, ValueError) as error:
            text = marked(error)
            if not self.marked or text == str(error):
                raise
            raise type(error)(text) from None

    def check(self) -> None:
        """Refuses another version."""
        if tamis.__version__ != self.version:
            raise tamis.Error(
                f"an executor has tamis {tamis.__version__}, and the driver {self.version}: ship the same to both"
            )


class Rows(Task):
    """Work with rows: tables, or lines of text with their file and its block."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(bool(options.get("marked")))
        self.options = {**options, "threads": 1}

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, Optional[str]]]:
        """What the Rust part takes as rows: a table, of which the last column may be the names of files, or lines and
        the name of their file."""
        text, names = self.options.get("text"), self.options.get("names")
        named = None if names is None else Named(names)
        if text is not None:
            for lines, number in _lines(batches, text["header"]):
                yield lines, None if named is None else named(pa.array([number]))[0].as_py()
            return
        for batch in batches:
            if batch.num_rows:
                batch = batch.rename_columns([_undisguised(name) for name in batch.schema.names])
                if named is not None:
                    last = batch.num_columns - 1
                    batch = batch.set_column(last, batch.schema.names[last], named(batch.column(last)))
                yield batch, None


class Named:
    """The names of files, by their numbers."""

    def __init__(self, names: dict[int, str]) -> None:
        self.numbers = pa.array(names.keys(), pa.int64())
        self.names = pa.array(names.values(), pa.string())

    def __call__(self, numbers: pa.Array) -> pa.Array:
        places = pc.index_in(numbers, self.numbers)
        if places.null_count:
            raise tamis.Error("a row comes from a file whose name is not known: did files change while they were read?")
        return self.names.take(places)

    def one(self, number: int) -> str:
        """The name of one file."""
        name: str = self(pa.array([number], pa.int64()))[0].as_py()
        return name


def disguised(names: Iterable[str]) -> list[str]:
    """Names of columns that mean nothing else to Spark, whatever stands in them, and of which none is there twice."""
    return [f"c{at}_{name.encode().hex()}" for at, name in enumerate(names)]


def _undisguised(name: str) -> str:
    return bytes.fromhex(name.partition("_")[2]).decode()


def _lines(batches: Iterable[pa.RecordBatch], header: Optional[bytes]) -> Iterator[tuple[pa.Array, int]]:
    """Lines without the headers of their files, and the number of their file. Rows are lines, a number for their file, and where the block
    begins that they were read from: the first rows of the first block of a file are its first lines."""
    wanted = None if header is None else plain(header)
    before: Any = None
    begun = True
    for batch in batches:
        lines, files, starts = batch.columns
        if not len(lines):
            continue
        first = pc.equal(starts, 0)
        runs = _runs(files, first)
        kept: list[tuple[pa.Array, int]] = []
        for start, end in zip(runs, runs[1:]):
            file = (files[start].as_py(), first[start].as_py())
            if file != before:
                before, begun = file, not file[1]
            while not begun and start < end:
                line = lines[start].as_py()
                if not line.strip(b"\r"):
                    start += 1  # empty lines are not rows
                    continue
                begun = True
                if wanted is not None:
                    if plain(line) != wanted:
                        raise tamis.Error(
                            f"a file begins with {plain(line).decode(errors='replace')!r}, and the first of them with "
                            f"{wanted.decode(errors='replace')!r}: files with other columns are read by another job"
                        )
                    start += 1
                elif line.startswith(_MARK):
                    kept.append((pa.array([line[len(_MARK) :]], pa.binary()), file[0]))
                    start += 1
            kept.append((lines.slice(start, end - start), file[0]))
        yield from (part for part in kept if len(part[0]))


def _runs(files: pa.Array, first: pa.Array) -> list[int]:
    """Where runs of equal rows begin, and where the last of them ends."""
    others = [pc.not_equal(column[1:], column[:-1]) for column in (files, first)]
    changes = pc.indices_nonzero(pc.or_(*others)).to_pylist()
    return [0, *(at + 1 for at in changes), len(files)]


def unmarked(line: bytes) -> bytes:
    """The first line of a text, without what may stand before it."""
    return line.lstrip(b"\r\n").removeprefix(_MARK)


def plain(line: bytes) -> bytes:
    """The same without its end."""
    return unmarked(line).rstrip(b"\r\n")


class CountRows(Rows):
    """Counts the keys of rows; what it saw comes out in parts, by hash."""

    def __init__(self, options: dict[str, Any], parts: int, most: int) -> None:
        super().__init__(options)
        self.parts, self.most = parts, most

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counter = _tamis.Counter(self.options)
        for rows, name in self.rows(batches):
            counter.add(rows, name)
        yield from as_batches(counter.parts(self.parts, self.most))


class MergeCounts(Task):
    """Brings together what counters saw."""

    def __init__(self, options: dict[str, Any], most: int) -> None:
        super().__init__(bool(options.get("marked")))
        self.options, self.most = options, most

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counter = None
        for _, data in parts_of(batches):
            counter = counter or _tamis.Counter(self.options)
            counter.absorb(data)
        if counter is not None:
            yield from as_batches(counter.parts(1, self.most))


class BuildRows(Rows):
    """What rows change in sketches, by range."""

    def __init__(self, options: dict[str, Any], range_bytes: int, held: int = CHANGES_HELD) -> None:
        super().__init__(options)
        self.range_bytes, self.held = range_bytes, held

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partial = _tamis.Partial(self.options, self.range_bytes)
        for rows, name in self.rows(batches):
            if partial.add(rows, name) > self.held:
                yield from as_batches(partial.drain())
        yield from as_batches(partial.drain())


class MergeRanges(Task):
    """Brings together what changes the same range. Rows come in the order of the ranges."""

    def __init__(self, params: str, range_bytes: int) -> None:
        super().__init__()
        self.params, self.range_bytes = params, range_bytes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        merger, current = None, None
        for number, data in parts_of(batches):
            if merger is None:
                merger = _tamis.Merger(self.params, self.range_bytes)
            if number != current and current is not None:
                yield from as_batches(merger.drain())
            current = number
            merger.absorb(data)
        if merger is not None:
            yield from as_batches(merger.drain())


class Shipped:
    """A file that every executor has, mapped where it is asked."""

    def __init__(self, name: str) -> None:
        self.name = name

    def open(self) -> _tamis.File:
        """The file; a worker opens it once."""
        from pyspark import SparkFiles

        path = SparkFiles.get(self.name)
        if path not in _opened:
            if len(_opened) == _MOST_OPENED:
                del _opened[next(iter(_opened))]
            _opened[path] = _tamis.open(path)
        return _opened[path]


# Files that are mapped at once: a query may ask several in turn.
_MOST_OPENED = 8
_opened: dict[str, _tamis.File] = {}


class Carried(Shipped):
    """A file that goes along as a broadcast, which can be taken back: workers hold it in their memory."""

    def __init__(self, broadcast: Any) -> None:
        self.broadcast = broadcast

    def open(self) -> _tamis.File:
        """The file; a worker reads it once."""
        sketch: tamis.Sketch = self.broadcast.value
        return sketch._file


class GatherKeys(Rows):
    """Gathers keys for a test, by hash."""

    def __init__(self, file: Shipped, options: dict[str, Any], negatives: bool, held: int = KEYS_HELD) -> None:
        super().__init__(options)
        self.file, self.negatives, self.held = file, negatives, held

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gatherer = _tamis.Gatherer(self.file.open(), self.options)
        for rows, name in self.rows(batches):
            if gatherer.add(rows, self.negatives, name) > self.held:
                yield from as_batches(gatherer.drain())
        yield from as_batches(gatherer.drain())


class RandomKeys(Task):
    """Random keys for a test; a row is a first number and an end."""

    def __init__(self, file: Shipped, seed: int) -> None:
        super().__init__()
        self.file, self.seed = file, seed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gatherer = _tamis.Gatherer(self.file.open(), {})
        for batch in batches:
            for first, end in zip(batch.column(0), batch.column(1)):
                gatherer.add_random(first.as_py(), end.as_py(), self.seed)
                yield from as_batches(gatherer.drain())


class JudgeKeys(Task):
    """Judges keys, of which those of a part come together, in the order of the parts."""

    def __init__(self, file: Shipped) -> None:
        super().__init__()
        self.file = file

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        file = self.file.open()
        judge, current = _tamis.Judge(file), None
        for number, data in parts_of(batches):
            if number != current:
                judge.settle(file)
            current = number
            judge.absorb(data)
        judge.settle(file)
        yield pa.RecordBatch.from_arrays([pa.array([judge.findings()], pa.string())], names=["found"])


# What is sieved: lines that pass, those of many records in one row, and how many records there were.
SIEVED = "text binary, records long, admitted long, keyless long"


class SieveLines(Rows):
    """The lines that pass, as they are: those of a batch in one row, with the header before the first of a task."""

    def __init__(
        self, file: Shipped, options: dict[str, Any], group: Any, invert: bool, partial: bool, header: bytes
    ) -> None:
        super().__init__(options)
        self.file, self.group, self.how, self.header = file, group, (invert, partial), header

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        before = self.header
        for lines, name in self.rows(batches):
            found = _tamis.sieve_lines(self.file.open(), self.options, self.group, self.how, lines, name)
            passed, *numbers = found
            if passed:
                passed, before = before + passed[:-1], b""  # the writer adds the line end
            columns = [pa.array([passed], pa.binary()), *(pa.array([one], pa.int64()) for one in numbers)]
            yield pa.RecordBatch.from_arrays(columns, names=["text", "records", "admitted", "keyless"])


# What queries of a stream come to: lines of answers, those of many queries in one row, and how many queries there were.
ANSWERED = "text binary, queries long, skipped long"


class AnswerRows(Rows):
    """A line for each key of rows that has an answer, as a stream on one machine writes it."""

    def __init__(self, file: Shipped, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.file = file

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows, name in self.rows(batches):
            lines, *numbers = _tamis.answer_rows(self.file.open(), self.options, rows, name)
            columns = [pa.array([lines], pa.binary()), *(pa.array([one], pa.int64()) for one in numbers)]
            yield pa.RecordBatch.from_arrays(columns, names=["text", "queries", "skipped"])


def in_a_row(text: str) -> str:
    """What is wrong with a row, without its number: rows are counted in pieces of the table, which nobody knows."""
    return re.sub(r"^row \d+ \(counted from 0\): ", "a row: ", text)
