"""What executors say of keys in columns. Instances of these classes are what Spark ships to them."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute

import tamis
from tamis import _tamis
from tamis.spark._tasks import Shipped, Task, in_a_row, marked

# Its functions are made when it is imported, so type checkers do not know them.
pc: Any = compute

# The largest number of Spark, which has none without a sign.
_MOST_LONG = (1 << 63) - 1


class Contains(Task):
    """Whether keys may be in a set: 1, 0, or 2 where there is no key."""

    def __init__(
        self, file: Shipped, group: Any, bad_rows: str, marked: bool = False, partial: bool = False
    ) -> None:
        super().__init__(marked)
        self.file, self.group, self.bad_rows, self.partial = file, group, bad_rows, partial

    def __call__(self, *columns: pa.Array) -> pa.Array:
        self.check()
        try:
            return self.answers(self.file.open(), _keys(columns), self.group, self.bad_rows, self.partial)
        except tamis.Error as error:
            text = marked(error) if self.marked else str(error)
            raise tamis.Error(in_a_row(text)) from None

    @staticmethod
    def answers(file: _tamis.File, keys: Any, group: Any, bad_rows: str, partial: bool) -> pa.Array:
        """What is said of keys."""
        return pa.array(file.codes(keys, group, bad_rows, partial))

    @classmethod
    def refuse(cls, file: _tamis.File, group: Any, bad_rows: str, partial: bool = False) -> None:
        """Refuses what cannot be asked, before any row is: asks of no key."""
        cls.answers(file, _keys([pa.array([], pa.string())] * file.parts), group, bad_rows, partial)


class Beside(Task):
    """Another column beside those of a batch, made of its last ones, which are left out."""

    def __init__(self, task: Contains, name: str, columns: int) -> None:
        super().__init__(task.marked)
        self.task, self.name, self.columns = task, name, columns

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = batch.num_columns - self.columns
            made = self.task(*batch.columns[kept:])
            names = [*batch.schema.names[:kept], self.name]
            yield pa.RecordBatch.from_arrays([*batch.columns[:kept], made], names=names)


class Column(Contains, ABC):
    """The answers of a user function, which knows values and no names of columns."""

    def __call__(self, *columns: pa.Array) -> pa.Array:
        refuse_others(self.file.open(), columns)
        return super().__call__(*columns)

    def one(self, *values: Any) -> Any:
        """The answer to one key. Before 4.1 Spark hands over values of Python, of which some have lost what they were."""
        self.check()
        file = self.file.open()
        refuse_others(file, values)
        for lost, words in _LOST.items():
            if any(isinstance(value, lost) for value in values):
                raise tamis.Error(
                    f"Spark before 4.1 hands {words} to a function: cast the column to strings as the keys are written, or use "
                    "filter_df"
                )
        return self.answer(file, values[0] if len(values) == 1 else values)

    @abstractmethod
    def answer(self, file: _tamis.File, key: Any) -> Any:
        """What is said of one key."""


_LOST = {
    float: "floats of 32 bits and of 64 as the same numbers",
    datetime.datetime: "times without their zone",
}


def refuse_others(file: _tamis.File, given: Sequence[Any]) -> None:
    """Refuses another number of columns than a key has parts."""
    if len(given) != file.parts:
        raise tamis.Error(
            f"a key of this file has {_number(file.parts)}, and the function was given {_number(len(given))}: give it "
            f"the columns of {file.recipe}"
        )


def _number(columns: int) -> str:
    """A number of columns, in words."""
    return "one column" if columns == 1 else f"{columns} columns"


class Truths(Column):
    """Whether keys may be in a set; what is no key is not."""

    @staticmethod
    def answers(file: _tamis.File, keys: Any, group: Any, bad_rows: str, partial: bool) -> pa.Array:
        """True or false."""
        return pc.equal(pa.array(file.codes(keys, group, bad_rows, partial)), 1)

    def answer(self, file: _tamis.File, key: Any) -> bool:
        """True or false."""
        return file.contains_one(key, self.group, self.bad_rows, self.partial)


class Groups(Column):
    """The names of the groups that keys may be in."""

    @staticmethod
    def answers(file: _tamis.File, keys: Any, group: Any, bad_rows: str, partial: bool) -> pa.Array:
        """A list each."""
        return pa.array(file.groups(keys, bad_rows, 1, partial), pa.list_(pa.string()))

    def answer(self, file: _tamis.File, key: Any) -> list[Any]:
        """A list."""
        return file.groups_one(key, self.bad_rows, self.partial)


class Estimates(Column):
    """What keys count for at most; a counter of 64 bits that is full has the largest number that Spark knows."""

    @staticmethod
    def answers(file: _tamis.File, keys: Any, group: Any, bad_rows: str, partial: bool) -> pa.Array:
        """The estimates: counts have no records."""
        found = file.estimate(keys, group, bad_rows, 1)
        return pc.min_element_wise(pa.array(found), pa.scalar(_MOST_LONG, pa.uint64())).cast(pa.int64())

    def answer(self, file: _tamis.File, key: Any) -> int:
        """The estimate."""
        return min(file.estimate_one(key, self.group, self.bad_rows), _MOST_LONG)


def _keys(columns: Sequence[pa.Array]) -> Any:
    if len(columns) == 1:
        return columns[0]
    return pa.table(columns, names=[""] * len(columns))  # without names: the parts of keys
